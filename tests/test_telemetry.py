"""Spans of OpenTelemetry: operations of stores and turns, by ids and numbers."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import subprocess
import sys
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory import telemetry
from flask_chat_memory import Turn
from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.storage.base import Storage

from .conftest import MakeSite
from .conversations import FragilePlugin
from .conversations import Site
from .five_methods import FiveMethodsPlugin

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
in_memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

CONTENT = "swordfish"
USED = {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2, "total_tokens": 15}


class Spans:
    """What was exported, and a tracer for the spans of a site."""

    def __init__(self, provider: t.Any) -> None:
        self.exporter = in_memory.InMemorySpanExporter()
        provider.add_span_processor(export.SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("site")

    @property
    def all(self) -> tuple[t.Any, ...]:
        return t.cast("tuple[t.Any, ...]", self.exporter.get_finished_spans())

    def named(self, name: str) -> list[t.Any]:
        return [span for span in self.all if span.name.split(" ")[0] == name]

    def one(self, name: str) -> t.Any:
        [span] = self.named(name)
        return span


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    provider = sdk.TracerProvider()
    spans = Spans(provider)
    tracer = provider.get_tracer("flask_chat_memory")
    monkeypatch.setattr(telemetry, "tracer", lambda: tracer)
    return spans


def test_a_turn_is_a_span_below_the_request_with_what_the_store_did(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, "sqlalchemy")
    with spans.tracer.start_as_current_span("GET /"):
        turn = site.start().turn(CONTENT)
        turn.finish(f"{CONTENT}!", usage=USED, model="gpt")
    request, told = spans.one("GET"), spans.one("invoke_agent")
    assert told.parent.span_id == request.context.span_id
    assert told.name == "invoke_agent default"
    assert dict(told.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "default",
        "gen_ai.conversation.id": turn.thread_id,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.model": "gpt",
        "chat_memory.chatbot": "default",
        "chat_memory.turn.id": turn.id,
        "chat_memory.turn.status": "complete",
        "chat_memory.turn.stored": True,
    }
    asked, ended = spans.one("start_turn"), spans.one("end_turn")
    assert (asked.parent.span_id, ended.parent.span_id) == (request.context.span_id, told.context.span_id)
    assert dict(ended.attributes) == {
        "chat_memory.operation": "end_turn",
        "chat_memory.plugin": "sqlalchemy",
        "chat_memory.chatbot": "default",
        "chat_memory.messages": 1,
        "gen_ai.conversation.id": turn.thread_id,
    }


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("on_disconnect", ["stop", "finish"])
def test_a_streamed_turn_ends_with_its_stream(
    spans: Spans, new_site: MakeSite, accept: str, on_disconnect: str
) -> None:
    site = new_site(CHAT_MEMORY_CHATBOTS={"default": {"on_disconnect": on_disconnect}})

    def stream(turn: Turn) -> cabc.Iterator[str]:
        with spans.tracer.start_as_current_span("chat gpt"):
            yield "They "
        assert spans.named("invoke_agent") == []
        turn.usage = USED
        yield "met."

    site.answer = stream
    with spans.tracer.start_as_current_span("POST /"):
        response = site.app.test_client().post(
            "/chat-memory/default/messages",
            json={"messages": [{"role": "user", "text": "hello"}]},
            headers={"Accept": accept},
            buffered=True,
        )
    assert "met." in response.text
    turn, request = spans.one("invoke_agent"), spans.one("POST")
    assert turn.parent.span_id == request.context.span_id
    assert turn.attributes["gen_ai.usage.output_tokens"] == 5
    assert spans.one("chat").parent.span_id == turn.context.span_id


def test_a_turn_that_fails_tells_of_what_class_the_error_is(spans: Spans, tmp_path: pathlib.Path) -> None:
    turn = Site(tmp_path).start().turn(CONTENT)
    turn.fail(ValueError(CONTENT))
    told = spans.one("invoke_agent")
    assert told.status.status_code is trace.StatusCode.ERROR
    assert (told.attributes["error.type"], told.attributes["chat_memory.turn.status"]) == ("ValueError", "failed")


def test_a_store_that_fails_is_told_of_and_ends_the_turn(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin)
    turn = site.start().turn(CONTENT)
    site.plugin.down = True
    with pytest.raises(StorageError):
        turn.finish(CONTENT)
    for name in ("end_turn", "invoke_agent"):
        assert spans.one(name).status.status_code is trace.StatusCode.ERROR
        assert spans.one(name).attributes["error.type"] == "StorageError"
    site.plugin.down = False
    turn.finish(CONTENT)
    assert len(spans.named("invoke_agent")) == 1


def test_a_repeated_question_is_no_second_turn(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    for _ in range(2):
        turn = site.start().turn({"messages": [{"role": "user", "text": "hello"}], "key": "k"})
        if not turn.repeated:
            turn.finish("fine")
    assert len(spans.named("invoke_agent")) == 1


def test_an_operation_that_is_made_of_others_is_one_span(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FiveMethodsPlugin)
    site.plugin.append_messages(Scope("user:1"), "t", [ChatMessage("user", "hello")])
    assert [span.name for span in spans.all] == ["append_messages five_methods"]
    assert spans.all[0].attributes["chat_memory.messages"] == 1
    assert len(site.plugin.load_messages(Scope("user:1"), "t", limit=5)) == 1
    assert spans.one("load_messages").attributes["chat_memory.messages"] == 1


def test_going_through_threads_is_a_span_until_it_ends(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, OPTIONS={"threads": "many"})
    for _ in range(2):
        site.start().turn("hello").finish("fine")
    spans.exporter.clear()
    for scope, thread in list(site.plugin.all_threads()):
        assert site.plugin.delete_thread(scope, thread.id)
    assert [span.name for span in spans.all] == ["all_threads in_memory", *["delete_thread in_memory"] * 2]
    threads = site.plugin.all_threads()
    next(threads, None)
    threads.close()
    assert len(spans.named("all_threads")) == 2


def test_documents_are_traced_too(spans: Spans, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, "documents", STORAGE="in_memory")
    with site.app.app_context():
        site.memory.user_memories("user:1").add(CONTENT)
    assert {span.attributes["chat_memory.storage"] for span in spans.all} == {"in_memory"}
    spans.exporter.clear()
    site.plugin.save_messages(Scope("user:1"), "t", [])
    assert [span.name for span in spans.all] == ["save_messages documents"]


def test_no_span_holds_what_was_said(spans: Spans, new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN="sqlalchemy")
    browser = site.browser()
    browser.ask(CONTENT)
    browser.client.get("/chat-memory/default/search", query_string={"text": CONTENT})
    answer = browser.history()["messages"][-1]
    browser.post("default/feedback", {"message_id": answer["id"], "rating": 1, "comment": CONTENT})
    browser.change(browser.history()["thread_id"], title=CONTENT)
    names = {span.name for span in spans.all}
    assert {"search_messages sqlalchemy", "mark_message sqlalchemy", "update_thread sqlalchemy"} <= names
    assert CONTENT not in "".join(span.to_json() for span in spans.all)
    assert "anon:" not in "".join(span.to_json() for span in spans.all)


@pytest.mark.parametrize("id", ["in_memory", "file", "sqlalchemy", "redis", "documents", "encrypted"])
def test_a_traced_plugin_is_the_same_plugin(spans: Spans, id: str, tmp_path: pathlib.Path) -> None:
    from flask_chat_memory.plugins.registry import PluginRegistry

    options: dict[str, dict[str, t.Any]] = {
        "file": {"folder": str(tmp_path)},
        "sqlalchemy": {"url": "sqlite:///none"},
        "redis": {"url": "redis://none"},
        "documents": {"storage": "in_memory"},
        "encrypted": {"plugin": "in_memory", "keys": ["ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="]},
    }
    plugin = PluginRegistry().create(id, options.get(id))
    former = type(plugin)
    assert telemetry.traced(plugin) is plugin
    assert isinstance(plugin, former) and type(plugin) is not former
    assert (type(plugin).__name__, type(plugin).__module__, plugin.id) == (former.__name__, former.__module__, id)
    if id not in ("file", "sqlalchemy", "redis"):
        list(t.cast(t.Any, plugin).all_threads())
        assert [span.name for span in spans.all] == [f"all_threads {id}"]


def test_without_opentelemetry_everything_is_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    telemetry.tracer.cache_clear()
    try:
        assert type(telemetry.traced(FiveMethodsPlugin())) is FiveMethodsPlugin
        site = Site(tmp_path, FiveMethodsPlugin)
        assert type(site.plugin) is FiveMethodsPlugin
        turn = site.start().turn("hello")
        turn.finish("fine")
        assert [message.text for message in site.stored(turn.thread_id)] == ["hello", "fine"]
    finally:
        telemetry.tracer.cache_clear()


def test_importing_the_package_does_not_import_opentelemetry() -> None:
    program = "import sys, flask_chat_memory; assert not [name for name in sys.modules if 'opentelemetry' in name]"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_operation_of_the_contracts_is_a_span_or_named_as_silent() -> None:
    assert telemetry.SILENT <= {name for contract in telemetry.CONTRACTS for name in vars(contract)}
    assert {ChatMemoryPlugin, Storage} < set(telemetry.CONTRACTS)
    assert len(telemetry.CONTRACTS) > 12
