"""Servers that are down, restarted or refuse; connections that are lost in the middle; a cluster that loses a node."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import socket
import threading
import typing as t

import flask
import pytest
import redis
from redis.cluster import LoadBalancingStrategy

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import LiveTurn
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.storage.redis import RedisStorage

from .redis_servers import Cluster
from .redis_servers import Node
from .redis_servers import PATIENCE
from .redis_servers import remove_keys
from .redis_servers import wait_until
from .test_redis_plugin import CALLS

OWNER = Scope("user:1")
THREAD = "thread-1"

MakeNode = cabc.Callable[..., Node]


def user(text: str, id: str | None = None) -> ChatMessage:
    return ChatMessage("user", text, id=id)


def texts(messages: cabc.Iterable[ChatMessage]) -> list[str]:
    return [message.text for message in messages]


class Cable:
    """Stands between a client and a server, and can be cut while an answer is on its way."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self.meanwhile: cabc.Callable[[], object] = lambda: None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server_port))
                for source, target, is_answer in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass_on, args=(source, target, is_answer), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if is_answer and self.cuts and not data.startswith((b"+OK", b"%")):
                    self.cuts -= 1
                    self.meanwhile()
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def cable(make_node: MakeNode) -> cabc.Iterator[Cable]:
    cable = Cable(make_node().port)
    yield cable
    cable.close()


@pytest.fixture
def plugin(cable: Cable) -> cabc.Iterator[RedisPlugin]:
    plugin = RedisPlugin({"url": f"redis://127.0.0.1:{cable.port}?protocol=2"})
    plugin.append_messages(OWNER, THREAD, [user("0", "q-0")], key="0")
    yield plugin
    plugin.close()


def test_an_append_whose_answer_is_lost_is_stored_once_and_no_repeat(cable: Cable, plugin: RedisPlugin) -> None:
    cable.cuts = 1
    assert plugin.append_messages(OWNER, THREAD, [user("1")], key="1") == Appended(THREAD, 2)
    cable.cuts = 1
    live = LiveTurn("t", "q-2", "a-2", plugin.clock() + 30)
    assert plugin.start_turn(OWNER, THREAD, user("2", "q-2"), key="2", live=live) == Appended(THREAD, 3)
    assert plugin.live_turns(OWNER, THREAD) == [live]
    cable.cuts = 1
    assert plugin.end_turn(OWNER, THREAD, "t", [user("3")], key="3", reply_to="q-2") == Appended(THREAD, 4)
    assert plugin.live_turns(OWNER, THREAD) == []
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["0", "1", "2", "3"]
    assert plugin.append_messages(OWNER, THREAD, [user("1")], key="1") == Appended(THREAD, 2, repeated=True)


def test_an_append_whose_answer_is_lost_is_no_repeat_though_others_write_meanwhile(
    cable: Cable, plugin: RedisPlugin
) -> None:
    other = RedisPlugin({"url": f"redis://127.0.0.1:{cable.server_port}"})
    cable.meanwhile = lambda: other.append_messages(OWNER, THREAD, [user("other")])
    cable.cuts = 1
    live = LiveTurn("t", "q-1", "a-1", plugin.clock() + 30)
    assert plugin.start_turn(OWNER, THREAD, user("1", "q-1"), key="1", live=live) == Appended(THREAD, 2)
    # Another call with the same key is a repeat, also if its own answer is lost.
    cable.cuts = 1
    again = plugin.start_turn(OWNER, THREAD, user("1", "q-2"), key="1", live=live)
    assert again == Appended(THREAD, 2, repeated=True)
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["0", "1", "other", "other"]
    other.close()


def test_what_is_not_safe_to_repeat_is_not_repeated(cable: Cable, plugin: RedisPlugin) -> None:
    cable.cuts = 1
    with pytest.raises(StorageError) as caught:
        plugin.append_messages(OWNER, THREAD, [user("1")])
    assert isinstance(caught.value.__cause__, redis.ConnectionError)
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["0", "1"]
    for call in (
        lambda: plugin.save_messages(OWNER, THREAD, [user("2")]),
        lambda: plugin.clear_messages(OWNER, THREAD),
        lambda: plugin.delete_thread(OWNER, THREAD),
    ):
        cable.cuts = 1
        with pytest.raises(StorageError):
            t.cast("cabc.Callable[[], object]", call)()


