"""A thread belongs to its chatbot, which each turn looks at afresh; and who acts is recorded with the turn."""

from __future__ import annotations

import pathlib

import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory import Conversation
from flask_chat_memory import InvalidMessage
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import UnknownThread

from .conversations import ask
from .conversations import OWNER
from .conversations import Site


def site_with(folder: pathlib.Path, **chatbots: dict[str, object]) -> Site:
    return Site(folder, "sqlalchemy", CHATBOTS=chatbots)


@pytest.mark.scenario("N5")
def test_a_thread_is_opened_with_its_chatbot_alone(tmp_path: pathlib.Path) -> None:
    site = site_with(tmp_path, default={}, sales={})
    thread_id = ask(site.start(chatbot="sales"), "hello").thread_id
    assert thread_id is not None
    with site.app.app_context():
        with pytest.raises(UnknownThread):
            site.memory.open_conversation(OWNER, thread_id)
        assert len(site.memory.open_conversation(OWNER, thread_id, "sales").history()) == 2


@pytest.mark.scenario("N5")
def test_a_chatbot_that_was_switched_off_refuses_the_turn_and_keeps_the_thread(tmp_path: pathlib.Path) -> None:
    thread_id = ask(site_with(tmp_path, default={}, sales={}).start(chatbot="sales"), "hello").thread_id
    assert thread_id is not None
    site = site_with(tmp_path, default={}, sales={"enabled": False})
    with site.app.app_context():
        conversation = site.memory.open_conversation(OWNER, thread_id, "sales")
        with pytest.raises(RequestRefused, match="switched off") as caught:
            conversation.turn("again")
    assert caught.value.code == 403
    assert len(conversation.history()) == 2
    assert len(site.stored(thread_id, chatbot="sales")) == 2


@pytest.mark.scenario("N5")
def test_a_chatbot_that_was_removed_is_an_error_and_never_the_default(tmp_path: pathlib.Path) -> None:
    thread_id = ask(site_with(tmp_path, default={}, sales={}).start(chatbot="sales"), "hello").thread_id
    assert thread_id is not None
    site = site_with(tmp_path, default={})
    with site.app.app_context(), pytest.raises(ConfigurationError, match="no chatbot 'sales'"):
        site.memory.open_conversation(OWNER, thread_id, "sales")
    posted = {"messages": [{"role": "user", "text": "again"}], "thread_id": thread_id}
    assert site.app.test_client().post("/chat-memory/sales/messages", json=posted).status_code == 404
    assert len(site.plugin.load_messages(Scope(OWNER, "sales"), thread_id)) == 2


@pytest.mark.scenario("N6")
def test_what_is_forbidden_after_the_thread_was_opened_holds_from_the_next_turn_on(tmp_path: pathlib.Path) -> None:
    site = site_with(tmp_path, default={})
    forbidden: set[str | None] = set()

    @site.memory.before_turn
    def check(conversation: Conversation) -> str | None:
        return "You may not use this chatbot any more." if conversation.owner in forbidden else None

    conversation = site.start()
    ask(conversation, "hello")
    forbidden.add(OWNER)
    with pytest.raises(RequestRefused, match="any more"):
        conversation.turn("again")
    assert len(conversation.history()) == 2


def test_who_acts_is_recorded_with_the_turn(tmp_path: pathlib.Path) -> None:
    site = site_with(tmp_path, default={})
    seen = []

    @site.memory.provider
    def answer(turn: object) -> str:
        seen.append(turn)
        return "fine"

    conversation = site.start()
    conversation.send("hello", by="service:reminder")
    conversation.send("by myself")
    questions = [message for message in conversation.history() if message.role == "user"]
    assert [question.metadata.get("by") for question in questions] == ["service:reminder", None]
    assert "service:reminder" not in str(seen[0].messages)  # type: ignore[attr-defined]
    with pytest.raises(InvalidMessage):
        conversation.turn("hello", by=object())  # type: ignore[arg-type]
