from __future__ import annotations

import logging
import pathlib
import typing as t

import flask
import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ConfigurationError
from flask_chat_memory import StorageError

from .conversations import OWNER
from .five_methods import FiveMethodsPlugin


def make_app(folder: pathlib.Path, plugin: t.Any = "sqlalchemy", **options: t.Any) -> flask.Flask:
    app = flask.Flask("site", instance_path=str(folder / "instance"))
    app.config.update(SECRET_KEY="secret", CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS=options)
    return app


def use(app: flask.Flask, memory: ChatMemory) -> None:
    with app.app_context():
        conversation = memory.start_conversation(OWNER)
        conversation.turn("hi").finish("hello")
        assert len(memory.start_conversation(OWNER).history()) == 2


def tables_of(path: pathlib.Path) -> set[str]:
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        return {name for name in sa.inspect(engine).get_table_names() if name.startswith("chat_memory_")}
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("url", "file"),
    [
        (None, "instance/chat-memory.sqlite3"),
        ("sqlite:///own.db", "instance/own.db"),
        ("sqlite:///deeper/own.db", "instance/deeper/own.db"),
        ("sqlite+pysqlite:///own.db?timeout=5", "instance/own.db"),
        ("sqlite:///{folder}/elsewhere.db", "elsewhere.db"),
    ],
)
def test_a_database_file_stands_in_the_instance_folder(url: str | None, file: str, tmp_path: pathlib.Path) -> None:
    options = {} if url is None else {"url": url.format(folder=tmp_path)}
    app = make_app(tmp_path, **options)
    memory = ChatMemory(app)
    assert list(tmp_path.iterdir()) == []
    use(app, memory)
    assert tables_of(tmp_path / file)


def test_an_engine_is_used_as_it_is(tmp_path: pathlib.Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/site.db")
    app = make_app(tmp_path, engine=engine)
    memory = ChatMemory(app)
    use(app, memory)
    with app.app_context():
        assert memory.plugin is not None
        memory.plugin.close()
    assert tables_of(tmp_path / "site.db")
    assert not (tmp_path / "instance").exists()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
    engine.dispose()


@pytest.mark.parametrize("early", [True, False])
def test_the_database_of_flask_sqlalchemy_is_used(early: bool, tmp_path: pathlib.Path) -> None:
    from flask_sqlalchemy import SQLAlchemy

    db = SQLAlchemy()
    app = make_app(tmp_path, engine=db)
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path}/site.db"
    if early:
        db.init_app(app)
    memory = ChatMemory(app)
    if not early:
        db.init_app(app)
    use(app, memory)
    assert tables_of(tmp_path / "site.db")
    with app.app_context():
        db.engine.dispose()


def test_the_database_of_flask_sqlalchemy_lite_is_used(tmp_path: pathlib.Path) -> None:
    from flask_sqlalchemy_lite import SQLAlchemy

    db = SQLAlchemy()
    app = make_app(tmp_path, engine=db)
    app.config["SQLALCHEMY_ENGINES"] = {"default": f"sqlite:///{tmp_path}/site.db"}
    db.init_app(app)
    use(app, ChatMemory(app))
    assert tables_of(tmp_path / "site.db")
    with app.app_context():
        db.engine.dispose()


def _full() -> t.Any:
    from flask_sqlalchemy import SQLAlchemy

    return SQLAlchemy()


def _lite() -> t.Any:
    from flask_sqlalchemy_lite import SQLAlchemy

    return SQLAlchemy()


@pytest.mark.parametrize("make", [_full, _lite])
def test_a_db_of_another_app_is_refused_with_the_cure(make: t.Callable[[], t.Any], tmp_path: pathlib.Path) -> None:
    db = make()
    other = flask.Flask("other", instance_path=str(tmp_path))
    other.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path}/other.db"
    other.config["SQLALCHEMY_ENGINES"] = {"default": f"sqlite:///{tmp_path}/other.db"}
    db.init_app(other)
    app = make_app(tmp_path, engine=db)
    memory = ChatMemory(app)
    with app.app_context(), pytest.raises(ConfigurationError, match="init_app"):
        memory.start_conversation(OWNER)
    with other.app_context():
        db.engine.dispose()


@pytest.mark.parametrize("engine", ["sqlite:///a.db", 5, object()])
def test_what_is_no_database_is_refused_at_start_up(engine: t.Any, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigurationError, match="engine"):
        ChatMemory(make_app(tmp_path, engine=engine))


def test_an_engine_of_the_wrong_kind_is_refused(tmp_path: pathlib.Path) -> None:
    class Odd:
        engine = "no engine"

    app = make_app(tmp_path, engine=Odd())
    with pytest.raises(ConfigurationError, match="engine"):
        memory = ChatMemory(app)
        with app.app_context():
            memory.start_conversation(OWNER)


