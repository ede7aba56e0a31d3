"""What the plugin hides, what it notices, and what it leaves as it was."""

from __future__ import annotations

import base64
import copy
import os
import pathlib
import sqlite3
import typing as t

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord
from flask_chat_memory import DecryptionFailed
from flask_chat_memory import LiveTurn
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.abilities import CountsUsage
from flask_chat_memory.plugins.abilities import CurrentThread
from flask_chat_memory.plugins.abilities import DescribesThreads
from flask_chat_memory.plugins.abilities import HidesMessages
from flask_chat_memory.plugins.abilities import KeepsLiveTurns
from flask_chat_memory.plugins.abilities import ListsThreads
from flask_chat_memory.plugins.abilities import MarksMessages
from flask_chat_memory.plugins.abilities import MovesThreads
from flask_chat_memory.plugins.abilities import PurgesThreads
from flask_chat_memory.plugins.abilities import SearchesMessages
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.encrypted_ import messages
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.redis_.names import escaped
from flask_chat_memory.plugins.rules import Sealed
from flask_chat_memory.plugins.whole.thread import StoredThread
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import assert_same
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.purging import purge

from .encryption import encrypted
from .encryption import NEW
from .encryption import OLD
from .encryption import OTHER
from .encryption import wrapped
from .five_methods import FiveMethodsPlugin
from .redis_servers import remove_keys
from .test_message_properties import dicts

ABILITIES = [
    CurrentThread,
    KeepsLiveTurns,
    MovesThreads,
    ListsThreads,
    DescribesThreads,
    PurgesThreads,
    CountsUsage,
    HidesMessages,
    MarksMessages,
    SearchesMessages,
]
SECRET = "zanzibar"
TOLD = ChatMessage(
    "assistant",
    f"the {SECRET} text",
    tool_calls=[{"id": "c1", "type": "function", "function": {"name": SECRET, "arguments": f'{{"q": "{SECRET}"}}'}}],
    name=SECRET,
    metadata={SECRET: [SECRET]},
    usage={"total": 77},
    model="model-in-clear",
    status="complete",
    turn="turn-in-clear",
    id="id-in-clear",
    created_at="2026-01-01T00:00:00Z",
)
HIDDEN = [TOLD, ChatMessage("tool", [{"type": "text", "text": SECRET}], tool_call_id="c1", name=SECRET)]
UNKNOWN_KEYS = ChatMessage.from_dict({"role": "user", "content": SECRET, SECRET: SECRET, "x-site": {"a": SECRET}})
IN_CLEAR = [b"assistant", b"model-in-clear", b"complete", b"turn-in-clear", b"id-in-clear", b"77", b"2026-01-01"]


def fill(plugin: ChatMemoryPlugin) -> None:
    plugin.append_messages(OWNER, THREAD, [*HIDDEN, UNKNOWN_KEYS], key="question:1")
    if isinstance(plugin, DescribesThreads):
        plugin.update_thread(OWNER, THREAD, title=f"a {SECRET} title")
    if isinstance(plugin, MarksMessages):
        plugin.mark_message(OWNER, THREAD, "id-in-clear", Mark(1, f"a {SECRET} comment"))
    if isinstance(plugin, KeepsLiveTurns):
        live = LiveTurn("1", "q-1", "a-1", plugin.clock() + 30)
        question = ChatMessage("user", SECRET, id="q-1", turn="1")
        scope = Scope("user:9")
        plugin.start_turn(scope, THREAD, question, key="question:1", live=live, title=f"a {SECRET} title")
        plugin.renew_turns([Renewal(scope, THREAD, "1", SECRET)], plugin.clock() + 30)


def check_bytes(data: bytes) -> None:
    """Check that a store holds nothing of what was said, be it as it is or as base64."""
    assert SECRET.encode() not in data
    for shift in range(3):
        assert base64.b64encode(b" " * shift + SECRET.encode())[4:8] not in data
    for value in IN_CLEAR:
        assert value in data


