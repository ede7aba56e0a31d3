"""Session stores that temporary storage cannot follow."""

from __future__ import annotations

import collections.abc as cabc
import logging
import pathlib
import typing as t

import cachelib
import flask
import flask.sessions
import flask_session
import flask_sqlalchemy
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory.plugins.registry import PluginRegistry

from .apps import make_app
from .conftest import MakeSite

PLUGINS = pytest.mark.parametrize("plugin", ["flask_session", "flask_session_pool"])
ALTERNATIVES = (
    "flask_session and flask_session_pool need Flask-Session with SESSION_TYPE 'redis', 'sqlalchemy', or 'cachelib' "
    "with a FileSystemCache; or choose the plugin 'sqlalchemy', 'file' or 'redis'"
)


def refused(app: flask.Flask) -> str:
    """Return the reason for which the app is refused at start-up; the alternatives stand beside it."""
    with pytest.raises(ConfigurationError) as caught:
        ChatMemory(app)
    assert "chat_memory" not in app.extensions
    reason, _, alternatives = str(caught.value).partition("; ")
    assert alternatives == ALTERNATIVES
    return reason


@pytest.mark.scenario("S031")
@PLUGINS
def test_sessions_in_cookies_are_refused_at_start_up(plugin: str, tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=plugin)
    assert refused(app) == "the sessions are in cookies, SESSION_TYPE is not set"


@pytest.mark.parametrize("kind", ["memcached", "mongodb", "dynamodb", "postgresql", "null", "Mongodb", "", 5])
def test_other_session_types_are_refused_at_start_up(kind: object, tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="flask_session", SESSION_TYPE=kind)
    assert refused(app) == f"SESSION_TYPE is {kind!r}"


@pytest.mark.parametrize("kind", ["redis", "Redis", "sqlalchemy", "cachelib", "CacheLib", "filesystem"])
def test_a_session_that_may_still_be_set_up_is_not_refused_at_start_up(kind: str, tmp_path: pathlib.Path) -> None:
    ChatMemory(make_app(tmp_path, CHAT_MEMORY_PLUGIN="flask_session", SESSION_TYPE=kind))


OTHER_CACHES: list[cabc.Callable[[], cachelib.BaseCache]] = [
    cachelib.SimpleCache,
    cachelib.NullCache,
    lambda: cachelib.MemcachedCache(object()),
]


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("make_cache", OTHER_CACHES)
def test_other_caches_are_refused_at_start_up(
    early: bool, make_cache: cabc.Callable[[], cachelib.BaseCache], tmp_path: pathlib.Path
) -> None:
    cache = make_cache()
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="flask_session", SESSION_TYPE="cachelib", SESSION_CACHELIB=cache)
    if early:
        flask_session.Session(app)
    assert refused(app) == f"the sessions are in a {type(cache).__name__} of cachelib"


def test_another_session_interface_is_refused_at_start_up(tmp_path: pathlib.Path) -> None:
    class Drawer(flask.sessions.SessionInterface):
        pass

    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="flask_session")
    app.session_interface = Drawer()
    assert refused(app) == "the sessions are kept by Drawer"


@pytest.mark.parametrize("chatbots", [{"default": {"plugin": None}}, {"search": {"history": False}}])
def test_a_plugin_that_no_chatbot_uses_is_not_looked_at(chatbots: t.Any, tmp_path: pathlib.Path) -> None:
    ChatMemory(make_app(tmp_path, CHAT_MEMORY_PLUGIN="flask_session", CHAT_MEMORY_CHATBOTS=chatbots))


def test_one_chatbot_among_others_is_refused(tmp_path: pathlib.Path) -> None:
    chatbots = {"default": {}, "tutor": {"plugin": "flask_session_pool"}}
    assert refused(make_app(tmp_path, CHAT_MEMORY_CHATBOTS=chatbots))


def test_a_missing_call_of_session_is_told_on_first_use(
    new_site: MakeSite, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = cachelib.FileSystemCache(str(tmp_path / "sessions"))
    site = new_site(CHAT_MEMORY_PLUGIN="flask_session", SESSION_TYPE="cachelib", SESSION_CACHELIB=cache)
    reason = f"the sessions are in cookies, Session(app) was not called; {ALTERNATIVES}"
    with caplog.at_level(logging.ERROR, "flask_chat_memory"):
        response = site.browser().ask("hello")
    assert response.status_code == 503
    assert "Session" not in response.text
    assert reason in caplog.text
    with pytest.raises(ConfigurationError) as caught:
        assert site.plugin
    assert str(caught.value) == reason

    # Not too late.
    flask_session.Session(site.app)
    assert site.browser().ask("hello").status_code == 200


@pytest.mark.parametrize("early", [True, False])
def test_a_database_of_sessions_in_memory_is_refused_once_it_is_known(early: bool, tmp_path: pathlib.Path) -> None:
    db = flask_sqlalchemy.SQLAlchemy()
    app = make_app(
        tmp_path,
        CHAT_MEMORY_PLUGIN="flask_session",
        SESSION_TYPE="sqlalchemy",
        SESSION_SQLALCHEMY=db,
        SQLALCHEMY_DATABASE_URI="sqlite://",
    )

    def start() -> None:
        db.init_app(app)
        flask_session.Session(app)

    if early:
        start()
        with pytest.raises(ConfigurationError) as caught:
            ChatMemory(app)
    else:
        memory = ChatMemory(app)
        start()
        with app.app_context(), pytest.raises(ConfigurationError) as caught:
            assert memory.plugin
    assert str(caught.value) == (
        "flask_session and flask_session_pool cannot use the store: "
        "the database is in memory; use one in a file, or choose the plugin 'in_memory'"
    )
    with app.app_context():
        db.engine.dispose()


def test_a_choice_of_the_settings_page_that_cannot_be_leaves_the_history_in_the_browser(
    new_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    extension = {"settings_loader": lambda chatbot: {"plugin": "flask_session"}}
    browser = new_site(extension=extension).browser()
    with caplog.at_level(logging.WARNING, "flask_chat_memory"):
        assert browser.history()["mode"] == "client"
    assert ALTERNATIVES in caplog.text


@PLUGINS
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "a-b"}, "name is 'a-b'; allowed are up to 31 letters, digits and underscores"),
        ({"name": ""}, "name is ''"),
        ({"name": "../up"}, "name is '../up'"),
        ({"name": "n" * 32}, "allowed are up to 31"),
        ({"store": 5}, "store must be a client of Redis, a SQLAlchemy Engine or the path of a folder"),
        ({"store": ""}, "store must be"),
        ({"url": "redis://"}, "has no option 'url'; the options are: "),
        ({"threads": "some"}, "threads is 'some'; allowed is "),
        ({"expiry": 0}, "expiry is 0; the smallest value is 1"),
    ],
)
def test_a_wrong_option_is_refused(plugin: str, options: dict[str, t.Any], reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PluginRegistry().create(plugin, options)
    assert reason in str(caught.value)
    assert plugin in str(caught.value)


def test_the_number_of_threads_is_the_plugins_own() -> None:
    with pytest.raises(ConfigurationError, match="threads is 'many'; allowed is 'one'"):
        PluginRegistry().create("flask_session", {"threads": "many"})
    with pytest.raises(ConfigurationError, match="threads is 'one'; allowed is 'many'"):
        PluginRegistry().create("flask_session_pool", {"threads": "one"})
