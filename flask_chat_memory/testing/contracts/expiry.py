"""Threads that nobody has written to for long."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from ...plugins.base import ChatMemoryPlugin
from ...plugins.records import Appended
from ..clock import ManualClock
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .scopes import Operation
from .scopes import OPERATIONS

EXPIRY = 100
WRITES: dict[str, Operation] = {
    "append": lambda plugin, scope, id: plugin.append_messages(scope, id, [ask("2")]),
    "save": lambda plugin, scope, id: plugin.save_messages(scope, id, [ask("2")]),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
}
OTHERS: dict[str, Operation] = {
    "has": OPERATIONS["has"],
    "load": OPERATIONS["load"],
    "append nothing": OPERATIONS["append nothing"],
    "append a known key": OPERATIONS["append a known key"],
    "drop an answer": lambda plugin, scope, id: plugin.append_messages(scope, id, [answer("9")], reply_to="q-9"),
}


def with_clock(make_plugin: MakePlugin, **options: t.Any) -> tuple[ChatMemoryPlugin, ManualClock]:
    plugin = make_plugin(**options)
    clock = ManualClock()
    plugin.clock = clock
    return plugin, clock


class ExpiryContract:
    """``options.expiry``: sliding, and what is expired is gone in every operation before any purge."""

    @pytest.fixture
    def expired(self, make_plugin: MakePlugin) -> cabc.Iterator[AblePlugin]:
        plugin, clock = with_clock(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        plugin.append_messages(OWNER, THREAD, [ask("1b")])
        clock.advance(EXPIRY + 0.5)
        yield t.cast(AblePlugin, plugin)

    def test_a_thread_at_exactly_the_limit_is_kept(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        clock.advance(EXPIRY)
        assert plugin.has_thread(OWNER, THREAD)
        assert len(plugin.load_messages(OWNER, THREAD)) == 2
        clock.advance(0.001)
        assert not plugin.has_thread(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []

    def test_without_an_expiry_a_thread_stays(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, expiry=None)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        clock.advance(100 * 365 * 86_400)
        assert len(plugin.load_messages(OWNER, THREAD)) == 2

    @pytest.mark.parametrize("operation", WRITES)
    def test_a_write_is_activity(self, make_plugin: MakePlugin, operation: str) -> None:
        plugin, clock = with_clock(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        clock.advance(60)
        WRITES[operation](t.cast(AblePlugin, plugin), OWNER, THREAD)
        clock.advance(60)
        assert plugin.has_thread(OWNER, THREAD)

    @pytest.mark.parametrize("operation", OTHERS)
    def test_what_writes_nothing_is_no_activity(self, make_plugin: MakePlugin, operation: str) -> None:
        plugin, clock = with_clock(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        clock.advance(60)
        OTHERS[operation](t.cast(AblePlugin, plugin), OWNER, THREAD)
        clock.advance(60)
        assert not plugin.has_thread(OWNER, THREAD)

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_an_expired_id_is_like_an_unknown_one(self, expired: AblePlugin, operation: str) -> None:
        expected = OPERATIONS[operation](expired, STRANGER, THREAD)
        found = OPERATIONS[operation](expired, OWNER, THREAD)
        if isinstance(expected, Appended):
            # Whether an expired thread that comes back is numbered on is the plugin's affair.
            assert isinstance(found, Appended)
            assert found.repeated is expected.repeated is False
        else:
            assert found == expected
        assert texts(expired.load_messages(OWNER, THREAD)) == texts(expired.load_messages(STRANGER, THREAD))
        assert expired.has_thread(OWNER, THREAD) == expired.has_thread(STRANGER, THREAD)

    def test_an_append_deletes_first_what_the_expired_thread_held(self, expired: AblePlugin) -> None:
        appended = expired.append_messages(OWNER, THREAD, [ask("2")], key="question:1")
        assert appended is not None
        assert not appended.repeated
        assert texts(expired.load_messages(OWNER, THREAD)) == ["question 2"]
        again = expired.append_messages(OWNER, THREAD, [ask("2")], key="question:1")
        assert again == Appended(THREAD, appended.sequence, repeated=True)

    def test_a_late_answer_does_not_bring_an_expired_thread_back(self, expired: AblePlugin) -> None:
        assert expired.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert not expired.has_thread(OWNER, THREAD)
        expired.append_messages(OWNER, THREAD, [ask("2")])
        assert expired.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert texts(expired.load_messages(OWNER, THREAD)) == ["question 2"]

    def test_the_threads_of_others_expire_by_themselves(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, expiry=EXPIRY, threads="many")
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        clock.advance(60)
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        clock.advance(60)
        plugin.delete_thread(OWNER, THREAD)
        assert not plugin.has_thread(OWNER, THREAD)
        assert contents(plugin, OWNER, "thread-2")["known"]
