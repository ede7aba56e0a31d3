"""What a newer release has written: a clear error, and nothing is changed."""

from __future__ import annotations

import base64
import collections.abc as cabc
import datetime as dt
import json
import pathlib
import typing as t

import msgspec
import pytest
import redis

from flask_chat_memory import ChatMessage
from flask_chat_memory import NewerFormat
from flask_chat_memory import StorageError
from flask_chat_memory.encryption import Cipher
from flask_chat_memory.encryption import place_of
from flask_chat_memory.errors import DecryptionFailed
from flask_chat_memory.errors import ImportRefused
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.short_term.summary import Summary
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.summaries import Summaries
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.transfer.thread_file import import_thread
from tests.encryption import NEW
from tests.redis_servers import remove_keys

SAID = r"is of format 2, and this release of Flask-Chat-Memory reads none after 1: install a newer release"
QUESTION = ChatMessage("user", "?", id="q-1", turn="t-1")
ANSWER = ChatMessage("assistant", "!", id="a-1", turn="t-1", model="m", usage={"input_tokens": 1, "output_tokens": 2})


def store(plugin: t.Any) -> None:
    plugin.append_messages(OWNER, THREAD, [QUESTION], key="question:1")
    plugin.append_messages(OWNER, THREAD, [ANSWER], key="answer:1", reply_to="q-1")


def files_below(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "locks" not in path.parts}


def marked_head(text: str) -> str:
    return json.dumps({**json.loads(text), "format": 2})


def other_head(_text: str) -> str:
    return '{"format": 2, "id": 5}'


def marked_body(text: str) -> str:
    line = json.loads(text.splitlines()[-1])
    line["state"]["format"] = 2
    return "\n".join([*text.splitlines()[:-1], json.dumps(line)]) + "\n"


def other_body(_text: str) -> str:
    return '{"state": {"format": 2, "at": "noon"}, "messages": "elsewhere"}\n'


