"""The message of a conversation; its dict form is the only serialisation."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import json
import typing as t

import msgspec

from .errors import CorruptRecord
from .errors import InvalidMessage
from .usage import Usage
from .values import clean
from .values import plain
from .values import plain_key

Role = t.Literal["system", "user", "assistant", "tool", "developer"]
Part = dict[str, t.Any]
Content = str | list[Part] | None
T = t.TypeVar("T")

_PROVIDER_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_convert = msgspec.convert
_new = object.__new__
# To look for any escape first is cheaper than to look for this one.
_ESCAPES: dict[type, t.Any] = {bytes: (b"\\", b"\\u0000"), str: ("\\", "\\u0000")}


class _Shape(msgspec.Struct, gc=False):
    """The known keys and their types; everything else in a message is the site's."""

    role: Role
    content: Content = None
    tool_calls: list[dict[str, t.Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    metadata: dict[str, t.Any] | None = None
    usage: dict[str, t.Any] | None = None
    model: str | None = None
    status: str | None = None
    turn: str | None = None
    id: str | None = None
    created_at: str | None = None


_KEYS = frozenset(_Shape.__struct_fields__)


class _Field(t.Generic[T]):
    """A key of the dict form, read as an attribute: None if it is not set, a copy of what could be changed."""

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, owner: type[ChatMessage], name: str) -> None:
        self._name = name

    @t.overload
    def __get__(self, message: None, owner: type[ChatMessage]) -> t.Self: ...

    @t.overload
    def __get__(self, message: ChatMessage, owner: type[ChatMessage]) -> T: ...

    def __get__(self, message: ChatMessage | None, owner: type[ChatMessage]) -> t.Self | T:
        if message is None:
            return self
        value = message._fields.get(self._name)
        return t.cast(T, value if value is None or type(value) is str else plain(value, self._name))


class ChatMessage:
    """One message of a thread. It cannot be changed, and equals itself after it was stored and loaded.

    :param role: ``system``, ``user``, ``assistant``, ``tool`` or ``developer``.
    :param content: the text, a list of part dicts (``{"type": "text", "text": ...}``), or None.
    :param tool_calls: list of the provider's tool call dicts.
    :param usage: a :class:`Usage`, or whatever :meth:`Usage.of` reads.
    :param status: how an answer ended: ``complete``, ``partial``, ``stopped`` or ``failed``.
    :param turn: id of the exchange that the message belongs to.
    :param created_at: ISO 8601, UTC; a datetime is converted.
    :raises InvalidMessage: for values that have no place in a message.
    """

    __slots__ = ("_append_key", "_fields", "_sequence")

    role = _Field[Role]("Who speaks.")
    content = _Field[Content]("The text, a list of part dicts, or None.")
    tool_calls = _Field[list[dict[str, t.Any]] | None]("The tool calls of an assistant message.")
    tool_call_id = _Field[str | None]("The call that a tool message answers.")
    name = _Field[str | None]("The name of the speaker or the tool.")
    model = _Field[str | None]("The model that answered.")
    status = _Field[str | None]("How an answer ended: complete, partial, stopped or failed.")
    turn = _Field[str | None]("The id of the exchange.")
    id = _Field[str | None]("The id of the message.")
    created_at = _Field[str | None]("When it was made: ISO 8601, UTC.")

    def __init__(
        self,
        role: str,
        content: Content | msgspec.UnsetType = msgspec.UNSET,
        *,
        tool_calls: cabc.Sequence[cabc.Mapping[str, t.Any]] | None = None,
        tool_call_id: str | None = None,
        name: str | None = None,
        metadata: cabc.Mapping[str, t.Any] | None = None,
        usage: object = None,
        model: str | None = None,
        status: str | None = None,
        turn: str | None = None,
        id: str | None = None,
        created_at: str | dt.datetime | None = None,
    ) -> None:
        given: dict[str, t.Any] = {"role": role}
        if content is not msgspec.UNSET:
            given["content"] = content
        if tool_calls is not None:
            given["tool_calls"] = tool_calls
        if tool_call_id is not None:
            given["tool_call_id"] = tool_call_id
        if name is not None:
            given["name"] = name
        if metadata is not None:
            given["metadata"] = metadata
        if usage is not None:
            given["usage"] = msgspec.to_builtins(Usage.of(usage))
        if model is not None:
            given["model"] = model
        if status is not None:
            given["status"] = status
        if turn is not None:
            given["turn"] = turn
        if id is not None:
            given["id"] = id
        if created_at is not None:
            given["created_at"] = created_at
        self._fields = _checked(given)
        self._sequence: int | None = None
        self._append_key: str | None = None

    @classmethod
    def _of(cls, fields: dict[str, t.Any], sequence: int | None = None, append_key: str | None = None) -> ChatMessage:
        message = _new(cls)
        message._fields = fields
        message._sequence = sequence
        message._append_key = append_key
        return message

    @classmethod
    def from_dict(cls, data: cabc.Mapping[str, t.Any]) -> ChatMessage:
        """Make a message from its dict form; unknown keys are kept, ``data`` is not changed.

        :raises InvalidMessage: if it is no message.
        """
        if type(data) is not dict and not isinstance(data, cabc.Mapping):
            raise InvalidMessage("message", f"is of type {type(data).__name__}, not a dict")
        return cls._of(_checked(data))

    def to_dict(self) -> dict[str, t.Any]:
        """Return the dict form: exactly the keys that were set, in a copy that may be changed."""
        return {name: value if type(value) is str else plain(value, name) for name, value in self._fields.items()}

    @classmethod
    def from_json(cls, data: bytes | str, sequence: int | None = None, append_key: str | None = None) -> ChatMessage:
        """Make a stored message from the JSON text of its dict form.

        :raises CorruptRecord: if the text is no JSON, or no message.
        """
        message = _new(cls)
        message._sequence = sequence
        message._append_key = append_key
        try:
            message._fields = fields = _decode(data)
            escape, nul = _ESCAPES[type(data)]
            if escape in data and nul in data:
                message._fields = _checked(fields)
            elif _convert(fields, _Shape).role == "tool":
                _check_shape(fields)
        except (ValueError, AttributeError, RecursionError) as error:
            message._fields = _foreign(data, sequence, error)
        return message

    def to_json(self) -> bytes:
        """Return the dict form as JSON text, UTF-8."""
        return _encode(self._fields)

    @classmethod
    def from_record(cls, record: cabc.Mapping[str, t.Any]) -> ChatMessage:
        """Make a stored message from what :meth:`to_record` gave.

        :raises CorruptRecord: if it is no such record.
        """
        try:
            return cls._of(_checked(record["message"]), record["sequence"], record["key"])
        except (InvalidMessage, AttributeError, KeyError, TypeError) as error:
            raise CorruptRecord("a stored record is no message") from error

    def to_record(self) -> dict[str, t.Any]:
        """Return what a plugin stores: ``{"sequence", "key", "message"}``, the last being the dict form."""
        return {"sequence": self._sequence, "key": self._append_key, "message": self.to_dict()}

    def numbered(self, sequence: int, append_key: str | None = None) -> ChatMessage:
        """Return the same message as the ``sequence``-th of its thread.

        :param append_key: the key of the append, on the first message of its batch.
        """
        return self._of(self._fields, sequence, append_key)

    def replace(self, **changes: t.Any) -> ChatMessage:
        """Return a message with other values for some keys."""
        return self._of(_checked({**self._fields, **changes}), self._sequence, self._append_key)

    def outline(self, keys: cabc.Iterable[str]) -> bytes:
        """Return those of the keys that are set, in their order and with their values, as JSON text."""
        fields = self._fields
        return _encode({name: fields[name] for name in keys if name in fields})

    def reduced(self, keys: cabc.Iterable[str], content: str) -> ChatMessage:
        """Return the message with these keys alone, and another content."""
        fields = {name: self._fields[name] for name in keys if name in self._fields}
        return self._of({**fields, "content": content}, self._sequence, self._append_key)

    def to_openai(self) -> dict[str, t.Any]:
        """Return the dict that providers of the OpenAI kind accept: the public keys that are set, nothing else."""
        fields = self._fields
        result = {name: plain(fields[name], name) for name in _PROVIDER_KEYS if fields.get(name) not in (None, [])}
        result.setdefault("content", None)
        return result

    @property
    def usage(self) -> Usage | None:
        """The token counts of the model call."""
        value = self._fields.get("usage")
        return None if value is None else Usage.of(value)

    @property
    def metadata(self) -> dict[str, t.Any]:
        """What the site keeps with the message, in a copy; an empty dict if there is nothing."""
        return t.cast("dict[str, t.Any]", plain(self._fields.get("metadata") or {}, "metadata"))

    @property
    def sequence(self) -> int | None:
        """The place in the thread, given by the store; None until then."""
        return self._sequence

    @property
    def append_key(self) -> str | None:
        """The key of the append that stored the message, on the first message of the batch."""
        return self._append_key

    @property
    def text(self) -> str:
        """The content as text: of a list, its text parts on lines of their own; of None, nothing."""
        content = self.content
        if isinstance(content, list):
            return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
        return content or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChatMessage) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Without the text: a repr ends in logs and tracebacks.
        return f"<ChatMessage {self.role} id={self.id} sequence={self._sequence} characters={len(self.text)}>"


