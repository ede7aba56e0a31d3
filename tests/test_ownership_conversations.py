"""Every method of a conversation, and every one of the extension that takes an owner, asked as somebody else."""

from __future__ import annotations

import collections.abc as cabc
import inspect
import pathlib
import re
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryError
from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import contents

from .apps import ManualClock
from .conversations import OWNER
from .conversations import Site

EXPIRY = 1_000
STRANGER = "user:10"
UNKNOWN = "nobody-has-this-id"


class Named(t.NamedTuple):
    """What a call names."""

    thread: str
    question: str
    answer: str
    turn: str


NOTHING = Named(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
Call = cabc.Callable[[Conversation, Named], object]
CALLS: dict[str, Call] = {
    "clear": lambda conversation, named: conversation.clear(),
    "delete_thread": lambda conversation, named: conversation.delete_thread(named.thread),
    "edit": lambda conversation, named: conversation.edit(named.question, "x", thread_id=named.thread).finish("y"),
    "extract_facts": lambda conversation, named: conversation.extract_facts(),
    "find_thread": lambda conversation, named: conversation.find_thread(named.thread),
    "history": lambda conversation, named: conversation.history(),
    "list_threads": lambda conversation, named: conversation.list_threads(),
    "mark": lambda conversation, named: conversation.mark(named.answer, -1, None, named.thread),
    "new_chat": lambda conversation, named: conversation.new_chat() is None,
    "open": lambda conversation, named: conversation.open(named.thread),
    "page": lambda conversation, named: conversation.page(10, None, named.thread).messages,
    "regenerate": lambda conversation, named: conversation.regenerate(thread_id=named.thread).finish("y"),
    "require_list": lambda conversation, named: conversation.require_list(),
    "require_provider": lambda conversation, named: conversation.require_provider() is None,
    "reset": lambda conversation, named: conversation.reset(named.thread) is None,
    "resume": lambda conversation, named: conversation.resume(named.question, named.thread).answer,
    "search": lambda conversation, named: conversation.search("secret"),
    "send": lambda conversation, named: conversation.send("hello").text,
    "stop": lambda conversation, named: conversation.stop(named.thread, question_id=named.question),
    "summarize": lambda conversation, named: conversation.summarize(),
    "switch": lambda conversation, named: conversation.switch(1, named.thread),
    "turn": lambda conversation, named: ask(conversation, named),
    "undo": lambda conversation, named: conversation.undo(named.turn, named.thread),
    "update_thread": lambda conversation, named: conversation.update_thread(named.thread, title="x"),
    "usage": lambda conversation, named: conversation.usage(),
}


def ask(conversation: Conversation, named: Named) -> str:
    turn = conversation.turn({"messages": [{"role": "user", "text": "hello"}], "thread_id": named.thread})
    return turn.finish("hello, too").text


def echo(turn: Turn) -> ChatMessage:
    return ChatMessage("assistant", f"You said: {turn.text}", usage={"input": 3, "output": 4})


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    options = {"threads": "many", "expiry": EXPIRY}
    chatbots: dict[str, t.Any] = {"default": {}, "support": {}}
    storages: dict[str, t.Any] = {"STORAGE": "in_memory", "SHORT_TERM": [{"type": "hierarchical", "recent": 1}]}
    site = Site(tmp_path, OPTIONS=options, CHATBOTS=chatbots, **storages)
    for chatbot in chatbots:
        site.memory.provider(chatbot)(echo)
    site.memory.price(lambda usage, model: usage.total)
    site.plugin.clock = ManualClock()
    return site


@pytest.fixture
def named(site: Site) -> Named:
    conversation = site.start()
    with site.app.app_context():
        conversation.send("the secret question")
        answer = conversation.send("the last secret question")
    assert conversation.thread_id is not None
    conversation.update_thread(conversation.thread_id, title="the secret title")
    question = conversation.history()[-2]
    assert question.id is not None and answer.id is not None and answer.turn is not None
    return Named(conversation.thread_id, question.id, answer.id, answer.turn)


def state(site: Site, named: Named) -> object:
    found = contents(t.cast(AblePlugin, site.plugin), Scope(OWNER), named.thread)
    # Another thread may be begun.
    del found["current"]
    return found


def told(site: Site, conversation: Conversation, named: Named, call: Call) -> str:
    """Return what a call returns or raises."""
    with site.app.app_context():
        try:
            result = call(conversation, named)
        except ChatMemoryError as error:
            return f"{type(error).__name__}: {error}"
    return re.sub(r"id=\S+|<.* at 0x.*>", "", repr(result))


def stranger(site: Site) -> Conversation:
    return site.start(STRANGER)


def of_another_chatbot(site: Site) -> Conversation:
    return site.start(OWNER, "support")


def too_late(site: Site) -> Conversation:
    site.plugin.clock.advance(EXPIRY + 31)
    return site.start()


def test_every_method_is_here() -> None:
    assert {name for name, _ in inspect.getmembers(Conversation, inspect.isfunction) if name[0] != "_"} == set(CALLS)


@pytest.mark.parametrize("asking", [stranger, of_another_chatbot, too_late])
@pytest.mark.parametrize("name", CALLS)
def test_who_does_not_own_a_thread_is_answered_as_if_it_were_not_there(
    site: Site, named: Named, name: str, asking: cabc.Callable[[Site], Conversation]
) -> None:
    conversation = asking(site)
    before = state(site, named)
    known = told(site, conversation, named, CALLS[name])
    assert "secret question" not in repr(known) and "secret title" not in repr(known)
    assert state(site, named) == before
    assert known == told(site, asking(site), NOTHING, CALLS[name])


# These name nothing and tell of the site, or there is nothing here for them to stop.
OF_THE_SITE = {"new_chat", "require_list", "require_provider", "stop"}


@pytest.mark.parametrize("name", sorted(set(CALLS) - OF_THE_SITE))
def test_the_owner_is_answered(site: Site, named: Named, name: str) -> None:
    """What nobody else is told or can change, the owner is told or can change."""
    with site.app.app_context():
        conversation = site.memory.open_conversation(OWNER, named.thread)
    before = state(site, named)
    own = told(site, conversation, named, CALLS[name])
    changed = state(site, named) != before
    assert not re.match(r"\w+: ", own), own
    assert changed or own != told(site, stranger(site), named, CALLS[name])


@pytest.mark.parametrize("malformed", ["", "..", "../x", "x" * 10_000, "a\x00b", "\ud800", "*"])
@pytest.mark.parametrize("name", CALLS)
def test_malformed_ids_are_refused_or_unknown(site: Site, named: Named, name: str, malformed: str) -> None:
    before = state(site, named)
    told(site, site.start(), Named(*[malformed] * 4), CALLS[name])
    assert state(site, named) == before


OF_AN_OWNER: dict[str, cabc.Callable[[ChatMemory, str, str], object]] = {
    "start_conversation": lambda memory, owner, thread: memory.start_conversation(owner).history(),
    "open_conversation": lambda memory, owner, thread: memory.open_conversation(owner, thread).history(),
    "forget": lambda memory, owner, thread: memory.forget(owner),
    "forget_in_steps": lambda memory, owner, thread: list(memory.forget_in_steps(owner))[-1:],
    # But for the header, which tells the owner and the time.
    "export": lambda memory, owner, thread: list(memory.export(owner))[1:],
    "usage": lambda memory, owner, thread: memory.usage(owner),
    "cost": lambda memory, owner, thread: memory.cost(owner),
    "user_memories": lambda memory, owner, thread: memory.user_memories(owner).list(),
    "remember_tool": lambda memory, owner, thread: memory.remember_tool(owner) and None,
}


def test_every_method_of_the_extension_that_takes_an_owner_is_here() -> None:
    methods = inspect.getmembers(ChatMemory, inspect.isfunction)
    taking = {name for name, method in methods if name[0] != "_" and "owner" in inspect.signature(method).parameters}
    assert taking == set(OF_AN_OWNER)


@pytest.mark.parametrize("name", OF_AN_OWNER)
def test_the_extension_tells_an_owner_nothing_of_another(site: Site, named: Named, name: str) -> None:
    with site.app.app_context():
        site.memory.user_memories(OWNER).add("a secret")
        before = state(site, named), site.memory.usage(OWNER), site.memory.user_memories(OWNER).list()

        def call(owner: str, thread: str) -> object:
            try:
                return OF_AN_OWNER[name](site.memory, owner, thread)
            except ChatMemoryError as error:
                return type(error), str(error)

        assert call(STRANGER, named.thread) == call("user:nobody", UNKNOWN)
        assert (state(site, named), site.memory.usage(OWNER), site.memory.user_memories(OWNER).list()) == before
        for nobody in ("", "x" * 256, "\x00", None, 7):
            with pytest.raises(ChatMemoryError):
                OF_AN_OWNER[name](site.memory, t.cast(str, nobody), named.thread)
