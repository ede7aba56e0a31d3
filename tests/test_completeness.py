"""Nothing that is stored of an owner is outside of retention, of what is forgotten, and of what is exported.

All that there can be of an owner is stored, with a mark of its own in each text, and looked for in the raw stores: rows
of all tables, values of all keys, all files. A table, a key or a file of a kind that is not listed here fails the test,
until somebody has seen to it that it is purged, forgotten and exported.
"""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import pathlib
import re
import typing as t

import flask
import pytest
import redis
import sqlalchemy as sa

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory.plugins.records import Renewal
from flask_chat_memory.storage.keys import FOLDERS

from .redis_servers import remove_keys
from .sql_servers import PLACES

OWNER, OTHER = "user:amber-7391", "user:basil-5520"
NAMES = ("amber-7391",)
"""What an owner is found by, whichever way it is written."""
KEYS = ["ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="]
USED = {"prompt_tokens": 10, "completion_tokens": 5}
DOMAINS = [domain for domain in FOLDERS if domain != "conversation"]
IN_THREADS = [
    "title", "configuration", "question", "answer", "call", "result", "part", "metadata", "comment", "version",
    "so-far", "key",
]  # fmt: skip
MARKS = [f"mark-{what}" for what in [*IN_THREADS, "memory", *DOMAINS]]

TABLES = {
    "chat_memory_thread", "chat_memory_message", "chat_memory_append_key", "chat_memory_current", "chat_memory_live",
    "chat_memory_mark", "chat_memory_usage", "chat_memory_document", "chat_memory_version",
}  # fmt: skip
DOCUMENT_FILES = {f"chat-memory/{FOLDERS[domain]}/#" for domain in DOMAINS}
KINDS: dict[str, set[str]] = {
    "sqlite": TABLES,
    "postgresql": TABLES,
    "mariadb": TABLES,
    "encrypted": TABLES,
    "redis": {
        "{#}", "{#}:current", "{#}:usage", "{#}:#:messages", "{#}:#:found", "{#}:#:about", "{#}:#:marks",
        "document:{#}", "document:{#}:#",
    },
    "file": {
        "chat-memory/conversations/#/current.json", "chat-memory/conversations/#/#.json",
        "chat-memory/conversations/#/#.jsonl", "chat-memory/conversations/#/#.lease", "chat-memory/usage/#.jsonl",
        "chat-memory/locks/#", *DOCUMENT_FILES,
    },
    "documents": {
        "chat-memory/conversations/#", "chat-memory/conversations/usage/#", "chat-memory/locks/#", *DOCUMENT_FILES,
    },
}  # fmt: skip


class Store:
    """A site on one kind of store.

    :ivar raw: gives kind and content of all that is in the store, the names of the places included.
    """

    def __init__(
        self, folder: pathlib.Path, kind: str, plugin: str, options: t.Any, raw: t.Any, **config: t.Any
    ) -> None:
        self.kind = kind
        self.app = flask.Flask("site", instance_path=str(folder))
        self.app.config.update(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS=options, **config)
        self.memory = ChatMemory(self.app)
        self.raw: cabc.Callable[[], list[tuple[str, str]]] = raw

    @property
    def plugin(self) -> t.Any:
        with self.app.app_context():
            return self.memory.plugin

    def text(self) -> str:
        return "\n".join(content for _, content in self.raw())


def rows_of(engine: sa.Engine) -> list[tuple[str, str]]:
    with engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        quoted = engine.dialect.identifier_preparer.quote
        return [
            (table, repr(tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)))
            for table in tables
            for row in connection.exec_driver_sql(f"SELECT * FROM {quoted(table)}")
        ]


def files_of(folder: pathlib.Path) -> list[tuple[str, str]]:
    """Kind and content of all files; of a folder, its name."""
    found = []
    for root, folders, files in os.walk(folder):
        here = os.path.relpath(root, folder)
        found += [("folder", f"{here}/{name}") for name in folders]
        for name in files:
            path = f"{here}/{name}".removeprefix("./")
            content = pathlib.Path(root, name).read_bytes().decode(errors="replace")
            found.append((kind_of_file(path), f"{path}\n{content}"))
    return found


def kind_of_file(path: str) -> str:
    for folder in [*FOLDERS.values(), "conversations/usage"]:
        if path.startswith(f"chat-memory/{folder}/@"):
            return f"chat-memory/{folder}/#"
    return re.sub(r"[0-9a-f]{32}|(?<=locks/)\d\d$", "#", path)


def keys_of(client: t.Any, prefix: str) -> list[tuple[str, str]]:
    readers: dict[bytes, cabc.Callable[[bytes], object]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"set": client.smembers,
    }
    found = []
    for key in client.scan_iter(f"{prefix}*"):
        name = key.decode().removeprefix(prefix)
        kind = re.sub(r"[0-9a-f]{32}", "#", name)
        kind = re.sub(r"^(document:\{#\}):.*$", r"\1:#", kind)
        found.append((kind, f"{name} {readers[client.type(key)](key)!r}"))
    return found


