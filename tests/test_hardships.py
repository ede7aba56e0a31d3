"""What happens to an answer when something around it goes wrong."""

from __future__ import annotations

import pathlib
import sqlite3
import typing as t

import flask
import pytest
from markupsafe import Markup

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Scope
from flask_chat_memory.live import LEASE
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing import ManualClock
from tests.apps import make_app
from tests.conftest import MakeSite
from tests.conversations import events
from tests.conversations import OWNER
from tests.conversations import Site
from tests.conversations import told


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, "sqlalchemy")


def test_text_of_a_subclass_of_str_is_text(site: Site) -> None:
    site.memory.provider(lambda turn: Markup("<b>hello</b>"))
    assert events(site.post("hi")) == [{"text": "<b>hello</b>"}, "[DONE]"]
    assert told(site.start().history())[-1] == ("assistant", "<b>hello</b>", "complete")


@pytest.mark.parametrize(("name", "value"), [("model", 5), ("usage", {"total": 2**63}), ("usage", object())])
def test_odd_facts_about_an_answer_do_not_cost_the_answer(site: Site, name: str, value: t.Any) -> None:
    turn = site.start().turn("hi")
    setattr(turn, name, value)
    list(turn.stream(["a", "b"]))
    assert told(site.start().history())[-1] == ("assistant", "ab", "complete")


def test_a_process_that_is_told_to_end_keeps_the_part(site: Site) -> None:
    def pieces() -> t.Iterator[str]:
        yield "the part"
        raise SystemExit(1)

    turn = site.start().turn("hi")
    with pytest.raises(SystemExit):
        list(turn.stream(pieces()))
    assert told(site.start().history())[-1] == ("assistant", "the part", "partial")


def test_a_reader_is_told_when_its_answer_came_too_late(site: Site) -> None:
    clock = ManualClock()
    site.plugin.clock = clock

    @site.memory.provider
    def answer(turn: object) -> t.Iterator[str]:
        yield "all of it"
        clock.advance(LEASE + 1)
        site.start().page(10)

    *_, error, done = events(site.post("hi"))
    assert (error, done) == ({"error": "The answer could not be stored."}, "[DONE]")


def test_a_turn_whose_request_failed_is_over_at_once(new_site: MakeSite) -> None:
    site = new_site()
    site.app.testing = False

    def broken() -> str:
        site.memory.conversation().turn("hi")
        raise RuntimeError("in the view")

    site.app.add_url_rule("/broken", view_func=broken, methods=["POST"])

    browser = site.browser()
    assert browser.client.post("/broken").status_code == 500
    assert [item["status"] for item in browser.history()["messages"]] == [None, "failed"]


def test_a_database_that_was_deleted_is_made_anew(tmp_path: pathlib.Path) -> None:
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/chat.sqlite3"})
    scope = Scope(OWNER)
    plugin.save_messages(scope, "thread", [])
    for file in tmp_path.iterdir():
        file.unlink()
    sqlite3.connect(tmp_path / "chat.sqlite3").close()
    plugin._database._engine.dispose()
    with pytest.raises(Exception, match="lacks a table"):
        plugin.has_thread(scope, "thread")
    assert not plugin.has_thread(scope, "thread")
    plugin.close()


def test_a_blueprint_of_the_same_name_is_told_of(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path)
    app.register_blueprint(flask.Blueprint("chat_memory", __name__))
    with pytest.raises(ConfigurationError, match="blueprint 'chat_memory'"):
        ChatMemory(app)
    assert "chat_memory" not in app.extensions


def test_an_app_context_that_stays_does_not_close_the_session_for_ever(new_site: MakeSite) -> None:
    site = new_site()
    with site.app.app_context():
        for _ in range(3):
            assert site.browser().ask("hello").status_code == 200


def test_an_inner_request_that_fails_leaves_the_outer_turn_alone(new_site: MakeSite) -> None:
    site = new_site()
    site.app.testing = False

    def broken() -> str:
        raise RuntimeError("in the inner view")

    def outer() -> str:
        turn = site.memory.conversation().turn("hi")
        assert site.app.test_client().get("/broken").status_code == 500
        return turn.finish("good").text

    site.app.add_url_rule("/broken", view_func=broken)
    site.app.add_url_rule("/outer", view_func=outer, methods=["POST"])
    browser = site.browser()
    assert browser.client.post("/outer").text == "good"
    assert [item["text"] for item in browser.history()["messages"]] == ["hi", "good"]


def test_a_turn_whose_request_was_refused_is_over_at_once(new_site: MakeSite) -> None:
    site = new_site()

    def refusing() -> str:
        site.memory.conversation().turn("hi")
        flask.abort(400)

    site.app.add_url_rule("/refusing", view_func=refusing, methods=["POST"])
    browser = site.browser()
    assert browser.client.post("/refusing").status_code == 400
    assert [item["status"] for item in browser.history()["messages"]] == [None, "failed"]


def test_what_came_before_a_very_long_turn_can_be_reached(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PRELOAD=10)
    site.browser().ask("warm up")
    with site.app.app_context():
        conversation = site.memory.start_conversation("user:1")
        conversation.turn("first").finish("answer")
        turn = conversation.turn("long")
        for number in range(20):
            turn.record(ChatMessage("assistant", None, tool_calls=[{"id": f"c{number}"}]))
            turn.record(ChatMessage("tool", "result", tool_call_id=f"c{number}"))
        turn.finish("at last")
        texts: list[str] = []
        cursor = None
        for _ in range(10):
            page = conversation.page(10, cursor)
            texts = [message.text for message in page.messages if message.role == "user"] + texts
            cursor = page.cursor
            if cursor is None:
                break
        assert texts == ["first", "long"]


def test_a_database_file_that_is_made_anew_is_private_again(tmp_path: pathlib.Path) -> None:
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/chat.sqlite3"})
    plugin.save_messages(Scope(OWNER), "thread", [])
    for file in tmp_path.iterdir():
        file.unlink()
    plugin._database._engine.dispose()
    with pytest.raises(Exception, match="lacks a table"):
        plugin.has_thread(Scope(OWNER), "thread")
    plugin.save_messages(Scope(OWNER), "thread", [])
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    plugin.close()