def test_a_database_holds_nothing_of_what_was_said(tmp_path: pathlib.Path) -> None:
    plugin = encrypted("sqlalchemy", {"url": f"sqlite:///{tmp_path}/chat.sqlite3"})
    fill(plugin)
    check_bytes(b"".join(path.read_bytes() for path in tmp_path.iterdir()))
    plugin.close()
    check_bytes((tmp_path / "chat.sqlite3").read_bytes())


def test_files_hold_nothing_of_what_was_said(tmp_path: pathlib.Path) -> None:
    fill(encrypted("file", {"folder": str(tmp_path)}))
    check_bytes(b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()))


def test_redis_holds_nothing_of_what_was_said(redis_url: str, key_prefix: str) -> None:
    fill(encrypted("redis", {"url": redis_url, "key_prefix": key_prefix}))
    with redis.Redis.from_url(redis_url) as client:
        keys = list(client.scan_iter(f"{escaped(key_prefix)}*", count=1000))
        stored: list[t.Any] = []
        for key in keys:
            kind = t.cast(bytes, client.type(key)).decode()
            read = {"hash": "HGETALL", "zset": "ZRANGE", "string": "GET", "list": "LRANGE"}[kind]
            stored.append(client.execute_command(read, key, *(["0", "-1"] if read.endswith("RANGE") else [])))
        remove_keys(client, key_prefix)
    assert len(keys) > 2
    check_bytes(repr(stored).encode())


def test_the_wrapped_plugin_keeps_messages_as_any_other() -> None:
    plugin = encrypted(FiveMethodsPlugin, {})
    fill(plugin)
    told, result, own = wrapped(plugin).load_messages(OWNER, THREAD)
    assert set(told.to_dict()) == {"role", "content", "usage", "model", "status", "turn", "id", "created_at"}
    assert set(result.to_dict()) == {"role", "content", "tool_call_id"}
    assert set(own.to_dict()) == {"role", "content"}
    assert told.append_key == "question:1"


def test_what_is_in_clear_is_not_encrypted_besides() -> None:
    plugin = encrypted("in_memory", {})
    plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "Hello", id="q-1", turn="1", model="model-in-clear")])
    [kept] = wrapped(plugin).load_messages(OWNER, THREAD)
    hidden = base64.b64decode(t.cast(str, kept.content), validate=True)
    # Version, id of the key, nonce and tag; up to two spaces, so that base64 needs no padding.
    assert len(hidden) - 37 - len('"Hello"') in range(3)


@given(st.lists(dicts(), min_size=1, max_size=3))
def test_what_is_held_is_what_is_loaded(given: list[dict[str, t.Any]]) -> None:
    messages = [ChatMessage.from_dict(fields) for fields in given]
    plugin = encrypted("in_memory", {})
    plugin.append_messages(OWNER, THREAD, messages)
    assert_same(plugin.load_messages(OWNER, THREAD), messages)
    plugin.save_messages(OWNER, THREAD, plugin.load_messages(OWNER, THREAD))
    assert_same(plugin.load_messages(OWNER, THREAD), messages)


# What was changed


def over_records() -> tuple[EncryptedPlugin, dict[str, t.Any]]:
    """Return a plugin, and the stored records of its thread, in which tests write."""
    plugin = encrypted(FiveMethodsPlugin, {}, threads="many")
    plugin.append_messages(OWNER, THREAD, [TOLD, ask("1"), ask("2")])
    kept = t.cast(FiveMethodsPlugin, wrapped(plugin))
    return plugin, t.cast(t.Any, kept.records)


def check_refused(plugin: EncryptedPlugin, records: dict[t.Any, t.Any], scope: Scope = OWNER, id: str = THREAD) -> None:
    """Check that the thread is reported as corrupt by whoever reads it, and left as it is by all."""
    before = copy.deepcopy(records)
    for _ in range(2):
        with pytest.raises(CorruptRecord) as caught:
            plugin.load_messages(scope, id)
        assert SECRET not in str(caught.value)
    assert records == before


