"""Everything of an owner is deleted, wherever it is."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import sqlite3
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import MissingOwner
from flask_chat_memory import Scope
from flask_chat_memory import signals
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import FORGOTTEN
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.keys import FOLDERS
from flask_chat_memory.testing import ManualClock

from .five_methods import FiveMethodsPlugin
from .own_storage import OwnStorage
from .redis_servers import remove_keys

A, B = "user:1", "user:10"
OTHERS = [B, "user:*", "user:", "USER:1"]
PLUGINS = ["in_memory", "file", "sqlalchemy", "redis", "documents", "encrypted"]
CHATBOTS: dict[str, t.Any] = {"support": {}, "tutor": {"plugin": "in_memory"}, "search": {"history": False}}


@pytest.fixture(params=PLUGINS)
def settings(request: pytest.FixtureRequest) -> cabc.Iterator[dict[str, t.Any]]:
    """The configuration of a plugin; many threads where it has them."""
    plugin = request.param
    settings: dict[str, t.Any] = {"PLUGIN": plugin, "OPTIONS": {"threads": "many"}, "CHATBOTS": CHATBOTS}
    if plugin == "documents":
        settings["STORAGE"] = InMemoryStorage()
    if plugin == "encrypted":
        keys = ["ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="]
        settings["OPTIONS"] |= {"plugin": "sqlalchemy", "keys": keys}
    if plugin != "redis":
        yield settings
        return
    redis = pytest.importorskip("redis")
    prefix = request.getfixturevalue("key_prefix")
    with redis.Redis.from_url(request.getfixturevalue("redis_url")) as client:
        yield {**settings, "OPTIONS": {"threads": "many", "client": client, "key_prefix": prefix}}
        remove_keys(client, prefix)


def make_site(folder: pathlib.Path, **config: t.Any) -> tuple[flask.Flask, ChatMemory]:
    app = flask.Flask("site", instance_path=str(folder))
    app.config.update({f"CHAT_MEMORY_{name}": value for name, value in config.items()})
    return app, ChatMemory(app)


def fill(memory: ChatMemory, owner: str) -> None:
    """Three threads, one of them with a turn that is being answered, and a document in each domain."""
    for chatbot in ("support", "support", "tutor"):
        memory.start_conversation(owner, chatbot).turn(f"question of {owner}").finish("answer")
    memory.start_conversation(owner, "support").turn("unanswered")
    memory.user_memories(owner).add(f"about {owner}")
    for domain in FOLDERS:
        if domain not in ("conversation", "user_memory"):
            memory.storage(domain).of_owner(owner).save("thread/é", {"text": owner})


def threads_of(memory: ChatMemory, owner: str) -> int:
    plugins: dict[int, t.Any] = {id(plugin): plugin for _, plugin in memory._server_plugins()}
    return sum(scope.owner == owner for plugin in plugins.values() for scope, _ in plugin.all_threads())


def documents_of(memory: ChatMemory, owner: str) -> int:
    domains = [domain for domain in FOLDERS if domain != "conversation"]
    return sum(len(memory.storage(domain).of_owner(owner).list()) for domain in domains)


@pytest.mark.scenario("S160", "H27", "H29")
def test_all_of_an_owner_goes_and_nothing_of_another(tmp_path: pathlib.Path, settings: dict[str, t.Any]) -> None:
    stores = {"user_memory": OwnStorage(), "learning": {"type": "file", "folder": "x"}, "summaries": "sqlalchemy"}
    app, memory = make_site(tmp_path, STORAGES=stores, **settings)
    with app.app_context():
        for owner in (A, *OTHERS):
            fill(memory, owner)
        memory.global_facts.add("of nobody")
        memory.knowledge.record_bug("of nobody", "x")
        before = {owner: (threads_of(memory, owner), documents_of(memory, owner)) for owner in OTHERS}
        assert before[B] == (4, 6)

        wanted = memory.forget(A, dry_run=True)
        assert threads_of(memory, A) == 4
        counts = memory.forget(A)
        assert wanted == counts

        assert counts == {
            "conversation": 4,
            "usage": 2,
            **dict.fromkeys((d for d in FOLDERS if d != "conversation"), 1),
        }
        assert (threads_of(memory, A), documents_of(memory, A)) == (0, 0)
        assert {owner: (threads_of(memory, owner), documents_of(memory, owner)) for owner in OTHERS} == before
        assert memory.global_facts.list() == ["of nobody"]
        assert len(memory.knowledge.list()) == 1
        assert sum(memory.forget(A).values()) == 0
    assert not list((tmp_path / "x").rglob(f"@user%3a{A[5:]}"))


def test_threads_that_have_expired_or_are_of_a_former_chatbot_go_too(
    tmp_path: pathlib.Path, settings: dict[str, t.Any]
) -> None:
    clock = ManualClock(4_000_000_000)
    app, memory = make_site(tmp_path, **settings)
    with app.app_context():
        plugin = memory.plugin_for("support")
        assert plugin is not None
        for owner in (A, B):
            memory.start_conversation(owner, "support").turn("old").finish("answer")
            plugin.save_messages(Scope(owner, "former"), "thread", [])
        plugin.clock = clock
        left = threads_of(memory, A)
        assert left in (1, 2)
        assert memory.forget(A)["conversation"] == left
        assert (threads_of(memory, A), threads_of(memory, B)) == (0, left)


@pytest.mark.scenario("S160")
def test_a_database_has_no_row_of_the_owner(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, PLUGIN="sqlalchemy", CHATBOTS=CHATBOTS)
    with app.app_context():
        for owner in ("user:gone", B):
            fill(memory, owner)
        memory.forget("user:gone")
        memory.plugin_for("support").close()  # type: ignore[union-attr]
    with sqlite3.connect(tmp_path / "chat-memory.sqlite3") as database:
        dump = [line for line in database.iterdump() if "user:gone" in line or "user%3agone" in line]
    database.close()
    assert dump == []


def test_an_answer_that_comes_later_revives_nothing(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, PLUGIN="sqlalchemy")
    with app.app_context():
        turn = memory.start_conversation(A).turn("hi")
        assert memory.forget(A)["conversation"] == 1
        turn.finish("too late")
        assert threads_of(memory, A) == 0


def test_each_thread_is_told_of(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, PLUGIN="in_memory")
    told: list[tuple[str, str]] = []

    def listen(_app: flask.Flask, **facts: t.Any) -> None:
        told.append((facts["owner"], facts["thread_id"]))

    with app.app_context(), signals.thread_deleted.connected_to(listen, app):
        turn = memory.start_conversation(A).turn("hi")
        turn.finish("answer")
        memory.forget(A)
    assert told == [(A, turn.thread_id)]


def test_what_answers_have_cost_is_kept_in_nobodys_name(tmp_path: pathlib.Path, settings: dict[str, t.Any]) -> None:
    app, memory = make_site(tmp_path, **settings)
    with app.app_context():
        for owner in (A, B):
            memory.start_conversation(owner, "support").turn("hi").finish("x", usage={"total_tokens": 7}, model="gpt")
        memory.forget(A)
        assert memory.usage(A) == []
        assert memory.usage(FORGOTTEN) == memory.usage(B) != []


def test_the_forgotten_are_nobody(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, PLUGIN="in_memory")
    with app.app_context():
        with pytest.raises(ConfigurationError, match="is no owner"):
            memory.forget(FORGOTTEN)
        for open_it in (memory.start_conversation, lambda owner: memory.open_conversation(owner, "x")):
            with pytest.raises(MissingOwner, match="is no owner"):
                open_it(FORGOTTEN)


@pytest.mark.parametrize("owner", ["", None, 7, "x" * 256, "\0"])
def test_nobody_is_forgotten(tmp_path: pathlib.Path, owner: t.Any) -> None:
    app, memory = make_site(tmp_path, PLUGIN="in_memory")
    with app.app_context(), pytest.raises(MissingOwner):
        memory.forget(owner)


def test_a_plugin_that_cannot_go_through_its_threads_is_named_before_anything_is_deleted(
    tmp_path: pathlib.Path,
) -> None:
    chatbots = {"a": {"plugin": InMemoryPlugin}, "b": {"plugin": FiveMethodsPlugin}}
    app, memory = make_site(tmp_path, PLUGIN="in_memory", CHATBOTS=chatbots)
    with app.app_context():
        memory.start_conversation(A, "a").turn("hi").finish("answer")
        memory.user_memories(A).add("x")
        with pytest.raises(ConfigurationError, match="chatbot 'b' cannot go through its threads; it must inherit Pur"):
            memory.forget(A)
        assert len(memory.user_memories(A).list()) == 1


def test_history_in_the_browser_leaves_only_documents(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, PLUGIN=None)
    with app.app_context():
        assert memory.forget(A) == {"conversation": 0, "usage": 0}
    app, memory = make_site(tmp_path, PLUGIN=None, STORAGES={"user_memory": "in_memory"})
    with app.app_context():
        memory.user_memories(A).add("x")
        assert memory.forget(A) == {"conversation": 0, "usage": 0, "user_memory": 1}
