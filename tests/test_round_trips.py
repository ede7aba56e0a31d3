"""How often a turn speaks with its store. A round trip is one transaction, or one command or script of Redis."""

from __future__ import annotations

import collections.abc as cabc
import os
import pathlib
import secrets
import typing as t

import pytest
import redis

from flask_chat_memory import Scope
from flask_chat_memory.live import LeaseKeeper
from flask_chat_memory.live import leases

from .conversations import body
from .conversations import OWNER
from .conversations import Site
from .redis_servers import miss
from .redis_servers import URL
from .sql_servers import schema_of_our_own

MOST_PIECES = 500


@pytest.fixture
def redis_options() -> cabc.Iterator[dict[str, str]]:
    url = os.environ.get(URL) or miss(f"{URL} is not set")
    prefix = f"chat-memory-test-{secrets.token_hex(6)}:"
    yield {"url": url, "key_prefix": prefix}
    with redis.Redis.from_url(url) as client:
        for name in client.scan_iter(f"{prefix}*"):
            client.delete(name)


@pytest.fixture
def postgresql_options() -> cabc.Iterator[dict[str, str]]:
    with schema_of_our_own() as place:
        yield {"url": place.url}


@pytest.fixture(params=["sqlalchemy", "postgresql", "redis"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Site]:
    options = {} if request.param == "sqlalchemy" else request.getfixturevalue(f"{request.param}_options")
    site = Site(tmp_path, "redis" if request.param == "redis" else "sqlalchemy", OPTIONS=options)
    yield site
    site.plugin.close()


@pytest.fixture
def trips(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each round trip from now on, after a turn that has made tables and scripts known."""
    turn = site.start().turn("before")
    leases.renew()
    assert site.start().stop()
    turn.finish("that")
    noted: list[str] = []
    plugin = site.plugin
    if plugin.id == "redis":
        note(monkeypatch, plugin._server, ["_execute"], noted)
    else:
        note(monkeypatch, plugin._database, ["rows", "write", "write_at_once"], noted)
    return noted


def note(monkeypatch: pytest.MonkeyPatch, target: object, names: list[str], noted: list[str]) -> None:
    for name in names:
        original = getattr(target, name)

        def call(*arguments: t.Any, _name: str = name, _original: t.Any = original, **named: t.Any) -> t.Any:
            noted.append(_name)
            return _original(*arguments, **named)

        monkeypatch.setattr(target, name, call)


def test_a_streamed_turn_is_three_round_trips_and_one_for_each_second(
    site: Site, trips: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The thread that renews would add its own, by the clock of the machine.
    keeper = LeaseKeeper(interval=3600)
    monkeypatch.setattr("flask_chat_memory.turn.leases", keeper)
    counts = []

    def pieces() -> cabc.Iterator[str]:
        for number in range(MOST_PIECES):
            yield f"{number} "
        for _ in range(3):
            counts.append(len(trips))
            keeper.renew()
            yield "more"

    with site.app.test_request_context():
        turn = site.memory.conversation().turn(body("hi"))
        for _ in turn.stream(pieces()):
            pass
    assert counts == [2, 3, 4]
    assert len(trips) == 2 + 3 + 1


def test_each_look_at_a_running_turn_and_each_stop_is_one_round_trip(site: Site, trips: list[str]) -> None:
    scope = Scope(OWNER)
    turn = site.start().turn("hi")
    thread_id = str(turn.thread_id)
    leases.release(turn)
    del trips[:]
    assert site.plugin.stop_turn(scope, thread_id, turn.id)
    assert len(trips) == 1
    assert site.plugin.live_turns(scope, thread_id)[0].stop_wanted
    assert len(trips) == 2


def test_question_title_and_live_record_of_a_new_thread_are_one_round_trip(
    site: Site, trips: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    start_turn = site.plugin.start_turn

    def start(*arguments: t.Any, **named: t.Any) -> t.Any:
        begun.append(len(trips))
        return start_turn(*arguments, **named)

    monkeypatch.setattr(site.plugin, "start_turn", start)
    conversation = site.start("user:2")
    turn = conversation.turn("Where is my order?")
    assert len(trips) == begun[0] + 1
    assert [live.turn for live in site.plugin.live_turns(Scope("user:2"), turn.thread_id)] == [turn.id]
    thread = conversation.find_thread(str(turn.thread_id))
    assert thread is not None and thread.title == "Where is my order?"


def test_an_edit_looks_for_its_question_first(site: Site, trips: list[str]) -> None:
    conversation = site.start()
    question = conversation.history()[0]
    del trips[:]
    conversation.edit(str(question.id), "that")
    # A script of Redis tells the lines that there are, and is then given those that it is to store.
    assert len(trips) == {"sqlalchemy": 3, "redis": 4}[site.plugin.id]
