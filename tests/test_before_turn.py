"""Functions of the site that may refuse a turn before anything is stored or sent."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Usage

from .conftest import MakeSite
from .conversations import OWNER
from .conversations import Site


def test_a_refusal_is_shown_and_nothing_is_stored_or_sent(new_site: MakeSite) -> None:
    site = new_site()

    @site.memory.before_turn
    def refuse(conversation: Conversation) -> str | None:
        return "Your budget is spent." if conversation.chatbot == "default" else None

    browser = site.browser()
    response = browser.ask("hello")
    assert (response.status_code, response.json) == (403, {"error": "Your budget is spent."})
    assert response.headers.getlist("Set-Cookie") == []
    assert site.sent == []
    assert not site.database.exists()


@pytest.mark.parametrize("config", [{"CHAT_MEMORY_PLUGIN": None}, {"CHAT_MEMORY_CHATBOTS": {"a": {"history": False}}}])
def test_a_turn_of_which_nothing_is_stored_can_be_refused_too(new_site: MakeSite, config: dict[str, t.Any]) -> None:
    site = new_site(**config)
    site.memory.before_turn(lambda conversation: "No.")
    assert (
        site.browser().ask("hello", chatbot="a" if "CHAT_MEMORY_CHATBOTS" in config else "default").status_code == 403
    )


def test_all_functions_are_asked_and_the_first_refusal_counts(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    asked: list[tuple[str, str | None]] = []

    @site.memory.before_turn
    def first(conversation: Conversation) -> None:
        asked.append(("first", conversation.owner))

    @site.memory.before_turn
    def second(conversation: Conversation) -> str:
        asked.append(("second", conversation.owner))
        return "No."

    @site.memory.before_turn
    def third(conversation: Conversation) -> None:
        asked.append(("third", conversation.owner))

    conversation = site.start()
    with pytest.raises(RequestRefused, match="No") as caught:
        conversation.turn("hello")
    assert caught.value.code == 403
    assert asked == [("first", OWNER), ("second", OWNER)]
    assert conversation.history() == []


def test_a_budget_ends_at_the_turn_that_would_exceed_it(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)

    @site.memory.before_turn
    def keep_budget(conversation: Conversation) -> str | None:
        assert conversation.owner is not None
        spent = Usage.sum(site.memory.usage(conversation.owner)).total or 0
        return "That was enough for today." if spent >= 30 else None

    with site.app.app_context():
        conversation = site.memory.start_conversation(OWNER)
        for _ in range(2):
            conversation.turn("hello").finish("fine", usage={"total": 15})
        with pytest.raises(RequestRefused, match="enough"):
            conversation.turn("hello")
        conversation.reset()
        with pytest.raises(RequestRefused, match="enough"):
            conversation.turn("hello")


def test_what_is_no_plain_function_is_refused(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)

    async def late(conversation: Conversation) -> None: ...

    for wrong in (late, "function"):
        with pytest.raises(ConfigurationError, match="plain function"):
            site.memory.before_turn(t.cast(t.Any, wrong))