def test_every_changed_bit_of_a_stored_message_is_noticed() -> None:
    plugin, records = over_records()
    stored = t.cast(t.Any, records)[OWNER, THREAD][1][0]
    body = ChatMessage.from_dict(stored["message"]).to_json()
    for place in range(len(body)):
        changed = bytearray(body)
        changed[place] ^= 1 << place % 7
        try:
            stored["message"] = ChatMessage.from_json(bytes(changed)).to_dict()
        except CorruptRecord:
            continue
        with pytest.raises(DecryptionFailed):
            plugin.load_messages(OWNER, THREAD)


@pytest.mark.parametrize(
    "change",
    [
        {"content": "in clear"},
        {"content": None},
        {"role": "system"},
        {"status": "failed"},
        {"usage": {"total": 78}},
        {"model": None},
        {"turn": "another"},
        {"id": "another"},
        {"created_at": "2027-01-01T00:00:00Z"},
        {"tool_call_id": "c1"},
    ],
    ids=str,
)
def test_a_changed_field_is_noticed(change: dict[str, t.Any]) -> None:
    plugin, records = over_records()
    t.cast(t.Any, records)[OWNER, THREAD][1][0]["message"].update(change)
    check_refused(plugin, records)


@pytest.mark.parametrize("field", ["usage", "model", "status", "turn", "id", "created_at"])
def test_a_removed_field_is_noticed(field: str) -> None:
    plugin, records = over_records()
    del t.cast(t.Any, records)[OWNER, THREAD][1][0]["message"][field]
    check_refused(plugin, records)


@pytest.mark.scenario("N40")
def test_a_text_that_was_put_into_another_message_is_noticed() -> None:
    plugin, records = over_records()
    stored = t.cast(t.Any, records)[OWNER, THREAD][1]
    stored[1]["message"]["content"] = stored[2]["message"]["content"]
    check_refused(plugin, records)


@pytest.mark.scenario("N40")
@pytest.mark.parametrize(
    ("scope", "thread_id"),
    [(OWNER, "thread-2"), (STRANGER, THREAD), (Scope(OWNER.owner, "support"), THREAD)],
    ids=["other thread", "other owner", "other chatbot"],
)
def test_a_message_that_was_moved_to_another_thread_is_noticed(scope: Scope, thread_id: str) -> None:
    plugin, records = over_records()
    t.cast(t.Any, records)[scope, thread_id] = copy.deepcopy(t.cast(t.Any, records)[OWNER, THREAD])
    check_refused(plugin, records, scope, thread_id)
    assert len(plugin.load_messages(OWNER, THREAD)) == 3


def with_title() -> tuple[AblePlugin, InMemoryPlugin]:
    plugin = t.cast(AblePlugin, encrypted("in_memory", {}, threads="many"))
    for scope, thread_id in ((OWNER, THREAD), (OWNER, "thread-2"), (STRANGER, THREAD)):
        plugin.append_messages(scope, thread_id, [ask("1")])
        plugin.update_thread(scope, thread_id, title=f"of {scope.owner} in {thread_id}")
    return plugin, t.cast(InMemoryPlugin, wrapped(t.cast(EncryptedPlugin, plugin)))


def title_of(plugin: AblePlugin, scope: Scope, thread_id: str) -> str:
    thread = plugin.find_thread(scope, thread_id)
    assert thread
    return t.cast(str, thread.title)


def stored(kept: InMemoryPlugin) -> StoredThread:
    """Return the thread itself, to be changed behind the back of the wrapper."""
    thread = kept._threads.load(OWNER, THREAD)
    assert thread
    return thread


