"""The plugin that stands in for one that nobody can name just now."""

from __future__ import annotations

import collections.abc as cabc

import pytest

from flask_chat_memory import StorageError
from flask_chat_memory.plugins.unreachable import UnreachablePlugin
from flask_chat_memory.testing.contracts.failures import OPERATIONS
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER

CALLS: dict[str, cabc.Callable[[UnreachablePlugin], object]] = {
    **OPERATIONS,
    # So that a login leaves all threads for later, and not only the one that the session names.
    "move": lambda plugin: plugin.move_threads(OWNER, STRANGER),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_operation_fails_with_the_cause(call: str) -> None:
    cause = ConnectionError("refused")
    with pytest.raises(StorageError, match="^the settings are away$") as caught:
        CALLS[call](UnreachablePlugin("the settings are away", cause))
    assert caught.value.__cause__ is cause


def test_a_new_id_needs_no_store() -> None:
    plugin = UnreachablePlugin("the settings are away", ConnectionError())
    assert plugin.create_thread_id() != plugin.create_thread_id()
