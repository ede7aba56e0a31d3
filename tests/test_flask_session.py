"""Temporary storage on sites that use Flask-Session."""

from __future__ import annotations

import collections.abc as cabc
import json
import pathlib
import typing as t

import cachelib
import flask
import flask_session
import flask_sqlalchemy
import pytest
import sqlalchemy as sa
from flask_session.cachelib import CacheLibSessionInterface

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory.plugins.flask_session import TemporaryOptions
from flask_chat_memory.plugins.registry import PluginRegistry

from .apps import Browser
from .apps import make_app
from .apps import said
from .apps import Site
from .conftest import MakeSite
from .conversations import OWNER
from .session_stores import SessionStore

DAY = 86_400
PLUGINS = pytest.mark.parametrize("plugin", ["flask_session", "flask_session_pool"])
NewSite = cabc.Callable[..., Site]


@pytest.fixture
def new_temporary_site(session_store: SessionStore, new_site: MakeSite) -> NewSite:
    """Makes sites that keep conversations where their sessions are; ``Session(app)`` comes last."""

    def make(plugin: str = "flask_session", *, login: bool = False, **options: t.Any) -> Site:
        options = {"name": session_store.name, **options}
        config = {**session_store.config(), "CHAT_MEMORY_PLUGIN": plugin, "CHAT_MEMORY_OPTIONS": options}
        site = new_site(login=login, **config)
        session_store.start(site.app)
        return site

    return make


def kept_session(browser: Browser) -> dict[str, t.Any]:
    with browser.client.session_transaction() as session:
        return dict(session)


@PLUGINS
def test_two_visitors_have_conversations_of_their_own_that_survive_a_restart(
    new_temporary_site: NewSite, plugin: str
) -> None:
    site = new_temporary_site(plugin)
    one, other = site.browser(), site.browser()
    for text in ("first", "second"):
        assert one.ask(text).status_code == 200
    other.ask("mine")
    assert (one.texts(), other.texts()) == (said("first", "second"), said("mine"))
    assert "first" in one.client.get("/").text
    assert "first" not in other.client.get("/").text

    restarted = new_temporary_site(plugin).browser()
    restarted.take_session(one)
    assert restarted.texts() == said("first", "second")


@PLUGINS
def test_a_streamed_answer_is_stored_though_the_session_is_saved_before_it(
    new_temporary_site: NewSite, plugin: str
) -> None:
    site = new_temporary_site(plugin)

    def answer(turn: Turn) -> cabc.Iterator[str]:
        yield from ("piece ", "by ", "piece")

    site.answer = answer
    browser = site.browser()
    body = {"messages": [{"role": "user", "text": "stream"}]}
    response = browser.client.post("/chat-memory/default/messages", json=body)
    saved = kept_session(browser.twin())
    assert response.text.endswith("data: [DONE]\n\n")
    assert browser.texts() == ["stream", "piece by piece"]
    assert kept_session(browser) == saved


@PLUGINS
def test_the_session_keeps_short_pointers_and_does_not_grow(new_temporary_site: NewSite, plugin: str) -> None:
    browser = new_temporary_site(plugin).browser()
    browser.ask("first")
    after_one = kept_session(browser)
    for place in range(10):
        browser.ask(f"a rather long question {place} " * 50)
    assert kept_session(browser) == after_one
    assert len(json.dumps(after_one)) < 200


def test_a_cleared_session_is_a_new_visitor(new_temporary_site: NewSite) -> None:
    site = new_temporary_site()

    @site.app.get("/clear")
    def clear() -> str:
        flask.session.clear()
        return "cleared"

    browser = site.browser()
    browser.ask("before")
    browser.client.get("/clear")
    assert browser.texts() == []
    browser.ask("after")
    assert browser.texts() == said("after")


