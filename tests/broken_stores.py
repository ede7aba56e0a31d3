"""What may befall a store: a record that cannot be read, and somebody else's data under our names."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sqlite3

from flask_chat_memory import Scope
from flask_chat_memory.plugins.file_.names import Names
from flask_chat_memory.plugins.redis_.names import escaped
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from flask_chat_memory.plugins.sql.tables import thread_key

from .redis_servers import Client


def run_sqlite(path: pathlib.Path, statement: str, *parameters: object) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, parameters)


def damage_sqlite(path: pathlib.Path, prefix: str, scope: Scope, thread_id: str) -> None:
    """Make the newest message of a thread unreadable."""
    newest = f"SELECT max(sequence) FROM {prefix}message WHERE thread_key = ?"
    update = f"UPDATE {prefix}message SET body = '{{{{' WHERE thread_key = ? AND sequence = ({newest})"
    run_sqlite(path, update, thread_key(scope, thread_id), thread_key(scope, thread_id))


def damage_file(folder: pathlib.Path, scope: Scope, thread_id: str) -> None:
    """Make the last line of a thread unreadable."""
    body = pathlib.Path(Names(str(folder)).thread(scope, thread_id).body)
    body.write_bytes(b"\n".join([*body.read_bytes().splitlines()[:-1], b"{{", b""]))


def put_in_the_way(folder: pathlib.Path) -> None:
    """Put a file where the folder of the conversations was."""
    shutil.rmtree(folder / "conversations")
    (folder / "conversations").write_text("in the way")


def damage_redis(client: Client, key_prefix: str, scope: Scope, thread_id: str) -> None:
    """Make the second message of a thread unreadable."""
    client.lset(f"{index_name(key_prefix, scope)}:{thread_digest(thread_id)}:messages", 1, f"{2:016d} {{{{")


def take_over_redis(client: Client, key_prefix: str) -> None:
    """Put values of another program, and of a type that no key of ours has, under all names."""
    for key in list(client.scan_iter(f"{escaped(key_prefix)}*", count=1000)):
        client.delete(key)
        client.sadd(key, "of another program")
