"""Messages in two parts: the outline, which is what a store needs to know of one, and what was said."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec
from msgspec import UNSET

from .fields import encode
from .fields import Fields
from .fields import KEYS
from .fields import Known
from .message import ChatMessage

_SAID = ("content", "tool_calls", "name", "metadata")
_new = object.__new__
_replace = msgspec.structs.replace
_decode = msgspec.json.Decoder(str | dict[str, t.Any]).decode


class OutlinedMessage(ChatMessage):
    """A message whose content says nothing to the plugin that keeps it."""


class Outlines:
    """The outlines of messages, to be put together with something, once."""

    def __init__(self, messages: cabc.Sequence[ChatMessage]) -> None:
        self._messages = messages
        self._known = [
            _replace(message._known, content=UNSET, tool_calls=UNSET, name=UNSET, metadata=UNSET)
            for message in messages
        ]

    def texts(self) -> list[bytes]:
        """Return each outline as JSON text."""
        return [*map(encode, self._known)]

    def said(self) -> list[bytes]:
        """Return what each outline leaves out, as JSON text: a string, which is the content, or an object."""
        return [encode(_said(message._known, message._others)) for message in self._messages]

    def contents(self) -> list[object]:
        """Return what the messages had for content."""
        return [message._known.content for message in self._messages]

    def with_contents(self, contents: cabc.Iterable[str]) -> list[ChatMessage]:
        """Return messages with other contents, which are no text to search."""
        return self._put_together(OutlinedMessage, contents)

    def with_said(self, said: cabc.Iterable[bytes]) -> list[ChatMessage]:
        """Return the messages that :meth:`said` told of."""
        return self._put_together(ChatMessage, map(_decode, said))

    def _put_together(self, kind: type[ChatMessage], said: cabc.Iterable[str | dict[str, t.Any]]) -> list[ChatMessage]:
        made = []
        for message, known, value in zip(self._messages, self._known, said, strict=True):
            together = _new(kind)
            together._known = known
            together._others = None
            together._sequence = message._sequence
            together._append_key = message._append_key
            if type(value) is str:
                known.content = value
            else:
                together._known, together._others = _filled(known, t.cast("dict[str, t.Any]", value))
            made.append(together)
        return made


def _said(known: Known, others: dict[str, t.Any] | None) -> object:
    content = known.content
    if type(content) is str and known.tool_calls is known.name is known.metadata is UNSET and not others:
        return content
    values = {name: getattr(known, name) for name in _SAID}
    return {name: value for name, value in values.items() if value is not UNSET} | (others or {})


def _filled(known: Known, fields: dict[str, t.Any]) -> Fields:
    said = {name: fields.pop(name) for name in KEYS.intersection(fields)}
    return _replace(known, **said), fields or None
