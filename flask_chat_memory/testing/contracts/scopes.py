"""Nobody reaches what belongs to somebody else."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import typing as t

import msgspec
import pytest

from ...plugins.abilities import KeepsLiveTurns
from ...plugins.base import ChatMemoryPlugin
from ...plugins.records import Appended
from ...plugins.records import LiveTurn
from ...plugins.records import Scope
from ..clock import ManualClock
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import SAME_OWNER_OTHER_CHATBOT
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN

Operation = cabc.Callable[[AblePlugin, Scope, str], object]

INTRUDERS = [STRANGER, SAME_OWNER_OTHER_CHATBOT]
OPERATIONS: dict[str, Operation] = {
    "has": lambda plugin, scope, id: plugin.has_thread(scope, id),
    "load": lambda plugin, scope, id: plugin.load_messages(scope, id),
    "load before": lambda plugin, scope, id: plugin.load_messages(scope, id, limit=5, before=3),
    "load after": lambda plugin, scope, id: plugin.load_messages(scope, id, limit=5, after=0),
    "save": lambda plugin, scope, id: plugin.save_messages(scope, id, [ask("intruder")]),
    "save nothing": lambda plugin, scope, id: plugin.save_messages(scope, id, []),
    "append": lambda plugin, scope, id: plugin.append_messages(scope, id, [ask("intruder")]),
    "append nothing": lambda plugin, scope, id: plugin.append_messages(scope, id, []),
    "append a known key": lambda plugin, scope, id: plugin.append_messages(scope, id, [ask("1")], key="question:1"),
    "append an answer": lambda plugin, scope, id: plugin.append_messages(scope, id, [answer("1")], reply_to="q-1"),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
    "delete": lambda plugin, scope, id: plugin.delete_thread(scope, id),
}
LIKE_ONE_ANOTHER = [
    *(Scope(owner) for owner in ("user:1", "user:10", "user:", "USER:1", "user:1 ", "user:*", "user:_", "user:%")),
    *(Scope(owner) for owner in ("user:é", "user:e\u0301", "user:１", "user:ß", "user:ss")),
    *(Scope("user:1", chatbot) for chatbot in ("defaul", "default2", "Default")),
    Scope("a", "b:c"),
    Scope("a:b", "c"),
    Scope("ab", "c"),
    Scope("a", "bc"),
]


def store_the_secret(plugin: ChatMemoryPlugin) -> None:
    plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
    plugin.append_messages(OWNER, THREAD, [answer("0")], key="answer:0")


def check_confined(make_plugin: MakePlugin, intruder: Scope, operation: Operation) -> None:
    """Check that an operation answers alike for somebody else's and for an unknown id, and changes nothing there."""
    plugin = t.cast(AblePlugin, make_plugin())
    plugin.clock = ManualClock()
    store_the_secret(plugin)
    if isinstance(plugin, KeepsLiveTurns):
        live = LiveTurn("2", "q-2", "a-2", lease=plugin.clock() + 30)
        plugin.start_turn(OWNER, THREAD, ask("2"), key="question:2", live=live)
    before = contents(plugin, OWNER)
    with_the_secret_id = operation(plugin, intruder, THREAD)
    assert contents(plugin, OWNER) == before
    left_with_the_secret_id = contents(plugin, intruder, THREAD)
    plugin.delete_thread(intruder, THREAD)
    with_an_unknown_id = operation(plugin, intruder, UNKNOWN)
    assert contents(plugin, OWNER) == before
    left_with_an_unknown_id = contents(plugin, intruder, UNKNOWN)
    assert _without_id(with_the_secret_id) == _without_id(with_an_unknown_id)
    assert _without_id(left_with_the_secret_id) == _without_id(left_with_an_unknown_id)


def _without_id(result: object) -> object:
    if isinstance(result, Appended):
        assert result.thread_id in (THREAD, UNKNOWN)
        return msgspec.structs.replace(result, thread_id="")
    if isinstance(result, dict) and result.get("current") in (THREAD, UNKNOWN):
        return {**result, "current": ""}
    return result


class ScopeContract:
    """Law 1: every operation is confined to its scope by the store itself."""

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_the_id_of_somebody_else_is_like_an_unknown_one(
        self, make_plugin: MakePlugin, intruder: Scope, operation: str
    ) -> None:
        check_confined(make_plugin, intruder, OPERATIONS[operation])

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_who_has_a_thread_gets_no_other_by_knowing_its_id(
        self, make_plugin: MakePlugin, intruder: Scope, operation: str
    ) -> None:
        plugin = t.cast(AblePlugin, make_plugin(threads="many"))
        store_the_secret(plugin)
        plugin.append_messages(intruder, "thread-2", exchange("own"))
        before = contents(plugin, OWNER)
        result = OPERATIONS[operation](plugin, intruder, THREAD)
        assert not isinstance(result, Appended) or not result.repeated
        assert "question 1" not in texts(plugin.load_messages(intruder, THREAD))[:-1]
        assert texts(plugin.load_messages(intruder, "thread-2")) == ["question own", "answer own"]
        assert contents(plugin, OWNER) == before

    def test_two_owners_with_the_same_thread_id_have_two_threads(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, "default", exchange("1"))
        plugin.append_messages(STRANGER, "default", exchange("2"))
        assert texts(plugin.load_messages(OWNER, "default")) == ["question 1", "answer 1"]
        assert texts(plugin.load_messages(STRANGER, "default")) == ["question 2", "answer 2"]
        plugin.delete_thread(OWNER, "default")
        assert texts(plugin.load_messages(STRANGER, "default")) == ["question 2", "answer 2"]

    def test_scopes_with_similar_names_share_nothing(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        for place, scope in enumerate(LIKE_ONE_ANOTHER):
            assert not plugin.has_thread(scope, THREAD)
            assert plugin.append_messages(scope, THREAD, exchange(str(place)), key="k") == Appended(THREAD, 1)
        plugin.delete_thread(LIKE_ONE_ANOTHER[0], THREAD)
        plugin.clear_messages(LIKE_ONE_ANOTHER[1], THREAD)
        for place, scope in itertools.islice(enumerate(LIKE_ONE_ANOTHER), 2, None):
            assert texts(plugin.load_messages(scope, THREAD)) == [f"question {place}", f"answer {place}"]