def test_a_title_that_was_moved_or_changed_is_noticed() -> None:
    plugin, kept = with_title()
    body = t.cast(str, kept.load_messages(OWNER, THREAD)[0].content)
    others = [title_of(kept, OWNER, "thread-2"), title_of(kept, STRANGER, THREAD), body, "in clear"]  # type: ignore[arg-type]
    for other in others:
        stored(kept).description["title"] = other
        with pytest.raises(DecryptionFailed, match="the title of a thread cannot be read") as caught:
            plugin.find_thread(OWNER, THREAD)
        assert other not in str(caught.value)
        listed = {thread.id: thread.title for thread in plugin.list_threads(OWNER)}
        assert listed == {THREAD: None, "thread-2": "of user:1 in thread-2"}
    assert stored(kept).description["title"] == "in clear"
    assert title_of(plugin, OWNER, "thread-2") == "of user:1 in thread-2"


def with_live_turns() -> tuple[AblePlugin, InMemoryPlugin]:
    plugin = t.cast(AblePlugin, encrypted("in_memory", {}, threads="many"))
    for name, thread_id in [("1", THREAD), ("2", THREAD), ("1", "thread-2")]:
        live = LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock() + 30)
        plugin.start_turn(OWNER, thread_id, ask(name), key=f"question:{name}", live=live)
        plugin.renew_turns([Renewal(OWNER, thread_id, name, f"{SECRET} {name} {thread_id}")], plugin.clock() + 30)
    return plugin, t.cast(InMemoryPlugin, wrapped(t.cast(EncryptedPlugin, plugin)))


def test_the_text_of_a_running_turn_is_hidden() -> None:
    plugin, kept = with_live_turns()
    assert [live.text for live in plugin.live_turns(OWNER, THREAD)] == [f"{SECRET} {n} {THREAD}" for n in (1, 2)]
    for live in kept.live_turns(OWNER, THREAD):
        assert live.text and SECRET not in live.text and SECRET.encode() not in base64.b64decode(live.text)
    plugin.renew_turns([Renewal(OWNER, THREAD, "1")], plugin.clock() + 60)
    assert plugin.live_turns(OWNER, THREAD)[0].text == f"{SECRET} 1 {THREAD}"


