"""Which storage serves which domain of an app."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import flask
import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Storage
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.options import CheckedOptions
from flask_chat_memory.plugins.options import Option
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.keys import FOLDERS
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork

from .conversations import OWNER
from .own_storage import OwnStorage
from .redis_servers import remove_keys

PATH = f"{OwnStorage.__module__}:OwnStorage"


class Stores(t.Protocol):
    """Takes values of ``CHAT_MEMORY_*``; gives the storage of a domain."""

    def __call__(self, **config: t.Any) -> cabc.Callable[[str], Storage]: ...


@pytest.fixture
def stores(tmp_path: pathlib.Path) -> Stores:
    def make(**config: t.Any) -> cabc.Callable[[str], Storage]:
        memory, app = make_memory(tmp_path, **config)

        def of_domain(domain: str) -> Storage:
            with app.app_context():
                return memory.storage(domain)._storage

        return of_domain

    return make


def make_memory(folder: pathlib.Path, **config: t.Any) -> tuple[ChatMemory, flask.Flask]:
    app = flask.Flask("site", instance_path=str(folder / "instance"))
    app.config.update({f"CHAT_MEMORY_{name}": value for name, value in config.items()})
    return ChatMemory(app), app


def refused(**config: t.Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make_memory(pathlib.Path("/nowhere"), **config)
    return str(caught.value)


def test_documents_are_beside_the_conversations(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, PLUGIN="sqlalchemy", OPTIONS={"expiry": None, "table_prefix": "bot_"})
    with app.app_context():
        memory.start_conversation(OWNER).turn("hi").finish("hello")
        memory.storage("settings").save("skills", {"a": 1})
    engine = sa.create_engine(f"sqlite:///{tmp_path}/instance/chat-memory.sqlite3")
    assert {"bot_thread", "bot_document"} <= set(sa.inspect(engine).get_table_names())
    engine.dispose()


def test_they_are_in_the_same_folder(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, PLUGIN="file", OPTIONS={"folder": "chat"})
    with app.app_context():
        memory.storage("settings").save("skills", {"a": 1})
    assert (tmp_path / "instance/chat/config/skills.json").is_file()


def test_they_are_in_the_same_server(stores: Stores, redis_url: str, key_prefix: str) -> None:
    redis = pytest.importorskip("redis")
    with redis.Redis.from_url(redis_url) as client:
        storage = stores(PLUGIN="redis", OPTIONS={"client": client, "key_prefix": key_prefix})("settings")
        assert isinstance(storage, RedisStorage)
        try:
            storage.save("a", {})
            assert len(list(client.scan_iter(f"{key_prefix}document:*", count=1000))) == 2
        finally:
            remove_keys(client, key_prefix)


def test_they_are_in_the_database_that_the_site_opened(tmp_path: pathlib.Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/site.sqlite3")
    memory, app = make_memory(tmp_path, PLUGIN="sqlalchemy", OPTIONS={"engine": engine})
    with app.app_context():
        memory.storage("site").save("a", {})
    assert "chat_memory_document" in sa.inspect(engine).get_table_names()
    engine.dispose()


def test_they_go_with_the_process_where_conversations_do(stores: Stores) -> None:
    assert isinstance(stores(PLUGIN="in_memory")("site"), InMemoryStorage)


def test_the_plugin_of_a_chatbot_or_of_the_settings_loader_says_nothing_of_documents(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_CHATBOTS={"support": {"plugin": "file"}})
    memory = ChatMemory(app, settings_loader=lambda _: {"plugin": "file"})
    with app.app_context(), pytest.raises(ConfigurationError, match="set CHAT_MEMORY_STORAGE"):
        memory.storage("settings")


def test_the_main_storage_serves_every_domain_without_one_of_its_own(stores: Stores, tmp_path: pathlib.Path) -> None:
    main, own = OwnStorage(), OwnStorage()
    of_domain = stores(PLUGIN="sqlalchemy", STORAGE=main, STORAGES={"learning": own, "settings": {"type": "file"}})
    for domain in FOLDERS:
        if domain not in ("learning", "settings"):
            assert of_domain(domain) is main
    assert of_domain("learning") is own
    settings = of_domain("settings")
    assert isinstance(settings, FileStorage)
    settings.save("a", {})
    assert (tmp_path / "instance/chat-memory/a.json").is_file()


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        ("file", FileStorage),
        ("sqlalchemy", SQLAlchemyStorage),
        ("in_memory", InMemoryStorage),
        ({"type": "file", "folder": "x"}, FileStorage),
        ({"type": FileStorage, "folder": "x"}, FileStorage),
        (FileStorage, FileStorage),
        ("flask_chat_memory.storage.file:FileStorage", FileStorage),
        (OwnStorage, OwnStorage),
        (PATH, OwnStorage),
        (PATH.replace(":", "."), OwnStorage),
        ({"type": PATH}, OwnStorage),
    ],
)
def test_a_storage_is_chosen(stores: Stores, choice: t.Any, kind: type[Storage]) -> None:
    of_domain = stores(STORAGE=choice)
    assert isinstance(of_domain("site"), kind)
    assert of_domain("site") is of_domain("settings")


def test_equal_choices_share_an_instance(stores: Stores) -> None:
    same = {"type": "file", "folder": "x"}
    of_domain = stores(STORAGE=same, STORAGES={"facts": dict(same), "learning": {**same, "folder": "y"}})
    assert of_domain("facts") is of_domain("site")
    assert of_domain("learning") is not of_domain("site")


def test_a_sites_storage_may_have_options_of_its_own(stores: Stores) -> None:
    class Optioned(OwnStorage):
        class Options(CheckedOptions, frozen=True, kw_only=True):
            size: t.Annotated[int, Option(label="Size", minimum=1)] = 5
            folder: t.Annotated[str | None, Option(label="Folder", app_bound="folder")] = None

        def __init__(self, options: Options) -> None:
            super().__init__()
            self.options = options

    storage = t.cast(Optioned, stores(STORAGE={"type": Optioned, "size": "7", "folder": "here"})("site"))
    assert storage.options.size == 7
    assert str(storage.options.folder).endswith("instance/here")
    text = refused(STORAGE={"type": Optioned, "sise": 7})
    assert text == "CHAT_MEMORY_STORAGE has no option 'sise'; the options are: size, folder"


class Addressed(OwnStorage):
    def __init__(self, url: str) -> None: ...


class Strange(OwnStorage):
    class Options:
        url = ""


class Half(Storage):
    def load(self, key: str) -> None: ...


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"STORAGE": "fil"},
            "CHAT_MEMORY_STORAGE: no storage 'fil'; known are: file, sqlalchemy, redis, in_memory, encrypted, "
            "or an import path 'package.module:Class'",
        ),
        (
            {"STORAGE": "None"},
            "CHAT_MEMORY_STORAGE: no storage 'None'; known are: file, sqlalchemy, redis, in_memory, encrypted, "
            "or an import path 'package.module:Class'; for no storage of its own use None, not a string",
        ),
        ({"STORAGE": "no_such:X"}, "CHAT_MEMORY_STORAGE: storage 'no_such:X': there is no module 'no_such'"),
        (
            {"STORAGE": "tests.own_storage:Other"},
            "CHAT_MEMORY_STORAGE: storage 'tests.own_storage:Other': 'tests.own_storage' has no 'Other'",
        ),
        (
            {"STORAGE": 7},
            "CHAT_MEMORY_STORAGE: 7 is no Storage: give an id, an import path, a class or an instance",
        ),
        ({"STORAGE": Half}, f"CHAT_MEMORY_STORAGE: storage {Half!r} lacks delete, exists, list, save"),
        (
            {"STORAGE": {"folder": "x"}},
            "CHAT_MEMORY_STORAGE is a dict without 'type'; known types are: file, sqlalchemy, redis, in_memory, "
            "encrypted",
        ),
        (
            {"STORAGE": {"type": "file", "foldr": "x"}},
            "CHAT_MEMORY_STORAGE has no option 'foldr'; the options are: folder",
        ),
        (
            {"STORAGE": {"type": "in_memory", "expiry": 5}},
            "CHAT_MEMORY_STORAGE has no option 'expiry'; the options are: none",
        ),
        ({"STORAGE": {"type": "file", "folder": 5}}, "CHAT_MEMORY_STORAGE: folder is 5; allowed is str or None"),
        ({"STORAGE": {"type": "file", "folder": ""}}, "CHAT_MEMORY_STORAGE: file: folder '' is no path"),
        (
            {"STORAGE": {"type": PATH, "a": 1}},
            "CHAT_MEMORY_STORAGE: OwnStorage has no Options; give an instance of it",
        ),
        ({"STORAGE": Addressed}, "CHAT_MEMORY_STORAGE: Addressed has no Options; give an instance of it"),
        (
            {"PLUGIN": "documents", "OPTIONS": {"storage": Addressed}},
            "CHAT_MEMORY_OPTIONS: storage: Addressed has no Options; give an instance of it",
        ),
        ({"STORAGE": Strange}, f"CHAT_MEMORY_STORAGE: storage {Strange!r}: its Options are no CheckedOptions"),
        ({"STORAGES": ["file"]}, "CHAT_MEMORY_STORAGES must be a dict, not list"),
        (
            {"STORAGES": {"lerning": "file"}},
            "CHAT_MEMORY_STORAGES has no domain 'lerning'; the domains are: conversation, learning, user_memory, "
            "summaries, facts, settings, site",
        ),
        ({"STORAGES": {"facts": {"type": "redis"}}}, None),
        ({"PLUGIN": "documents"}, "plugin 'documents' needs a storage: set its option storage, or CHAT_MEMORY_STORAGE"),
        (
            {"PLUGIN": "documents", "OPTIONS": {"storage": {"type": "file", "foldr": 1}}},
            "CHAT_MEMORY_OPTIONS: storage has no option 'foldr'; the options are: folder",
        ),
    ],
)
def test_a_wrong_choice_is_refused_at_start_up(config: dict[str, t.Any], text: str | None) -> None:
    found = refused(**config)
    assert found == text if text else found.startswith("CHAT_MEMORY_STORAGES['facts']: redis: give either url")


def test_a_chatbot_without_history_needs_no_storage(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, CHATBOTS={"search": {"plugin": "documents", "history": False}})
    assert plugin_of(memory, app) is None


def test_a_secret_of_a_storage_is_not_shown() -> None:
    url = "redis://:swordfish@localhost/0"
    text = refused(STORAGE={"type": "redis", "url": url, "client": url})
    assert "swordfish" not in text


def test_an_unknown_domain_names_the_known_ones(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, STORAGE="in_memory")
    with (
        app.app_context(),
        pytest.raises(ConfigurationError, match="no domain 'lerning'; the domains are: conv"),
    ):
        memory.storage("lerning")


def test_no_storage_is_contacted_at_start_up(tmp_path: pathlib.Path) -> None:
    make_memory(
        tmp_path, STORAGE="file", STORAGES={"facts": "sqlalchemy", "site": {"type": "redis", "url": "redis://h/0"}}
    )
    assert list(tmp_path.iterdir()) == []


def test_history_in_the_browser_needs_no_storage(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, PLUGIN=None)
    with app.app_context():
        with pytest.raises(ConfigurationError) as caught:
            memory.storage("learning")
    text = "there is no storage for 'learning': CHAT_MEMORY_PLUGIN names none; set CHAT_MEMORY_STORAGE"
    assert str(caught.value) == text


def plugin_of(memory: ChatMemory, app: flask.Flask) -> ChatMemoryPlugin | None:
    with app.app_context():
        return memory.plugin


def test_the_plugin_documents_keeps_threads_in_the_storage_of_conversations(tmp_path: pathlib.Path) -> None:
    conversations, main = OwnStorage(), OwnStorage()
    memory, app = make_memory(tmp_path, PLUGIN="documents", STORAGE=main, STORAGES={"conversation": conversations})
    with app.app_context():
        memory.start_conversation(OWNER).turn("hi").finish("hello")
        memory.storage("learning").save("a", {})
    assert {key.split("/")[0] for key in conversations.list()} == {"conversations"}
    assert main.list() == ["learning/a"]


def test_the_plugin_documents_makes_a_storage_in_the_instance_folder(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, PLUGIN="documents", OPTIONS={"storage": {"type": "file", "folder": "x"}})
    plugin = plugin_of(memory, app)
    assert isinstance(plugin, DocumentsPlugin)
    with app.app_context():
        memory.start_conversation(OWNER).turn("hi").finish("hello")
    assert len(list((tmp_path / "instance/x/conversations").rglob("default/*.json"))) == 1


@needs_fork
def test_a_child_has_the_storages_of_its_parent(tmp_path: pathlib.Path) -> None:
    memory, app = make_memory(tmp_path, PLUGIN="sqlalchemy")
    with app.app_context():
        memory.storage("site").save("a", {"n": 1})

        def work(_say: object) -> None:
            assert memory.storage("site").load("a") == {"n": 1}
            memory.storage("learning").save("b", {})

        assert Child(work).wait() == 0
        assert memory.storage("learning").exists("b")
