"""What goes to the log: constant messages with ids and numbers, and errors without what they may quote."""

from __future__ import annotations

import logging

from .errors import ChatMemoryError
from .errors import CorruptRecord
from .errors import InvalidValue

whole = logging.getLogger("flask_chat_memory.errors")
"""Gets every error with its text, for development; off unless the site sets a level for it."""
whole.setLevel(logging.CRITICAL + 1)


def log_event(
    logger: logging.Logger,
    level: int,
    message: str,
    error: BaseException | None = None,
    /,
    **facts: str | int | None,
) -> None:
    """Log that something has happened.

    :param message: says what, always in the same words.
    :param error: is told by its class. What it says is told only if it is an error of this package, which quotes
        nobody; a driver's, a provider's and the site's own may. The traceback follows, but for a record that cannot be
        read: there, the text names the place.
    :param facts: ids and numbers. They stand in the text and are attributes of the record, so none of them may be
        called as one of those.
    """
    if not logger.isEnabledFor(level):
        return
    if error is not None:
        facts["error"] = type(error).__name__
    text = "".join([message, *(f" {name}=%s" for name in facts)])
    values = list(facts.values())
    if error is not None and is_ours(error):
        text, values = f"{text}: %s", [*values, str(error)]
    shown = None if error is None or isinstance(error, CorruptRecord) else without_words(error)
    logger.log(level, text, *values, exc_info=shown, extra=facts, stacklevel=2)
    if error is not None:
        whole.log(level, message, exc_info=error, extra=facts, stacklevel=2)


def is_ours(error: BaseException) -> bool:
    """Tell whether the text of an error quotes nothing of a visitor or a model; a path to a wrong value may."""
    return isinstance(error, ChatMemoryError) and not isinstance(error, InvalidValue)


def without_words(error: BaseException) -> BaseException:
    """Return an error of the same name, with the traceback and the causes, of which only our own say something."""
    made: dict[int, BaseException] = {}
    known = [error]
    for one in known:
        if id(one) not in made:
            made[id(one)] = _speechless(one)
            known += [other for other in (one.__cause__, one.__context__) if other is not None]
    for one in known:
        stand_in = made[id(one)]
        stand_in.__cause__ = made.get(id(one.__cause__))
        stand_in.__context__ = made.get(id(one.__context__))
        stand_in.__suppress_context__ = one.__suppress_context__
    return made[id(error)]


def _speechless(error: BaseException) -> BaseException:
    kind = type(error)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    stand_in: BaseException = type(kind.__name__, (Exception,), names)(*([str(error)] if is_ours(error) else []))
    return stand_in.with_traceback(error.__traceback__)