def test_a_read_whose_answer_is_lost_is_repeated_once(cable: Cable, plugin: RedisPlugin) -> None:
    cable.cuts = 1
    assert texts(plugin.load_messages(OWNER, THREAD, limit=1)) == ["0"]
    cable.cuts = 1
    assert plugin.current_thread(OWNER) == THREAD
    cable.cuts = 2
    with pytest.raises(StorageError):
        plugin.load_messages(OWNER, THREAD)


@pytest.mark.scenario("S070")
def test_connections_that_the_server_has_closed_are_opened_again(make_node: MakeNode) -> None:
    node = make_node()
    plugin = RedisPlugin({"url": node.url})
    with redis.Redis.from_url(node.url) as client:
        for n in range(5):
            assert plugin.append_messages(OWNER, THREAD, [user(str(n))], key=str(n)) == Appended(THREAD, n + 1)
            client.client_kill_filter(_type="normal", skipme=True)
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["0", "1", "2", "3", "4"]
    plugin.close()


def test_a_server_that_is_down_is_an_error_until_it_is_back(make_node: MakeNode) -> None:
    node = make_node("--appendonly", "yes", "--appendfsync", "always")
    plugin = RedisPlugin({"url": node.url})
    plugin.append_messages(OWNER, THREAD, [user("1")], key="1")
    node.kill()
    late = RedisPlugin({"url": node.url})
    for each in (plugin, late):
        with pytest.raises(StorageError, match="ConnectionError") as caught:
            each.load_messages(OWNER, THREAD)
        assert isinstance(caught.value.__cause__, redis.ConnectionError)
        assert str(node.port) not in str(caught.value)
    node.start()
    node.wait()
    for each in (plugin, late):
        assert texts(each.load_messages(OWNER, THREAD)) == ["1"]
        each.close()


def test_an_app_starts_while_the_server_is_down_and_works_once_it_is_up(make_node: MakeNode) -> None:
    node = make_node()
    node.kill()
    app = flask.Flask("site")
    app.config.update(SECRET_KEY="test", CHAT_MEMORY_PLUGIN="redis", CHAT_MEMORY_OPTIONS={"url": node.url})
    memory = ChatMemory(app)
    memory.provider(lambda turn: f"You said: {turn.text}")
    visitor = app.test_client()
    question = {"messages": [{"role": "user", "text": "Hello"}]}
    assert visitor.post("/chat-memory/default/messages", json=question).status_code == 503
    node.start()
    node.wait()
    assert "You said: Hello" in visitor.post("/chat-memory/default/messages", json=question).text
    shown = visitor.get("/chat-memory/default/history").get_json()["messages"]
    assert [message["text"] for message in shown] == ["Hello", "You said: Hello"]
    with app.app_context():
        assert memory.plugin is not None
        memory.plugin.close()


def test_a_wrong_password_is_an_error_that_shows_none(make_node: MakeNode) -> None:
    node = make_node("--requirepass", "swordfish", password="swordfish")
    plugin = RedisPlugin({"url": f"redis://:hunter2@127.0.0.1:{node.port}"})
    with pytest.raises(StorageError, match="AuthenticationError") as caught:
        plugin.append_messages(OWNER, THREAD, [user("1")], key="1")
    shown = str(caught.value) + repr(plugin.options)
    assert "hunter2" not in shown
    assert str(node.port) not in shown
    plugin.close()
    right = RedisPlugin({"url": f"redis://:swordfish@127.0.0.1:{node.port}"})
    right.append_messages(OWNER, THREAD, [user("1")], key="1")
    right.close()