@pytest.mark.parametrize(("thread_id", "turn"), [(THREAD, "2"), ("thread-2", "1")])
def test_the_text_of_another_turn_is_not_taken_for_its_own_and_keeps_no_turn_from_ending(
    thread_id: str, turn: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin, kept = with_live_turns()
    other = next(live.text for live in kept.live_turns(OWNER, thread_id) if live.turn == turn)
    kept.renew_turns([Renewal(OWNER, THREAD, "1", other)], plugin.clock() + 60)
    assert [live.text for live in plugin.live_turns(OWNER, THREAD)] == ["", f"{SECRET} 2 {THREAD}"]
    assert "is lost" in caplog.text
    assert SECRET not in caplog.text


def with_marks() -> tuple[AblePlugin, InMemoryPlugin]:
    plugin = t.cast(AblePlugin, encrypted("in_memory", {}, threads="many"))
    for scope, thread_id in ((OWNER, THREAD), (OWNER, "thread-2"), (STRANGER, THREAD)):
        plugin.append_messages(scope, thread_id, exchange("1"))
        for id in ("q-1", "a-1"):
            plugin.mark_message(scope, thread_id, id, Mark(1, f"{SECRET} {id}"))
    return plugin, t.cast(InMemoryPlugin, wrapped(t.cast(EncryptedPlugin, plugin)))


def test_a_comment_is_hidden_and_bound_to_its_message(caplog: pytest.LogCaptureFixture) -> None:
    plugin, kept = with_marks()
    expected = {"q-1": Mark(1, f"{SECRET} q-1"), "a-1": Mark(1, f"{SECRET} a-1")}
    assert plugin.load_marks(OWNER, THREAD) == expected
    places = [(OWNER, THREAD, "q-1"), (OWNER, "thread-2", "a-1"), (STRANGER, THREAD, "a-1")]
    sealed = [kept.load_marks(scope, thread_id)[id].comment for scope, thread_id, id in places]
    for comment in (*sealed, "in clear"):
        assert comment
        assert SECRET not in comment
        kept.mark_message(OWNER, THREAD, "a-1", Mark(1, Sealed(comment)))
        # The rating is still told.
        assert plugin.load_marks(OWNER, THREAD) == {**expected, "a-1": Mark(1)}
        assert kept.load_marks(OWNER, THREAD)["a-1"] == Mark(1, comment)
        with pytest.raises(DecryptionFailed, match="the comment on a message cannot be read"):
            plugin.move_threads(OWNER, Scope("user:new"))
    assert "without its comment" in caplog.text
    assert SECRET not in caplog.text


def test_a_search_decrypts_so_many_of_the_newest_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, clock = t.cast(AblePlugin, encrypted("in_memory", {}, threads="many")), ManualClock()
    plugin.clock = clock
    for thread_id in ("thread-1", "thread-2", "thread-3"):
        plugin.append_messages(OWNER, thread_id, [*exchange("1"), *exchange("2")])
        clock.advance(1)
    for most, threads, complete in [(12, 3, True), (11, 3, False), (9, 3, False), (8, 2, False), (5, 2, False)]:
        monkeypatch.setattr(messages, "SEARCHED", most)
        search = plugin.search_messages(OWNER, "2")
        assert {found.thread_id for found in search.found} == {f"thread-{3 - place}" for place in range(threads)}
        assert search.complete is complete
    assert plugin.search_messages(OWNER, "2", limit=1).complete


def test_a_search_passes_over_what_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    plugin, kept = with_marks()
    stored(kept).messages[0] = ChatMessage("user", "in clear").numbered(1)
    search = plugin.search_messages(OWNER, "question")
    assert [found.thread_id for found in search.found] == ["thread-2"]
    assert not search.complete
    assert "searched only in part" in caplog.text
    assert plugin.search_messages(STRANGER, "question").complete


def test_a_title_is_no_message() -> None:
    plugin, kept = with_title()
    thread = stored(kept)
    thread.messages[0] = thread.messages[0].replace(content=thread.description["title"])
    with pytest.raises(DecryptionFailed):
        plugin.load_messages(OWNER, THREAD)


def test_a_thread_with_an_unreadable_title_is_there_for_the_operator_and_does_not_stop_a_purge(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plugin, kept = with_title()
    stored(kept).description["title"] = "in clear"
    titles = {(scope, thread.id): thread.title for scope, thread in plugin.all_threads()}
    assert len(titles) == 3
    assert titles[OWNER, THREAD] is None
    assert "a thread is listed without its title" in caplog.text
    assert "in clear" not in caplog.text
    assert len(purge(plugin, plugin.clock() + 1)) == 3


# Keys


@pytest.mark.scenario("N39")
def test_keys_are_changed_without_losing_what_the_old_one_hid() -> None:
    old = encrypted("in_memory", {}, keys=[OLD])
    old.append_messages(OWNER, THREAD, exchange("1"))
    able = t.cast(AblePlugin, old)
    able.update_thread(OWNER, THREAD, title="old")
    both, new = encrypted("in_memory", {}, keys=[NEW, OLD]), encrypted("in_memory", {}, keys=[NEW])
    kept = both._wrapped = new._wrapped = wrapped(old)
    assert_same(both.load_messages(OWNER, THREAD), exchange("1"))
    both.append_messages(OWNER, THREAD, exchange("2"))
    before = [message.to_json() for message in kept.load_messages(OWNER, THREAD)]
    assert_same(new.load_messages(OWNER, THREAD, limit=2), exchange("2"))
    for read in (
        lambda: new.load_messages(OWNER, THREAD),
        lambda: t.cast(AblePlugin, new).load_current(OWNER),
        lambda: t.cast(AblePlugin, new).find_thread(OWNER, THREAD),
        lambda: t.cast(AblePlugin, new).move_threads(OWNER, STRANGER),
    ):
        with pytest.raises(DecryptionFailed, match="add the old key to the end of the option 'keys'"):
            read()
    # Nothing is skipped, and the conversation goes on.
    new.append_messages(OWNER, THREAD, exchange("3"))
    assert [message.to_json() for message in kept.load_messages(OWNER, THREAD)][:4] == before
    assert_same(both.load_messages(OWNER, THREAD), [*exchange("1"), *exchange("2"), *exchange("3")])
    assert t.cast(AblePlugin, both).find_thread(OWNER, THREAD) is not None
    new._wrapped, both._wrapped = InMemoryPlugin(), kept


def test_to_save_a_thread_again_encrypts_it_with_the_first_key() -> None:
    both, new = encrypted("in_memory", {}, keys=[NEW, OLD]), encrypted("in_memory", {}, keys=[NEW])
    old = encrypted("in_memory", {}, keys=[OLD])
    new._wrapped = old._wrapped = wrapped(both)
    old.append_messages(OWNER, THREAD, exchange("1"), key="k")
    able, write = t.cast(AblePlugin, new), t.cast(AblePlugin, both)
    t.cast(AblePlugin, old).update_thread(OWNER, THREAD, title="old")
    both.save_messages(OWNER, THREAD, both.load_messages(OWNER, THREAD))
    assert [thread.title for thread in able.list_threads(OWNER)] == [None]
    write.update_thread(OWNER, THREAD, title=title_of(write, OWNER, THREAD))
    assert_same(new.load_messages(OWNER, THREAD), exchange("1"))
    assert [thread.title for thread in able.list_threads(OWNER)] == ["old"]
    again = new.append_messages(OWNER, THREAD, exchange("1"), key="k")
    assert again is not None
    assert again.repeated


def test_a_wrong_key_destroys_nothing() -> None:
    plugin, wrong = encrypted("in_memory", {}, keys=[NEW]), encrypted("in_memory", {}, keys=[OTHER])
    wrong._wrapped = wrapped(plugin)
    plugin.append_messages(OWNER, THREAD, exchange("1"), key="k")
    with pytest.raises(DecryptionFailed):
        wrong.load_messages(OWNER, THREAD)
    repeated = wrong.append_messages(OWNER, THREAD, exchange("1"), key="k")
    assert repeated is not None
    assert repeated.repeated
    assert_same(plugin.load_messages(OWNER, THREAD), exchange("1"))


# Moving


def test_a_thread_that_cannot_be_read_stays_where_it_is(tmp_path: pathlib.Path) -> None:
    for name, options in {"in_memory": {}, "sqlalchemy": {"url": f"sqlite:///{tmp_path}/chat.sqlite3"}}.items():
        plugin = t.cast(AblePlugin, encrypted(name, options, threads="many"))
        kept = wrapped(t.cast(EncryptedPlugin, plugin))
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        changed = [message.replace(content="in clear") for message in kept.load_messages(OWNER, THREAD)]
        kept.save_messages(OWNER, THREAD, changed)
        with pytest.raises(DecryptionFailed):
            plugin.move_threads(OWNER, STRANGER)
        assert_same(kept.load_messages(OWNER, THREAD), changed)
        assert not plugin.has_thread(STRANGER, THREAD)
        plugin.close()


def test_a_move_that_was_interrupted_between_sealing_and_renaming_is_finished() -> None:
    plugin = t.cast(AblePlugin, encrypted("in_memory", {}))
    kept = wrapped(t.cast(EncryptedPlugin, plugin))
    other = encrypted("in_memory", {})
    other.append_messages(STRANGER, THREAD, exchange("1"))
    t.cast(AblePlugin, other).mark_message(STRANGER, THREAD, "a-1", Mark(1, "well"))
    kept.save_messages(OWNER, THREAD, wrapped(other).load_messages(STRANGER, THREAD))
    for id, mark in t.cast(AblePlugin, wrapped(other)).load_marks(STRANGER, THREAD).items():
        t.cast(AblePlugin, kept).mark_message(OWNER, THREAD, id, Mark(1, Sealed(mark.comment)))
    assert plugin.move_threads(OWNER, STRANGER) == 0
    assert_same(plugin.load_messages(STRANGER, THREAD), exchange("1"))
    assert plugin.load_marks(STRANGER, THREAD) == {"a-1": Mark(1, "well")}


def test_what_a_dead_turn_told_can_be_read_where_it_went() -> None:
    plugin, kept = with_live_turns()
    lost = next(live.text for live in kept.live_turns(OWNER, "thread-2"))
    kept.renew_turns([Renewal(OWNER, THREAD, "2", lost)], plugin.clock())
    plugin.clock = ManualClock(plugin.clock() + 60)
    assert plugin.move_threads(OWNER, STRANGER) == 0
    assert [live.text for live in plugin.live_turns(STRANGER, THREAD)] == [f"{SECRET} 1 {THREAD}", ""]


def test_a_move_of_files_that_was_interrupted_is_finished(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = t.cast(AblePlugin, encrypted("file", {"folder": str(tmp_path)}, threads="many"))
    plugin.append_messages(OWNER, THREAD, exchange("1"), key="k")
    plugin.update_thread(OWNER, THREAD, title="mine")
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1, "well"))

    def fail(*_names: str) -> None:
        raise OSError("the power is off")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StorageError):
        plugin.move_threads(OWNER, STRANGER)
    monkeypatch.undo()
    assert not plugin.has_thread(STRANGER, THREAD)
    assert plugin.move_threads(OWNER, STRANGER) == 0
    assert_same(plugin.load_messages(STRANGER, THREAD), exchange("1"))
    assert title_of(plugin, STRANGER, THREAD) == "mine"
    assert plugin.load_marks(STRANGER, THREAD) == {"a-1": Mark(1, "well")}
    again = plugin.append_messages(STRANGER, THREAD, exchange("1"), key="k")
    assert again is not None
    assert again.repeated


