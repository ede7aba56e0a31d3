"""The extension object."""

from __future__ import annotations

import collections.abc as cabc
import gc
import logging
import pathlib
import typing as t
import weakref

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import MissingOwner
from flask_chat_memory import Turn
from flask_chat_memory import UnknownThread

from .apps import make_app
from .conftest import MakeSite
from .five_methods import FiveMethodsPlugin


def test_one_object_serves_two_apps_with_different_plugins(tmp_path: pathlib.Path) -> None:
    memory = ChatMemory()
    first = make_app(tmp_path / "first")
    second = make_app(tmp_path / "second", CHAT_MEMORY_PLUGIN="in_memory")
    third = make_app(tmp_path / "third", CHAT_MEMORY_PLUGIN=None)
    found = []
    for app in (first, second, third):
        memory.init_app(app)
        assert app.extensions["chat_memory"] is memory
    for app in (first, second, third, first):
        with app.app_context():
            found.append(memory.plugin)
    assert [plugin.id if plugin else None for plugin in found] == ["sqlalchemy", "in_memory", None, "sqlalchemy"]
    assert found[0] is found[3]


def test_equal_settings_share_a_plugin_within_an_app_and_never_between_apps(new_site: MakeSite) -> None:
    first, second = new_site(CHAT_MEMORY_PLUGIN="in_memory"), new_site(CHAT_MEMORY_PLUGIN="in_memory")
    assert first.plugin is first.plugin
    assert first.plugin is not second.plugin


def test_a_second_init_app_says_what_to_do(app: flask.Flask, memory: ChatMemory) -> None:
    for again in (memory, ChatMemory()):
        with pytest.raises(ConfigurationError, match="import that object"):
            again.init_app(app)
    assert app.extensions["chat_memory"] is memory


def test_a_failed_init_app_leaves_the_app_as_it_was(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="sqlalchmy")
    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_PLUGIN"):
        ChatMemory(app)
    assert "chat_memory" not in app.extensions
    app.config["CHAT_MEMORY_PLUGIN"] = "in_memory"
    ChatMemory(app)


def test_an_app_without_the_extension_is_told_how_to_get_it(tmp_path: pathlib.Path, memory: ChatMemory) -> None:
    with make_app(tmp_path / "other").app_context(), pytest.raises(ConfigurationError, match="init_app"):
        _ = memory.plugin


def test_the_extension_keeps_no_app_alive(tmp_path: pathlib.Path) -> None:
    memory = ChatMemory()
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="in_memory")
    memory.init_app(app)
    with app.test_request_context("/"):
        memory.conversation().turn("hello").finish("yes")
    gone = weakref.ref(app)
    del app
    gc.collect()
    assert gone() is None


def test_starting_makes_no_file_and_contacts_no_store(app: flask.Flask) -> None:
    assert not pathlib.Path(app.instance_path).exists()
    app.test_client().get("/")
    assert not pathlib.Path(app.instance_path).exists()


def test_configuration_is_read_once(app: flask.Flask, memory: ChatMemory) -> None:
    app.config["CHAT_MEMORY_PLUGIN"] = None
    with app.app_context():
        assert memory.plugin is not None


def test_the_extension_survives_when_nobody_keeps_it(new_site: MakeSite) -> None:
    site = new_site(login=True)
    del site.memory
    gc.collect()
    browser = site.browser()
    browser.login("ann")
    browser.ask("hello")
    browser.logout()
    assert browser.kept() == {}


def test_a_conversation_outside_of_a_request_names_the_way(app: flask.Flask, memory: ChatMemory) -> None:
    with app.app_context(), pytest.raises(ConfigurationError, match="start_conversation"):
        memory.conversation()


def test_an_unknown_chatbot_is_told_with_those_that_there_are(app: flask.Flask, memory: ChatMemory) -> None:
    with app.test_request_context("/"):
        for call in (memory.conversation, memory.plugin_for, lambda name: memory.start_conversation("user:1", name)):
            with pytest.raises(ConfigurationError, match="the chatbots are: default"):
                call("nobody")


@pytest.mark.scenario("H30")
@pytest.mark.parametrize("owner", ["", None, "x" * 256, "a\x00b", 7])
def test_there_is_no_storage_without_an_owner(app: flask.Flask, memory: ChatMemory, owner: t.Any) -> None:
    with app.app_context():
        with pytest.raises(MissingOwner):
            memory.start_conversation(owner)
        with pytest.raises(MissingOwner):
            memory.open_conversation(owner, "x")


