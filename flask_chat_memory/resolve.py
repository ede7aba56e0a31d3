"""Makes options that depend on the app plain, on first use: paths, the site's database, its session store."""

from __future__ import annotations

import collections.abc as cabc
import os
import typing as t

import flask
import msgspec

from .errors import ConfigurationError
from .plugins.options import CheckedOptions
from .plugins.options import definitions_of
from .session_store import check_session_type
from .session_store import find_session_store
from .session_store import is_set_up
from .storage.base import Storage

if t.TYPE_CHECKING:
    import sqlalchemy as sa

Options = t.TypeVar("Options", bound=CheckedOptions)

DEFAULT_DATABASE = "sqlite:///chat-memory.sqlite3"
DEFAULT_FOLDER = "chat-memory"


class Storages(t.Protocol):
    """Makes the storage that an option chooses."""

    def chosen(self, app: flask.Flask, choice: object) -> Storage: ...


def check(app: flask.Flask, options: CheckedOptions, storages: Storages) -> None:
    """Refuse at start-up what is known to be wrong then, though it is only used later.

    :raises ConfigurationError: naming the key, the value and what is allowed.
    """
    for name, definition in definitions_of(type(options)).items():
        if definition.app_bound == "session store" and getattr(options, name) is None:
            if is_set_up(app):
                resolve(app, options, storages)
            else:
                check_session_type(app.config)


def resolve(app: flask.Flask, options: Options, storages: Storages) -> Options:
    """Return the options with values that no longer need the app.

    :raises ConfigurationError: for what only the running app shows to be wrong.
    """
    changes = {}
    for name, definition in definitions_of(type(options)).items():
        value = getattr(options, name)
        if definition.app_bound == "storage":
            changes[name] = storages.chosen(app, value)
        elif definition.app_bound is not None:
            changes[name] = _RESOLVERS[definition.app_bound](app, options, value)
    return msgspec.structs.replace(options, **changes) if changes else options


def _database_url(app: flask.Flask, options: CheckedOptions, url: str | None) -> str | None:
    if url is None:
        if getattr(options, "engine", None) is not None:
            return None
        url = DEFAULT_DATABASE
    # Imported on first use: a site that keeps nothing in a database does not wait for it.
    import sqlalchemy as sa

    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database.startswith("file:"):
        return url
    path = os.path.join(app.instance_path, parsed.database)
    return parsed.set(database=path).render_as_string(hide_password=False)


def _engine(app: flask.Flask, options: CheckedOptions, value: t.Any) -> sa.Engine | None:
    import sqlalchemy as sa

    if value is None or isinstance(value, sa.Engine):
        return value
    try:
        with app.app_context():
            engine = value.engine
    except (RuntimeError, KeyError) as error:
        raise ConfigurationError("engine: the db object is not set up for this app; call its init_app(app)") from error
    if not isinstance(engine, sa.Engine):
        raise ConfigurationError(f"engine: {type(value).__name__}.engine is no SQLAlchemy Engine")
    return engine


def _folder(app: flask.Flask, options: CheckedOptions, folder: str | None) -> str:
    return os.path.join(app.instance_path, DEFAULT_FOLDER if folder is None else folder)


def _session_store(app: flask.Flask, options: CheckedOptions, store: t.Any) -> t.Any:
    return find_session_store(app) if store is None else store


_RESOLVERS: dict[str, cabc.Callable[[flask.Flask, CheckedOptions, t.Any], t.Any]] = {
    "database url": _database_url,
    "engine": _engine,
    "folder": _folder,
    "session store": _session_store,
}
