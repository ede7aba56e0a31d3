"""What the tests of encryption share."""

from __future__ import annotations

import base64
import typing as t

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory.plugins.encrypted import EncryptedPlugin

NEW, OLD, OTHER = (base64.b64encode(letter * 32).decode() for letter in (b"n", b"o", b"x"))


def encrypted(
    plugin: str | type[ChatMemoryPlugin],
    options: dict[str, t.Any],
    *,
    keys: t.Sequence[str] = (NEW, OLD),
    **common: t.Any,
) -> EncryptedPlugin:
    return EncryptedPlugin({"plugin": plugin, "keys": list(keys), "options": options, **common})


def wrapped(plugin: EncryptedPlugin) -> ChatMemoryPlugin:
    return plugin._wrapped
