"""Thread ids that a visitor might send."""

from __future__ import annotations

import typing as t

import pytest

from ...plugins.records import Appended
from ...plugins.rules import MAX_THREAD_ID
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import texts
from .parts import THREAD

IMPOSSIBLE: dict[str, t.Any] = {
    "empty": "",
    "long": "x" * (MAX_THREAD_ID + 1),
    "very long": "x" * 10_000,
    "nul": "thread-1\0",
    "surrogate": "\ud800",
    "none": None,
    "number": 7,
    "list": ["thread-1"],
}
LIKE_ONE_ANOTHER = [
    *("ab", "abc", "AB", " ab", "ab ", "a*", "a_", "a%", "a?", "[ab]", "{ab}", "a:b", "a\nb", "a\\b"),
    *("../../x", "/etc/passwd", "a/../b", "a\\..\\b", "C:x", "..", ".", "CON", "x.json", "x" * MAX_THREAD_ID),
    *("x' || '1'=='1", "'; DROP TABLE message; --", 'a"b', "user:1", "default"),
    *("é", "e\u0301", "\u212b", "Å", "ı", "İ", "🙂", "你好"),
]


class ThreadIdContract:
    """Ids are opaque: no two meet, and what cannot be one is unknown."""

    @pytest.mark.parametrize("thread_id", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
    def test_what_cannot_be_an_id_is_unknown_and_never_stored(self, make_plugin: MakePlugin, thread_id: t.Any) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)
        assert plugin.has_thread(OWNER, thread_id) is False
        assert plugin.load_messages(OWNER, thread_id) == []
        assert plugin.delete_thread(OWNER, thread_id) is False
        plugin.clear_messages(OWNER, thread_id)
        with pytest.raises(ValueError):
            plugin.append_messages(OWNER, thread_id, [ask("2")])
        with pytest.raises(ValueError):
            plugin.save_messages(OWNER, thread_id, [ask("2")])
        assert plugin.has_thread(OWNER, thread_id) is False
        assert contents(plugin, OWNER) == before

    def test_ids_that_resemble_each_other_never_share_a_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(threads="many")
        for place, thread_id in enumerate(LIKE_ONE_ANOTHER):
            assert not plugin.has_thread(OWNER, thread_id)
            assert plugin.append_messages(OWNER, thread_id, [ask(str(place))], key="k") == Appended(thread_id, 1)
        assert plugin.delete_thread(OWNER, "ab")
        assert plugin.delete_thread(OWNER, "a*")
        assert plugin.delete_thread(OWNER, "a%")
        for place, thread_id in enumerate(LIKE_ONE_ANOTHER):
            expected = [] if thread_id in ("ab", "a*", "a%") else [f"question {place}"]
            assert texts(plugin.load_messages(OWNER, thread_id)) == expected