def test_a_regenerated_session_keeps_the_conversation(new_temporary_site: NewSite) -> None:
    site = new_temporary_site()

    @site.app.get("/regenerate")
    def regenerate() -> str:
        t.cast(t.Any, flask.current_app.session_interface).regenerate(flask.session)
        return "regenerated"

    browser = site.browser()
    browser.ask("before")
    former = browser.client.get_cookie("session")
    browser.client.get("/regenerate")
    assert browser.client.get_cookie("session") != former
    browser.ask("after")
    assert browser.texts() == said("before", "after")


def test_a_login_takes_the_conversation_along_and_a_logout_hides_it(new_temporary_site: NewSite) -> None:
    browser = new_temporary_site(login=True).browser()
    browser.ask("anonymous")
    browser.login("alice")
    browser.ask("known")
    assert browser.texts() == said("anonymous", "known")
    browser.logout()
    assert browser.texts() == []
    browser.login("bob")
    assert browser.texts() == []
    browser.logout()
    browser.login("alice")
    assert browser.texts() == said("anonymous", "known")


def test_a_conversation_is_gone_after_an_idle_day(new_temporary_site: NewSite) -> None:
    site = new_temporary_site()
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("first")
    clock.advance(DAY - 1)
    assert browser.texts() == said("first")
    clock.advance(2)
    assert browser.texts() == []


@pytest.mark.scenario("D14", "D16")
def test_the_pool_keeps_ten_conversations_and_lets_the_idlest_go(new_temporary_site: NewSite) -> None:
    site = new_temporary_site("flask_session_pool")
    clock = site.set_clock()
    browser = site.browser()
    ids: list[str] = []
    for place in range(10):
        ids.append(browser.new_chat())
        browser.ask(f"chat {place}", thread_id=ids[-1])
        clock.advance(1)
    browser.ask("again", thread_id=ids[0])
    ids.append(browser.new_chat())
    browser.ask("chat 10", thread_id=ids[-1])
    assert browser.texts(thread_id=ids[0]) == said("chat 0", "again")
    left = [
        place
        for place, thread_id in enumerate(ids)
        if browser.post(f"default/threads/{thread_id}/open").status_code == 200
    ]
    assert left == [0, *range(2, 11)]


def test_session_may_be_set_up_first(session_store: SessionStore, tmp_path: pathlib.Path) -> None:
    options = {"name": session_store.name}
    app = make_app(tmp_path, **session_store.config(), CHAT_MEMORY_PLUGIN="flask_session", CHAT_MEMORY_OPTIONS=options)
    session_store.start(app)
    memory = ChatMemory(app)
    memory.provider(lambda turn: f"You said: {turn.text}")
    browser = Browser(app)
    browser.ask("hello")
    assert browser.texts() == said("hello")


def test_conversations_meet_neither_the_sessions_nor_those_of_other_plugins(
    session_store: SessionStore, new_temporary_site: NewSite
) -> None:
    site = new_temporary_site()
    browser = site.browser()
    browser.ask("hello")
    temporary = site.plugin
    where = t.cast(TemporaryOptions, temporary.options).store
    plain = {
        "redis": ("redis", {"client": where, "key_prefix": f"{session_store.name}-plain:"}),
        "sqlalchemy": ("sqlalchemy", {"engine": where}),
        "files": ("file", {"folder": where}),
    }
    neighbours = [
        PluginRegistry().create("flask_session", {"store": where, "name": f"{session_store.name}_other"}),
        PluginRegistry().create("flask_session_pool", {"store": where, "name": f"{session_store.name}_pool"}),
        PluginRegistry().create(*plain[session_store.kind]),
    ]
    scope = Scope(OWNER)
    for plugin in [temporary, *neighbours]:
        assert plugin.load_messages(scope, "thread") == []
        plugin.append_messages(scope, "thread", [ChatMessage("user", "hello")])
        assert len(plugin.load_messages(scope, "thread")) == 1
    assert browser.texts() == said("hello")


