"""The log: constant messages, ids and numbers, and nothing that anybody said."""

from __future__ import annotations

import ast
import collections.abc as cabc
import contextlib
import logging
import pathlib
import typing as t

import pytest

import flask_chat_memory
from flask_chat_memory import ChatMessage
from flask_chat_memory import InvalidMessage
from flask_chat_memory import StorageError
from flask_chat_memory import Turn
from flask_chat_memory.events import log_event
from flask_chat_memory.events import whole
from flask_chat_memory.plugins.sql.engines import engine_for

from .apps import make_site
from .apps import Site
from .conftest import MakeSite
from .redis_servers import remove_keys

logger = logging.getLogger("flask_chat_memory.tests")
CONTENT = "swordfish"
"""In everything that a visitor or a model says."""
FACTS = {
    "chatbot", "plugin", "signal", "endpoint", "thread_id", "turn_id", "answer_id", "turns", "attempt", "places",
    "tokens_over", "workers", "key",
}  # fmt: skip
"""What events tell: those of the table in docs/observability.md."""
KEY = "ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> cabc.Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


@pytest.fixture(params=["in_memory", "sqlalchemy", "file", "redis", "encrypted"])
def options(request: pytest.FixtureRequest) -> cabc.Iterator[dict[str, t.Any]]:
    plugin = request.param
    if plugin == "redis":
        redis = pytest.importorskip("redis")
        url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("key_prefix")
        yield {"CHAT_MEMORY_PLUGIN": plugin, "CHAT_MEMORY_OPTIONS": {"url": url, "key_prefix": prefix}}
        with redis.Redis.from_url(url) as client:
            remove_keys(client, prefix)
        return
    given = {"plugin": "sqlalchemy", "keys": [KEY]} if plugin == "encrypted" else {}
    yield {"CHAT_MEMORY_PLUGIN": plugin, "CHAT_MEMORY_OPTIONS": given}


def fail(turn: Turn) -> str:
    if "count" in turn.text:
        return str(int(turn.text))
    if "record" in turn.text:
        turn.record(ChatMessage("assistant", None, metadata={turn.text: object()}))
    if "tell" in turn.text:
        turn.fail(f"the model refused {turn.text}")
    return f"You said: {turn.text}"


def test_a_broad_run_logs_nothing_that_was_said(
    new_site: MakeSite, everything: pytest.LogCaptureFixture, options: dict[str, t.Any]
) -> None:
    site = new_site(
        **options,
    )
    site.answer = fail
    browser = site.browser()
    for text in ("hello", "count", "record", "tell", "again"):
        browser.ask(f"{text} {CONTENT}")
    question = next(message for message in browser.history()["messages"] if message["role"] == "user")
    browser.post("default/feedback", {"message_id": question["id"], "rating": 1, "comment": CONTENT})
    browser.post("default/regenerate", {"messages": CONTENT})
    browser.post("default/messages", {"messages": [{"role": CONTENT, "text": CONTENT}]})
    browser.post(f"default/{CONTENT}", {CONTENT: CONTENT})
    browser.client.post("/chat-memory/default/messages", data=f"{{{CONTENT}", content_type="application/json")
    browser.client.get("/chat-memory/default/search", query_string={"text": CONTENT})
    browser.change(CONTENT, title=CONTENT)
    with site.app.app_context():
        owner = "user:1"
        conversation = site.memory.start_conversation(owner, title=CONTENT)
        conversation.send(CONTENT)
        site.memory.forget(owner)
        plugin: t.Any = site.plugin
        list(plugin.purge_threads(plugin.clock() + 1))
    site.app.config["SECRET_KEY"] = None
    assert site.browser().ask(CONTENT).status_code == 503
    ours = [record for record in everything.records if record.name.startswith("flask_chat_memory")]
    assert len({record.msg for record in ours}) >= 2
    assert CONTENT not in everything.text
    assert KEY not in everything.text


def test_a_store_that_is_down_tells_what_failed_and_nothing_that_was_said(
    site: Site, everything: pytest.LogCaptureFixture
) -> None:
    browser = site.browser()
    browser.ask(CONTENT)
    with site.store_down():
        assert browser.ask(CONTENT).status_code == 503
        browser.client.get("/")
    [refused] = [record for record in everything.records if "a turn was refused" in record.getMessage()]
    assert "lacks a table of the plugin" in refused.getMessage()
    assert (t.cast(t.Any, refused).chatbot, t.cast(t.Any, refused).error) == ("default", "StorageError")
    assert "OperationalError" in everything.text
    assert CONTENT not in everything.text