def test_a_worker_goes_on_with_the_conversation_of_the_page(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.login("ann")
    browser.ask("from the page")
    with site.app.app_context():
        started = site.memory.start_conversation("user:ann")
        assert started.thread_id == browser.history()["thread_id"]
        assert started.send("from a worker").text == "You said: from a worker"
        opened = site.memory.open_conversation("user:ann", t.cast(str, started.thread_id))
        assert [message.text for message in opened.history()] == browser.texts()
    assert browser.texts()[2:] == ["from a worker", "You said: from a worker"]


def test_many_threads_are_started_anew_and_stored_with_the_first_message(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    with site.app.app_context():
        first, second = (site.memory.start_conversation("user:1") for _ in range(2))
        assert first.thread_id != second.thread_id
        assert site.rows("thread") == 0
        announced = first.thread_id
        first.send("hello")
        first.send("again")
        assert first.thread_id == announced
        assert site.rows("thread") == 1
        assert second.history() == []


def test_foreign_and_unknown_threads_cannot_be_opened(new_site: MakeSite) -> None:
    site = new_site()
    with site.app.app_context():
        mine = site.memory.start_conversation("user:1")
        mine.send("mine")
        errors = []
        for owner, thread_id in (("user:10", mine.thread_id), ("user:1", "x" * 10_000), ("user:1", "")):
            with pytest.raises(UnknownThread) as caught:
                site.memory.open_conversation(owner, t.cast(str, thread_id))
            errors.append(str(caught.value))
    assert len(set(errors)) == 1


def test_without_a_plugin_there_is_no_conversation_to_start(new_site: MakeSite) -> None:
    for config in ({"CHAT_MEMORY_PLUGIN": None}, {"CHAT_MEMORY_CHATBOTS": {"default": {"history": False}}}):
        site = new_site(**config)
        with site.app.app_context():
            assert site.memory.plugin is None
            with pytest.raises(ConfigurationError, match="no history on the server"):
                site.memory.start_conversation("user:1")
            with pytest.raises(ConfigurationError, match="no history on the server"):
                site.memory.open_conversation("user:1", "x")


def test_a_provider_is_registered_in_three_ways(tmp_path: pathlib.Path) -> None:
    def answer(turn: Turn) -> str:
        return "yes"

    memory = ChatMemory()
    assert memory.provider(answer) is answer
    assert memory.provider("support")(answer) is answer
    assert ChatMemory().provider()(answer) is answer
    memory.init_app(make_app(tmp_path, CHAT_MEMORY_CHATBOTS={"default": {}, "support": {}}))


async def async_generator(turn: Turn) -> cabc.AsyncIterator[str]:
    yield "no"


@pytest.mark.parametrize(
    ("register", "named"),
    [
        (lambda memory: memory.provider(lambda turn: "second"), "'default' has a provider"),
        (lambda memory: memory.provider()(lambda turn: "second"), "'default' has a provider"),
        (lambda memory: memory.provider("default")(lambda turn: "second"), "two providers"),
        (lambda memory: memory.provider("nobody")(lambda turn: "x"), "nobody"),
        (lambda memory: memory.provider("other")(async_generator), "async generator"),
        (lambda memory: memory.provider("other")(5), "int"),
    ],
)
def test_a_provider_that_cannot_be_one_is_refused_at_once(
    memory: ChatMemory, register: cabc.Callable[[ChatMemory], object], named: str
) -> None:
    @memory.provider
    def answer(turn: Turn) -> str:
        return "first"

    with pytest.raises(ConfigurationError, match=named):
        register(memory)
    with memory_context(memory):
        assert memory.start_conversation("user:1").send("hello").text == "first"


def memory_context(memory: ChatMemory) -> t.Any:
    app = next(iter(memory._states))
    return app.app_context()


def test_a_provider_of_an_unknown_chatbot_is_refused_by_init_app(tmp_path: pathlib.Path) -> None:
    memory = ChatMemory()
    memory.provider("nobody")(lambda turn: "x")
    app = make_app(tmp_path)
    with pytest.raises(ConfigurationError, match="nobody"):
        memory.init_app(app)
    assert "chat_memory" not in app.extensions


def test_an_async_provider_answers(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_CHATBOTS={"default": {}, "later": {}})
    other = ChatMemory()

    @other.provider
    async def answer(turn: Turn) -> str:
        return "in time"

    app = make_app(pathlib.Path(site.app.instance_path) / "async")
    other.init_app(app)
    with app.app_context():
        assert other.start_conversation("user:1").send("hello").text == "in time"


@pytest.mark.scenario("S055")
@pytest.mark.parametrize(
    ("plugin", "workers", "warned"),
    [("in_memory", "4", True), (FiveMethodsPlugin, "2", True), ("in_memory", "1", False), ("in_memory", "", False)]
    + [(plugin, "4", False) for plugin in ("sqlalchemy", "file")],
)
def test_a_plugin_of_one_process_warns_of_several_workers(
    plugin: t.Any,
    workers: str,
    warned: bool,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", workers)
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=plugin)
    memory = ChatMemory(app)
    with app.app_context(), caplog.at_level(logging.WARNING, "flask_chat_memory"):
        for _ in range(2):
            assert memory.plugin is not None
    assert [record.getMessage().count("WEB_CONCURRENCY") for record in caplog.records] == [1] * warned
