from __future__ import annotations

import collections.abc as cabc
import gc
import os
import signal
import threading
import typing as t
import warnings

import pytest

from flask_chat_memory import KeepsLiveTurns
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.live import LEASE
from flask_chat_memory.live import LeaseKeeper
from flask_chat_memory.live import leases

from .conversations import OWNER


class Plugin:
    """Notes which leases were renewed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.renewed: list[tuple[set[str], float]] = []
        self.told: list[dict[str, str | None]] = []
        self.unwanted: set[str] = set()
        self.called = threading.Event()

    def clock(self) -> float:
        return 1000.0

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        self.renewed.append(({renewal.turn for renewal in turns}, lease))
        self.told.append({renewal.turn: renewal.text for renewal in turns})
        self.called.set()
        if self.error:
            raise self.error
        return self.unwanted


class Running:
    def __init__(self, plugin: Plugin, name: str, is_followed: bool = False) -> None:
        self._plugin = plugin
        self._name = name
        self.is_followed = is_followed
        self.text_so_far = ""
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1

    @property
    def lease(self) -> tuple[KeepsLiveTurns, Scope, str, str] | None:
        return t.cast(KeepsLiveTurns, self._plugin), Scope(OWNER), "thread", self._name


@pytest.fixture
def keeper() -> LeaseKeeper:
    return LeaseKeeper(interval=3600)


def test_all_leases_are_renewed_with_one_call_a_plugin(keeper: LeaseKeeper) -> None:
    first, second = Plugin(), Plugin()
    turns = [Running(first, "a"), Running(first, "b"), Running(second, "c")]
    for turn in turns:
        keeper.hold(turn)
    keeper.renew()
    assert first.renewed == [({"a", "b"}, 1000.0 + LEASE)]
    assert second.renewed == [({"c"}, 1000.0 + LEASE)]


def test_a_turn_that_is_over_is_not_renewed(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    over, running = Running(plugin, "over"), Running(plugin, "running")
    keeper.hold(over)
    keeper.hold(running)
    keeper.release(over)
    keeper.release(over)
    keeper.renew()
    assert plugin.renewed == [({"running"}, 1000.0 + LEASE)]


def test_a_text_is_told_when_it_has_changed(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    turn = Running(plugin, "a")
    keeper.hold(turn)
    for text in ("", "as far", "as far", "as far as this"):
        turn.text_so_far = text
        keeper.renew()
    assert [told["a"] for told in plugin.told] == [None, "as far", None, "as far as this"]


def test_a_text_that_could_not_be_told_is_told_again(keeper: LeaseKeeper) -> None:
    plugin = Plugin(StorageError("down"))
    turn = Running(plugin, "a")
    turn.text_so_far = "as far"
    keeper.hold(turn)
    keeper.renew()
    plugin.error = None
    keeper.renew()
    assert [told["a"] for told in plugin.told] == ["as far", "as far"]


def test_between_two_renewals_only_news_of_a_turn_that_is_followed_are_told(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    followed, other = Running(plugin, "followed", is_followed=True), Running(plugin, "other")
    keeper.hold(followed)
    keeper.hold(other)
    keeper.renew(only_news=True)
    assert plugin.told == []
    followed.text_so_far = other.text_so_far = "news"
    keeper.renew(only_news=True)
    keeper.renew(only_news=True)
    assert plugin.told == [{"followed": "news"}]


def test_a_turn_hears_each_time_that_it_is_to_stop(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    unwanted, other = Running(plugin, "unwanted"), Running(plugin, "other")
    keeper.hold(unwanted)
    keeper.hold(other)
    keeper.renew()
    plugin.unwanted = {"unwanted"}
    keeper.renew()
    keeper.renew()
    assert (unwanted.stops, other.stops) == (2, 0)


def test_a_turn_that_was_dropped_is_left_to_its_lease(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    dropped: Running | None = Running(plugin, "dropped")
    assert dropped is not None
    keeper.hold(dropped)
    dropped = None
    gc.collect()
    keeper.renew()
    assert plugin.renewed == []


@pytest.mark.parametrize("error", [StorageError("down"), RuntimeError("a driver's own")])
def test_a_store_that_is_down_does_not_stop_the_others(error: Exception, keeper: LeaseKeeper) -> None:
    down, up = Plugin(error), Plugin()
    turns = [Running(down, "a"), Running(up, "b"), Running(down, "c")]
    for turn in turns:
        keeper.hold(turn)
    keeper.renew()
    keeper.renew()
    assert len(down.renewed) == len(up.renewed) == 2


def test_leases_are_renewed_without_being_asked() -> None:
    keeper = LeaseKeeper(interval=0.001)
    for _ in range(3):
        plugin = Plugin()
        turn = Running(plugin, "a")
        keeper.hold(turn)
        assert plugin.called.wait(10)
        keeper.release(turn)
        wait_until(lambda: keeper._idle)


def wait_until(condition: cabc.Callable[[], bool]) -> None:
    pause = threading.Event()
    assert any(condition() or pause.wait(0.001) for _ in range(10_000))


def test_a_child_process_forgets_the_turns_of_its_parent(keeper: LeaseKeeper) -> None:
    plugin = Plugin()
    turn = Running(plugin, "of the parent")
    keeper.hold(turn)
    keeper.forget()
    keeper.renew()
    assert plugin.renewed == []
    own = Running(plugin, "of the child")
    keeper.hold(own)
    keeper.renew()
    assert plugin.renewed == [({"of the child"}, 1000.0 + LEASE)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_renews_its_own_turns_alone() -> None:
    parents = Plugin()
    turn = Running(parents, "of the parent")
    leases.hold(turn)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            code = 1
            # A child that waits for a lock of its parent waits for ever.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            try:
                parents.renewed.clear()
                own = Plugin()
                kept = Running(own, "of the child")
                leases.hold(kept)
                leases.renew()
                threads = {thread.name for thread in threading.enumerate()}
                code = 0 if own.renewed and not parents.renewed and "chat-memory-leases" in threads else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        leases.release(turn)
