from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import threading
import typing as t

import pytest

from flask_chat_memory import Renewal
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.live import LEASE
from flask_chat_memory.live import leases

from .apps import ManualClock
from .conversations import ask
from .conversations import body
from .conversations import BUILT_IN
from .conversations import FragilePlugin
from .conversations import OWNER
from .conversations import Site
from .conversations import told
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def clock(site: Site) -> ManualClock:
    clock = ManualClock()
    site.plugin.clock = clock
    return clock


def test_a_turn_that_runs_is_left_alone(site: Site, clock: ManualClock) -> None:
    turn = site.start().turn("hi")
    clock.advance(LEASE - 1)
    page = site.start().page(10)
    assert told(page.messages) == [("user", "hi", None)]
    assert page.running == {turn.id}
    site.start().turn("meanwhile")
    turn.finish("hello")
    assert told(site.start().history())[:2] == [("user", "hi", None), ("assistant", "hello", "complete")]


def test_a_turn_whose_lease_is_renewed_stays_alive(site: Site, clock: ManualClock) -> None:
    turn = site.start().turn("hi")
    for _ in range(5):
        clock.advance(LEASE - 1)
        leases.renew()
    assert site.start().page(10).running == {turn.id}


@pytest.mark.parametrize("down", [False, True])
def test_a_turn_that_has_ended_is_renewed_no_more(down: bool, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin)
    turn = site.start().turn("hi")
    site.plugin.down = down
    with contextlib.suppress(StorageError):
        turn.finish("hello")
    renewed: list[str] = []

    def note(turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        renewed.extend(turn.turn for turn in turns)
        return set()

    site.plugin.renew_turns = note
    leases.renew()
    assert turn.id not in renewed


@pytest.mark.parametrize("read", ["page", "turn", "repeat"])
def test_the_next_reader_ends_a_dead_turn_once(read: str, site: Site, clock: ManualClock) -> None:
    turn = site.start().turn(body("hi", key="k"))
    leases.release(turn)
    clock.advance(LEASE)
    for _ in range(3):
        if read == "page":
            page = site.start().page(10)
            assert told(page.messages)[1] == ("assistant", None, "partial")
            assert page.running == frozenset()
        elif read == "repeat":
            answer = site.start().turn(body("hi", key="k")).answer
            assert answer is not None
            assert told([answer]) == [("assistant", None, "partial")]
        else:
            ask(site.start(), "next")
    stored = site.stored(turn.thread_id)
    assert told(stored)[:2] == [("user", "hi", None), ("assistant", None, "partial")]
    assert len(stored) == (8 if read == "turn" else 2)
    assert (stored[1].id, stored[1].turn) == (turn.answer_id, turn.id)
    with pytest.raises(StorageError, match="taken for dead"):
        turn.finish("from beyond")
    assert "from beyond" not in [message.text for message in site.stored(turn.thread_id)]
    assert site.plugin.live_turns(Scope(OWNER), turn.thread_id) == []


def test_a_dead_turn_keeps_what_it_told(site: Site, clock: ManualClock) -> None:
    turn = site.start().turn("hi")
    stream = turn.stream(["as far ", "as this", "lost"])
    assert [next(stream), next(stream)] == ["as far ", "as this"]
    leases.renew()
    leases.release(turn)
    clock.advance(LEASE)
    assert told(site.start().page(10).messages)[1] == ("assistant", "as far as this", "partial")
    assert told(site.start().history())[1] == ("assistant", "as far as this", "partial")


def test_a_dead_turn_is_ended_beside_one_that_runs(site: Site, clock: ManualClock) -> None:
    dead = site.start().turn("dead")
    leases.release(dead)
    clock.advance(LEASE - 1)
    running = site.start().turn("running")
    clock.advance(1)
    page = site.start().page(10)
    assert page.running == {running.id}
    assert told(page.messages) == [("user", "dead", None), ("assistant", None, "partial"), ("user", "running", None)]


def test_a_dead_turn_is_no_part_of_what_the_model_sees(site: Site, clock: ManualClock) -> None:
    leases.release(site.start().turn("dead"))
    clock.advance(LEASE)
    assert site.start().turn("next").messages == [{"role": "user", "content": "dead\n\nnext"}]


def test_a_page_without_open_questions_asks_for_no_live_turns(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(site.start(), "hi")

    def fail(*_: object) -> t.NoReturn:
        raise AssertionError("asked")

    monkeypatch.setattr(site.plugin, "live_turns", fail)
    assert len(site.start().page(10).messages) == 2


def test_a_plugin_that_keeps_no_live_turns_shows_the_question(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FiveMethodsPlugin)
    conversation = site.start()
    turn = conversation.turn(body("hi", key="k"))
    assert told(conversation.page(10).messages) == [("user", "hi", None)]
    with pytest.raises(RequestRefused):
        conversation.turn(body("hi", key="k"))
    turn.finish("hello")
    assert len(conversation.page(10).messages) == 2


def test_two_readers_end_a_dead_turn_once(tmp_path: pathlib.Path) -> None:
    sites = [Site(tmp_path, "sqlalchemy") for _ in range(3)]
    turn = sites[0].start().turn("hi")
    leases.release(turn)
    later = sites[0].plugin.clock() + 2 * LEASE
    barrier = threading.Barrier(3)

    def read(site: Site) -> None:
        site.plugin.clock = lambda: later
        conversation = site.start()
        barrier.wait(10)
        conversation.page(10)

    threads = [threading.Thread(target=read, args=(site,)) for site in sites]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert told(sites[0].stored(turn.thread_id)) == [("user", "hi", None), ("assistant", None, "partial")]
