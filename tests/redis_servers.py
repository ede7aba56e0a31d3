"""Redis for the tests: the server that the environment names, and a cluster of six nodes that they start."""

from __future__ import annotations

import collections.abc as cabc
import os
import pathlib
import random
import secrets
import shutil
import socket
import subprocess
import time
import typing as t

import pytest
import redis
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from flask_chat_memory.plugins.redis_.names import escaped

URL = "CHAT_MEMORY_REDIS_URL"
REQUIRED = "CHAT_MEMORY_REQUIRE_SERVERS"
PATIENCE = 60.0
"""Seconds after which a server that should be up counts as broken."""

Client = redis.Redis | RedisCluster


def miss(reason: str) -> t.NoReturn:
    """Skip the test, or fail it where servers are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


def wait_until(met: cabc.Callable[[], bool], what: str, pause: float = 0.05) -> None:
    """Ask again until it is so; a server that cannot answer yet is asked again, too.

    :param pause: seconds between two questions.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if met():
                return
        except (redis.RedisError, RedisClusterException, OSError):
            pass
        time.sleep(pause)
    pytest.fail(f"{what}: not within {PATIENCE} seconds")


class Node:
    """A server of our own, on the loopback interface."""

    def __init__(self, folder: pathlib.Path, port: int, *arguments: str) -> None:
        self.port = port
        self._folder = folder
        self._arguments = arguments
        folder.mkdir()
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *self._arguments]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)

    def wait(self, password: str | None = None) -> None:
        with redis.Redis(port=self.port, password=password) as client:
            wait_until(lambda: bool(client.ping()), f"the server at port {self.port}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self, folder: pathlib.Path) -> None:
        arguments = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
        self.nodes: list[Node] = []
        try:
            for place in range(6):
                self.nodes.append(Node(folder / str(place), free_port(), *arguments))
            for node in self.nodes:
                node.wait()
            addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
            command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
            self.wait()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return self.nodes[0].url

    def wait(self) -> None:
        """Wait until every node knows that all is well, and every replica has what its primary has."""
        for node in self.nodes:
            with redis.Redis(port=node.port, decode_responses=True) as client:
                wait_until(lambda client=client: _is_well(client), f"the cluster at port {node.port}")  # type: ignore[misc]

    def primary_of(self, key: str) -> Node:
        with RedisCluster.from_url(self.url) as client:
            found = t.cast(t.Any, client.get_node_from_key(key))
        return next(node for node in self.nodes if node.port == found.port)

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()


def _is_well(client: redis.Redis) -> bool:
    info = t.cast("dict[str, str]", t.cast(t.Any, client).cluster("INFO"))
    replication = client.info("replication")
    failed = [node for node in t.cast(t.Any, client).cluster("NODES").values() if "fail" in node["flags"]]
    linked = (
        replication["master_link_status"] == "up"
        if replication["role"] == "slave"
        else int(replication["connected_slaves"]) == 1
    )
    return info["cluster_state"] == "ok" and int(info["cluster_slots_ok"]) == 16_384 and bool(linked) and not failed


def free_port() -> int:
    """Return a port that is free together with the one that a cluster adds to it."""
    while True:
        port = random.randint(16_000, 32_000)
        try:
            for number in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue


def need_programs() -> None:
    for program in ("redis-server", "redis-cli"):
        if shutil.which(program) is None:
            miss(f"there is no {program}")


def remove_keys(client: Client, prefix: str) -> None:
    """Delete all keys with the prefix, on every primary."""
    for key in list(client.scan_iter(f"{escaped(prefix)}*", count=1000)):
        client.delete(key)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """The server of the environment."""
    url = os.environ.get(URL)
    return url or miss(f"{URL} is not set")


@pytest.fixture(scope="session")
def redis_cluster(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> cabc.Iterator[Cluster]:
    need_programs()
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture
def make_node(redis_url: str, tmp_path: pathlib.Path) -> cabc.Iterator[cabc.Callable[..., Node]]:
    """Starts a server of the test's own, which it may restart, kill or misconfigure."""
    need_programs()
    nodes: list[Node] = []

    def make(*arguments: str, password: str | None = None) -> Node:
        nodes.append(Node(tmp_path / f"redis-{len(nodes)}", free_port(), *arguments))
        nodes[-1].wait(password)
        return nodes[-1]

    yield make
    for node in nodes:
        node.kill()


@pytest.fixture
def key_prefix() -> str:
    return f"chat-memory-test-{secrets.token_hex(8)}:"
