"""Every operation of a plugin that takes a scope, asked by everybody who should not be answered."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import datetime as dt
import inspect
import pathlib
import typing as t

import msgspec
import pytest

from flask_chat_memory import Scope
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.records import Renewal
from flask_chat_memory.plugins.records import Thread
from flask_chat_memory.plugins.records import UsageDay
from flask_chat_memory.plugins.records import WholeThread
from flask_chat_memory.plugins.registry import BUILT_IN
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.testing.contracts.hiding import hide
from flask_chat_memory.testing.contracts.hiding import replace
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import contents
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import SAME_OWNER_OTHER_CHATBOT
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.parts import UNKNOWN
from flask_chat_memory.testing.contracts.turns import end
from flask_chat_memory.testing.contracts.turns import start

from .apps import ManualClock
from .encryption import NEW
from .server_options import options_on
from .server_options import SERVERS

Call = cabc.Callable[[AblePlugin, Scope, str], object]

EXPIRY = 1_000
DAY = UsageDay(
    chatbot="default",
    day=dt.date(2026, 1, 2),
    model=None,
    turns=1,
    input=1,
    output=1,
    cached=0,
    reasoning=0,
    total=2,
)
BY_ID: dict[str, Call] = {
    "has_thread": lambda plugin, scope, id: plugin.has_thread(scope, id),
    "load_messages": lambda plugin, scope, id: plugin.load_messages(scope, id),
    "save_messages": lambda plugin, scope, id: plugin.save_messages(scope, id, [ask("9")]),
    "delete_thread": lambda plugin, scope, id: plugin.delete_thread(scope, id),
    "append_messages": lambda plugin, scope, id: plugin.append_messages(scope, id, [answer("9")], reply_to="q-1"),
    "clear_messages": lambda plugin, scope, id: plugin.clear_messages(scope, id),
    "start_turn": lambda plugin, scope, id: start(plugin, "9", scope, id),
    "renew_turns": lambda plugin, scope, id: plugin.renew_turns([Renewal(scope, id, "2", "x")], plugin.clock() + 60),
    "stop_turn": lambda plugin, scope, id: plugin.stop_turn(scope, id, "2"),
    "end_turn": lambda plugin, scope, id: end(plugin, "2", scope, id),
    "live_turns": lambda plugin, scope, id: plugin.live_turns(scope, id),
    "find_thread": lambda plugin, scope, id: plugin.find_thread(scope, id),
    "update_thread": lambda plugin, scope, id: plugin.update_thread(scope, id, title="other", pinned=True),
    "purge_thread": lambda plugin, scope, id: plugin.purge_thread(scope, id, plugin.clock() + 1),
    "find_lines": lambda plugin, scope, id: plugin.find_lines(scope, id),
    "change_lines": lambda plugin, scope, id: replace(plugin, 1, scope, id),
    "mark_message": lambda plugin, scope, id: plugin.mark_message(scope, id, "q-1", Mark(-1)),
    "load_marks": lambda plugin, scope, id: plugin.load_marks(scope, id),
    "find_whole": lambda plugin, scope, id: plugin.find_whole(scope, id),
    "restore_thread": lambda plugin, scope, id: plugin.restore_thread(scope, whole(id), [ask("9").numbered(1)]),
}
"""The operations that name a thread."""
BY_SCOPE: dict[str, Call] = {
    "current_thread": lambda plugin, scope, _id: plugin.current_thread(scope),
    "load_current": lambda plugin, scope, _id: plugin.load_current(scope),
    "list_threads": lambda plugin, scope, _id: plugin.list_threads(scope),
    "search_messages": lambda plugin, scope, _id: plugin.search_messages(scope, "question"),
    "list_usage": lambda plugin, scope, _id: plugin.list_usage(scope),
    # Twice, for a stranger has a ledger, too, by now.
    "forget_usage": lambda plugin, scope, _id: plugin.forget_usage(scope) and plugin.forget_usage(scope),
    "restore_usage": lambda plugin, scope, _id: plugin.restore_usage(scope, [DAY]),
    "move_threads": lambda plugin, scope, _id: plugin.move_threads(scope, Scope("user:11")),
}
"""The operations that name nothing but a scope."""
MALFORMED: list[t.Any] = ["", " ", "..", "../thread-1", "thread-1\x00", "thread-*", "x" * 10_000, "\ud800"]
IN_A_FOLDER: dict[str, cabc.Callable[[pathlib.Path], tuple[str, dict[str, t.Any]]]] = {
    "in_memory": lambda folder: ("in_memory", {}),
    "sqlite": lambda folder: ("sqlalchemy", {"url": f"sqlite:///{folder}/chat.sqlite3"}),
    "file": lambda folder: ("file", {"folder": str(folder)}),
    "documents": lambda folder: ("documents", {"storage": "in_memory"}),
    "encrypted": lambda folder: ("encrypted", {"plugin": "file", "keys": [NEW], "options": {"folder": str(folder)}}),
}


@pytest.fixture(params=[*IN_A_FOLDER, *SERVERS])
def plugin(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[AblePlugin]:
    kind = request.param
    with contextlib.ExitStack() as stack:
        name, options = options_on(kind, request, stack) if kind in SERVERS else IN_A_FOLDER[kind](tmp_path)
        plugin = PluginRegistry().create(name, {"threads": "many", "expiry": EXPIRY, **options})
        stack.callback(plugin.close)
        plugin.clock = ManualClock()
        yield t.cast(AblePlugin, plugin)


def furnish(plugin: AblePlugin, scope: Scope = OWNER, thread_id: str = THREAD) -> None:
    """Make a thread with all that can be in one."""
    plugin.append_messages(scope, thread_id, exchange("1"), key="question:1")
    plugin.append_messages(scope, thread_id, exchange("3"))
    start(plugin, "2", scope, thread_id)
    plugin.update_thread(scope, thread_id, title="the secret title")
    plugin.mark_message(scope, thread_id, "q-1", Mark(1, "the secret comment"))
    hide(plugin, 3, scope=scope, thread_id=thread_id)


def whole(thread_id: str) -> WholeThread:
    return WholeThread(thread=Thread(id=thread_id, created_at=1.0, last_activity=1.0, messages=1), sequence=1)


def outcome(call: Call, plugin: AblePlugin, scope: Scope, thread_id: str) -> object:
    """Return what a call returns or raises, without the id that was asked for."""
    try:
        result = call(plugin, scope, thread_id)
    except ValueError:
        return ValueError
    if isinstance(result, Appended) and result.thread_id == thread_id:
        return msgspec.structs.replace(result, thread_id="")
    return msgspec.structs.replace(result, id="") if isinstance(result, Thread) else result


def able_to(plugin: AblePlugin, calls: dict[str, Call]) -> dict[str, Call]:
    return {name: call for name, call in calls.items() if hasattr(plugin, name)}


def told(plugin: AblePlugin, scope: Scope, thread_id: str) -> dict[str, t.Any]:
    """Return all that a plugin tells of a thread."""
    found = contents(plugin, scope, thread_id)
    del found["current"]
    return found


def test_every_operation_of_a_plugin_that_takes_a_scope_is_here() -> None:
    classes = {base for id in BUILT_IN for base in PluginRegistry().find(id).__mro__}
    operations = {
        name
        for cls in classes
        for name, function in vars(cls).items()
        if not name.startswith("_") and inspect.isfunction(function) and takes_a_scope(function)
    }
    assert operations == {*BY_ID, *BY_SCOPE}


def takes_a_scope(function: cabc.Callable[..., object]) -> bool:
    asked = (str(parameter.annotation) for parameter in inspect.signature(function).parameters.values())
    return any(annotation == "Scope" or "Renewal" in annotation for annotation in asked)


@pytest.mark.parametrize("stranger", [STRANGER, SAME_OWNER_OTHER_CHATBOT], ids=["other owner", "other chatbot"])
def test_a_stranger_learns_and_changes_nothing(plugin: AblePlugin, stranger: Scope) -> None:
    furnish(plugin)
    before, usage = contents(plugin, OWNER), plugin.list_usage(OWNER)
    for name, call in able_to(plugin, {**BY_ID, **BY_SCOPE}).items():
        known = outcome(call, plugin, stranger, THREAD)
        left = told(plugin, stranger, THREAD)
        assert "secret" not in repr((known, left)), name
        plugin.delete_thread(stranger, THREAD)
        assert known == outcome(call, plugin, stranger, UNKNOWN), name
        assert left == told(plugin, stranger, UNKNOWN), name
        plugin.delete_thread(stranger, UNKNOWN)
        assert (contents(plugin, OWNER), plugin.list_usage(OWNER)) == (before, usage), name


def test_an_unknown_or_malformed_id_reaches_no_thread(plugin: AblePlugin) -> None:
    furnish(plugin)
    before = contents(plugin, OWNER)
    for name, call in able_to(plugin, BY_ID).items():
        unknown = outcome(call, plugin, OWNER, UNKNOWN)
        plugin.delete_thread(OWNER, UNKNOWN)
        for malformed in MALFORMED:
            assert outcome(call, plugin, OWNER, malformed) in (unknown, ValueError), (name, malformed[:20])
            plugin.delete_thread(OWNER, malformed)
        assert contents(plugin, OWNER) == before, name


def test_what_is_expired_is_like_what_never_was(plugin: AblePlugin) -> None:
    clock = t.cast(ManualClock, plugin.clock)
    # A purge is the operator's, and tells what it found.
    calls = {name: call for name, call in able_to(plugin, BY_ID).items() if name != "purge_thread"}
    for name in calls:
        furnish(plugin, OWNER, f"expired-{name}")
    clock.advance(EXPIRY + 31)
    assert plugin.list_threads(OWNER) == []
    assert plugin.search_messages(OWNER, "question").found == []
    assert plugin.load_current(OWNER) == (None, [])
    for name, call in calls.items():
        expired, unknown = f"expired-{name}", f"unknown-{name}"
        assert outcome(call, plugin, OWNER, expired) == outcome(call, plugin, OWNER, unknown), name
        assert told(plugin, OWNER, expired) == told(plugin, OWNER, unknown), name


@pytest.mark.parametrize("name", BY_ID)
def test_the_owner_is_answered(name: str) -> None:
    """What nobody else is told or can change, the owner is told or can change."""
    plugin = t.cast(AblePlugin, InMemoryPlugin({"threads": "many"}, clock=ManualClock()))
    furnish(plugin)
    if name == "purge_thread":
        end(plugin, "2")
    before = contents(plugin, OWNER)
    own = outcome(BY_ID[name], plugin, OWNER, THREAD)
    changed = contents(plugin, OWNER) != before
    assert changed or own != outcome(BY_ID[name], plugin, OWNER, UNKNOWN)


@pytest.mark.parametrize("name", BY_SCOPE)
def test_the_owner_is_answered_without_an_id(name: str) -> None:
    plugin = t.cast(AblePlugin, InMemoryPlugin({"threads": "one"}, clock=ManualClock()))
    furnish(plugin)
    end(plugin, "2")
    before = contents(plugin, OWNER), plugin.list_usage(OWNER)
    own = BY_SCOPE[name](plugin, OWNER, "")
    changed = (contents(plugin, OWNER), plugin.list_usage(OWNER)) != before
    assert changed or own != BY_SCOPE[name](plugin, STRANGER, "")
