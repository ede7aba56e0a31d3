"""Messages and titles as the wrapped plugin keeps them, and back."""

from __future__ import annotations

import collections.abc as cabc
import functools
import logging
import typing as t

import msgspec

from ...encryption import Cipher
from ...encryption import place_of
from ...errors import DecryptionFailed
from ...events import log_event
from ...message import ChatMessage
from ...outline import Outlines
from ..abilities import Reseals
from ..records import LiveTurn
from ..records import Scope
from ..records import Thread
from ..records import WholeThread

logger = logging.getLogger(__name__)

CHUNK = 100
"""Messages that are worked on at once: so many lie near the processor."""
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(str).decode

Kind = t.Literal["title", "comment", "live"]
_NAMES: dict[Kind, str] = {
    "title": "the title of a thread",
    "comment": "the comment on a message",
    "live": "what a turn has told so far",
}


class Sealing:
    """Binds each value to its place: a title to scope and thread, a message to what of it is in clear, too."""

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def seal(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the outlines of messages, with what was said encrypted as their content."""
        outlines = Outlines(messages)
        thread = _place_of_messages(scope, thread_id)
        return outlines.with_contents(
            self._cipher.encrypt(said, thread + outline)
            for said, outline in zip(outlines.said(), outlines.texts(), strict=True)
        )

    def open(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the messages that were encrypted.

        :raises DecryptionFailed: naming the sequence of the message, nothing else of it.
        """
        thread = _place_of_messages(scope, thread_id)
        opened = []
        for start in range(0, len(messages), CHUNK):
            chunk = messages[start : start + CHUNK]
            outlines = Outlines(chunk)
            places = [thread + outline for outline in outlines.texts()]
            name = functools.partial(_name, chunk)
            opened += outlines.with_said(self._cipher.decrypt_all(outlines.contents(), places, name))
        return opened

    def seal_text(self, text: str, kind: Kind, scope: Scope, *place: str) -> str:
        """Return a text encrypted.

        :param place: the id of the thread, and of the message or the turn if the text belongs to one.
        """
        return self._cipher.encrypt(_encode(text), place_of(kind, scope.owner, scope.chatbot, *place))

    def open_text(self, sealed: str, kind: Kind, scope: Scope, *place: str) -> str:
        """Return the text that was encrypted.

        :raises DecryptionFailed: if it cannot be read.
        """
        place_in_store = place_of(kind, scope.owner, scope.chatbot, *place)
        return _decode(self._cipher.decrypt(sealed, place_in_store, _NAMES[kind]))

    def open_live(self, scope: Scope, thread_id: str, live: LiveTurn) -> LiveTurn:
        """Return a live record with its text; without one that cannot be read, so that the turn can be ended."""
        if not live.text:
            return live
        try:
            text = self.open_text(live.text, "live", scope, thread_id, live.turn)
        except DecryptionFailed as error:
            log_event(
                logger,
                logging.ERROR,
                "the text of a running turn is lost",
                error,
                thread_id=thread_id,
                turn_id=live.turn,
            )
            text = ""
        return msgspec.structs.replace(live, text=text)

    def open_thread(self, scope: Scope, thread: Thread) -> Thread:
        if thread.title is None:
            return thread
        return msgspec.structs.replace(thread, title=self.open_text(thread.title, "title", scope, thread.id))

    def is_current(self, sealed: object) -> bool:
        """Tell whether a value is sealed with the first key."""
        return isinstance(sealed, str) and self._cipher.is_current(sealed)

    def texts_of(self, whole: WholeThread) -> list[str]:
        """Return what is sealed of a thread besides its messages."""
        texts = [whole.thread.title, *(mark.comment for mark in whole.marks.values())]
        return [text for text in (*texts, *(live.text for live in whole.live)) if text]

    def open_whole(self, scope: Scope, whole: WholeThread) -> WholeThread:
        """Return a thread with what belongs to it in clear."""
        return self._with_texts(
            whole,
            self.open_thread(scope, whole.thread).title,
            lambda text, kind, *place: self.open_text(text, kind, scope, whole.thread.id, *place),
        )

    def seal_whole(self, scope: Scope, whole: WholeThread) -> WholeThread:
        """Return a thread with what belongs to it as the wrapped plugin keeps it."""
        title = whole.thread.title
        return self._with_texts(
            whole,
            None if title is None else self.seal_text(title, "title", scope, whole.thread.id),
            lambda text, kind, *place: self.seal_text(text, kind, scope, whole.thread.id, *place),
        )

    def _with_texts(self, whole: WholeThread, title: str | None, of: cabc.Callable[..., str]) -> WholeThread:
        return msgspec.structs.replace(
            whole,
            thread=msgspec.structs.replace(whole.thread, title=title),
            marks={
                id: msgspec.structs.replace(mark, comment=mark.comment and of(mark.comment, "comment", id))
                for id, mark in whole.marks.items()
            },
            live=tuple(
                msgspec.structs.replace(live, text=live.text and of(live.text, "live", live.turn))
                for live in whole.live
            ),
        )


class Resealing:
    """What moves from one scope to another is decrypted there and encrypted here.

    :param between: what is done with it in clear.
    """

    def __init__(self, sealing: Sealing, source: Scope, target: Scope, between: Reseals | None) -> None:
        self._between = between
        self._sealing = sealing
        self._source = source
        self._target = target

    def messages(self, old: str, new: str, messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
        messages = list(messages)
        try:
            opened = self._sealing.open(self._source, old, messages)
        except DecryptionFailed:
            # A move that was interrupted may have left what is sealed for its goal already.
            self._sealing.open(self._target, new, messages)
            return messages
        if self._between:
            opened = self._between.messages(old, new, opened)
        return self._sealing.seal(self._target, new, opened)

    def title(self, thread_id: str, title: str) -> str:
        fit = functools.partial(self._between.title, thread_id) if self._between else None
        return self._text(title, "title", [thread_id], [thread_id], fit)

    def comment(self, old: str, new: str, message_id: str, comment: str) -> str:
        fit = functools.partial(self._between.comment, old, new, message_id) if self._between else None
        return self._text(comment, "comment", [old, message_id], [new, message_id], fit)

    def live_text(self, thread_id: str, turn: str, text: str) -> str:
        fit = functools.partial(self._between.live_text, thread_id, turn) if self._between else None
        try:
            return self._text(text, "live", [thread_id, turn], [thread_id, turn], fit)
        except DecryptionFailed:
            # Whoever ends the turn does without it.
            return text

    def _text(
        self, sealed: str, kind: Kind, old: list[str], new: list[str], fit: cabc.Callable[[str], str] | None
    ) -> str:
        try:
            opened = self._sealing.open_text(sealed, kind, self._source, *old)
        except DecryptionFailed:
            # As with messages.
            self._sealing.open_text(sealed, kind, self._target, *new)
            return sealed
        return self._sealing.seal_text(fit(opened) if fit else opened, kind, self._target, *new)


def _place_of_messages(scope: Scope, thread_id: str) -> bytes:
    return place_of("message", scope.owner, scope.chatbot, thread_id, "")


def _name(messages: cabc.Sequence[ChatMessage], place: int) -> str:
    return f"the stored message {messages[place].sequence}"
