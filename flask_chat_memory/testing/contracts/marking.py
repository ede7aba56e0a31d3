"""What people think of messages."""

from __future__ import annotations

import functools
import typing as t

import pytest

from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import HidesMessages
from ...plugins.abilities import MarksMessages
from ...plugins.abilities import MovesThreads
from ...plugins.records import Mark
from ...plugins.records import Scope
from .expiry import EXPIRY
from .hiding import replace
from .hiding import show
from .listing import with_ability
from .moving import Relabel
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import THREAD
from .parts import together
from .parts import UNKNOWN
from .scopes import check_confined
from .scopes import INTRUDERS
from .scopes import Operation

GOOD = Mark(1, "Größe 漢字 😀 <b>'\";--\nand more")
BAD = Mark(-1)
OPERATIONS: dict[str, Operation] = {
    "mark": lambda plugin, scope, id: plugin.mark_message(scope, id, "q-1", BAD),
    "unmark": lambda plugin, scope, id: plugin.mark_message(scope, id, "q-1", None),
    "marks": lambda plugin, scope, id: plugin.load_marks(scope, id),
}
REMOVALS: dict[str, Operation] = {
    "delete": lambda plugin, scope, id: plugin.delete_thread(scope, id),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
    "save": lambda plugin, scope, id: plugin.save_messages(scope, id, exchange("2")),
    "trim": lambda plugin, scope, id: plugin.append_messages(scope, id, [*exchange("2"), *exchange("3")]),
    "expire": lambda plugin, scope, id: plugin.clock.advance(EXPIRY + 1),  # type: ignore[attr-defined]
}


