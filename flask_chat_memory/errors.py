"""The exceptions of the package."""

from __future__ import annotations

from werkzeug.exceptions import HTTPException


class ChatMemoryError(Exception):
    """Base class of everything that this package raises."""


class ConfigurationError(ChatMemoryError):
    """A configuration key, a plugin id or an option is wrong; the text names it and what is allowed."""


class UnknownPlugin(ConfigurationError):
    """No plugin is known by the given id, import path or class."""


class MissingOwner(ChatMemoryError):
    """A storage operation was asked for without an owner, or with one that cannot be an owner."""


class UnknownThread(ChatMemoryError):
    """The owner has no thread of this id."""


class InvalidValue(ChatMemoryError, ValueError):
    """A value cannot be stored; the path to it may be of a visitor's or a model's words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class InvalidMessage(InvalidValue):
    """A value cannot be part of a message.

    :param path: where the value stands, for example ``metadata.tags[2]``.
    """


class InvalidDocument(InvalidValue):
    """A value cannot be part of a document.

    :param path: where the value stands, for example ``document.tags[2]``.
    """


class InvalidKnowledge(InvalidValue):
    """A value cannot be part of a memory, a fact or an entry of the knowledge base.

    :param path: what is wrong, for example ``tags[2]``.
    """


class ImportRefused(ChatMemoryError, ValueError):
    """A document is no thread that could be imported; the text says why and quotes none of it."""


class StorageError(ChatMemoryError):
    """The store failed; ``__cause__`` is the driver's exception."""


class CorruptRecord(StorageError):
    """A stored record cannot be read; it is left as it is."""


class NewerFormat(CorruptRecord):
    """A stored record is of a format that only a newer release reads; it is left as it is.

    :param what: names the record, and quotes nothing of it.
    :param found: the number of its format, ``known`` that of the last one that this release reads.
    """

    def __init__(self, what: str, found: int, known: int = 1) -> None:
        super().__init__(
            f"{what} is of format {found}, and this release of Flask-Chat-Memory reads none after {known}: "
            "install a newer release"
        )


class DecryptionFailed(CorruptRecord):
    """An encrypted value cannot be read: its key is not there, or it was changed or moved; it is left as it is."""


class RequestRefused(ChatMemoryError, HTTPException):
    """A request cannot be granted; the description is a sentence that a visitor may read.

    :param code: 400, 403, 409, 413 or 503.
    """

    def __init__(self, code: int, description: str) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
