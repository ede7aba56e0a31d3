"""Settings that a site chooses at run time."""

from __future__ import annotations

import logging
import typing as t

import pytest

from flask_chat_memory import StorageError

from .conftest import MakeSite


class Loader:
    """The choice of a site's settings page."""

    def __init__(self) -> None:
        self.chosen: t.Any = None
        self.asked: list[str] = []

    def __call__(self, chatbot: str) -> t.Any:
        self.asked.append(chatbot)
        if isinstance(self.chosen, Exception):
            raise self.chosen
        return self.chosen


def test_the_settings_loader_wins_over_the_configuration(new_site: MakeSite) -> None:
    loader = Loader()
    site = new_site(extension={"settings_loader": loader})
    browser = site.browser()
    browser.ask("in the database")
    loader.chosen = {"plugin": "in_memory"}
    assert browser.texts() == []
    browser.ask("in memory")
    loader.chosen = {"plugin": None}
    assert browser.history()["mode"] == "client"
    loader.chosen = None
    assert browser.texts() == ["in the database", "You said: in the database"]


def test_the_settings_loader_is_asked_only_when_a_conversation_is_resolved(new_site: MakeSite) -> None:
    loader = Loader()
    site = new_site(extension={"settings_loader": loader})
    site.app.test_client().get("/plain")
    assert loader.asked == []
    site.browser().ask("hello")
    assert set(loader.asked) == {"default"}


def test_a_changed_choice_makes_a_new_plugin_and_an_equal_one_does_not(new_site: MakeSite) -> None:
    loader = Loader()
    site = new_site(extension={"settings_loader": loader})
    loader.chosen = {"plugin": "in_memory", "options": {"expiry": 60}}
    first = site.plugin
    loader.chosen = {"plugin": "in_memory", "options": {"expiry": 60}}
    assert site.plugin is first
    loader.chosen = {"plugin": "in_memory", "options": {"expiry": 61}}
    assert site.plugin is not first


@pytest.mark.parametrize(
    "chosen",
    [
        {"plugin": "removed"},
        {"plugin": "sqlalchemy", "options": {"expiry": "soon"}},
        {"plugin": "sqlalchemy", "options": {"colour": "red"}},
        {"plugin": "sqlalchemy", "options": 5},
        {"plugin": "sqlalchemy", "options": []},
        {"plugin": 5},
        {"plugin": "none"},
        {"options": {"expiry": 5}, "plugn": "sqlalchemy"},
        "sqlalchemy",
        5,
    ],
)
def test_a_choice_that_is_none_warns_once_and_leaves_the_history_to_the_browser(
    new_site: MakeSite, chosen: object, caplog: pytest.LogCaptureFixture
) -> None:
    loader = Loader()
    site = new_site(extension={"settings_loader": loader})
    loader.chosen = chosen
    browser = site.browser()
    with caplog.at_level(logging.WARNING, "flask_chat_memory"):
        for _ in range(3):
            assert browser.client.get("/").status_code == 200
            assert browser.history()["mode"] == "client"
            assert browser.ask("hello").status_code == 200
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


def test_a_loader_whose_store_is_down_makes_the_chat_unavailable_and_not_the_page(
    new_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    loader = Loader()
    browser = new_site(extension={"settings_loader": loader}).browser()
    browser.ask("before")
    loader.chosen = StorageError("the settings are away")
    page = browser.client.get("/")
    assert page.status_code == 200
    assert "Your earlier messages cannot be shown right now." in page.text
    assert "the settings are away" in caplog.text
    for response in (
        browser.client.get("/chat-memory/default/history"),
        browser.ask("meanwhile"),
        browser.post("default/reset"),
        browser.post("default/stop", {}),
        browser.post("default/regenerate", {}),
        browser.post("default/edit", {"question_id": "x", "text": "x"}),
        browser.post("default/switch", {"version": 1}),
        browser.post("default/feedback", {"message_id": "x"}),
        browser.client.get("/chat-memory/default/search?text=x"),
        browser.client.get("/chat-memory/default/threads"),
    ):
        assert response.status_code == 503
        assert "settings" not in response.text
    loader.chosen = None
    assert browser.texts() == ["before", "You said: before"]


def test_a_site_that_answers_without_its_store_answers_without_its_settings(new_site: MakeSite) -> None:
    loader = Loader()
    loader.chosen = StorageError("the settings are away")
    browser = new_site(CHAT_MEMORY_ON_UNAVAILABLE="answer", extension={"settings_loader": loader}).browser()
    answer = browser.ask("hello")
    assert (answer.status_code, answer.headers["Chat-Memory-Notice"]) == (200, "not-stored")


def test_threads_wait_for_the_settings_to_be_adopted(new_site: MakeSite) -> None:
    loader = Loader()
    browser = new_site(login=True, extension={"settings_loader": loader}).browser()
    browser.ask("before the login")
    loader.chosen = StorageError("the settings are away")
    browser.login("ann")
    assert browser.client.get("/").status_code == 200
    loader.chosen = None
    assert browser.texts()[0] == "before the login"
