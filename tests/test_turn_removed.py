from __future__ import annotations

import pathlib

import pytest

from flask_chat_memory import Conversation
from flask_chat_memory import Renewal
from flask_chat_memory import Scope

from .conversations import ask
from .conversations import BUILT_IN
from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=[*BUILT_IN, FiveMethodsPlugin], ids=[*BUILT_IN, "five"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


@pytest.mark.scenario("S100")
@pytest.mark.parametrize("end", ["finish", "fail", "leave", "stream"])
@pytest.mark.parametrize("remove", ["reset", "clear", "delete"])
def test_a_late_answer_does_not_bring_back_what_was_removed(
    remove: str, end: str, site: Site, conversation: Conversation
) -> None:
    ask(conversation, "old")
    turn = conversation.turn("hi")
    stream = turn.stream(["la", "te"])
    next(stream)
    thread_id = turn.thread_id
    assert thread_id is not None
    if remove == "reset":
        conversation.reset()
    elif remove == "clear":
        conversation.clear()
    else:
        site.plugin.delete_thread(Scope(OWNER), thread_id)
    if end == "finish":
        turn.finish("late")
    elif end == "fail":
        turn.fail("late", "late")
    elif end == "leave":
        turn.leave("late")
    else:
        assert list(stream) == ["te"]
    assert site.stored(thread_id) == []
    assert conversation.history() == []
    assert site.plugin.has_thread(Scope(OWNER), thread_id) is (remove == "clear")
    fresh = ask(conversation, "new", "fresh")
    turn.finish("later still")
    assert [message.text for message in site.stored(fresh.thread_id)] == ["new", "fresh"]


@pytest.mark.parametrize("plugin", BUILT_IN)
def test_a_late_answer_does_not_revive_what_has_expired(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin, OPTIONS={"expiry": 60})
    now = 1_000_000.0
    site.plugin.clock = lambda: now
    conversation = site.start()
    turn = conversation.turn("hi")
    now += 1000
    turn.finish("late")
    assert turn.thread_id is not None
    assert not site.plugin.has_thread(Scope(OWNER), turn.thread_id)
    assert site.start().history() == []


@pytest.mark.parametrize("plugin", BUILT_IN)
def test_a_running_turn_keeps_its_thread_from_expiring(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin, OPTIONS={"expiry": 60})
    now = 1_000_000.0
    site.plugin.clock = lambda: now
    conversation = site.start()
    turn = conversation.turn("hi")
    now += 50
    site.plugin.renew_turns([Renewal(Scope(OWNER), str(turn.thread_id), turn.id)], now + 30)
    now += 20
    turn.finish("in time")
    assert [message.text for message in conversation.history()] == ["hi", "in time"]