def test_an_instance_folder_that_cannot_be_made_is_a_failed_store(tmp_path: pathlib.Path) -> None:
    (tmp_path / "instance").write_text("a file, no folder")
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    with app.app_context(), pytest.raises((StorageError, ConfigurationError)):
        memory.start_conversation(OWNER)


def test_a_plugin_may_have_options_that_are_lists(tmp_path: pathlib.Path) -> None:
    class Hosts(FiveMethodsPlugin):
        class Options(FiveMethodsPlugin.Options, frozen=True, kw_only=True):
            hosts: list[str] = []

    app = make_app(tmp_path, Hosts, hosts=["a", "b"])
    app.config["CHAT_MEMORY_CHATBOTS"] = {"default": {}, "support": {}}
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        assert isinstance(memory.plugin.options, Hosts.Options)
        assert memory.plugin.options.hosts == ["a", "b"]
        assert memory.plugin is memory.plugin_for("support")


class Chooser:
    """A settings page in small."""

    def __init__(self, choice: t.Any = None) -> None:
        self.choice = choice

    def __call__(self, chatbot: str) -> t.Any:
        return self.choice.get(chatbot) if isinstance(self.choice, dict) and chatbot in self.choice else self.choice


def plugin_of(app: flask.Flask, memory: ChatMemory, chatbot: str | None = None) -> ChatMemoryPlugin | None:
    with app.app_context():
        return memory.plugin_for(chatbot)


def test_the_sites_choice_wins_over_the_configuration(tmp_path: pathlib.Path) -> None:
    chooser = Chooser()
    app = make_app(tmp_path, "in_memory", expiry=60)
    memory = ChatMemory(app, settings_loader=chooser)
    configured = plugin_of(app, memory)
    assert configured is not None
    assert configured.options.expiry == 60

    chooser.choice = {"plugin": "sqlalchemy", "options": {"threads": "many"}}
    chosen = plugin_of(app, memory)
    assert chosen is not None
    assert (chosen.id, chosen.options.threads, chosen.options.expiry) == ("sqlalchemy", "many", 30 * 86_400)
    assert plugin_of(app, memory) is chosen

    chooser.choice = {"plugin": None}
    assert plugin_of(app, memory) is None
    chooser.choice = {}
    assert plugin_of(app, memory) is None
    chooser.choice = None
    assert plugin_of(app, memory) is configured


def test_a_changed_choice_is_a_new_instance(tmp_path: pathlib.Path) -> None:
    chooser = Chooser({"plugin": "in_memory", "options": {"expiry": 60}})
    app = make_app(tmp_path, None)
    memory = ChatMemory(app, settings_loader=chooser)
    first = plugin_of(app, memory)
    chooser.choice = {"plugin": "in_memory", "options": {"expiry": "61"}}
    second = plugin_of(app, memory)
    assert first is not second
    assert second is not None
    assert second.options.expiry == 61


def test_a_changed_choice_leaves_a_chatbot_with_equal_settings_alone(tmp_path: pathlib.Path) -> None:
    chooser = Chooser()
    app = make_app(tmp_path, "in_memory")
    app.config["CHAT_MEMORY_CHATBOTS"] = {"default": {}, "support": {}}
    memory = ChatMemory(app, settings_loader=lambda chatbot: chooser.choice if chatbot == "support" else None)
    use(app, memory)
    chooser.choice = {"plugin": "in_memory"}
    assert plugin_of(app, memory, "support") is plugin_of(app, memory)
    chooser.choice = {"plugin": "in_memory", "options": {"expiry": 60}}
    assert plugin_of(app, memory, "support") is not plugin_of(app, memory)
    with app.app_context():
        assert len(memory.start_conversation(OWNER).history()) == 2


@pytest.mark.scenario("D45")
@pytest.mark.parametrize(
    "choice",
    [
        {"plugin": "no_longer_there"},
        {"plugin": "in_memory", "options": {"expiry": -1}},
        {"plugin": "in_memory", "options": ["expiry"]},
        {"plugin": "none"},
        {"plugin": 5},
    ],
)
def test_a_choice_that_is_wrong_leaves_the_history_in_the_browser_with_one_warning(
    choice: t.Any, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(tmp_path, "in_memory")
    memory = ChatMemory(app, settings_loader=Chooser({"default": choice}))

    @memory.provider
    def answer(turn: t.Any) -> str:
        return "still here"

    with caplog.at_level(logging.WARNING, "flask_chat_memory"):
        for _ in range(3):
            with app.test_request_context():
                conversation = memory.conversation()
                assert conversation.mode == "client"
                assert conversation.send("hi").text == "still here"
    assert len(caplog.records) == 1
