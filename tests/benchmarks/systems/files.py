"""Files: one of JSON lines, appended and synced; and the plugin."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import pathlib
import tempfile

import msgspec

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.file import FilePlugin
from tests.benchmarks.store import Body
from tests.benchmarks.store import fill
from tests.benchmarks.store import OWNER
from tests.benchmarks.store import System
from tests.benchmarks.systems.plugin import Make
from tests.benchmarks.systems.plugin import PluginSystem
from tests.benchmarks.systems.plugin import RawSystem

_BLOCK = 16 * 1024
"""Enough for the messages of the benchmark."""


class RawFile(RawSystem):
    """Opens the file each time, as several processes must; appends its lines and syncs, or reads from the end.

    It lies in a folder of its owner with the two small files that the plugin has there, so that as much is deleted.
    """

    name = "raw file"

    def __init__(self, folder: pathlib.Path, length: int) -> None:
        self._folder = folder
        fill(self, length)
        self._path = self._body(OWNER)
        self._size = os.path.getsize(self._path)

    def _body(self, owner: str) -> str:
        return f"{self._folder}/{owner}/thread.jsonl"

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        folder = self._folder / owner
        folder.mkdir(parents=True)
        for name in ("thread.json", "current.json"):
            append(str(folder / name), [{}])
        append(self._body(owner), messages)

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        append(self._path, messages)

    def load(self, limit: int | None) -> list[Body]:
        with open(self._path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if limit is None:
                lines = file.read().splitlines()
            else:
                lines = os.pread(file.fileno(), _BLOCK, max(0, size - _BLOCK)).splitlines()[-limit:]
        return [msgspec.json.decode(line) for line in lines]

    def cut(self, length: int) -> None:
        os.truncate(self._path, self._size)

    def delete(self, owner: str) -> None:
        folder = self._folder / owner
        for name in ("current.json", "thread.json", "thread.jsonl"):
            os.unlink(folder / name)
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.rmdir(folder)


def append(path: str, messages: cabc.Iterable[Body]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, b"".join(msgspec.json.encode(message) + b"\n" for message in messages))
    os.fsync(descriptor)
    os.close(descriptor)


class OurFile(PluginSystem):
    def __init__(self, plugin: ChatMemoryPlugin, folder: pathlib.Path, length: int) -> None:
        super().__init__(plugin, length)
        [self._body] = (
            path
            for path in folder.glob("conversations/*/*.jsonl")
            if f'"{OWNER}"' in path.with_suffix(".json").read_text()
        )
        self._size = os.path.getsize(self._body)

    def cut(self, length: int) -> None:
        os.truncate(self._body, self._size)


@contextlib.contextmanager
def systems(length: int, make: Make = FilePlugin) -> cabc.Iterator[list[System]]:
    """Give each a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder, "ours")
        with contextlib.closing(make({"folder": str(place)})) as plugin:
            yield [RawFile(pathlib.Path(folder, "raw"), length), OurFile(plugin, place, length)]
