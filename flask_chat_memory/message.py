"""The message of a conversation; its dict form is the only serialisation."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import typing as t

import msgspec

from .errors import CorruptRecord
from .errors import InvalidMessage
from .fields import checked
from .fields import Content
from .fields import decode_known
from .fields import encode
from .fields import Fields
from .fields import holds_nul
from .fields import load
from .fields import load_lines
from .fields import Role
from .usage import Usage

T = t.TypeVar("T")

_PROVIDER_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")
_new = object.__new__
_UNREADABLE = (ValueError, RecursionError)


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
        value = getattr(message._known, self._name)
        if type(value) is str:
            return t.cast(T, value)
        return t.cast(T, None if value is msgspec.UNSET else msgspec.to_builtins(value))


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

    __slots__ = ("_append_key", "_known", "_others", "_sequence")

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
        self._known, self._others = checked(given)
        self._sequence: int | None = None
        self._append_key: str | None = None

    @classmethod
    def _of(cls, fields: Fields, sequence: int | None = None, append_key: str | None = None) -> ChatMessage:
        message = _new(cls)
        message._known, message._others = fields
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
        return cls._of(checked(data))

    def to_dict(self) -> dict[str, t.Any]:
        """Return the dict form in a copy that may be changed: exactly the keys that were set, the known ones first."""
        fields = t.cast("dict[str, t.Any]", msgspec.to_builtins(self._known))
        if self._others is not None:
            fields.update(msgspec.to_builtins(self._others))
        return fields

    @classmethod
    def from_json(cls, data: bytes | str, sequence: int | None = None, append_key: str | None = None) -> ChatMessage:
        """Make a stored message from the JSON text of its dict form.

        :raises CorruptRecord: if the text is no JSON, or no message.
        """
        [message] = cls.from_rows([(sequence, data)])
        message._append_key = append_key
        return message

    @classmethod
    def from_rows(cls, rows: cabc.Iterable[tuple[int | None, bytes | str]]) -> list[ChatMessage]:
        """Make stored messages from rows of a sequence and a JSON text: :meth:`from_json` for many.

        :raises CorruptRecord: if a text is no JSON, or no message.
        """
        messages = []
        others = None
        for sequence, data in rows:
            known = None
            # After a message with keys of the site, the next mostly has such keys, too.
            if others is None:
                try:
                    known = decode_known(data)
                    if known.role == "tool" or holds_nul(data):
                        known = None
                except _UNREADABLE:
                    pass
            if known is None:
                known, others = load(data, sequence)
            message = _new(cls)
            message._known = known
            message._others = others
            message._sequence = sequence
            message._append_key = None
            messages.append(message)
        return messages

    @classmethod
    def from_lines(cls, data: bytes) -> list[ChatMessage]:
        """Make stored messages from lines of JSON objects with ``sequence`` and ``message``, all at once.

        Lines without message are passed over, other keys of a line are ignored.

        :raises CorruptRecord: if a line is no such object, or its message is one that only :meth:`from_rows` reads.
        """
        messages = []
        for line in load_lines(data):
            known = line.message
            if known is msgspec.UNSET:
                continue
            if known.role == "tool" and not known.tool_call_id:
                raise CorruptRecord(f"the stored message {line.sequence} cannot be read")
            message = _new(cls)
            message._known = known
            message._others = None
            message._sequence = line.sequence
            message._append_key = None
            messages.append(message)
        return messages

    def to_json(self) -> bytes:
        """Return the dict form as JSON text, UTF-8."""
        return encode(self._known if self._others is None else self.to_dict())

    @classmethod
    def from_record(cls, record: cabc.Mapping[str, t.Any]) -> ChatMessage:
        """Make a stored message from what :meth:`to_record` gave.

        :raises CorruptRecord: if it is no such record.
        """
        try:
            return cls._of(checked(record["message"]), record["sequence"], record["key"])
        except (InvalidMessage, AttributeError, KeyError, TypeError) as error:
            raise CorruptRecord("a stored record is no message") from error

    def to_record(self) -> dict[str, t.Any]:
        """Return what a plugin stores: ``{"sequence", "key", "message"}``, the last being the dict form."""
        return {"sequence": self._sequence, "key": self._append_key, "message": self.to_dict()}

    def numbered(self, sequence: int | None, append_key: str | None = None) -> ChatMessage:
        """Return the same message as the ``sequence``-th of its thread.

        :param append_key: the key of the append, on the first message of its batch.
        """
        return self._of((self._known, self._others), sequence, append_key)

    def replace(self, **changes: t.Any) -> ChatMessage:
        """Return a message with other values for some keys."""
        return self._of(checked({**self.to_dict(), **changes}), self._sequence, self._append_key)

    def to_openai(self) -> dict[str, t.Any]:
        """Return the dict that providers of the OpenAI kind accept: the public keys that are set, nothing else."""
        fields = ((name, getattr(self, name)) for name in _PROVIDER_KEYS)
        result = {name: value for name, value in fields if value not in (None, [])}
        result.setdefault("content", None)
        return result

    @property
    def usage(self) -> Usage | None:
        """The token counts of the model call."""
        value = self._known.usage
        return None if value is None or value is msgspec.UNSET else Usage.of(value)

    @property
    def metadata(self) -> dict[str, t.Any]:
        """What the site keeps with the message, in a copy; an empty dict if there is nothing."""
        return t.cast("dict[str, t.Any]", msgspec.to_builtins(self._known.metadata or {}))

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
        return isinstance(other, ChatMessage) and self._known == other._known and self._others == other._others

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Without the text: a repr ends in logs and tracebacks.
        return f"<ChatMessage {self.role} id={self.id} sequence={self._sequence} characters={len(self.text)}>"


def timestamp(seconds: float) -> str:
    """Return a UNIX time as messages carry it: ISO 8601, UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")
