"""Spans of OpenTelemetry: one for each operation of a store, one for each turn, none of what was said.

Names are those of the semantic conventions for generative AI (``opentelemetry-semantic-conventions``, module
``gen_ai_attributes``) where they have one, and else begin with ``chat_memory.``.
"""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import contextvars
import functools
import inspect
import types
import typing as t

from .plugins import abilities
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .storage.base import Storage
from .usage import Usage

if t.TYPE_CHECKING:
    from opentelemetry.trace import Span
    from opentelemetry.trace import Tracer

    AnySpan = Span | None
    """None without OpenTelemetry."""

S = t.TypeVar("S", bound=ChatMemoryPlugin | Storage)
Operation = cabc.Callable[..., t.Any]

CONTRACTS: tuple[type, ...] = (
    ChatMemoryPlugin,
    Storage,
    *(ability for ability in vars(abilities).values() if inspect.isclass(ability) and inspect.isabstract(ability)),
)
SILENT = {"create_thread_id", "is_expired", "close", "after_fork", "renew_turns"}
"""What asks no store, and the sign of life that a process gives for its turns each second."""

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("chat_memory_inside", default=False)
_nothing = contextlib.nullcontext()


@functools.cache
def tracer() -> Tracer | None:
    """Return the tracer; None if OpenTelemetry is not installed. Importing that takes time, so it waits for the use."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("flask_chat_memory")


def traced(store: S) -> S:
    """Make the operations of a plugin or a storage spans; without OpenTelemetry, it stays as it is."""
    if tracer() is not None:
        # Its class, and not its attributes: those would be references to itself, and keep it from being closed.
        store.__class__ = _subclass(t.cast(type, type(store)))
    return store


@functools.cache
def _subclass(cls: type) -> type:
    contracts = [contract for contract in CONTRACTS if issubclass(cls, contract)]
    names = {name for contract in contracts for name, value in vars(contract).items() if inspect.isfunction(value)}
    traced = {name: _traced(getattr(cls, name)) for name in names if name not in SILENT and not name.startswith("_")}
    same = {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__")}
    attributes = {**same, **traced, "__slots__": ()}
    return types.new_class(cls.__name__, (cls,), exec_body=lambda body: body.update(attributes))


def _traced(operation: Operation) -> Operation:
    name = operation.__name__

    @functools.wraps(operation, updated=())
    def call(self: t.Any, *args: t.Any, **kwargs: t.Any) -> t.Any:
        active = tracer()
        if active is None or _inside.get():
            # An operation that is made of others is one.
            return operation(self, *args, **kwargs)
        span = active.start_span(f"{name} {self.id}")
        if not span.is_recording():
            return operation(self, *args, **kwargs)
        span.set_attributes(_told_before(self, name, args))
        with _one_operation(span):
            result = operation(self, *args, **kwargs)
        if isinstance(result, cabc.Iterator):
            return _followed(span, result)
        count = _messages_in(name, (*args, *kwargs.values()), result)
        if count is not None:
            span.set_attribute("chat_memory.messages", count)
        span.end()
        return result

    return call


def _followed(span: Span, items: cabc.Iterator[t.Any]) -> cabc.Iterator[t.Any]:
    """Yield what an operation yields, whose span ends when nobody wants more."""
    try:
        while True:
            with _one_operation(span):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        span.end()


@contextlib.contextmanager
def _one_operation(span: Span) -> cabc.Iterator[None]:
    token = _inside.set(True)
    try:
        with active_in(span):
            yield
    except BaseException as error:
        _fail(span, error)
        span.end()
        raise
    finally:
        _inside.reset(token)


def _told_before(store: t.Any, name: str, args: tuple[t.Any, ...]) -> dict[str, str]:
    attributes = {"chat_memory.operation": name}
    attributes["chat_memory.plugin" if isinstance(store, ChatMemoryPlugin) else "chat_memory.storage"] = store.id
    if args and isinstance(args[0], Scope):
        attributes["chat_memory.chatbot"] = args[0].chatbot
        if len(args) > 1 and isinstance(args[1], str) and not name.startswith("search"):
            attributes["gen_ai.conversation.id"] = args[1]
    return attributes


def _messages_in(name: str, args: tuple[t.Any, ...], result: t.Any) -> int | None:
    """Return how many messages an operation read, or else wrote; None for one that has to do with none."""
    if name.startswith("load_"):
        found = result[-1] if isinstance(result, tuple) else result
        return len(found) if isinstance(found, list) else None
    if name == "start_turn":
        return 1
    given = next((value for value in args if isinstance(value, list | tuple)), None)
    return len(given) if name in ("append_messages", "save_messages", "end_turn") and given is not None else None


def _fail(span: Span, error: BaseException) -> None:
    """Tell of an error by its class, and that of its cause."""
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", type(error).__name__)
    if error.__cause__ is not None:
        span.set_attribute("chat_memory.cause", type(error.__cause__).__name__)


def begin_turn(chatbot: str, thread_id: str | None, turn_id: str) -> AnySpan:
    """Begin the span of a turn, below what the request is doing."""
    active = tracer()
    if active is None:
        return None
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": chatbot,
        "chat_memory.chatbot": chatbot,
        "chat_memory.turn.id": turn_id,
    }
    if thread_id is not None:
        attributes["gen_ai.conversation.id"] = thread_id
    return active.start_span(f"invoke_agent {chatbot}", attributes=attributes)


def active_in(span: AnySpan) -> contextlib.AbstractContextManager[object]:
    """Let spans that begin in the block be below this one: those of the store, and those of a model's client."""
    if span is None:
        return _nothing
    from opentelemetry.trace import use_span

    return use_span(span, record_exception=False, set_status_on_exception=False)


def end_turn(
    span: AnySpan, status: str | None, model: str | None, usage: Usage, stored: bool, error: str | None
) -> None:
    """End the span of a turn.

    :param error: the class of what made it fail.
    """
    if span is None:
        return
    tokens = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    facts = {"gen_ai.response.model": model, "chat_memory.turn.status": status, "error.type": error}
    for name, value in {**tokens, **facts}.items():
        if value:
            span.set_attribute(name, value)
    span.set_attribute("chat_memory.turn.stored", stored)
    if status == "failed":
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)
    span.end()


def fail_turn(span: AnySpan, error: BaseException) -> None:
    """End the span of a turn whose answer could not be stored."""
    if span is not None:
        _fail(span, error)
        span.end()
