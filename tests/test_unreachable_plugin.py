"""The plugin that stands in for one that nobody can name just now."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from flask_chat_memory import StorageError
from flask_chat_memory.plugins.unreachable import unreachable
from flask_chat_memory.testing.contracts.failures import OPERATIONS
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import THREAD

CALLS: dict[str, cabc.Callable[[t.Any], object]] = {
    **OPERATIONS,
    # So that a login leaves all threads for later, and not only the one that the session names.
    "move": lambda plugin: plugin.move_threads(OWNER, STRANGER),
    "lines": lambda plugin: plugin.change_lines(OWNER, THREAD, lambda lines, last: lines),
    "hidden": lambda plugin: plugin.load_messages(OWNER, THREAD, hidden=True),
    "mark": lambda plugin: plugin.mark_message(OWNER, THREAD, "id", None),
    "search": lambda plugin: plugin.search_messages(OWNER, "text"),
    "live": lambda plugin: plugin.live_turns(OWNER, THREAD),
    "list": lambda plugin: plugin.list_threads(OWNER),
    "ping": lambda plugin: plugin.ping(),
    "usage": lambda plugin: plugin.list_usage(OWNER),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_operation_fails_with_the_cause(call: str) -> None:
    cause = ConnectionError("refused")
    with pytest.raises(StorageError, match="^the settings are away$") as caught:
        CALLS[call](unreachable("the settings are away", cause))
    assert caught.value.__cause__ is cause


def test_a_new_id_needs_no_store() -> None:
    plugin = unreachable("the settings are away", ConnectionError())
    assert plugin.create_thread_id() != plugin.create_thread_id()
