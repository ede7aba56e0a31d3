"""Who is asking: the site's own answer, or the user that is logged in."""

from __future__ import annotations

import collections.abc as cabc

import flask

from .errors import ConfigurationError
from .errors import MissingOwner
from .plugins.records import FORGOTTEN
from .plugins.records import is_owner
from .plugins.records import MAX_OWNER

OwnerLoader = cabc.Callable[[], str | None]
ANONYMOUS = "anon:"
USER = "user:"


def known_owner(loader: OwnerLoader | None) -> str | None:
    """Return the owner of the request, or None for an anonymous visitor.

    :param loader: the site's function; without one, Flask-Login's user counts.
    :raises ConfigurationError: if the loader gives what cannot be an owner.
    :raises MissingOwner: if somebody is logged in without an id.
    """
    if loader is not None:
        return _checked(loader())
    # Looked for in each request: the site may set up Flask-Login after this extension, or not at all.
    if getattr(flask.current_app, "login_manager", None) is None:
        return None
    from flask_login import current_user

    if not current_user.is_authenticated:
        return None
    user_id = current_user.get_id()
    if user_id is None or str(user_id) == "":
        raise MissingOwner("the user that is logged in has no id")
    return f"{USER}{user_id}"


def _checked(owner: object) -> str | None:
    if owner is None:
        return None
    if not isinstance(owner, str):
        raise ConfigurationError(f"the owner loader must return text or None, not {type(owner).__name__}")
    if not is_owner(owner):
        raise ConfigurationError(f"the owner loader must return text of 1 to {MAX_OWNER} characters without NUL")
    if owner == FORGOTTEN:
        raise ConfigurationError(f"the owner loader returned {FORGOTTEN!r}, which stands for all who were forgotten")
    if owner.startswith(ANONYMOUS):
        raise ConfigurationError(f"the owner loader returned an owner that begins with {ANONYMOUS!r}; those are ours")
    return owner