class MarksMessagesContract:
    """The ability :class:`MarksMessages`."""

    def test_a_mark_is_kept_until_there_is_another_or_none(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, MarksMessages)
        assert plugin.load_marks(OWNER, THREAD) == {}
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        plugin.append_messages(OWNER, "thread-2", exchange("1"))
        assert plugin.mark_message(OWNER, THREAD, "a-1", GOOD) is True
        assert plugin.mark_message(OWNER, THREAD, "a-2", BAD) is True
        assert plugin.load_marks(OWNER, THREAD) == {"a-1": GOOD, "a-2": BAD}
        plugin.append_messages(OWNER, THREAD, exchange("3"))
        before = plugin.find_thread(OWNER, THREAD) if isinstance(plugin, DescribesThreads) else None
        clock.advance(5)
        comment = Mark(comment="no rating")
        assert plugin.mark_message(OWNER, THREAD, "a-1", BAD) is True
        assert plugin.mark_message(OWNER, THREAD, "a-2", comment) is True
        assert plugin.load_marks(OWNER, THREAD) == {"a-1": BAD, "a-2": comment}
        for _ in range(2):
            assert plugin.mark_message(OWNER, THREAD, "a-1", None) is True
        assert plugin.load_marks(OWNER, THREAD) == {"a-2": comment}
        assert plugin.load_marks(OWNER, "thread-2") == {}
        if isinstance(plugin, DescribesThreads):
            assert plugin.find_thread(OWNER, THREAD) == before

    def test_a_mark_is_made_storable_or_refused(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.mark_message(OWNER, THREAD, "q-1", Mark(1, "  \n"))
        plugin.mark_message(OWNER, THREAD, "a-1", Mark(1, " a\0b\ud800 "))
        expected = {"q-1": Mark(1), "a-1": Mark(1, "a\ufffdb\ufffd")}
        assert plugin.load_marks(OWNER, THREAD) == expected
        for wrong in (Mark(t.cast(t.Any, 2)), Mark(t.cast(t.Any, True)), Mark(comment="x" * 2001)):
            with pytest.raises(ValueError):
                plugin.mark_message(OWNER, THREAD, "a-1", wrong)
        assert plugin.load_marks(OWNER, THREAD) == expected
        longest = Mark(comment="😀" * 2000)
        assert plugin.mark_message(OWNER, THREAD, "a-1", longest)
        assert plugin.load_marks(OWNER, THREAD)["a-1"] == longest

    def test_only_a_message_of_the_thread_is_marked(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        for thread_id, id in ((THREAD, "a-2"), (THREAD, "A-1"), (THREAD, ""), (UNKNOWN, "a-1"), ("", "a-1")):
            assert plugin.mark_message(OWNER, thread_id, id, GOOD) is False
            assert plugin.mark_message(OWNER, thread_id, id, None) is False
            assert plugin.load_marks(OWNER, thread_id) == {}
        assert not plugin.has_thread(OWNER, UNKNOWN)

    def test_marks_at_once_are_all_kept(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages)
        plugin.append_messages(OWNER, THREAD, [ask(str(n)) for n in range(8)])
        marks = {f"q-{n}": Mark(1, str(n)) for n in range(8)}
        together([functools.partial(plugin.mark_message, OWNER, THREAD, *place) for place in marks.items()])
        assert plugin.load_marks(OWNER, THREAD) == marks

    @pytest.mark.parametrize("removal", REMOVALS)
    def test_a_mark_goes_with_its_message(self, make_plugin: MakePlugin, removal: str) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages, expiry=EXPIRY, max_messages=4)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.mark_message(OWNER, THREAD, "a-1", GOOD)
        REMOVALS[removal](plugin, OWNER, THREAD)
        assert plugin.load_marks(OWNER, THREAD) == {}
        assert plugin.mark_message(OWNER, THREAD, "a-1", GOOD) is False
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.load_marks(OWNER, THREAD) == {}

    def test_a_message_that_is_hidden_can_be_marked(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages)
        if not isinstance(plugin, HidesMessages):
            pytest.skip("the plugin hides no messages")
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        replace(plugin, 1)
        assert plugin.mark_message(OWNER, THREAD, "a-1", GOOD) is True
        assert plugin.load_marks(OWNER, THREAD) == {"a-1": GOOD}
        show(plugin, 1)
        assert plugin.load_marks(OWNER, THREAD) == {"a-1": GOOD}

    def test_marks_move_with_their_thread(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages)
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        plugin.append_messages(STRANGER, THREAD, exchange("1"))
        plugin.mark_message(STRANGER, THREAD, "q-1", BAD)
        plugin.mark_message(STRANGER, THREAD, "a-1", GOOD)
        assert plugin.move_threads(STRANGER, OWNER, reseal=Relabel()) == 0
        told = Mark(1, f"{GOOD.comment} on a-1, from {THREAD} to {THREAD}")
        assert plugin.load_marks(OWNER, THREAD) == {"q-1": BAD, "a-1": told}
        assert plugin.load_marks(STRANGER, THREAD) == {}

    def test_marks_of_what_is_visible_are_added_to_a_thread_that_is_there(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, MarksMessages, threads="one")
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        plugin.append_messages(OWNER, "thread-2", exchange("own"))
        plugin.mark_message(OWNER, "thread-2", "a-own", GOOD)
        plugin.append_messages(STRANGER, THREAD, [*exchange("1"), ask("2")])
        marks = {"a-1": GOOD, "q-1": BAD, "q-2": BAD}
        for id, mark in marks.items():
            plugin.mark_message(STRANGER, THREAD, id, mark)
        if isinstance(plugin, HidesMessages):
            replace(plugin, 3, STRANGER)
            del marks["q-2"]
        assert plugin.move_threads(STRANGER, OWNER) == 0
        assert plugin.load_marks(OWNER, "thread-2") == {"a-own": GOOD, **marks}
        plugin.append_messages(STRANGER, THREAD, [answer("2")])
        assert plugin.load_marks(STRANGER, THREAD) == {}

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_the_marks_of_somebody_else_are_like_those_of_unknown_threads(
        self, make_plugin: MakePlugin, intruder: Scope, operation: str
    ) -> None:
        check_confined(make_plugin, intruder, OPERATIONS[operation])
