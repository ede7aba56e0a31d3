"""Who has a conversation, and the hint which thread it is."""

from __future__ import annotations

import typing as t

from .errors import MissingOwner


class Visitor(t.Protocol):
    """An owner, known or still to be made, and a hint."""

    @property
    def owner(self) -> str | None:
        """The owner; None for a visitor for whom nothing was stored yet."""

    @property
    def thread_id(self) -> str | None:
        """The thread of the last request; only a hint, it may be gone or never have been this owner's."""

    @property
    def reserved(self) -> bool:
        """Whether ``thread_id`` was given out for a thread that is not stored yet."""

    @property
    def opened(self) -> bool:
        """Whether ``thread_id`` was asked for by name, so that no other thread will do."""

    def claim(self) -> str:
        """Return the owner, made now for a visitor who has none."""

    def remember(self, thread_id: str, reserved: bool = False) -> None:
        """Keep the hint for the next request."""


class NamedVisitor:
    """An owner whom the caller names, as in a worker; the hint lives as long as the object.

    :param owner: None where nothing is stored on the server.
    """

    def __init__(
        self, owner: str | None, thread_id: str | None = None, reserved: bool = False, opened: bool = False
    ) -> None:
        self.owner = owner
        self.thread_id = thread_id
        self.reserved = reserved
        self.opened = opened

    def claim(self) -> str:
        if self.owner is None:
            raise MissingOwner("there is no owner, so nothing can be stored")
        return self.owner

    def remember(self, thread_id: str, reserved: bool = False) -> None:
        self.thread_id = thread_id
        self.reserved = reserved