# What the wrapper is


@pytest.mark.parametrize(
    ("plugin", "abilities"),
    [("in_memory", ABILITIES), ("sqlalchemy", ABILITIES), (FiveMethodsPlugin, [])],
)
def test_it_has_the_abilities_of_what_it_wraps(plugin: t.Any, abilities: list[type], tmp_path: pathlib.Path) -> None:
    options = {"url": f"sqlite:///{tmp_path}/chat.sqlite3"} if plugin == "sqlalchemy" else {}
    made = encrypted(plugin, options)
    assert [ability for ability in ABILITIES if isinstance(made, ability)] == abilities
    assert isinstance(made, EncryptedPlugin)
    assert made.shared_by_processes is wrapped(made).shared_by_processes
    assert made.has_persistent_thread is wrapped(made).has_persistent_thread is bool(abilities)
    assert type(made) is type(encrypted(plugin, options))
    assert type(made).__name__ == "EncryptedPlugin"


def test_both_plugins_have_one_clock() -> None:
    made = EncryptedPlugin({"plugin": "in_memory", "keys": [NEW]}, clock=ManualClock(5.0))
    assert wrapped(made).clock() == 5.0
    made.clock = ManualClock(7.0)
    assert wrapped(made).clock() == made.clock() == 7.0


def test_a_plugin_that_nobody_uses_closes_what_it_wraps() -> None:
    closed = []

    class Closing(FiveMethodsPlugin):
        def close(self) -> None:
            closed.append(self.id)

    made = encrypted(Closing, {})
    del made
    assert closed


def test_a_purge_goes_by_what_is_in_clear() -> None:
    plugin, _ = with_title()
    (purged,) = plugin.purge_threads(plugin.clock() + 1)
    assert (len(purged.threads), purged.messages) == (3, 3)


def test_nothing_of_what_is_encrypted_stands_in_the_column_that_is_searched(tmp_path: pathlib.Path) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    plugin = encrypted("sqlalchemy", {"url": url})
    plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi")], key="1")
    plugin.save_messages(OWNER, "other", plugin.load_messages(OWNER, THREAD))
    with sqlite3.connect(tmp_path / "chat.db") as connection:
        assert connection.execute("SELECT DISTINCT folded FROM chat_memory_message").fetchall() == [(None,)]
    connection.close()
    plugin.close()
