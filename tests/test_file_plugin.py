"""What is particular to files: how they look, what is torn or foreign in them, how much of them is read."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import json
import os
import pathlib
import shutil
import stat
import threading
import time
import tracemalloc
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Renewal
from flask_chat_memory import StorageError
from flask_chat_memory.disk.locks import COUNT
from flask_chat_memory.errors import CorruptRecord
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_.blocks import BLOCK
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import PATIENCE
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.turns import LEASE
from flask_chat_memory.testing.contracts.turns import start
from tests.apps import make_app
from tests.conftest import close_plugins


@pytest.fixture
def plugin(tmp_path: pathlib.Path) -> FilePlugin:
    return make(tmp_path)


def make(folder: pathlib.Path, **options: t.Any) -> FilePlugin:
    return FilePlugin({"folder": str(folder / "chat"), **options})


def body_of(folder: pathlib.Path) -> pathlib.Path:
    [body] = (folder / "chat").glob("conversations/*/*.jsonl")
    return body


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.scenario("S073")
def test_a_torn_batch_is_ignored_and_cut_off_wherever_it_was_torn(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    body = body_of(tmp_path)
    committed = body.stat().st_size
    plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "5 € 你好"), answer("2")], key="k")
    whole = body.read_bytes()
    for size in range(committed, len(whole)):
        body.write_bytes(whole[:size])
        assert plugin.load_messages(OWNER, THREAD) == exchange("1")
        assert body.stat().st_size == size
        assert plugin.append_messages(OWNER, THREAD, [ask("3")], key="k") == Appended(THREAD, 3)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1", "question 3"]


def test_a_batch_that_lacks_its_last_line_is_torn(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    body = body_of(tmp_path)
    before = body.read_bytes()
    plugin.append_messages(OWNER, THREAD, exchange("2"))
    [_, _, line, _] = body.read_bytes().splitlines(keepends=True)
    body.write_bytes(before + line * 2000)
    assert plugin.load_messages(OWNER, THREAD, limit=1) == [answer("1")]
    assert plugin.append_messages(OWNER, THREAD, [ask("3")]) == Appended(THREAD, 3)
    assert len(body.read_bytes().splitlines()) == 3


GARBAGE = [b"", b"{}", b"\xff\xfe", b'{"sequence":', b"null", b'{"sequence":"x","message":{}}']


@pytest.mark.parametrize("line", [0, 1, 3])
@pytest.mark.parametrize(
    "garbage", [b"", b"{}", b"\xff\xfe", b'{"sequence":', b"null", b'{"sequence":"x","message":{}}']
)
def test_what_is_corrupt_but_not_torn_is_reported_and_kept(
    plugin: FilePlugin, tmp_path: pathlib.Path, line: int, garbage: bytes
) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.append_messages(OWNER, THREAD, exchange("2"))
    body = body_of(tmp_path)
    lines = body.read_bytes().split(b"\n")
    lines[line] = garbage
    body.write_bytes(b"\n".join(lines))
    before = files(tmp_path)
    with pytest.raises(CorruptRecord) as caught:
        plugin.load_messages(OWNER, THREAD)
    assert "question" not in str(caught.value)
    assert f"conversations/{body.parent.name}/{body.stem}" in str(caught.value)
    if line == 3:
        with pytest.raises(CorruptRecord):
            plugin.append_messages(OWNER, THREAD, [ask("3")])
    assert files(tmp_path) == before


def test_a_line_that_lacks_its_end_is_reported(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, [*exchange("1"), ask("2")])
    body = body_of(tmp_path)
    for torn in (b"}x\n", b"}\n", b"\n"):
        body.write_bytes(body.read_bytes().replace(b"}}\n", torn, 1))
        with pytest.raises(CorruptRecord):
            plugin.load_messages(OWNER, THREAD)


def test_a_dead_turn_that_runs_again_without_its_question_hides_no_other(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path, max_messages=2)
    clock = plugin.clock = ManualClock()
    start(t.cast(AblePlugin, plugin), "1")
    clock.advance(LEASE + 1)
    plugin.append_messages(OWNER, THREAD, exchange("2"))
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2", "answer 2"]
    plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + LEASE)
    start(t.cast(AblePlugin, plugin), "3")
    for name in ("4", "5"):
        plugin.append_messages(OWNER, THREAD, exchange(name))
    assert texts(plugin.load_messages(OWNER, THREAD))[0] == "question 3"


@pytest.mark.scenario("S074")
@pytest.mark.parametrize("content", [b"", b"\n", b'{"key":"k","sequence":1}\n', b"\0" * 5000])
def test_one_thread_without_a_whole_batch_is_reported_and_the_others_work(
    tmp_path: pathlib.Path, content: bytes
) -> None:
    plugin = make(tmp_path, threads="many", max_threads=2)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    body = body_of(tmp_path)
    body.write_bytes(content)
    plugin.append_messages(OWNER, "thread-2", exchange("2"))
    plugin.append_messages(OWNER, "thread-3", exchange("3"))
    assert not plugin.has_thread(OWNER, "thread-2")
    assert plugin.load_messages(OWNER, "thread-3") == exchange("3")
    for operation in (plugin.has_thread, plugin.load_messages, plugin.clear_messages, plugin.live_turns):
        with pytest.raises(CorruptRecord):
            operation(OWNER, THREAD)
    with pytest.raises(CorruptRecord):
        plugin.append_messages(OWNER, THREAD, exchange("1"))
    with pytest.raises(CorruptRecord):
        plugin.move_threads(OWNER, Scope("user:2"))
    assert plugin.load_messages(Scope("user:2"), "thread-3") == exchange("3")
    assert body.read_bytes() == content
    assert plugin.delete_thread(OWNER, THREAD)
    assert not plugin.has_thread(OWNER, THREAD)


def test_a_corrupt_entry_of_the_current_thread_is_reported_and_kept(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    [current] = (tmp_path / "chat").rglob("current.json")
    current.write_bytes(b"")
    for call in (lambda: plugin.current_thread(OWNER), lambda: plugin.append_messages(OWNER, "thread-2", [ask("2")])):
        with pytest.raises(CorruptRecord, match=r"current\.json"):
            call()
    assert current.read_bytes() == b""
    assert plugin.load_messages(OWNER, THREAD) == exchange("1")


def test_a_lost_lease_file_costs_no_more_than_the_lease(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.start_turn(OWNER, THREAD, ask("1"), key="question:1", live=LiveTurn("1", "q-1", "a-1", 5e9))
    plugin.renew_turns([Renewal(OWNER, THREAD, "1")], 6e9)
    [lease] = (tmp_path / "chat").rglob("*.lease")
    lease.write_bytes(b"")
    assert plugin.live_turns(OWNER, THREAD) == [LiveTurn("1", "q-1", "a-1", 5e9)]
    plugin.end_turn(OWNER, THREAD, "1", [answer("1")], key="answer:1", reply_to="q-1")
    assert not list((tmp_path / "chat").rglob("*.lease"))


@pytest.mark.scenario("S072")
def test_foreign_and_temporary_files_are_no_threads(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path, threads="many", max_threads=2)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    body = body_of(tmp_path)
    foreign = ["notes.txt", "backup.jsonl", f"{body.stem}.jsonl.bak", ".hidden", "0" * 31 + ".jsonl"]
    left = [f"{body.name}.tmp", f"{body.stem}.json.tmp", "f" * 32 + ".jsonl.tmp", "current.json.tmp"]
    for name in foreign + left:
        (body.parent / name).write_bytes(b"{")
    plugin.append_messages(OWNER, "thread-2", exchange("2"))
    assert plugin.has_thread(OWNER, THREAD)
    plugin.save_messages(OWNER, THREAD, [ask("new")])
    assert plugin.load_messages(OWNER, THREAD) == [ask("new")]
    other = Scope("user:2")
    assert plugin.move_threads(OWNER, other) == 0
    assert plugin.has_thread(other, "thread-2")
    assert sorted(path.name for path in body.parent.iterdir()) == sorted(foreign)


@pytest.mark.scenario("S007")
def test_a_thread_is_readable_json_in_the_script_it_was_written_in(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.clock = ManualClock(1_800_000_000.5)
    said = [ChatMessage("user", "你好, €5?"), ChatMessage("assistant", "Привет", model="m-1", usage={"total": 150})]
    plugin.append_messages(Scope("user:Жук", "помощь"), "thread-é", said)
    body = body_of(tmp_path)
    assert json.loads(body.with_suffix(".json").read_text("utf-8")) == {
        "thread_id": "thread-é",
        "owner": "user:Жук",
        "chatbot": "помощь",
        "created_at": "2027-01-15T08:00:00.500000Z",
        "updated_at": "2027-01-15T08:00:00.500000Z",
        "metadata": {"total_tokens": 150, "model": "m-1"},
    }
    lines = [json.loads(line) for line in body.read_text("utf-8").splitlines()]
    assert [line["message"] for line in lines] == [message.to_dict() for message in said]
    assert [line["sequence"] for line in lines] == [1, 2]
    state = {"at": 1_800_000_000.5, "last": 2, "count": 2, "tokens": 150, "model": "m-1", "overlap": 0}
    assert {**state, **lines[-1]["state"]} == state
    for text in ("你好, €5?", "Привет"):
        assert text.encode() in body.read_bytes()
    assert body.parent.parent == tmp_path / "chat" / "conversations"


@pytest.mark.scenario("H4")
def test_nobody_else_can_read_the_files(tmp_path: pathlib.Path) -> None:
    old = os.umask(0)
    try:
        plugin = make(tmp_path)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.save_messages(OWNER, THREAD, exchange("2"))
    finally:
        os.umask(old)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "chat", *(tmp_path / "chat").rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


HOSTILE = [
    "../../x",
    "/etc/passwd",
    "a\\..\\b",
    "C:x",
    "..",
    ".",
    "CON",
    "nul.json",
    "A",
    "a",
    "x" * 122,
    "\r\n",
    "🙂" * 60,
]


@pytest.mark.scenario("S134", "A20")
def test_no_name_leaves_the_folder_or_differs_by_case_alone(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path, threads="many")
    for name in HOSTILE:
        plugin.append_messages(Scope(name, name[:64]), name, [ChatMessage("user", name)], key=name)
        assert texts(plugin.load_messages(Scope(name, name[:64]), name)) == [name]
    plugin.append_messages(Scope("o" * 255, "c" * 64), THREAD, [ask("1")])
    assert [path.name for path in tmp_path.iterdir()] == ["chat"]
    names = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")]
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.isascii() and len(part) < 64 for name in names for part in name.split("/"))


def test_the_lock_files_do_not_pile_up(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    for number in range(80):
        plugin.delete_thread(Scope(f"user:{number}"), THREAD)
    names = [path.name for path in (tmp_path / "chat" / "locks").iterdir()]
    assert len(names) <= COUNT
    assert set(names) <= {f"{number:02}" for number in range(COUNT)}


@pytest.mark.scenario("S029")
def test_an_append_leaves_the_head_alone_and_writes_into_the_same_file(
    plugin: FilePlugin, tmp_path: pathlib.Path
) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    body = body_of(tmp_path)
    others = [path for path in (tmp_path / "chat").rglob("*.json")]
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in others}
    inode, written = body.stat().st_ino, body.read_bytes()
    plugin.append_messages(OWNER, THREAD, exchange("2"), key="k")
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in others} == before
    assert body.stat().st_ino == inode
    assert body.read_bytes().startswith(written)


@pytest.mark.scenario("S159", "N38")
@pytest.mark.parametrize("removal", ["delete", "purge"])
def test_nothing_of_a_thread_that_is_gone_stays_on_the_disk(tmp_path: pathlib.Path, removal: str) -> None:
    plugin = make(tmp_path, threads="many")
    plugin.append_messages(OWNER, "thread-2", exchange("2"))
    before = files(tmp_path)
    plugin.start_turn(OWNER, THREAD, ask("1"), key="question:1", live=LiveTurn("1", "q-1", "a-1", 5e9))
    plugin.renew_turns([Renewal(OWNER, THREAD, "1")], 6e9)
    if removal == "delete":
        plugin.delete_thread(OWNER, THREAD)
        assert files(tmp_path) == before
        plugin.delete_thread(OWNER, "thread-2")
    else:
        plugin.clock = ManualClock(7e9)
        assert list(plugin.purge_threads(7e9))
    assert list((tmp_path / "chat" / "conversations").iterdir()) == []


def test_what_was_cleared_is_no_longer_on_the_disk(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"), key="question:1")
    plugin.clear_messages(OWNER, THREAD)
    assert not [name for name, content in files(tmp_path).items() if b"question 1" in content]


@pytest.mark.scenario("S169")
def test_the_cap_on_messages_bounds_the_file(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path, max_messages=10)
    sizes = []
    for number in range(400):
        plugin.append_messages(OWNER, THREAD, exchange(f"{number:03}"), key=f"question:{number}")
        sizes.append(body_of(tmp_path).stat().st_size)
    assert len(plugin.load_messages(OWNER, THREAD)) == 10
    keys = [json.loads(line).get("key") for line in body_of(tmp_path).read_bytes().splitlines()]
    assert all(keys.count(f"question:{number}") == 1 for number in range(350, 400))
    assert max(sizes) < 1.1 * max(sizes[:200])
    assert sum(after < before for before, after in zip(sizes, sizes[1:], strict=False)) < 10


def import_all(plugin: FilePlugin, messages: list[ChatMessage]) -> None:
    plugin.append_messages(OWNER, THREAD, messages, key="import:1")


def save_and_ask(plugin: FilePlugin, messages: list[ChatMessage]) -> None:
    plugin.save_messages(OWNER, THREAD, messages)
    # As many keys as are remembered.
    for number in range(100):
        plugin.append_messages(OWNER, THREAD, [ask(f"k{number}")], key=f"question:k{number}")


def ask_and_save(plugin: FilePlugin, messages: list[ChatMessage]) -> None:
    plugin.append_messages(OWNER, THREAD, [ask("first")], key="question:first")
    plugin.save_messages(OWNER, THREAD, messages)


def ask_and_append(plugin: FilePlugin, messages: list[ChatMessage]) -> None:
    plugin.append_messages(OWNER, THREAD, [ask("first")], key="question:first")
    for place in range(0, len(messages), 50):
        plugin.append_messages(OWNER, THREAD, messages[place : place + 50])


LONG: dict[str, cabc.Callable[[FilePlugin, list[ChatMessage]], None]] = {
    "many keys at the end": save_and_ask,
    "imported": import_all,
    "saved after its only key": ask_and_save,
    "grown without keys": ask_and_append,
}


@pytest.mark.scenario("S059")
@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count what a process reads")
@pytest.mark.parametrize("make_long", LONG.values(), ids=list(LONG))
def test_the_cost_of_a_turn_does_not_grow_with_the_thread(
    tmp_path: pathlib.Path, make_long: cabc.Callable[[FilePlugin, list[ChatMessage]], None]
) -> None:
    read: dict[int, list[int]] = {}
    for length in (10, 1000, 20_000):
        plugin = make(tmp_path / str(length))
        messages = [message for n in range(length // 2) for message in exchange(str(n))]
        make_long(plugin, messages)
        calls = (
            lambda plugin=plugin: plugin.load_messages(OWNER, THREAD, limit=20),
            lambda plugin=plugin: plugin.load_current(OWNER, limit=20),
            lambda plugin=plugin: plugin.append_messages(OWNER, THREAD, [ask("new")], key="question:new"),
            lambda plugin=plugin: plugin.append_messages(
                OWNER, THREAD, [answer("new")], key="answer:new", reply_to="q-new"
            ),
            lambda plugin=plugin: plugin.has_thread(OWNER, THREAD),
        )
        read[length] = [transferred(call) for call in calls]
    for shortest, longest in zip(read[10], read[20_000], strict=True):
        assert longest < 1.25 * shortest + BLOCK
    assert max(read[20_000]) < 200_000


def transferred(call: t.Any) -> int:
    """Return the bytes that a call reads and writes, as the system counts them."""

    def count() -> int:
        lines = pathlib.Path("/proc/self/io").read_text().splitlines()
        return sum(int(line.partition(":")[2]) for line in lines[:2])

    before = count()
    call()
    return count() - before


def test_an_unkeyed_thread_is_not_searched_for_keys(plugin: FilePlugin) -> None:
    plugin.save_messages(OWNER, THREAD, [ask(str(n)) for n in range(20_000)])
    assert transferred(lambda: plugin.append_messages(OWNER, THREAD, [ask("new")], key="k")) < 100_000


def test_the_newest_of_a_long_thread_need_little_memory(plugin: FilePlugin) -> None:
    plugin.save_messages(OWNER, THREAD, [ask(f"{n} " + "x" * 300) for n in range(20_000)])
    tracemalloc.start()
    try:
        assert len(plugin.load_messages(OWNER, THREAD, limit=20)) == 20
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("obstacle", ["conversations", "locks", "."])
def test_an_error_of_the_system_arrives_as_a_storage_error(tmp_path: pathlib.Path, obstacle: str) -> None:
    folder = tmp_path / "chat"
    path = folder / obstacle
    path.parent.mkdir(exist_ok=True)
    path.write_text("in the way")
    plugin = make(tmp_path)
    with pytest.raises(StorageError) as caught:
        plugin.append_messages(Scope("user:secret"), "thread-secret", [ChatMessage("user", "secret")])
    assert isinstance(caught.value.__cause__, OSError)
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
    assert "Not a directory (ENOTDIR)" in str(caught.value)
    assert path.read_text() == "in the way"


def test_a_folder_that_was_removed_is_made_again(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    shutil.rmtree(tmp_path / "chat")
    assert not plugin.has_thread(OWNER, THREAD)
    assert plugin.append_messages(OWNER, "thread-2", exchange("2")) == Appended("thread-2", 1)


def test_a_child_does_not_keep_the_lock_that_its_parent_held_when_it_forked(
    plugin: FilePlugin, tmp_path: pathlib.Path
) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    reached, release = threading.Event(), threading.Event()

    def clock() -> float:
        # Called while the lock is held.
        reached.set()
        assert release.wait(PATIENCE)
        return time.time()

    plugin.clock = clock
    append = threading.Thread(target=plugin.append_messages, args=(OWNER, THREAD, [ask("2")]), daemon=True)
    append.start()
    assert reached.wait(PATIENCE)

    [descriptor] = plugin._locks._held
    file = os.fstat(descriptor)

    def work(say: Say) -> None:
        with contextlib.suppress(OSError):
            assert not os.path.samestat(os.fstat(descriptor), file)
        say()
        threading.Event().wait()

    child = Child(work)
    child.wait_for_steps(1)
    # Of a process that was forked past the hooks of Python.
    copy = os.dup(descriptor)
    other = make(tmp_path)
    release.set()
    append.join(PATIENCE)
    late = threading.Thread(target=other.append_messages, args=(OWNER, THREAD, [ask("3")]), daemon=True)
    late.start()
    late.join(PATIENCE)
    assert not late.is_alive()
    child.kill()
    os.close(copy)
    assert texts(other.load_messages(OWNER, THREAD))[2:] == ["question 2", "question 3"]


@pytest.mark.parametrize("options", [{}, {"folder": None}, {"folder": ""}, {"folder": "a\0b"}, {"folder": 7}])
def test_a_folder_that_is_none_is_refused(options: dict[str, t.Any]) -> None:
    with pytest.raises(ConfigurationError, match="folder"):
        FilePlugin(options)


@pytest.mark.parametrize(("folder", "expected"), [(None, "chat-memory"), ("talks", "talks"), ("/abs", "/abs")])
def test_a_relative_folder_is_in_the_instance_folder(tmp_path: pathlib.Path, folder: str | None, expected: str) -> None:
    if folder == "/abs":
        folder = expected = str(tmp_path / "elsewhere")
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="file", CHAT_MEMORY_OPTIONS={"folder": folder} if folder else {})
    memory = ChatMemory(app)
    memory.provider(lambda turn: f"You said: {turn.text}")
    client = app.test_client()
    response = client.post("/chat-memory/default/messages", json={"messages": [{"role": "user", "text": "Hello"}]})
    assert "You said: Hello" in response.text
    shown = client.get("/chat-memory/default/history").get_json()["messages"]
    assert [message["text"] for message in shown] == ["Hello", "You said: Hello"]
    assert len(list((pathlib.Path(app.instance_path) / expected / "conversations").rglob("*.jsonl"))) == 1
    close_plugins(app)
