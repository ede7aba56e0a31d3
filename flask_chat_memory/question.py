"""What is asked: read from a string, a message, or the body that a page posted."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import enum
import typing as t

from .errors import RequestRefused
from .message import ChatMessage
from .values import clean

CLIENT_HISTORY = 200
"""Messages of the browser's history that are used."""
MAX_CLIENT_KEY = 100
_CLIENT_ROLES = {"user": "user", "assistant": "assistant", "ai": "assistant"}


Mode = t.Literal["server", "client", "none"]
"""Where the history is: on the server, in the browser, or nowhere."""


class Shown(enum.Enum):
    """A thread id that was not given, as opposed to None: the page shows no thread yet."""

    NOT_TOLD = enum.auto()


NOT_TOLD: t.Final = Shown.NOT_TOLD
ShownThread = str | None | t.Literal[Shown.NOT_TOLD]


@dataclasses.dataclass(frozen=True)
class Question:
    """A question with what came along.

    :param message: the user message.
    :param history: in client mode, the messages before it.
    :param key: the client's name for the question, which tells a repeat.
    :param thread_id: the thread that the page shows.
    :param replaces: the sequence of the question in whose place it is asked.
    """

    message: ChatMessage
    history: list[ChatMessage] = dataclasses.field(default_factory=list)
    key: str | None = None
    thread_id: ShownThread = NOT_TOLD
    replaces: int | None = None


def read_question(
    question: str | ChatMessage | cabc.Mapping[str, t.Any] | None, max_chars: int, mode: Mode
) -> Question:
    """Check a question and return it.

    :param mode: in client mode the posted body brings the history; only in server mode does its key count.
    :raises RequestRefused: 400 for what is no question, 413 for one of more than ``max_chars`` characters.
    """
    if isinstance(question, str):
        read = Question(_user_message(question))
    elif isinstance(question, ChatMessage):
        if question.role != "user":
            raise RequestRefused(400, "Only a user message can be a question.")
        read = Question(question)
    else:
        read = _read_body(question, mode)
    _check(read.message, max_chars)
    return read


def edited(question: ChatMessage, text: object, max_chars: int) -> ChatMessage:
    """Return a stored question with another text, as it is asked anew; its parts that are no text are kept.

    :raises RequestRefused: as for :func:`read_question`.
    """
    new = _user_message(text)
    if isinstance(question.content, list):
        others = [part for part in question.content if part.get("type") != "text"]
        new = new.replace(content=[{"type": "text", "text": new.text}, *others] if new.text.strip() else others)
    _check(new, max_chars)
    return asked_anew(question.replace(content=new.content))


def asked_anew(question: ChatMessage) -> ChatMessage:
    """Return a stored question as nobody has asked it yet."""
    fields = {name: value for name, value in question.to_dict().items() if name != "metadata"}
    metadata = {name: value for name, value in question.metadata.items() if name != "by"}
    return ChatMessage.from_dict({**fields, "metadata": metadata} if metadata else fields)


def acted(message: ChatMessage, by: str) -> ChatMessage:
    """Return a question that says who asked it in the name of its owner."""
    return message.replace(metadata={**(message.metadata or {}), "by": by})


def wants_temporary(question: object) -> bool:
    """Tell whether a posted body asks for a turn of which nothing is stored.

    :raises RequestRefused: 400 for what is neither yes nor no.
    """
    wanted = question.get("temporary") if isinstance(question, cabc.Mapping) else None
    if wanted is not None and not isinstance(wanted, bool):
        raise RequestRefused(400, "Temporary must be true or false.")
    return bool(wanted)


def shown_thread(body: cabc.Mapping[str, t.Any]) -> ShownThread:
    """Return the thread id that a page says it shows; what is no text cannot be one of ours."""
    value = body.get("thread_id", NOT_TOLD)
    if value is None or value is NOT_TOLD or isinstance(value, str):
        return value
    return ""


def client_key(body: cabc.Mapping[str, t.Any]) -> str | None:
    """Return the page's name for a question.

    :raises RequestRefused: 400 for what is none.
    """
    key = body.get("key")
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= MAX_CLIENT_KEY and clean(key) == key):
        raise RequestRefused(400, f"The key must be text of 1 to {MAX_CLIENT_KEY} characters.")
    return key


def _read_body(body: object, mode: Mode) -> Question:
    if not isinstance(body, cabc.Mapping):
        raise RequestRefused(400, "The request must be a JSON object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
        raise RequestRefused(400, "The request must have a list of messages.")
    key = client_key(body) if mode == "server" else None
    if mode == "client":
        *history, question = _client_messages(messages)
        return Question(question, history)
    asked = next((item for item in reversed(messages) if item.get("role") == "user"), None)
    if asked is None:
        raise RequestRefused(400, "The request must have a message of the user.")
    return Question(_user_message(asked.get("text")), key=key, thread_id=shown_thread(body))


def _client_messages(items: list[dict[str, t.Any]]) -> list[ChatMessage]:
    messages = []
    for item in items:
        role, text = item.get("role"), item.get("text")
        if not isinstance(role, str) or role not in _CLIENT_ROLES:
            raise RequestRefused(400, "A message may only be of the user or the assistant.")
        if not isinstance(text, str):
            raise RequestRefused(400, "A message must have a text.")
        messages.append(ChatMessage(_CLIENT_ROLES[role], text))
    if not messages or messages[-1].role != "user":
        raise RequestRefused(400, "The last message must be of the user.")
    return messages[-CLIENT_HISTORY:]


def _check(message: ChatMessage, max_chars: int) -> None:
    if _is_empty(message):
        raise RequestRefused(400, "The message is empty.")
    if len(message.text) > max_chars:
        raise RequestRefused(413, f"The message is longer than {max_chars} characters.")


def _user_message(text: object) -> ChatMessage:
    if not isinstance(text, str):
        raise RequestRefused(400, "A message must have a text.")
    return ChatMessage("user", text)


def _is_empty(message: ChatMessage) -> bool:
    parts = message.content if isinstance(message.content, list) else []
    return not message.text.replace("\ufffd", "").strip() and all(part.get("type") == "text" for part in parts)