def timestamp(seconds: float) -> str:
    """Return a UNIX time as messages carry it: ISO 8601, UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")


def _checked(given: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Apply the value rule and the rules of the known keys."""
    fields: dict[str, t.Any] = {}
    for key, value in given.items():
        if type(key) is not str or key not in _KEYS:
            key = plain_key(key, "message")
            if key in fields:
                raise InvalidMessage(key, "two keys become equal when they are made storable")
        if type(value) is not str:
            value = plain(value, key)
        elif not value.isascii() or "\0" in value:
            value = clean(value)
        fields[key] = value
    _check_shape(fields)
    return fields


def _check_shape(fields: dict[str, t.Any]) -> None:
    try:
        shape = _convert(fields, _Shape)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        raise InvalidMessage(path.rstrip("`") or "message", reason) from None
    if shape.role == "tool" and not shape.tool_call_id:
        raise InvalidMessage("tool_call_id", "a tool message names the call that it answers")


def _foreign(data: bytes | str, sequence: int | None, error: Exception) -> dict[str, t.Any]:
    """Read what only the standard library reads: lone surrogates that another program wrote."""
    try:
        return _checked(json.loads(data))
    except (ValueError, AttributeError, RecursionError):
        raise CorruptRecord(f"the stored message {sequence} cannot be read") from error
