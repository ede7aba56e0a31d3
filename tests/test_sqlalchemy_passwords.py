"""A wrong password for a SQL database: servers that ask for one."""

from __future__ import annotations

import collections.abc as cabc
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile
import typing as t

import psycopg
import pytest

from flask_chat_memory.errors import StorageError
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER

from .redis_servers import free_port
from .redis_servers import miss
from .redis_servers import PATIENCE
from .redis_servers import wait_until
from .sql_servers import database_of_our_own

RIGHT = "swordfish"
WRONG = "hunter2"


def programs() -> pathlib.Path:
    """Return the folder of the programs of a PostgreSQL server."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else miss("no PostgreSQL server is installed")


@pytest.fixture
def postgresql() -> cabc.Iterator[str]:
    """Give the address of a server that asks for a password; NAME and PASSWORD stand in it."""
    with tempfile.TemporaryDirectory() as folder:
        # It does not run as root.
        user: dict[str, t.Any] = {"user": "postgres", "cwd": "/"} if os.geteuid() == 0 else {}
        if user:
            shutil.chown(folder, "postgres")
        password = pathlib.Path(folder, "password")
        password.write_text(RIGHT)
        password.chmod(0o644)
        data, port = f"{folder}/data", free_port()
        make: list[str | pathlib.Path] = [
            programs() / "initdb",
            "-D",
            data,
            "-U",
            "site",
            "--pwfile",
            password,
            "--auth=scram-sha-256",
            "-N",
        ]
        subprocess.run(make, check=True, capture_output=True, timeout=PATIENCE, **user)
        run: list[str | pathlib.Path] = [
            programs() / "postgres",
            "-D",
            data,
            "-p",
            str(port),
            "-h",
            "127.0.0.1",
            "-k",
            "",
            "-F",
        ]
        with open(f"{folder}/log", "wb") as log:
            server = subprocess.Popen(run, stdout=log, stderr=log, **user)
        try:
            wait_until(lambda: answers(port), "the server")
            yield f"postgresql://NAME:PASSWORD@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            server.wait(PATIENCE)


def answers(port: int) -> bool:
    try:
        psycopg.connect(f"postgresql://site:{RIGHT}@127.0.0.1:{port}/postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def mariadb() -> cabc.Iterator[str]:
    with database_of_our_own() as place:
        name = f"chat_memory_{secrets.token_hex(4)}"
        place.run(f"CREATE USER {name} IDENTIFIED BY '{RIGHT}'")
        place.run(f"GRANT ALL ON {place.engine.url.database}.* TO {name}")
        try:
            url = place.engine.url.set(username="NAME", password="PASSWORD").render_as_string(hide_password=False)
            yield url.replace("NAME", name)
        finally:
            place.run(f"DROP USER {name}")


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_wrong_password_is_an_error_that_shows_none(server: str, request: pytest.FixtureRequest) -> None:
    url = t.cast(str, request.getfixturevalue(server)).replace("NAME", "site")
    plugin = SQLAlchemyPlugin({"url": url.replace("PASSWORD", WRONG)})
    with pytest.raises(StorageError, match=r"127\.0\.0\.1") as caught:
        plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    assert caught.value.__cause__ is not None
    assert WRONG not in str(caught.value) + repr(plugin.options)
    assert "question 1" not in str(caught.value)
    plugin.close()
    right = SQLAlchemyPlugin({"url": url.replace("PASSWORD", RIGHT)})
    right.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    assert len(right.load_messages(OWNER, "thread-1")) == 2
    right.close()
