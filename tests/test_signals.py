"""What is told of what has happened."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import logging
import pathlib
import typing as t

import blinker
import flask
import pytest

from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import signals
from flask_chat_memory import StorageError
from flask_chat_memory import Usage
from flask_chat_memory.live import LEASE
from flask_chat_memory.live import leases

from .apps import ManualClock
from .conftest import MakeSite
from .conversations import ask
from .conversations import body
from .conversations import FragilePlugin
from .conversations import OWNER
from .conversations import Site

ALL = (
    signals.thread_created,
    signals.turn_started,
    signals.turn_finished,
    signals.thread_deleted,
    signals.thread_adopted,
    signals.storage_unavailable,
)
Told = list[tuple[str, dict[str, t.Any]]]


@contextlib.contextmanager
def heard(app: flask.Flask, *wanted: blinker.NamedSignal) -> cabc.Iterator[Told]:
    """Collect name and facts of every signal of an app."""
    told: Told = []

    def connect(signal: blinker.NamedSignal) -> cabc.Callable[..., None]:
        def receive(sender: flask.Flask, **facts: t.Any) -> None:
            assert sender is app
            told.append((signal.name, facts))

        signal.connect(receive, app)
        return receive

    receivers = [(signal, connect(signal)) for signal in wanted or ALL]
    yield told
    for signal, receiver in receivers:
        signal.disconnect(receiver, app)


@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy"])
def test_a_conversation_is_told_from_its_beginning_to_its_end(tmp_path: pathlib.Path, plugin: str) -> None:
    site = Site(tmp_path, plugin)
    clock = site.plugin.clock = ManualClock()
    with heard(site.app) as told:
        conversation = site.start()
        turn = conversation.turn("my secret")
        clock.advance(2.5)
        turn.finish("an answer", usage={"input": 3, "output": 4}, model="gpt")
        ask(conversation, "again")
        conversation.reset()
        conversation.reset("gone")
    place = {"owner": OWNER, "chatbot": "default", "thread_id": turn.thread_id}
    assert [name for name, _ in told] == [
        "thread_created",
        "turn_started",
        "turn_finished",
        "turn_started",
        "turn_finished",
        "thread_deleted",
    ]
    assert told[0][1] == told[-1][1] == place
    assert told[1][1] == {**place, "turn_id": turn.id}
    assert told[2][1] == {
        **place,
        "turn_id": turn.id,
        "status": "complete",
        "model": "gpt",
        "usage": Usage(input=3, output=4, cached=0, reasoning=0, total=7),
        "seconds": 2.5,
        "stored": True,
    }
    assert "secret" not in str(told)


def test_a_thread_that_is_deleted_by_name_is_told(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, OPTIONS={"threads": "many"})
    conversation = site.start()
    thread_id = ask(conversation, "hello").thread_id
    assert thread_id is not None
    with heard(site.app) as told:
        assert conversation.delete_thread(thread_id)
        assert not conversation.delete_thread(thread_id)
    assert told == [("thread_deleted", {"owner": OWNER, "chatbot": "default", "thread_id": thread_id})]


def test_every_way_to_end_a_turn_is_told_once(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    with heard(site.app, signals.turn_finished) as told:
        turn = site.start().turn("1")
        turn.leave("so far")
        turn.finish("more")
        site.start().turn("2").fail("no")
        gone = site.start().turn("3")
        site.start().reset()
        gone.finish("too late")
    facts = [(facts["status"], facts["stored"]) for _, facts in told]
    assert facts == [("partial", True), ("failed", True), ("complete", False)]


@pytest.mark.parametrize("reader", ["page", "turn", "resume", "repeat", "follower"])
def test_the_end_of_a_dead_turn_is_told_once_by_the_reader_that_ends_it(tmp_path: pathlib.Path, reader: str) -> None:
    site = Site(tmp_path)
    clock = site.plugin.clock = ManualClock()
    turn = site.start().turn(body("my secret", key="k"))
    following = site.start().turn(body("my secret", key="k"))
    leases.release(turn)
    clock.advance(LEASE)
    with heard(site.app, signals.turn_finished) as told:
        for _ in range(2):
            if reader == "page":
                site.start().page(10)
            elif reader == "turn":
                site.start().turn("next")
            elif reader == "resume":
                site.start().resume(str(turn.question.id))
            elif reader == "repeat":
                site.start().turn(body("my secret", key="k"))
            else:
                list(following.stream([]))
    assert told == [
        (
            "turn_finished",
            {
                "owner": OWNER,
                "chatbot": "default",
                "thread_id": turn.thread_id,
                "turn_id": turn.id,
                "status": "partial",
                "model": None,
                "usage": Usage.sum([]),
                "seconds": None,
                "stored": True,
            },
        )
    ]


def test_a_reader_that_comes_second_tells_nothing_of_a_dead_turn(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path)
    clock = site.plugin.clock = ManualClock()
    leases.release(site.start().turn("hello"))
    clock.advance(LEASE)
    [question] = site.start().history()
    dead = site.plugin.live_turns(Scope(OWNER), site.start().thread_id)
    with heard(site.app, signals.turn_finished) as told:
        site.start().page(10)
        monkeypatch.setattr(site.plugin, "live_turns", lambda *_: dead)
        site.start().resume(str(question.id))
    assert len(told) == 1


def test_a_repeat_is_no_turn(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    site.memory.provider(lambda turn: "fine")
    with heard(site.app, signals.turn_started, signals.turn_finished) as told:
        for _ in range(2):
            assert site.post("hello", key="k").status_code == 200
    assert len(told) == 2


def test_turns_of_which_nothing_is_stored_are_told(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=None)
    with heard(site.app) as told:
        site.browser().ask("hello")
    assert [(name, facts["owner"], facts["thread_id"]) for name, facts in told] == [
        ("turn_started", None, None),
        ("turn_finished", None, None),
    ]
    assert told[1][1]["stored"] is False


@pytest.mark.parametrize("where", ["question", "answer"])
def test_a_store_that_is_down_is_told(tmp_path: pathlib.Path, where: str) -> None:
    site = Site(tmp_path, FragilePlugin)
    with heard(site.app, signals.storage_unavailable, signals.turn_finished) as told:
        conversation = site.start()
        if where == "question":
            site.plugin.down = True
            with pytest.raises((StorageError, RequestRefused)):
                conversation.turn("hello")
        else:
            turn = conversation.turn("hello")
            site.plugin.down = True
            with pytest.raises(StorageError):
                turn.finish("fine")
    assert told == [("storage_unavailable", {"owner": OWNER, "chatbot": "default"})]


def test_adoption_is_told(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.ask("before")
    thread_id = browser.history()["thread_id"]
    with heard(site.app, signals.thread_adopted) as told:
        browser.login("ann")
        browser.history()
        browser.history()
    [(_, facts)] = told
    assert facts.pop("former_owner").startswith("anon:")
    assert facts == {"owner": "user:ann", "chatbot": "default", "thread_id": thread_id}


def test_the_adoption_of_each_thread_is_told(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    browser.ask("one")
    browser.new_chat()
    browser.ask("two")
    ids = [thread["id"] for thread in browser.threads()]
    with heard(site.app, signals.thread_adopted) as told:
        browser.login("ann")
        browser.history()
    assert sorted(facts["thread_id"] for _, facts in told) == sorted(ids)


def test_a_receiver_that_fails_is_logged_and_changes_nothing(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path)

    def fail(_sender: flask.Flask, **_facts: t.Any) -> None:
        raise RuntimeError("out of order")

    with heard(site.app) as told, caplog.at_level(logging.ERROR):
        for signal in ALL:
            signal.connect(fail, site.app)
        turn = ask(site.start(), "hello")
    assert [name for name, _ in told] == ["thread_created", "turn_started", "turn_finished"]
    assert caplog.text.count("a receiver of a signal failed") >= 3
    assert len(site.stored(turn.thread_id)) == 2


def test_signals_of_one_app_are_not_those_of_another(tmp_path: pathlib.Path) -> None:
    site, other = Site(tmp_path / "a"), Site(tmp_path / "b")
    with heard(other.app) as told:
        ask(site.start(), "hello")
    assert told == []