@pytest.mark.parametrize(
    ("name", "change"),
    [("*.json", marked_head), ("*.json", other_head), ("*.jsonl", marked_body), ("*.jsonl", other_body)],
)
def test_a_thread_in_files(
    tmp_path: pathlib.Path, name: str, change: cabc.Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    plugin = FilePlugin({"folder": str(tmp_path), "threads": "many"})
    store(plugin)
    plugin.append_messages(OWNER, "thread-2", [QUESTION])
    [path] = [
        path
        for path in tmp_path.glob(f"conversations/*/{name}")
        if path.name != "current.json" and "thread-2" not in path.with_suffix(".json").read_text()
    ]
    path.write_text(change(path.read_text()))
    before = files_below(tmp_path)
    with pytest.raises(NewerFormat, match=SAID):
        plugin.find_thread(OWNER, THREAD)
    if name == "*.jsonl":
        for call in (lambda: plugin.load_messages(OWNER, THREAD), lambda: store(plugin)):
            with pytest.raises(NewerFormat, match=SAID):
                t.cast(t.Any, call)()
    assert files_below(tmp_path) == before
    # Others are still listed.
    assert [thread.id for thread in plugin.list_threads(OWNER)] == ["thread-2"]
    assert "reads none after 1" in caplog.text


def test_a_ledger_in_a_file(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    plugin = FilePlugin({"folder": str(tmp_path)})
    store(plugin)
    [path] = tmp_path.glob("usage/*.jsonl")
    for changed in ('{"format":2,"sums":[]}\n', '{"format":2,"owner":"user:1","chatbot":"default","days":{}}\n'):
        path.write_text(changed)
        with pytest.raises(NewerFormat, match=SAID):
            plugin.list_usage(OWNER)
        plugin.append_messages(OWNER, THREAD, [ANSWER], key=changed, reply_to="q-1")
        assert path.read_text() == changed
        assert "an answer is not counted" in caplog.text


@pytest.mark.parametrize("live", [{}, "elsewhere"])
def test_a_thread_in_redis(redis_url: str, key_prefix: str, live: object) -> None:
    plugin = RedisPlugin({"url": redis_url, "key_prefix": key_prefix})
    store(plugin)
    with redis.Redis.from_url(redis_url) as client:
        [name] = client.keys(f"{key_prefix}*:messages")
        head = msgspec.msgpack.decode(client.lindex(name, -1))
        head[11] = live
        client.lset(name, -1, msgspec.msgpack.encode([*head, *[None] * (13 - len(head)), 2]))
        before = {key: client.dump(key) for key in client.keys(f"{key_prefix}*")}
        for call in (
            lambda: store(plugin),
            lambda: plugin.append_messages(OWNER, THREAD, [QUESTION], key="question:2"),
            lambda: plugin.append_messages(OWNER, "thread-2", [QUESTION], key="question:2"),
            lambda: plugin.load_messages(OWNER, THREAD, after=1),
            lambda: plugin.load_current(OWNER),
            lambda: plugin.find_thread(OWNER, THREAD),
        ):
            with pytest.raises(NewerFormat, match=SAID):
                t.cast(t.Any, call)()
        if live == {}:
            with pytest.raises(NewerFormat, match=SAID):
                plugin.load_messages(OWNER, THREAD)
        assert {key: client.dump(key) for key in client.keys(f"{key_prefix}*")} == before
        remove_keys(client, key_prefix)
    plugin.close()


def test_a_document_in_redis(redis_url: str, key_prefix: str) -> None:
    storage = RedisStorage({"url": redis_url, "key_prefix": key_prefix})
    storage.save("a/b", {"text": "1"})
    with redis.Redis.from_url(redis_url) as client:
        [name] = [name for name in client.keys(f"{key_prefix}*") if client.type(name) == b"string"]
        client.set(name, b"#2 of another shape")
        for call in (lambda: storage.load("a/b"), lambda: storage.load_all()):
            with pytest.raises(NewerFormat, match=SAID):
                t.cast(t.Any, call)()
        remove_keys(client, key_prefix)
    storage.close()


def test_documents_of_the_domains(tmp_path: pathlib.Path) -> None:
    storage = FileStorage({"folder": str(tmp_path)})
    plugin = DocumentsPlugin({"storage": storage, "threads": "many"})
    plugin.append_messages(OWNER, THREAD, [QUESTION])
    summaries = Summaries(domain_storage(storage, "summaries"))
    summary = Summary(thread_id=THREAD, text="so far", timestamp=dt.datetime.now(dt.UTC).isoformat())
    summaries.save(OWNER, summary)
    for path in tmp_path.rglob("*"):
        if path.suffix == ".json":
            path.write_text(json.dumps({**json.loads(path.read_text()), "chat_memory_format": 2}))
        elif path.suffix == ".md":
            path.write_text(path.read_text().replace("---\n", "---\nchat_memory_format: 2\n", 1))
    before = files_below(tmp_path)
    for call in (
        lambda: plugin.load_messages(OWNER, THREAD),
        lambda: plugin.append_messages(OWNER, THREAD, [ANSWER]),
        # Not taken for one that may be replaced.
        lambda: summaries.load(OWNER, THREAD),
    ):
        with pytest.raises(NewerFormat, match=SAID):
            t.cast(t.Any, call)()
    assert list(plugin.all_threads()) == []
    assert files_below(tmp_path) == before


def test_what_a_site_keeps_in_a_document_is_no_format() -> None:
    site = domain_storage(InMemoryStorage(), "site")
    for value in ("2", True, None, 1, {"chat_memory_format": 2}):
        site.save("a", {"chat_memory_format": value, "format": 2})
        assert site.load("a") == {"chat_memory_format": value, "format": 2}


def test_an_encrypted_value() -> None:
    cipher, place = Cipher([NEW]), place_of("title", "user:1")
    text = cipher.encrypt(b"secret", place)
    later = base64.b64encode(b"\x02" + base64.b64decode(text)[1:]).decode()
    with pytest.raises(DecryptionFailed, match="encrypted in format 2, .* reads none after 1"):
        cipher.decrypt(later, place, "the title")
    with pytest.raises(DecryptionFailed, match="the title .*not encrypted, or was changed"):
        cipher.decrypt("No secret, but a text that is long enough", place, "the title")


def test_a_thread_file(tmp_path: pathlib.Path) -> None:
    plugin = FilePlugin({"folder": str(tmp_path)})
    document = {"thread_id": THREAD, "messages": [], "chat_memory_format": 2}
    with pytest.raises(ImportRefused, match=SAID):
        import_thread(plugin, OWNER, json.dumps(document).encode())


def test_the_error_is_one_of_the_store() -> None:
    assert issubclass(NewerFormat, StorageError)
