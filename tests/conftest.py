"""Fixtures for all tests."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import flask
import flask.globals
import flask.testing
import hypothesis
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import events
from flask_chat_memory.plugins import forks
from flask_chat_memory.storage.base import Storage

from .apps import make_app
from .apps import make_site
from .apps import ManualClock
from .apps import Site
from .moved_stores import moving as moving
from .redis_servers import key_prefix as key_prefix
from .redis_servers import make_node as make_node
from .redis_servers import redis_cluster as redis_cluster
from .redis_servers import redis_url as redis_url
from .session_stores import session_store as session_store
from .sql_servers import any_place as any_place
from .sql_servers import file_place as file_place
from .sql_servers import place as place
from .sql_servers import sql_places as sql_places

# How long something takes on a busy machine is no property of it.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


class MakeSite(t.Protocol):
    """Takes what :func:`tests.apps.make_site` takes, but the folder."""

    def __call__(self, **arguments: t.Any) -> Site: ...


@pytest.fixture(autouse=True)
def leak_detector() -> cabc.Iterator[None]:
    """Fail a test that leaves a context pushed."""
    yield
    leaks = []
    contexts = t.cast(t.Any, flask.globals)
    while flask.has_request_context():
        leaks.append(flask.request.path)
        contexts.request_ctx.pop()
    while flask.has_app_context():
        leaks.append(flask.current_app.name)
        contexts.app_ctx.pop()
    assert leaks == []


@pytest.fixture
def app(tmp_path: pathlib.Path) -> cabc.Iterator[flask.Flask]:
    """An app with a ChatMemory on a SQLite file; it has no provider yet."""
    app = make_app(tmp_path)
    ChatMemory(app)
    yield app
    close_plugins(app)


@pytest.fixture
def client(app: flask.Flask) -> flask.testing.FlaskClient:
    return app.test_client()


@pytest.fixture
def memory(app: flask.Flask) -> ChatMemory:
    return t.cast(ChatMemory, app.extensions["chat_memory"])


@pytest.fixture
def clock(app: flask.Flask, memory: ChatMemory) -> ManualClock:
    """The clock of the app's plugin."""
    clock = ManualClock()
    with app.app_context():
        assert memory.plugin is not None
        memory.plugin.clock = clock
    return clock


@pytest.fixture
def new_site(tmp_path: pathlib.Path) -> cabc.Iterator[MakeSite]:
    """Makes sites, by keyword arguments of :func:`tests.apps.make_site`."""
    sites: list[Site] = []

    def make(**arguments: t.Any) -> Site:
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        sites.append(make_site(folder, **arguments))
        return sites[-1]

    yield make
    for site in sites:
        close_plugins(site.app)


@pytest.fixture
def site(new_site: MakeSite) -> Site:
    return new_site()


def close_plugins(app: flask.Flask) -> None:
    memory: ChatMemory = app.extensions["chat_memory"]
    with app.app_context():
        for name in memory.settings.chatbots:
            plugin = memory.plugin_for(name)
            if plugin is not None:
                plugin.close()


@pytest.fixture(autouse=True)
def whole_errors_off() -> cabc.Iterator[None]:
    """Put back what a test, or what the docs show, has set for the errors in full."""
    level = events.whole.level
    yield
    events.whole.setLevel(level)


@pytest.fixture(autouse=True)
def plugins_closed() -> cabc.Iterator[None]:
    """Close what a test has opened, so that no connection is left to the garbage collector."""
    yield
    for shared in list(forks._known):
        if isinstance(shared, (ChatMemoryPlugin, Storage)):
            shared.close()
