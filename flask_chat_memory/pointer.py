"""The only module that touches the Flask session: the visitor's anonymous key, and a hint which thread is theirs."""

from __future__ import annotations

import hashlib
import logging
import secrets
import typing as t

import flask

from .errors import ChatMemoryError
from .errors import RequestRefused
from .events import log_event
from .owner import ANONYMOUS

logger = logging.getLogger(__name__)

KEY = "_chat_memory"
NO_SECRET_KEY = "The site cannot recognise its visitors just now."


class Pointer:
    """What the session keeps: ``anonymous`` key, marks of ``owner`` and ``heir``, ``threads`` and ``reserved`` ids.

    Everything in it is a hint. It counts only for the owner who left it, so that neither a logout nor a session that
    a slow request saved late can show somebody else's thread.

    :param user: the owner that is logged in, resolved before the session is read; None for an anonymous visitor.
    """

    def __init__(self, user: str | None, chatbot: str) -> None:
        self._user = user
        self._chatbot = chatbot
        self._load()

    def _load(self) -> None:
        self._stored = _read()
        anonymous = self._stored.get("anonymous")
        self._anonymous = f"{ANONYMOUS}{anonymous}" if isinstance(anonymous, str) and anonymous else None
        if self._anonymous and not self._counts(self._anonymous):
            self._anonymous = None

    def _counts(self, anonymous: str) -> bool:
        """Tell whether the anonymous key is this visitor's: after a login it waits for that user alone."""
        heir = self._stored.get("heir")
        if self._user is None:
            return heir is None and self._stored.get("owner") == _mark(anonymous)
        return heir is None or heir == _mark(self._user)

    @property
    def owner(self) -> str | None:
        return self._user or self._anonymous

    @property
    def thread_id(self) -> str | None:
        return self._hint("reserved") or self._hint("threads")

    @property
    def reserved(self) -> bool:
        return self._hint("reserved") is not None

    @property
    def opened(self) -> bool:
        return False

    @property
    def left_anonymous(self) -> str | None:
        """The anonymous owner that the visitor was before the login; None if there was none."""
        return self._anonymous if self._user is not None else None

    def anonymous_thread(self, chatbot: str) -> str | None:
        """The thread that the visitor had with a chatbot before the login."""
        return t.cast("str | None", self._left_threads().get(chatbot))

    def _left_threads(self) -> dict[str, t.Any]:
        """Return chatbot -> thread id of the anonymous visitor, also behind hints of the user's own."""
        if self._anonymous is None:
            return {}
        mine = self._stored.get("owner") == _mark(self._anonymous)
        return t.cast("dict[str, t.Any]", self._stored.get("threads" if mine else "left", {}))

    def claim(self) -> str:
        """Return the owner; an anonymous visitor without a key gets one.

        :raises RequestRefused: 503 if the session cannot be written.
        """
        if not self._closed and flask.current_app.session_interface.is_null_session(flask.session):
            raise _refused()
        if self.owner is None:
            if self._closed:
                raise ChatMemoryError("take a visitor's first question in the view, before the response is returned")
            # Another conversation of the same request may have got one.
            self._load()
            if self._anonymous is None:
                self._anonymous = ANONYMOUS + secrets.token_urlsafe(24)
                self._write({}, {})
        return t.cast(str, self.owner)

    def remember(self, thread_id: str, reserved: bool = False) -> None:
        """Keep the thread as the chatbot's; after the response is made it is too late, and nothing happens."""
        if self._closed or (self.thread_id == thread_id and self.reserved == reserved):
            return
        self._load()
        threads, reservations = self._hints("threads"), self._hints("reserved")
        reservations.pop(self._chatbot, None)
        (reservations if reserved else threads)[self._chatbot] = thread_id
        self._write(threads, reservations)

    def keep_anonymous(self) -> None:
        """Keep the key that the visitor had before the login for this user alone."""
        if self._user is not None and self._stored.get("heir") != _mark(self._user):
            self._save({**self._stored, "heir": _mark(self._user)})

    def drop_anonymous(self, keep_threads: bool) -> None:
        """Drop the key that the visitor had before the login.

        :param keep_threads: its threads are the user's now, so the hints stay true.
        """
        anonymous = self._anonymous
        kept = keep_threads and anonymous is not None and self._stored.get("owner") == _mark(anonymous)
        hints = [dict(self._stored.get(name, {})) if kept else self._hints(name) for name in _HINTS]
        if keep_threads and not kept:
            hints[0] = {**self._left_threads(), **hints[0]}
        self._anonymous = None
        self._write(*hints)

    @property
    def _closed(self) -> bool:
        """Whether the session has been saved: whatever is written now would be lost."""
        return not flask.has_request_context() or _CLOSED in flask.request.environ

    def _hints(self, name: str) -> dict[str, t.Any]:
        """Return chatbot -> thread id, if this owner left them."""
        mine = self.owner is not None and self._stored.get("owner") == _mark(self.owner)
        return dict(self._stored.get(name, {})) if mine else {}

    def _hint(self, name: str) -> str | None:
        value = self._hints(name).get(self._chatbot)
        return value if isinstance(value, str) else None

    def _write(self, threads: dict[str, t.Any], reserved: dict[str, t.Any]) -> None:
        owner = t.cast(str, self.owner)
        values: dict[str, t.Any] = {"owner": _mark(owner), "threads": threads, "reserved": reserved}
        if self._anonymous:
            values["anonymous"] = self._anonymous.removeprefix(ANONYMOUS)
            if self._user is not None:
                values |= {"heir": _mark(self._user), "left": self._left_threads()}
        self._save(values)

    def _save(self, values: dict[str, t.Any]) -> None:
        try:
            # A new dict, for a change inside of one would not be noticed.
            flask.session[KEY] = values
        except RuntimeError as error:
            raise _refused() from error
        self._stored = values


def _refused() -> RequestRefused:
    log_event(logger, logging.ERROR, "the session cannot be written; set SECRET_KEY, or set up Flask-Session")
    return RequestRefused(503, NO_SECRET_KEY)


_HINTS = ("threads", "reserved")
_DICTS = (*_HINTS, "left")
_CLOSED = "flask_chat_memory.closed"


def close_pointers(response: flask.Response) -> flask.Response:
    """Note, after the view, that the session of the request is about to be saved."""
    flask.request.environ[_CLOSED] = True
    return response


def forget_visitor() -> None:
    """Drop key and hints from the session, at logout."""
    if KEY in flask.session:
        flask.session.pop(KEY)


def _read() -> dict[str, t.Any]:
    value = flask.session.get(KEY)
    if not isinstance(value, dict) or not all(isinstance(value.get(name, {}), dict) for name in _DICTS):
        return {}
    return value


def _mark(owner: str) -> str:
    return hashlib.blake2b(owner.encode(), digest_size=12).hexdigest()
