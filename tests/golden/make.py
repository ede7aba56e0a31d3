"""Makes golden copies of all stores of this version: ``python -m tests.golden.make``, once for each release.

It needs Redis, by ``CHAT_MEMORY_REDIS_URL``. A version that is there already is not made again: what was released is to
be read for ever.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import pathlib
import secrets
import shutil
import sys
import tempfile
import typing as t

import redis

from flask_chat_memory.transfer.exporting import Export
from flask_chat_memory.transfer.stores import DOMAINS
from flask_chat_memory.transfer.stores import Stores
from flask_chat_memory.transfer.thread_file import export_thread
from tests.golden import content
from tests.golden.stores import RedisStore
from tests.golden.stores import Store
from tests.golden.stores import STORES
from tests.redis_servers import remove_keys

CHATBOTS = (content.OWNER.chatbot, content.GUEST.chatbot)
FOLDER = pathlib.Path(__file__).parent


def make(folder: pathlib.Path) -> None:
    """Fill a store of each kind, in clear and encrypted, pack it, and note what it tells."""
    expected: dict[str, t.Any] = {}
    for name in STORES:
        for encrypted in (False, True):
            with _new_store(name, encrypted) as store, contextlib.closing(store.open()) as opened:
                content.CLOCK.now = START
                content.fill_documents(opened.storage) if not expected else _copy(expected, opened.storage)
                content.fill_plain(opened.documents)
                content.fill(opened.plugin)
                told = {
                    "threads": content.found_in(opened.plugin),
                    "threads in documents": content.found_in_plain(opened.documents),
                    "documents": content.found_in_documents(opened.storage),
                }
                assert told == (expected or told), f"{name} tells otherwise"
                expected = told
                if name == "sqlite" and not encrypted:
                    thread = export_thread(opened.plugin, content.OWNER, "thread-1")
                    (folder / "thread.json").write_bytes(thread)
                    stores = Stores(dict.fromkeys(CHATBOTS, opened.plugin), dict.fromkeys(DOMAINS, opened.storage))
                    (folder / "export.jsonl").write_bytes(b"".join(Export(stores, content.CLOCK.now).lines()))
                opened.close()
                store.pack(folder / f"{name}{'-encrypted' * encrypted}")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


START = content.CLOCK.now


def _copy(expected: dict[str, t.Any], storage: t.Any) -> None:
    """Store the same documents, whose ids are random."""
    for key, document in expected["documents"]["documents"].items():
        storage.save(key, document)


@contextlib.contextmanager
def _new_store(name: str, encrypted: bool) -> t.Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        if name != "redis":
            yield STORES[name](pathlib.Path(folder), encrypted)
            return
        url, prefix = os.environ["CHAT_MEMORY_REDIS_URL"], f"golden-{secrets.token_hex(6)}:"
        yield RedisStore(pathlib.Path(folder), encrypted, url, prefix)
        with redis.Redis.from_url(url) as client:
            remove_keys(client, prefix)


if __name__ == "__main__":
    version = importlib.metadata.version("flask-chat-memory").rpartition(".")[0]
    if (FOLDER / version).exists():
        sys.exit(f"the golden copies of {version} are there already, and stay as they are")
    with tempfile.TemporaryDirectory(dir=FOLDER) as made:
        make(pathlib.Path(made))
        shutil.copytree(made, FOLDER / version)
