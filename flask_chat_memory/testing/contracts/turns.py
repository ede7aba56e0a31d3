"""Turns as the contracts start and end them."""

from __future__ import annotations

import typing as t

from ...plugins.abilities import KeepsLiveTurns
from ...plugins.records import Appended
from ...plugins.records import LiveTurn
from ...plugins.records import Scope
from ..clock import ManualClock
from .expiry import with_clock
from .parts import able
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import MakePlugin
from .parts import OWNER
from .parts import THREAD
from .scopes import Operation

LEASE = 30.0


def record(plugin: AblePlugin, name: str, lease: float = LEASE) -> LiveTurn:
    """Return the live record of the turn ``name``, with a lease of so many seconds from now."""
    return LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock() + lease)


def start(
    plugin: AblePlugin,
    name: str,
    scope: Scope = OWNER,
    thread_id: str = THREAD,
    *,
    title: str | None = None,
    **replacing: t.Any,
) -> Appended:
    live, key = record(plugin, name), f"question:{name}"
    return plugin.start_turn(scope, thread_id, ask(name), key=key, live=live, title=title, **replacing)


def end(plugin: AblePlugin, name: str, scope: Scope = OWNER, thread_id: str = THREAD) -> Appended | None:
    return plugin.end_turn(scope, thread_id, name, [answer(name)], key=f"answer:{name}", reply_to=f"q-{name}")


REMOVALS: dict[str, Operation] = {
    "delete": lambda plugin, scope, id: plugin.delete_thread(scope, id),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
}


def with_live_turns(make_plugin: MakePlugin, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    plugin, clock = with_clock(make_plugin, **options)
    return able(plugin, KeepsLiveTurns), clock
