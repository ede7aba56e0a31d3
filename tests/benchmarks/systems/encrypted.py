"""The plugin on SQLite, and the same wrapped by ``encrypted``."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import tempfile

from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from tests.benchmarks.store import System
from tests.benchmarks.systems.plugin import PluginSystem
from tests.benchmarks.systems.sqlite import cut
from tests.benchmarks.systems.sqlite import OurSqlite
from tests.encryption import NEW


class Encrypted(PluginSystem):
    def __init__(self, path: pathlib.Path, length: int) -> None:
        self.plugin = EncryptedPlugin({"plugin": "sqlalchemy", "keys": [NEW], "options": {"url": f"sqlite:///{path}"}})
        self._path = path
        super().__init__(self.plugin, length)

    def cut(self, length: int) -> None:
        cut(self._path, length)


@contextlib.contextmanager
def systems(length: int) -> cabc.Iterator[list[System]]:
    """Give each a file of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        plain = OurSqlite(pathlib.Path(folder, "plain.sqlite3"), length)
        stack.callback(plain.plugin.close)
        encrypted = Encrypted(pathlib.Path(folder, "encrypted.sqlite3"), length)
        stack.callback(encrypted.plugin.close)
        yield [plain, encrypted]