def test_closing_leaves_the_store_to_the_site(new_temporary_site: NewSite, session_store: SessionStore) -> None:
    site = new_temporary_site()
    browser = site.browser()
    browser.ask("hello")
    before = kept_session(browser)
    site.plugin.close()
    assert kept_session(browser) == before
    # Files are not kept open, so there is nothing to close.
    expected = 200 if session_store.kind == "files" else 503
    assert browser.client.get("/chat-memory/default/history").status_code == expected


def test_a_full_cache_of_sessions_takes_no_conversation_with_it(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    cache = cachelib.FileSystemCache(str(tmp_path / "sessions"), threshold=3)
    site = new_site(login=True, SESSION_TYPE="cachelib", SESSION_CACHELIB=cache, CHAT_MEMORY_PLUGIN="flask_session")
    flask_session.Session(site.app)
    for name in (f"user {place}" for place in range(10)):
        browser = site.browser()
        browser.login(name)
        browser.ask(f"of {name}")
    assert len(list((tmp_path / "sessions").iterdir())) < 10
    for name in (f"user {place}" for place in range(10)):
        browser = site.browser()
        browser.login(name)
        assert browser.texts() == said(f"of {name}")
    assert {path.name for path in tmp_path.iterdir()} >= {"sessions", "sessions-chat_memory_temporary"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning:flask_session")
def test_the_deprecated_file_sessions_are_followed_too(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "old"
    site = new_site(SESSION_TYPE="filesystem", SESSION_FILE_DIR=f"{folder}/", CHAT_MEMORY_PLUGIN="flask_session")
    flask_session.Session(site.app)
    browser = site.browser()
    browser.ask("hello")
    assert browser.texts() == said("hello")
    assert (tmp_path / "old-chat_memory_temporary").is_dir()


@pytest.mark.filterwarnings("ignore:.*(get_engine|bind):DeprecationWarning")
def test_the_database_of_the_sessions_may_be_one_of_several(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    db = flask_sqlalchemy.SQLAlchemy()
    site = new_site(
        SESSION_TYPE="sqlalchemy",
        SESSION_SQLALCHEMY=db,
        SESSION_SQLALCHEMY_BIND_KEY="visits",
        SQLALCHEMY_DATABASE_URI=f"sqlite:///{tmp_path}/site.db",
        SQLALCHEMY_BINDS={"visits": f"sqlite:///{tmp_path}/visits.db"},
        CHAT_MEMORY_PLUGIN="flask_session",
    )
    db.init_app(site.app)
    flask_session.Session(site.app)
    site.browser().ask("hello")
    with site.app.app_context():
        tables = {name: set(sa.inspect(engine).get_table_names()) for name, engine in db.engines.items()}
        for engine in db.engines.values():
            engine.dispose()
    assert tables[None] == set()
    assert {"sessions", "chat_memory_temporary_thread"} <= tables["visits"]


def test_a_session_interface_of_the_sites_own_kind_is_followed(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    class Interface(CacheLibSessionInterface):  # type: ignore[misc]
        pass

    site = new_site(SESSION_TYPE="cachelib", CHAT_MEMORY_PLUGIN="flask_session")
    site.app.session_interface = Interface(client=cachelib.FileSystemCache(str(tmp_path / "sessions")))
    browser = site.browser()
    browser.ask("hello")
    assert browser.texts() == said("hello")
    assert (tmp_path / "sessions-chat_memory_temporary").is_dir()


def test_a_store_that_is_given_need_not_be_that_of_the_sessions(new_site: MakeSite, tmp_path: pathlib.Path) -> None:
    options = {"store": str(tmp_path / "elsewhere")}
    browser = new_site(CHAT_MEMORY_PLUGIN="flask_session", CHAT_MEMORY_OPTIONS=options).browser()
    browser.ask("hello")
    assert browser.texts() == said("hello")
    assert (tmp_path / "elsewhere-chat_memory_temporary").is_dir()