@pytest.fixture(params=[name for name in KINDS])
def store(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Store]:
    kind: str = request.param
    many = {"threads": "many"}
    with contextlib.ExitStack() as after:
        if kind in PLACES:
            place = after.enter_context(PLACES[kind]())
            yield Store(tmp_path, kind, "sqlalchemy", {**many, "url": place.url}, lambda: rows_of(place.engine))
        elif kind in ("sqlite", "encrypted"):
            path = tmp_path / "chat-memory.sqlite3"
            engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
            wrapped = {**many, "plugin": "sqlalchemy", "keys": KEYS}
            plugin, options = ("encrypted", wrapped) if kind == "encrypted" else ("sqlalchemy", many)
            yield Store(tmp_path, kind, plugin, options, lambda: rows_of(engine))
        elif kind == "redis":
            url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("key_prefix")
            client = after.enter_context(redis.Redis.from_url(url))
            where = {**many, "url": url, "key_prefix": prefix}
            yield Store(tmp_path, kind, "redis", where, lambda: keys_of(client, prefix))
            remove_keys(client, prefix)
        else:
            config = {"CHAT_MEMORY_STORAGE": "file"} if kind == "documents" else {}
            yield Store(tmp_path, kind, kind, many, lambda: files_of(tmp_path), **config)


def fill(store: Store, owner: str, mark: str = "mark") -> None:
    """Store all that there can be of an owner."""
    memory, plugin = store.memory, store.plugin
    with store.app.app_context():
        conversation = memory.start_conversation(owner)
        turn = conversation.turn(
            {"messages": [{"role": "user", "text": f"{mark}-question"}], "key": f"{mark}-key"}, by=f"{mark}-metadata"
        )
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f"{mark}-call"}}
        turn.record(ChatMessage("assistant", None, tool_calls=[call]))
        turn.record(ChatMessage("tool", [{"type": "text", "text": f"{mark}-part"}], tool_call_id="c"))
        turn.record(ChatMessage("tool", f"{mark}-result", tool_call_id="c"))
        answer = turn.finish(f"{mark}-answer", usage=USED, model="gpt")
        memory.user_memories(owner).add(f"{mark}-memory")
        for domain in DOMAINS:
            memory.storage(domain).of_owner(owner).save("a/b", {"note": f"{mark}-{domain}"})
        thread_id = str(turn.thread_id)
        conversation.mark(str(answer.id), 1, f"{mark}-comment")
        conversation.regenerate().finish(f"{mark}-version")
        plugin.update_thread(Scope(owner), thread_id, title=f"{mark}-title", configuration=f"{mark}-configuration")
        running = memory.start_conversation(owner).turn("?")
        renewal = Renewal(Scope(owner), str(running.thread_id), running.id, f"{mark}-so-far")
        plugin.renew_turns([renewal], plugin.clock() + 30)


def found(text: str, marks: cabc.Iterable[str]) -> list[str]:
    return [mark for mark in marks if mark in text]


def test_every_kind_of_place_is_known_and_holds_what_is_looked_for(store: Store) -> None:
    fill(store, OWNER)
    assert {kind for kind, _ in store.raw()} - {"folder"} == KINDS[store.kind]
    if store.kind == "encrypted":
        # The site's note, and the key of a question, which is the client's and random.
        assert found(store.text(), MARKS) == ["mark-configuration", "mark-key"]
    else:
        assert found(store.text(), MARKS) == MARKS


@pytest.mark.scenario("S160", "H29")
def test_what_is_forgotten_is_nowhere(store: Store) -> None:
    fill(store, OWNER)
    fill(store, OTHER, "other")
    before = sorted(content for _, content in store.raw() if "basil-5520" in content or "other-" in content)
    with store.app.app_context():
        store.memory.forget(OWNER)
        usage = store.memory.usage("forgotten")
    text = store.text()
    assert found(text, MARKS) == []
    assert found(text, NAMES) == []
    assert sum(line.total for line in usage) == 15
    after = sorted(content for _, content in store.raw() if "basil-5520" in content or "other-" in content)
    if store.kind != "redis":
        # There, the order of fields is nobody's business.
        assert after == before


def test_what_is_exported_is_everything(store: Store) -> None:
    fill(store, OWNER)
    fill(store, OTHER, "other")
    with store.app.app_context():
        for format in ("json", "md", "html"):
            text = b"".join(store.memory.export(OWNER, t.cast(t.Any, format))).decode()
            # The key of a question is the client's, random, and only programs want it.
            wanted = [mark for mark in MARKS if mark != "mark-key" or format == "json"]
            assert found(text, wanted) == wanted
            assert "basil-5520" not in text and "other-" not in text


@pytest.mark.scenario("N38")
def test_what_is_purged_is_nowhere(store: Store) -> None:
    fill(store, OWNER)
    plugin = store.plugin
    later = plugin.clock() + 100
    plugin.clock = lambda: later
    with store.app.app_context():
        for _ in plugin.purge_threads(later):
            pass
        for domain in DOMAINS:
            store.memory.storage(domain).of_owner(OWNER).clean_up(later)
    assert found(store.text(), MARKS) == []
