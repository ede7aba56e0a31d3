"""Turns that one worker process answers, and another one stops or goes on to read."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import http.client
import json
import os
import pathlib
import secrets
import signal
import threading
import typing as t
import urllib.parse

import pytest
import redis

from .apps import PATIENCE
from .redis_servers import miss
from .redis_servers import URL
from .serving.server import events
from .serving.server import gunicorn
from .serving.server import Visitor
from .sql_servers import schema_of_our_own

MESSAGES = "/chat-memory/default/messages"
BODY = {"messages": [{"role": "user", "text": "wait"}], "key": "k"}


@contextlib.contextmanager
def sqlite() -> cabc.Iterator[dict[str, object]]:
    yield {"CHAT_MEMORY_PLUGIN": "sqlalchemy"}


@contextlib.contextmanager
def postgresql() -> cabc.Iterator[dict[str, object]]:
    with schema_of_our_own() as place:
        yield {"CHAT_MEMORY_PLUGIN": "sqlalchemy", "CHAT_MEMORY_OPTIONS": {"url": place.url}}


@contextlib.contextmanager
def redis_server() -> cabc.Iterator[dict[str, object]]:
    url = os.environ.get(URL) or miss(f"{URL} is not set")
    prefix = f"chat-memory-test-{secrets.token_hex(6)}:"
    yield {"CHAT_MEMORY_PLUGIN": "redis", "CHAT_MEMORY_OPTIONS": {"url": url, "key_prefix": prefix}}
    with redis.Redis.from_url(url) as client:
        for name in client.scan_iter(f"{prefix}*"):
            client.delete(name)


STORES = {"sqlite": sqlite, "postgresql": postgresql, "redis": redis_server}


class Served(t.NamedTuple):
    """A gunicorn with two workers."""

    port: int
    folder: pathlib.Path

    def release(self) -> None:
        (self.folder / "release").touch()


@pytest.fixture(params=STORES)
def served(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Served]:
    on_disconnect = getattr(request.function, "on_disconnect", "stop")
    with STORES[request.param]() as config:
        config["CHAT_MEMORY_CHATBOTS"] = {"default": {"on_disconnect": on_disconnect}}
        arguments = ("--workers", "2", "--worker-class", "gthread", "--threads", "8")
        application = "tests.serving.app:create_app()"
        with gunicorn(tmp_path, application, *arguments, CHAT_CONFIG=json.dumps(config)) as port:
            served = Served(port, tmp_path)
            yield served
            served.release()


def begin(visitor: Visitor) -> tuple[http.client.HTTPResponse, cabc.Iterator[dict[str, str]], str]:
    """Ask a question whose answer waits for the release; return the worker, too."""
    response = visitor.request("POST", MESSAGES, BODY)
    pieces = events(response)
    word = next(pieces)["text"]
    return response, pieces, word.removeprefix("process ").strip()


def elsewhere(visitor: Visitor, worker: str, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
    """Send a request until another worker takes it."""
    for _ in range(200):
        response = visitor.request(method, path, body)
        if response.headers["Worker"] != worker:
            return response
        response.close()
    raise AssertionError("all requests went to one worker")


def resume(visitor: Visitor, worker: str, question: str) -> http.client.HTTPResponse:
    query = urllib.parse.urlencode({"question_id": question})
    response = elsewhere(visitor, worker, "GET", f"/chat-memory/default/resume?{query}")
    assert response.status == 200
    return response


def wait_for(condition: cabc.Callable[[], bool]) -> None:
    pause = threading.Event()
    assert any(condition() or pause.wait(0.05) for _ in range(int(PATIENCE / 0.05)))


def shown(visitor: Visitor) -> list[tuple[str, str | None]]:
    return [(message["text"], message["status"]) for message in visitor.history()]


def test_another_worker_goes_on_with_an_answer_that_nobody_reads(served: Served) -> None:
    visitor = Visitor(served.port)
    response, _, worker = begin(visitor)
    question = response.headers["Chat-Memory-Question"]
    response.close()
    assert shown(visitor) == [("wait", "pending")]
    with resume(visitor, worker, question) as first, resume(visitor, worker, question) as second:
        readers = [events(first), events(second)]
        said = [next(reader)["text"] for reader in readers]
        assert said == [f"process {worker} "] * 2
        served.release()
        rest = ["".join(event["text"] for event in reader) for reader in readers]
    assert rest == ["you said wait "] * 2
    assert shown(visitor) == [("wait", None), (f"process {worker} you said wait ", "complete")]


test_another_worker_goes_on_with_an_answer_that_nobody_reads.on_disconnect = "finish"  # type: ignore[attr-defined]


def test_another_worker_stops_an_answer_whose_provider_is_silent(served: Served) -> None:
    visitor = Visitor(served.port)
    response, pieces, worker = begin(visitor)
    with elsewhere(visitor, worker, "POST", "/chat-memory/default/stop", {"key": "k"}) as stopped:
        assert json.loads(stopped.read()) == {"stopped": True}
    ended = [("wait", None), (f"process {worker} ", "stopped")]
    wait_for(lambda: shown(visitor) == ended)
    served.release()
    with response:
        assert list(pieces) == [{"text": "", "status": "stopped"}]
    assert shown(visitor) == ended
    assert visitor.ask("after", streamed=True) == "you said after "


def test_what_a_killed_worker_had_told_is_kept(served: Served) -> None:
    visitor = Visitor(served.port)
    response, _, worker = begin(visitor)
    with response, resume(visitor, worker, response.headers["Chat-Memory-Question"]) as reader:
        assert next(events(reader))["text"] == f"process {worker} "
        os.kill(int(worker), signal.SIGKILL)
        assert visitor.ask("after", streamed=True) == "you said after "
        (served.folder / "clock").write_text("31")
        assert list(events(reader)) == [{"text": "", "status": "partial"}]
        assert shown(visitor)[:2] == [("wait", None), (f"process {worker} ", "partial")]
        (served.folder / "clock").unlink()
    assert visitor.ask("again", streamed=False) == "you said again "
