"""Finds where the site's Flask-Session keeps its sessions."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import flask
import flask.sessions

from .errors import ConfigurationError

ALLOWED = (
    "flask_session and flask_session_pool need Flask-Session with SESSION_TYPE 'redis', 'sqlalchemy', or 'cachelib' "
    "with a FileSystemCache; or choose the plugin 'sqlalchemy', 'file' or 'redis'"
)


def is_set_up(app: flask.Flask) -> bool:
    """Tell whether the app keeps its sessions elsewhere than in cookies, as it does after ``Session(app)``."""
    return not isinstance(app.session_interface, flask.sessions.SecureCookieSessionInterface)


def check_session_type(config: cabc.Mapping[str, t.Any]) -> None:
    """Refuse a configuration that cannot become a usable store when ``Session(app)`` is called later.

    :raises ConfigurationError: naming what is allowed.
    """
    kind = config.get("SESSION_TYPE")
    if kind is None:
        raise ConfigurationError(f"the sessions are in cookies, SESSION_TYPE is not set; {ALLOWED}")
    if not isinstance(kind, str) or kind.lower() not in ("redis", "sqlalchemy", "cachelib", "filesystem"):
        raise ConfigurationError(f"SESSION_TYPE is {kind!r}; {ALLOWED}")
    cache = config.get("SESSION_CACHELIB")
    if kind.lower() == "cachelib" and cache is not None:
        _folder_of(cache)


def find_session_store(app: flask.Flask) -> t.Any:
    """Return the site's client of Redis, its SQLAlchemy Engine, or the folder of its session files.

    :raises ConfigurationError: if the sessions are elsewhere.
    """
    if not is_set_up(app):
        raise ConfigurationError(f"the sessions are in cookies, Session(app) was not called; {ALLOWED}")
    interface: t.Any = app.session_interface
    for kind in type(interface).__mro__:
        if kind.__name__ in _STORES:
            return _STORES[kind.__name__](app, interface)
    raise ConfigurationError(f"the sessions are kept by {type(interface).__name__}; {ALLOWED}")


def _engine(app: flask.Flask, interface: t.Any) -> t.Any:
    with app.app_context():
        return interface.client.engines[interface.sql_session_model.__bind_key__]


def _folder_of(cache: t.Any) -> str:
    # Imported here: a site that does not need it does not wait for it.
    from cachelib import FileSystemCache

    if not isinstance(cache, FileSystemCache):
        raise ConfigurationError(f"the sessions are in a {type(cache).__name__} of cachelib; {ALLOWED}")
    return cache._path


# By the names of the classes: to import one would import its driver.
_STORES: dict[str, cabc.Callable[[flask.Flask, t.Any], t.Any]] = {
    "RedisSessionInterface": lambda app, interface: interface.client,
    "SqlAlchemySessionInterface": _engine,
    "CacheLibSessionInterface": lambda app, interface: _folder_of(interface.cache),
    "FileSystemSessionInterface": lambda app, interface: _folder_of(interface.cache),
}