def test_the_user_of_the_docs_may_do_all_that_is_needed(make_node: MakeNode) -> None:
    docs = pathlib.Path(__file__).parents[1] / "docs" / "redis.md"
    [rule] = [line.split() for line in docs.read_text("utf-8").splitlines() if line.startswith("ACL SETUSER")]
    node = make_node()
    with redis.Redis.from_url(node.url) as client:
        client.execute_command(*rule)
    where = {"url": f"redis://{rule[2]}:password@127.0.0.1:{node.port}"}
    for options in ({}, {"expiry": None}, {"threads": "many", "max_threads": 1, "max_messages": 1}):
        plugin = RedisPlugin({**where, **options})
        for call in CALLS.values():
            call(plugin)
        for name in ("1", "2"):
            plugin.append_messages(OWNER, name, [user(name)], key=name)
        plugin.update_thread(OWNER, "2", title="title")
        plugin.update_thread(OWNER, "2", title=None)
        assert plugin.list_threads(OWNER)
        assert list(plugin.purge_threads(plugin.clock() + 1))
        plugin.close()
    storage = RedisStorage(where)
    storage.save("a/b", {"c": 1})
    assert (storage.load("a/b"), storage.list("a/*"), storage.exists("a/b")) == ({"c": 1}, ["a/b"], True)
    assert storage.clean_up(0) == 0
    assert storage.delete("a/b")
    storage.close()


def test_a_cluster_is_not_read_from_its_replicas(redis_cluster: Cluster) -> None:
    with redis.RedisCluster.from_url(
        redis_cluster.url, load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN
    ) as client:
        with pytest.raises(ConfigurationError, match="read from primaries"):
            RedisPlugin({"client": client})


@pytest.mark.scenario("S074")
def test_a_server_without_room_stores_nothing_of_a_batch(make_node: MakeNode) -> None:
    node = make_node("--maxmemory-policy", "noeviction")
    plugin = RedisPlugin({"url": node.url})
    plugin.append_messages(OWNER, THREAD, [user("1")])
    with redis.Redis.from_url(node.url) as client:
        client.config_set("maxmemory", 1)
        with pytest.raises(StorageError, match="OutOfMemoryError"):
            plugin.append_messages(OWNER, THREAD, [user("2"), user("3")], key="k")
        client.config_set("maxmemory", 0)
    assert plugin.append_messages(OWNER, THREAD, [user("2")], key="k") == Appended(THREAD, 2)
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["1", "2"]
    plugin.close()


def test_a_cluster_that_loses_a_node_keeps_what_its_replica_has(redis_cluster: Cluster, key_prefix: str) -> None:
    plugin = RedisPlugin({"url": redis_cluster.url, "cluster": True, "key_prefix": key_prefix})
    client = redis.RedisCluster.from_url(redis_cluster.url)
    victim = redis_cluster.primary_of(index_name(key_prefix, OWNER))
    acknowledged: list[str] = []
    failures = [0]
    enough, stop = threading.Event(), threading.Event()

    def load() -> None:
        for n in range(1_000_000):
            if stop.is_set():
                return
            try:
                plugin.append_messages(OWNER, THREAD, [user(str(n))], key=str(n))
            except StorageError:
                failures[0] += 1
            else:
                acknowledged.append(str(n))
            if len(acknowledged) == 50:
                enough.set()

    writer = threading.Thread(target=load, daemon=True)
    writer.start()
    try:
        assert enough.wait(PATIENCE)
        # What is acknowledged is on its way to the replica; what was so a moment before the kill may be lost.
        certain = len(acknowledged) - 10
        with redis.Redis(port=victim.port) as of_victim:
            wait_until(lambda: int(t.cast(t.Any, of_victim).wait(1, 1000)) == 1, "the replica has all")
        at_kill = len(acknowledged)
        victim.kill()
        wait_until(lambda: len(acknowledged) > at_kill + 50, "the cluster stores again")
    finally:
        stop.set()
        writer.join(PATIENCE)
        victim.start()
        victim.wait()
        redis_cluster.wait()
    assert not writer.is_alive()
    stored = texts(plugin.load_messages(OWNER, THREAD))
    assert len(stored) == len(set(stored))
    assert stored == sorted(stored, key=int)
    assert set(acknowledged[:certain]) <= set(stored)
    assert set(acknowledged[at_kill + 20 :]) <= set(stored)
    plugin.close()
    remove_keys(client, key_prefix)
    client.close()
