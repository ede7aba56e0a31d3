"""The stores of Flask-Session that temporary storage follows."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import secrets
import typing as t

import cachelib.file
import flask
import flask_session
import flask_sqlalchemy
import pytest
import redis

from .redis_servers import remove_keys

KINDS = ["redis", "sqlalchemy", "files"]


class SessionStore:
    """A store for the sessions of apps.

    :ivar name: under which the plugins keep the conversations in it.
    """

    def __init__(self, kind: str, folder: pathlib.Path, client: redis.Redis | None) -> None:
        self.kind = kind
        self.folder = folder
        self.name = f"test_{secrets.token_hex(8)}"
        self.client = client
        self._databases: list[tuple[flask.Flask, flask_sqlalchemy.SQLAlchemy]] = []

    @property
    def database(self) -> pathlib.Path:
        return self.folder / "site.sqlite3"

    @property
    def cache_folder(self) -> pathlib.Path:
        return self.folder / "sessions"

    def config(self) -> dict[str, t.Any]:
        """Return the configuration of a site, which has not called ``Session(app)`` yet."""
        config = {"SESSION_KEY_PREFIX": f"session-{self.name}:"}
        if self.kind == "redis":
            return {**config, "SESSION_TYPE": "redis", "SESSION_REDIS": self.client}
        if self.kind == "files":
            cache = cachelib.file.FileSystemCache(str(self.cache_folder))
            return {**config, "SESSION_TYPE": "cachelib", "SESSION_CACHELIB": cache}
        uri = f"sqlite:///{self.database}"
        db = flask_sqlalchemy.SQLAlchemy()
        return {**config, "SESSION_TYPE": "sqlalchemy", "SESSION_SQLALCHEMY": db, "SQLALCHEMY_DATABASE_URI": uri}

    def start(self, app: flask.Flask) -> None:
        """Do what the site does besides configuring."""
        db = app.config.get("SESSION_SQLALCHEMY")
        if db is not None:
            db.init_app(app)
            self._databases.append((app, db))
        flask_session.Session(app)

    def close(self) -> None:
        for app, db in self._databases:
            with app.app_context():
                for engine in db.engines.values():
                    engine.dispose()
        if self.client is not None:
            for prefix in (f"session-{self.name}:", self.name):
                remove_keys(self.client, prefix)
            self.client.close()


@contextlib.contextmanager
def opened(kind: str, request: pytest.FixtureRequest) -> cabc.Iterator[SessionStore]:
    client = redis.Redis.from_url(request.getfixturevalue("redis_url")) if kind == "redis" else None
    store = SessionStore(kind, request.getfixturevalue("tmp_path"), client)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture(params=KINDS)
def session_store(request: pytest.FixtureRequest) -> cabc.Iterator[SessionStore]:
    """Each store in turn."""
    with opened(request.param, request) as store:
        yield store
