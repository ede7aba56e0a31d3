"""What is particular to the plugin on Redis: keys, deadlines, foreign keys, lost connections."""

from __future__ import annotations

import collections
import collections.abc as cabc
import contextlib
import functools
import logging
import typing as t

import msgspec
import pytest
import redis
import redis.asyncio
from redis.crc import key_slot

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import CorruptRecord
from flask_chat_memory import LiveTurn
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis import SLACK
from flask_chat_memory.plugins.redis_ import scripts
from flask_chat_memory.plugins.redis_.names import escaped
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from flask_chat_memory.plugins.redis_.names import types_of
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import together
from flask_chat_memory.testing.contracts.purging import purge

from .redis_servers import Node
from .redis_servers import remove_keys

OWNER = Scope("user:1")
OTHER = Scope("user:2")
THREAD = "thread-1"

MakePlugin = cabc.Callable[..., RedisPlugin]
MakeNode = cabc.Callable[..., Node]


@pytest.fixture
def client(redis_url: str) -> cabc.Iterator[redis.Redis]:
    """Another program's connection."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def make_plugin(client: redis.Redis, redis_url: str, key_prefix: str) -> cabc.Iterator[MakePlugin]:
    opened: list[RedisPlugin] = []

    def make(**options: t.Any) -> RedisPlugin:
        where = {} if "client" in options else {"url": redis_url}
        opened.append(RedisPlugin({"key_prefix": key_prefix, **where, **options}))
        return opened[-1]

    yield make
    for plugin in opened:
        plugin.close()
    remove_keys(client, key_prefix)


def user(text: str, id: str | None = None, turn: str | None = None) -> ChatMessage:
    return ChatMessage("user", text, id=id, turn=turn)


def exchange(name: str) -> list[ChatMessage]:
    return [user(name, f"q-{name}", name), ChatMessage("assistant", "yes", id=f"a-{name}", turn=name)]


def texts(messages: cabc.Iterable[ChatMessage]) -> list[str]:
    return [message.text for message in messages]


def all_keys(client: redis.Redis, prefix: str) -> list[str]:
    return sorted(client.scan_iter(f"{escaped(prefix)}*", count=1000))


def keys_of(client: redis.Redis, prefix: str) -> list[str]:
    """Return the keys but the ledgers, which outlive the threads."""
    return [key for key in all_keys(client, prefix) if not key.endswith(":usage")]


def contents(client: redis.Redis, prefix: str) -> dict[str, t.Any]:
    """Return all keys with value and deadline."""
    return {key: (client.dump(key), t.cast(t.Any, client).pexpiretime(key)) for key in keys_of(client, prefix)}


CALLS: dict[str, cabc.Callable[[RedisPlugin], object]] = {
    "append": lambda plugin: plugin.append_messages(OWNER, THREAD, [user("1", "q-1", "t")], key="k"),
    "answer": lambda plugin: plugin.append_messages(OWNER, THREAD, [user("2")], key="k2", reply_to="q-1"),
    "has": lambda plugin: plugin.has_thread(OWNER, THREAD),
    "load": lambda plugin: plugin.load_messages(OWNER, THREAD, limit=20),
    "load before": lambda plugin: plugin.load_messages(OWNER, THREAD, before=20),
    "load after": lambda plugin: plugin.load_messages(OWNER, THREAD, after=0),
    "load current": lambda plugin: plugin.load_current(OWNER, limit=20),
    "current": lambda plugin: plugin.current_thread(OWNER),
    "start": lambda plugin: plugin.start_turn(
        OWNER, THREAD, user("3", "q-3"), key="q3", live=LiveTurn("t-1", "q-3", "a-3", plugin.clock() + 30)
    ),
    "live": lambda plugin: plugin.live_turns(OWNER, THREAD),
    "renew": lambda plugin: plugin.renew_turns([Renewal(OWNER, THREAD, "t-1")], plugin.clock() + 60),
    "end": lambda plugin: plugin.end_turn(OWNER, THREAD, "t-1", [user("4")], key="a3", reply_to="q-3"),
    "mark": lambda plugin: plugin.mark_message(OWNER, THREAD, "q-1", Mark(1)),
    "marks": lambda plugin: plugin.load_marks(OWNER, THREAD),
    "hide": lambda plugin: plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.without([1], last)),
    "lines": lambda plugin: plugin.find_lines(OWNER, THREAD),
    "save": lambda plugin: plugin.save_messages(OWNER, THREAD, exchange("5")),
    "clear": lambda plugin: plugin.clear_messages(OWNER, THREAD),
    "move": lambda plugin: plugin.move_threads(OWNER, OTHER),
    "delete": lambda plugin: plugin.delete_thread(OWNER, THREAD),
}
WRITES = ("append", "answer", "start", "end", "mark", "hide", "save", "clear", "delete", "move")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "give either url"),
        ({"url": "redis://localhost", "client": redis.Redis()}, "give either url"),
        ({"url": "http://:hunter2@localhost"}, "no URL of Redis"),
        ({"url": "redis://:hunter2@localhost:port/0"}, "no URL of Redis"),
        ({"url": "redis://:hunter2@localhost/0?socket_timeout=soon"}, "no URL of Redis"),
        ({"url": "redis+cluster://localhost?read_from_replicas=true"}, "read from primaries"),
        ({"url": "redis://localhost/3", "cluster": True}, "neither a socket file nor a database number"),
        ({"url": "unix:///run/redis.sock", "cluster": True}, "neither a socket file nor a database number"),
        ({"client": "redis://localhost"}, "must be a redis.Redis"),
        ({"client": redis.asyncio.Redis()}, "not an async one"),
        ({"client": redis.Redis().pipeline()}, "must be a redis.Redis"),
        ({"client": redis.Redis(), "cluster": True}, "cluster goes with url"),
        ({"url": "redis://localhost", "key_prefix": "{chat}"}, "braces"),
    ],
)
def test_wrong_options_are_refused_without_a_server(options: dict[str, t.Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        RedisPlugin(options)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis+cluster://localhost:7000", "rediss+cluster://:secret@localhost:7000/0"])
def test_a_url_may_say_that_it_is_of_a_cluster(url: str) -> None:
    plugin = RedisPlugin({"url": url})
    assert plugin.options.url == url
    assert "secret" not in repr(plugin.options)


def test_all_keys_of_a_scope_are_in_one_slot_and_name_nothing_of_a_visitor(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(threads="many")
    scope = Scope("user:*[a]{b}\r\n", "support")
    for thread_id in ("thread*", "{thread}", "thread"):
        plugin.append_messages(scope, thread_id, exchange("1"), key="q*")
        plugin.mark_message(scope, thread_id, "q-1", Mark(1))
    names = keys_of(client, key_prefix)
    assert len(names) == 2 + 3 * 4
    assert len({key_slot(name.encode()) for name in names}) == 1
    letters = set("{}:0123456789abcdef" + "current" + "messages" + "found" + "about" + "marks")
    assert not [name for name in names if set(name.removeprefix(key_prefix)) - letters]
    plugin.delete_thread(scope, "thread")
    assert plugin.has_thread(scope, "thread*")
    assert plugin.has_thread(scope, "{thread}")


def test_every_type_is_the_one_that_is_looked_for(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin()
    CALLS["append"](plugin)
    CALLS["answer"](plugin)
    CALLS["mark"](plugin)
    expected = types_of(index_name(key_prefix, OWNER), thread_digest(THREAD))
    assert {name: client.type(name) for name in all_keys(client, key_prefix)} == expected


@pytest.mark.scenario("S163", "S164", "S165")
def test_all_keys_have_one_deadline_which_every_write_refreshes(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(expiry=1000)
    clock = plugin.clock = ManualClock()
    CALLS["append"](plugin)
    CALLS["mark"](plugin)
    before = set_of_deadlines(client, key_prefix)
    for name in ("append", "answer", "start", "end", "save", "clear"):
        clock.advance(SLACK)
        # The next write, whatever it is, moves the deadline by as much as the clock has moved.
        CALLS[name](plugin) if name != "append" else plugin.append_messages(OWNER, THREAD, [user("6")])
        found = set_of_deadlines(client, key_prefix)
        assert len(before) == len(found) == 1, name
        assert 0 < max(client.pttl(key) for key in keys_of(client, key_prefix)) <= (1001 + SLACK) * 1000
    assert plugin.has_thread(OWNER, THREAD)


def test_a_deadline_that_is_about_right_is_left(make_plugin: MakePlugin, client: redis.Redis, key_prefix: str) -> None:
    plugin = make_plugin(expiry=100_000)
    clock = plugin.clock = ManualClock()
    CALLS["append"](plugin)
    before = set_of_deadlines(client, key_prefix)
    clock.advance(400)
    plugin.append_messages(OWNER, THREAD, exchange("2"), key="k2")
    assert set_of_deadlines(client, key_prefix) == before
    clock.advance(200)
    plugin.append_messages(OWNER, THREAD, exchange("3"), key="k3")
    after = set_of_deadlines(client, key_prefix)
    assert len(after) == 1
    assert after != before


def set_of_deadlines(client: redis.Redis, prefix: str) -> set[int]:
    return {t.cast(t.Any, client).pexpiretime(key) for key in keys_of(client, prefix)}


LATER: list[cabc.Callable[[RedisPlugin], object]] = [
    lambda plugin: plugin.append_messages(OWNER, THREAD, [user("found", "id")]),
    lambda plugin: plugin.append_messages(OWNER, THREAD, [user("keys")], key="k"),
    lambda plugin: plugin.mark_message(OWNER, THREAD, "plain", Mark(1)),
    CALLS["start"],
    CALLS["save"],
]


@pytest.mark.scenario("S164")
@pytest.mark.parametrize("later", LATER)
def test_no_part_that_comes_later_is_without_a_deadline(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, later: cabc.Callable[[RedisPlugin], object]
) -> None:
    plugin = make_plugin(expiry=1000)
    plugin.clock = ManualClock()
    # Neither turns nor a key nor a mark.
    plugin.append_messages(OWNER, THREAD, [user("plain", "plain")])
    later(plugin)
    found = set_of_deadlines(client, key_prefix)
    assert len(found) == 1
    assert found.pop() > 0


def test_a_lease_beyond_the_expiry_moves_the_deadline(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(expiry=10)
    CALLS["start"](plugin)
    plugin.renew_turns([Renewal(OWNER, THREAD, "t-1")], plugin.clock() + 5000)
    assert {client.ttl(key) > 4900 for key in keys_of(client, key_prefix)} == {True}


@pytest.mark.scenario("S168")
@pytest.mark.parametrize("before", [None, 1000])
def test_without_an_expiry_no_key_has_a_deadline(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, before: int | None
) -> None:
    plugin = make_plugin(expiry=before)
    CALLS["append"](plugin)
    CALLS["mark"](plugin)
    plugin = make_plugin(expiry=None)
    for name in ("answer", "start", "renew", "end", "mark"):
        CALLS[name](plugin)
        assert set_of_deadlines(client, key_prefix) == {-1}, name


def test_the_greatest_expiry_is_no_problem(make_plugin: MakePlugin) -> None:
    plugin = make_plugin(expiry=2**53)
    CALLS["append"](plugin)
    assert plugin.has_thread(OWNER, THREAD)


@pytest.mark.scenario("S159", "N38")
@pytest.mark.parametrize("removal", ["delete", "purge"])
def test_no_key_is_left_of_a_thread_that_is_gone(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, removal: str
) -> None:
    plugin = make_plugin()
    for name in ("append", "answer", "start", "mark", "hide"):
        CALLS[name](plugin)
    if removal == "delete":
        CALLS["delete"](plugin)
    else:
        plugin.clock = ManualClock(plugin.clock() + 60)
        assert list(plugin.purge_threads(plugin.clock()))
    assert keys_of(client, key_prefix) == []


def test_an_entry_of_a_thread_that_is_gone_is_dropped_by_who_meets_it(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(threads="many", max_threads=2)
    index = index_name(key_prefix, OWNER)
    for name in ("1", "2"):
        plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
    for key in keys_of(client, f"{index}:{thread_digest('thread-2')}"):
        client.delete(key)
    plugin.append_messages(OWNER, "thread-3", exchange("3"))
    assert plugin.has_thread(OWNER, "thread-3")
    assert client.zscore(index, thread_digest("thread-1")) is None or (
        client.zscore(index, thread_digest("thread-2")) is None
    )
    assert plugin.move_threads(OWNER, OTHER) == 0
    assert keys_of(client, index) == []


@pytest.mark.scenario("S035", "S189")
def test_a_prefix_with_glob_characters_meets_no_foreign_key(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    prefix = f"{key_prefix}c*[a-z]?\\:"
    foreign = {f"{key_prefix}{name}": name for name in ("c*[a-z]?x", "cxaxx:", "cat", "c*aa\\:", "c*[a-z]?")}
    for name, value in foreign.items():
        client.set(name, value)
    plugin = make_plugin(key_prefix=prefix, max_threads=1, threads="many")
    for call in CALLS.values():
        call(plugin)
    plugin.append_messages(OWNER, "thread-2", exchange("1"))
    assert {name: client.get(name) for name in foreign} == foreign
    plugin.delete_thread(OWNER, "thread-2")
    plugin.delete_thread(OTHER, THREAD)
    assert keys_of(client, prefix) == []


PARTS_READ = ["", ":current", f":{thread_digest(THREAD)}:messages"]
PARTS_WRITTEN = [f":{thread_digest(THREAD)}:found"]


@pytest.mark.scenario("S196")
@pytest.mark.parametrize(
    ("part", "call"),
    [(part, call) for part in PARTS_READ for call in CALLS]
    + [(part, call) for part in PARTS_WRITTEN for call in WRITES]
    + [(f":{thread_digest(THREAD)}:marks", call) for call in ("mark", "marks", "save", "clear", "move")],
)
def test_a_key_of_another_type_is_named_and_nothing_is_changed(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, part: str, call: str
) -> None:
    plugin = make_plugin()
    live = LiveTurn("t-1", "q-3", "a-3", plugin.clock() + 30)
    plugin.start_turn(OWNER, THREAD, user("0", "q-3"), key="q0", live=live)
    plugin.append_messages(OWNER, THREAD, [user("0", "q-1", "t")], key="k0")
    misplaced = f"{index_name(key_prefix, OWNER)}{part}"
    client.delete(misplaced)
    client.set(misplaced, "hunter2") if part != ":current" else client.rpush(misplaced, "hunter2")
    before = contents(client, key_prefix)
    try:
        CALLS[call](plugin)
    except StorageError as error:
        assert f"the key {misplaced!r} is a {t.cast(str, client.type(misplaced))}, not" in str(error)
        assert "hunter2" not in str(error)
        assert isinstance(error.__cause__, redis.ResponseError)
    else:
        # The operation has no use for that key.
        assert call not in WRITES
    assert contents(client, key_prefix) == before


@pytest.mark.parametrize("element", ["no sequence", f"{2:016d} {{half", f'{2:016d} {{"role": "nobody"}}'])
def test_a_corrupt_message_is_reported_and_kept(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, element: str
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    client.lset(f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}:messages", 1, element)
    before = contents(client, key_prefix)
    for load in ("load", "load before", "load after", "load current"):
        with pytest.raises(CorruptRecord) as caught:
            CALLS[load](plugin)
        assert index_name(key_prefix, OWNER) in str(caught.value)
    assert contents(client, key_prefix) == before


@pytest.mark.parametrize("element", ["no sequence", f"{2:016d} {{half", f'{2:016d} ["a list"]'])
def test_a_corrupt_message_does_not_leave_half_a_batch(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, element: str
) -> None:
    plugin = make_plugin(max_messages=2)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    client.lset(f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}:messages", 1, element)
    plugin.append_messages(OWNER, THREAD, [user("2"), user("3"), user("4")], key="k")
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["3", "4"]
    assert plugin.append_messages(OWNER, THREAD, [user("5")], key="k") == Appended(THREAD, 3, repeated=True)


@pytest.mark.scenario("S169")
def test_what_is_trimmed_or_forgotten_takes_no_room(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(max_messages=4)
    for n in range(400):
        plugin.append_messages(OWNER, THREAD, exchange(str(n)), key=f"k{n}")
        plugin.mark_message(OWNER, THREAD, f"a-{n}", Mark(1))
    thread = f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}"
    assert client.llen(f"{thread}:messages") == 4 + 1
    found = collections.Counter(name[:2] for name in client.hkeys(f"{thread}:found"))
    assert (found["m:"], found["t:"]) == (4, 2)
    assert client.hlen(f"{thread}:marks") == 2
    assert 100 <= found["k:"] == found["o:"] <= 150
    assert plugin.append_messages(OWNER, THREAD, exchange("x"), key="k300") == Appended(THREAD, 601, repeated=True)


def test_a_turn_in_two_places_is_trimmed_whole(make_plugin: MakePlugin) -> None:
    plugin = make_plugin(max_messages=3)
    plugin.append_messages(OWNER, THREAD, [user("1", turn="1"), user("2", turn="2")])
    plugin.append_messages(OWNER, THREAD, [ChatMessage("assistant", "late", turn="1")])
    plugin.append_messages(OWNER, THREAD, [user("3", turn="3")])
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["2", "3"]


def test_numbers_beyond_what_a_score_holds_are_refused(make_plugin: MakePlugin) -> None:
    plugin = make_plugin()
    plugin.save_messages(OWNER, THREAD, [user("1").numbered(2**53)])
    assert [message.sequence for message in plugin.load_messages(OWNER, THREAD)] == [2**53]
    with pytest.raises(ValueError, match="sequence"):
        plugin.save_messages(OWNER, THREAD, [user("1").numbered(2**53 + 1)])


@contextlib.contextmanager
def undeletable(monkeypatch: pytest.MonkeyPatch) -> cabc.Iterator[None]:
    """Let a move end when the old thread is to be deleted after it was copied."""
    with monkeypatch.context() as patch:
        patch.setattr(scripts, "DELETE", None)
        yield


@pytest.mark.parametrize("messages", [[], exchange("late")])
@pytest.mark.parametrize("has_conversation", [False, True])
def test_a_move_that_was_interrupted_is_repeated_with_the_same_result(
    make_plugin: MakePlugin,
    monkeypatch: pytest.MonkeyPatch,
    has_conversation: bool,
    messages: list[ChatMessage],
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, THREAD, exchange("1"), key="k")
    expected = exchange("1") + messages
    if has_conversation:
        plugin.append_messages(OTHER, "thread-2", exchange("2"))
        expected = exchange("2") + expected
    with undeletable(monkeypatch), pytest.raises(AttributeError):
        plugin.move_threads(OWNER, OTHER)
    if messages:
        plugin.append_messages(OWNER, THREAD, messages)
    assert plugin.move_threads(OWNER, OTHER) == 0
    current, found = plugin.load_current(OTHER)
    assert current == ("thread-2" if has_conversation else THREAD)
    assert found == expected
    assert not plugin.has_thread(OWNER, THREAD)


def test_a_move_that_is_repeated_counts_no_tokens_twice(
    make_plugin: MakePlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = make_plugin()
    used = ChatMessage("assistant", "1", usage={"total": 10})
    plugin.append_messages(OWNER, THREAD, [user("1"), used])
    plugin.append_messages(OTHER, "thread-2", [user("2")])
    with undeletable(monkeypatch), pytest.raises(AttributeError):
        plugin.move_threads(OWNER, OTHER)
    plugin.append_messages(OWNER, THREAD, [used])
    plugin.move_threads(OWNER, OTHER)
    [thread] = plugin.list_threads(OTHER)
    assert (thread.messages, thread.tokens) == (4, 20)


def test_only_an_ongoing_thread_is_the_ongoing_one_after_a_move(make_plugin: MakePlugin) -> None:
    plugin = make_plugin(threads="many")
    for name in ("1", "2"):
        plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
    plugin.delete_thread(OWNER, "thread-1")
    assert plugin.move_threads(OWNER, OTHER) == 0
    assert plugin.has_thread(OTHER, "thread-2")
    assert plugin.current_thread(OTHER) is None


@pytest.mark.scenario("S035", "S059")
def test_each_operation_is_one_round_trip_whatever_the_length_and_searches_no_keys(make_node: MakeNode) -> None:
    node = make_node()
    plugin = RedisPlugin({"url": node.url})
    work: list[dict[str, int]] = []
    with redis.Redis.from_url(node.url) as client:
        for length in (2, 2000):
            plugin.append_messages(OWNER, THREAD, [user("old")] * length)
            for name, call in CALLS.items():
                if name != "move":
                    call(plugin)
                    plugin.append_messages(OWNER, THREAD, [user("more")])
            plugin.append_messages(OWNER, THREAD, [user("old")] * length)
            client.config_resetstat()
            for name in ("load", "load current", "start", "renew", "end", "mark", "marks", "lines"):
                CALLS[name](plugin)
            found = t.cast("dict[str, dict[str, t.Any]]", client.info("commandstats"))
            work.append({name: found[name]["calls"] for name in found if "config" not in name and "info" not in name})
            plugin.delete_thread(OWNER, THREAD)
    plugin.close()
    assert work[0] == work[1]
    assert work[0]["cmdstat_evalsha"] == 6
    assert not {name for name in work[0] if "keys" in name or "scan" in name or "time" == name}


def test_scripts_that_the_server_has_forgotten_are_sent_again(make_node: MakeNode) -> None:
    node = make_node()
    plugin = RedisPlugin({"url": node.url})
    with redis.Redis.from_url(node.url) as client:
        for call in CALLS.values():
            client.script_flush()
            call(plugin)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        client.script_flush()
        assert plugin.load_current(OWNER)[1] == exchange("1")
    plugin.close()


@pytest.mark.scenario("S190")
def test_a_client_of_the_site_is_not_closed(make_plugin: MakePlugin, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True, encoding="latin-1") as client:
        plugin = make_plugin(client=client)
        plugin.append_messages(OWNER, THREAD, [user("你好")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["你好"]
        [connection] = t.cast(t.Any, client.connection_pool)._available_connections
        plugin.close()
        assert connection._sock is not None
        assert client.ping()
        with pytest.raises(StorageError, match="closed"):
            plugin.has_thread(OWNER, THREAD)


@pytest.mark.parametrize("protocol", [2, 3])
def test_either_protocol_will_do(make_plugin: MakePlugin, redis_url: str, protocol: int) -> None:
    plugin = make_plugin(url=f"{redis_url}?protocol={protocol}")
    for call in list(CALLS.values())[:-2]:
        call(plugin)
    assert plugin.current_thread(OWNER) == THREAD


def test_threads_of_the_process_work_at_once(make_plugin: MakePlugin) -> None:
    plugin = make_plugin()
    together([functools.partial(plugin.append_messages, OWNER, THREAD, exchange(str(n)), key=str(n)) for n in range(8)])
    assert len(plugin.load_messages(OWNER, THREAD)) == 16


def test_a_turn_under_an_absent_id_begins_and_ends_in_the_ongoing_thread(make_plugin: MakePlugin) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    live = LiveTurn("t-1", "q-3", "a-3", plugin.clock() + 30)
    assert plugin.start_turn(OWNER, "absent", user("3", "q-3"), key="q3", live=live) == Appended(THREAD, 3)
    assert plugin.live_turns(OWNER, THREAD) == [live]
    ended = plugin.end_turn(OWNER, "absent", "t-1", [user("4")], key="a3", reply_to="q-3")
    assert ended == Appended(THREAD, 4)
    assert plugin.live_turns(OWNER, THREAD) == []
    plugin.start_turn(OWNER, "absent", user("5", "q-5"), key="q5", live=LiveTurn("t-2", "q-5", "a-5", live.lease))
    assert plugin.end_turn(OWNER, "absent", "t-2", [user("6")], key="a5", reply_to="gone") is None
    assert plugin.live_turns(OWNER, THREAD) == []


@pytest.mark.parametrize(
    "messages",
    [
        exchange("2"),
        exchange("2") + exchange("3"),
        [user("without id or turn")],
        [ChatMessage("assistant", "late", id="a", turn="1")],
        [user("more", turn="4")] * 2001,
    ],
    ids=["an exchange", "two turns", "no names", "an earlier turn", "many at once"],
)
def test_the_short_way_to_append_leaves_what_the_long_one_does(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, messages: list[ChatMessage]
) -> None:
    plugin = make_plugin(threads="many")
    plugin.clock = ManualClock()
    stored = []
    for thread_id in (THREAD, "thread-2"):
        plugin.append_messages(OWNER, thread_id, exchange("1"), key="k1")
        if thread_id != THREAD:
            # Without an ongoing thread it takes the long way.
            client.delete(f"{index_name(key_prefix, OWNER)}:current")
        assert plugin.append_messages(OWNER, thread_id, messages, key="k2", reply_to="q-1") == Appended(thread_id, 3)
        assert plugin.append_messages(OWNER, thread_id, messages, key="k2") == Appended(thread_id, 3, repeated=True)
        key = f"{index_name(key_prefix, OWNER)}:{thread_digest(thread_id)}"
        found = t.cast("dict[str, str]", client.hgetall(f"{key}:found"))
        thread = plugin.find_thread(OWNER, thread_id)
        assert thread
        del found["born"]
        loaded = plugin.load_messages(OWNER, thread_id)
        stored.append((found, loaded, [message.sequence for message in loaded], msgspec.structs.replace(thread, id="")))
    assert stored[0] == stored[1]


def test_a_thread_that_cannot_be_read_is_passed_over_by_who_goes_through_all(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = make_plugin(threads="many")
    for name in ("1", "2", "3"):
        plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
    index = index_name(key_prefix, OWNER)
    client.lset(f"{index}:{thread_digest('thread-1')}:messages", -1, "no head")
    client.hdel(f"{index}:{thread_digest('thread-2')}:about", "owner")
    client.hset(f"{index}:{thread_digest('gone')}:about", "owner", "x")
    with caplog.at_level(logging.WARNING):
        assert [thread.id for _, thread in plugin.all_threads()] == ["thread-3"]
    assert len(caplog.records) == 2


@pytest.mark.scenario("S035")
def test_going_through_all_threads_meets_no_foreign_key(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    prefix = f"{key_prefix}c*[a-z]?\\:"
    for other in (f"{key_prefix}cat:", f"{key_prefix}c*aa\\:"):
        make_plugin(key_prefix=other).append_messages(OWNER, THREAD, exchange("1"))
    plugin = make_plugin(key_prefix=prefix)
    assert list(plugin.all_threads()) == []
    plugin.append_messages(OTHER, THREAD, exchange("1"))
    assert [scope for scope, _ in plugin.all_threads()] == [OTHER]


def test_going_through_all_threads_meets_no_foreign_key_of_the_same_prefix(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    foreign = [f"{key_prefix}{{shop}}:cart:about".encode(), key_prefix.encode() + b"{\xff}:\xfe:about"]
    for name in foreign:
        client.set(name, "x")
    try:
        assert [scope for scope, _ in plugin.all_threads()] == [OWNER]
        assert purge(plugin, plugin.clock() + 1) == [(OWNER, THREAD)]
    finally:
        # Both are still there.
        assert client.delete(*foreign) == 2


@pytest.mark.parametrize("about", [{"created": "long ago"}, {"owner": b"\xff"}, {"owner": ""}], ids=str)
def test_a_description_that_cannot_be_read_is_reported(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str, about: t.Any, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    index = index_name(key_prefix, OWNER)
    client.hset(f"{index}:{thread_digest(THREAD)}:about", mapping=about)
    with pytest.raises(CorruptRecord, match="description"):
        plugin.find_thread(OWNER, THREAD)
    assert plugin.list_threads(OWNER) == []
    assert caplog.text.count("description of a thread cannot be read") == 1
    assert list(plugin.all_threads()) == []


def test_an_entry_without_a_thread_is_dropped_by_the_list(
    make_plugin: MakePlugin, client: redis.Redis, key_prefix: str
) -> None:
    plugin = make_plugin(threads="many")
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    index = index_name(key_prefix, OWNER)
    client.zadd(index, {thread_digest(f"gone-{n}"): n for n in range(120)})
    assert [thread.id for thread in plugin.list_threads(OWNER)] == [THREAD]
    assert client.zcard(index) == 1


@pytest.mark.scenario("S069")
def test_calls_that_raise_give_their_connection_back(client: redis.Redis, redis_url: str, key_prefix: str) -> None:
    with contextlib.closing(RedisPlugin({"url": f"{redis_url}?max_connections=1", "key_prefix": key_prefix})) as plugin:
        plugin.append_messages(OTHER, THREAD, exchange("1"))
        client.lpush(f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}:found", "no hash")
        for _ in range(10):
            with pytest.raises(StorageError, match="is a list"):
                CALLS["append"](plugin)
            assert len(plugin.load_messages(OTHER, THREAD)) == 2
    remove_keys(client, key_prefix)