def test_a_document_that_cannot_be_read_is_named_and_not_quoted(
    tmp_path: pathlib.Path, everything: pytest.LogCaptureFixture
) -> None:
    site = make_site(tmp_path, CHAT_MEMORY_PLUGIN="file")
    with site.app.app_context():
        site.memory.user_memories("user:1").add(f"knows {CONTENT}")
        [path] = [path for path in tmp_path.rglob("*.md") if CONTENT in path.read_text()]
        path.write_bytes(f"{CONTENT} \udcff".encode(errors="surrogateescape"))
        assert site.memory.user_memories("user:1").list() == []
    assert "memory/users/" in everything.text
    assert CONTENT not in everything.text


def calls() -> cabc.Iterator[tuple[str, ast.Call]]:
    """Every call of a method or function in the package, with its file."""
    folder = pathlib.Path(flask_chat_memory.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield str(path.relative_to(folder)), node


def test_whoever_logs_does_so_in_constant_words() -> None:
    levels = {"debug", "info", "warning", "error", "exception", "critical", "log"}
    events = 0
    for path, call in calls():
        called = ast.unparse(call.func)
        owner, _, method = called.rpartition(".")
        assert not (method in levels and owner.rpartition(".")[2] in ("logger", "_log", "logging")) or (
            path == "events.py"
        ), f"{path}: {called}"
        if called == "log_event":
            events += 1
            message = ast.unparse(call.args[2])
            is_constant = isinstance(call.args[2], ast.Constant) or message == "message"
            assert is_constant, f"{path}: {message}"
            names = {keyword.arg for keyword in call.keywords} - {None}
            assert names <= FACTS, f"{path}: {names - FACTS}"
    assert events > 30


def test_an_event_has_a_constant_message_and_its_facts_twice(everything: pytest.LogCaptureFixture) -> None:
    for number in (1, 2):
        log_event(logger, logging.INFO, "it happened", turn_id=f"t{number}", turns=number)
    first, second = everything.records
    assert first.msg == second.msg
    assert [record.getMessage() for record in (first, second)] == [
        "it happened turn_id=t1 turns=1",
        "it happened turn_id=t2 turns=2",
    ]
    assert (t.cast(t.Any, second).turn_id, t.cast(t.Any, second).turns) == ("t2", 2)
    assert first.funcName == "test_an_event_has_a_constant_message_and_its_facts_twice"


@pytest.mark.parametrize("url", ["sqlite:///x.sqlite3", "postgresql://host/x", "mysql+pymysql://host/x"])
def test_an_engine_of_ours_tells_no_parameters_to_its_log(url: str) -> None:
    engine = engine_for(url)
    assert engine.hide_parameters
    engine.dispose()


def raised() -> Exception:
    """An error of ours, caused by one of a driver, raised while another was handled, all of which quote."""
    try:
        try:
            try:
                raise KeyError(CONTENT)
            except KeyError:
                raise ValueError(CONTENT)  # noqa: B904
        except ValueError as error:
            raise StorageError("the store failed") from error
    except StorageError as error:
        return error


def test_only_errors_of_ours_say_something(everything: pytest.LogCaptureFixture) -> None:
    log_event(logger, logging.ERROR, "it failed", raised())
    assert everything.records[0].getMessage() == "it failed error=StorageError: the store failed"
    assert "flask_chat_memory.errors.StorageError: the store failed" in everything.text
    for kind in ("KeyError\n", "ValueError\n", "direct cause", "During handling", "in raised"):
        assert kind in everything.text
    assert CONTENT not in everything.text.replace("raise KeyError(CONTENT)", "")


def test_the_path_to_a_wrong_value_is_left_out(everything: pytest.LogCaptureFixture) -> None:
    log_event(logger, logging.ERROR, "it failed", InvalidMessage(f"metadata.{CONTENT}", "is wrong"))
    assert "error=InvalidMessage" in everything.text
    assert CONTENT not in everything.text


def test_an_error_that_was_raised_of_itself_ends(everything: pytest.LogCaptureFixture) -> None:
    first, second = ValueError(), KeyError()
    first.__context__, second.__context__ = second, first
    log_event(logger, logging.ERROR, "it failed", first)
    assert "KeyError" in everything.text


def test_in_development_the_site_can_have_the_whole_error(everything: pytest.LogCaptureFixture) -> None:
    with level(whole, logging.DEBUG):
        log_event(logger, logging.ERROR, "it failed", ValueError(CONTENT))
    assert [record.name for record in everything.records] == [logger.name, whole.name]
    assert f"ValueError: {CONTENT}" in everything.text


@contextlib.contextmanager
def level(logger: logging.Logger, level: int) -> cabc.Iterator[None]:
    former = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(former)
