"""The app under gunicorn with several worker processes."""

from __future__ import annotations

import collections.abc as cabc
import concurrent.futures
import http.client
import os
import pathlib
import signal

import pytest

from .serving.server import events
from .serving.server import gunicorn
from .serving.server import Visitor

VISITORS = 20
QUESTIONS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("gunicorn")


@pytest.fixture(scope="module")
def port(folder: pathlib.Path) -> cabc.Iterator[int]:
    arguments = ("--workers", "4", "--worker-class", "gthread", "--threads", "16")
    with gunicorn(folder, "tests.serving.app:create_app()", *arguments) as port:
        yield port


def test_concurrent_visitors_lose_nothing_and_see_only_their_own(port: int) -> None:
    def converse(number: int) -> tuple[int, Visitor]:
        visitor = Visitor(port)
        for count in range(QUESTIONS):
            question = f"visitor-{number} question-{count}"
            answer = visitor.ask(question, streamed=(number + count) % 2 == 0)
            assert answer == f"you said {question} "
        return number, visitor

    with concurrent.futures.ThreadPoolExecutor(VISITORS) as pool:
        for number, visitor in pool.map(converse, range(VISITORS)):
            shown = [(message["role"], message["text"]) for message in visitor.history()]
            questions = [f"visitor-{number} question-{count}" for count in range(QUESTIONS)]
            assert shown == [
                line for question in questions for line in (("user", question), ("ai", f"you said {question} "))
            ]


def test_one_visitor_with_many_tabs_loses_nothing(port: int) -> None:
    visitor = Visitor(port)
    visitor.ask("the first", streamed=False)

    def ask(number: int) -> None:
        tab = Visitor(port, dict(visitor.cookies))
        assert tab.ask(f"tab-{number}", streamed=number % 2 == 0) == f"you said tab-{number} "

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(ask, range(12)))
    shown = [message["text"] for message in visitor.history()]
    # Turns overlap, yet each answer stands behind its question.
    assert shown[:2] == ["the first", "you said the first "]
    pairs = list(zip(shown[2::2], shown[3::2], strict=True))
    assert sorted(question for question, _ in pairs) == sorted(f"tab-{number}" for number in range(12))
    assert all(answer == f"you said {question} " for question, answer in pairs)


def test_a_worker_killed_in_mid_stream_leaves_a_usable_thread(port: int, folder: pathlib.Path) -> None:
    visitor = Visitor(port)
    assert visitor.ask("before", streamed=True) == "you said before "
    body = {"messages": [{"role": "user", "text": "hang"}]}
    with visitor.request("POST", "/chat-memory/default/messages", body) as response:
        word = next(events(response))["text"]
        os.kill(int(word.removeprefix("process ")), signal.SIGKILL)
        with pytest.raises((http.client.HTTPException, OSError)):
            response.read()

    assert visitor.ask("after", streamed=True) == "you said after "
    shown = [(message["text"], message["status"]) for message in visitor.history()]
    assert ("hang", "pending") in shown

    (folder / "clock").write_text("31")
    try:
        shown = [(message["text"], message["status"]) for message in visitor.history()]
    finally:
        (folder / "clock").unlink()
    # What it had told of its answer by then is kept.
    assert shown[3][0] in ("", word)
    assert shown == [
        ("before", None),
        ("you said before ", "complete"),
        ("hang", None),
        (shown[3][0], "partial"),
        ("after", None),
        ("you said after ", "complete"),
    ]
    assert visitor.ask("again", streamed=False) == "you said again "
