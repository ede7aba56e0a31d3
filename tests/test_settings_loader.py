"""Settings that a site chooses at run time."""

from __future__ import annotations

import logging
import typing as t

import pytest

from .conftest import MakeSite


class Loader:
    """The choice of a site's settings page."""

    def __init__(self) -> None:
        self.chosen: t.Any = None
        self.asked: list[str] = []

    def __call__(self, chatbot: str) -> t.Any:
        self.asked.append(chatbot)
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
