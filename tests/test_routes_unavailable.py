"""The store is down, or was never there."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import sqlite3

import pytest
import sqlalchemy as sa

from .apps import make_site
from .apps import Site
from .conftest import MakeSite

SECRETS = ("sqlite", "OperationalError", "chat_memory_thread", "no such table", "directory", "Traceback", "s3cret")


def assert_says_little(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text


def broken_by_directory(site: Site) -> None:
    site.database.mkdir(parents=True)


def broken_by_garbage(site: Site) -> None:
    site.database.parent.mkdir(parents=True)
    site.database.write_bytes(b"this is no database, " * 500)


def broken_by_a_file_in_the_way(site: Site) -> None:
    pathlib.Path(site.app.instance_path).write_bytes(b"")


BROKEN = pytest.mark.parametrize("break_it", [broken_by_directory, broken_by_garbage, broken_by_a_file_in_the_way])


def never(*_arguments: object) -> None:
    raise AssertionError("there is nothing to wait for")


def visit_all(site: Site) -> None:
    site.app.config["PROPAGATE_EXCEPTIONS"] = False
    browser = site.browser()
    browser.login("ann")
    page = browser.client.get("/")
    assert page.status_code == 200
    assert 'class="chat-memory-form"' in page.text
    assert "Your earlier messages cannot be shown right now." in page.text
    assert "no-store" in page.headers["Cache-Control"]
    assert browser.client.get("/bubbles").json == []
    assert_says_little(page.text)
    responses = [
        browser.client.get("/chat-memory/default/history"),
        browser.ask("hello"),
        browser.post("default/reset"),
        browser.client.post(
            "/chat-memory/default/messages", json={"messages": [{"role": "user", "text": "hi"}]}, buffered=True
        ),
    ]
    for response in responses:
        assert response.status_code == 503
        assert response.json is not None and 0 < len(response.json["error"]) < 100
        assert response.headers["Cache-Control"] == "private, no-store"
        assert_says_little(response.text)


@pytest.mark.scenario("D31")
@BROKEN
def test_a_database_that_cannot_be_opened_gives_503_and_a_page_at_once(
    new_site: MakeSite, break_it: cabc.Callable[[Site], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = new_site(login=True)
    break_it(site)
    monkeypatch.setattr("time.sleep", never)
    visit_all(site)
    assert site.sent == []


@pytest.mark.scenario("S157", "S184", "D31")
def test_an_engine_whose_server_is_gone_gives_503_and_a_page(
    new_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> sqlite3.Connection:
        raise sqlite3.OperationalError("could not connect to postgres://u:s3cret@host")

    engine = sa.create_engine("sqlite://", creator=refuse, poolclass=sa.NullPool)
    visit_all(new_site(login=True, CHAT_MEMORY_OPTIONS={"engine": engine}))
    assert "a page is shown without its history" in caplog.text


def test_what_was_stored_is_there_when_the_store_is_back(site: Site) -> None:
    browser = site.browser()
    browser.ask("before")
    with site.store_down():
        assert browser.ask("meanwhile").status_code == 503
        assert browser.client.get("/").status_code == 200
        assert browser.client.get("/chat-memory/default/history").status_code == 503
    browser.ask("after")
    assert browser.texts() == ["before", "You said: before", "after", "You said: after"]


@pytest.mark.scenario("S184")
def test_a_site_may_answer_without_its_store(new_site: MakeSite) -> None:
    site = new_site(
        CHAT_MEMORY_ON_UNAVAILABLE="answer", CHAT_MEMORY_CHATBOTS={"default": {"system_prompt": "Be brief."}}
    )
    browser = site.browser()
    browser.ask("before")
    with site.store_down():
        answer = browser.ask("meanwhile")
        assert answer.status_code == 200
        assert answer.headers["Chat-Memory-Notice"] == "not-stored"
        assert "Chat-Memory-Thread" not in answer.headers
        assert answer.json is not None
        assert answer.json["text"] == "You said: meanwhile" and answer.json["thread_id"] is None
        assert site.sent[-1] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "meanwhile"},
        ]
        assert browser.client.get("/chat-memory/default/history").status_code == 503
    assert browser.texts() == ["before", "You said: before"]
    assert "Chat-Memory-Notice" not in browser.ask("after").headers


def test_an_exchange_for_which_no_space_is_left_is_refused_whole(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'small.sqlite3'}")

    @sa.event.listens_for(engine, "connect")
    def make_small(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("pragma max_page_count = 80")

    browser = new_site(CHAT_MEMORY_OPTIONS={"engine": engine}).browser()
    codes = [browser.ask("x" * 32_000).status_code for _ in range(10)]
    assert (codes[0], codes[-1]) == (200, 503)
    for text in browser.texts():
        assert len(text.removeprefix("You said: ")) in (0, 32_000)
    engine.dispose()


@pytest.mark.scenario("S184")
def test_an_app_starts_while_its_store_is_down(tmp_path: pathlib.Path) -> None:
    (tmp_path / "instance" / "chat-memory.sqlite3").mkdir(parents=True)
    site = make_site(tmp_path)
    assert site.app.test_client().get("/plain").status_code == 200
