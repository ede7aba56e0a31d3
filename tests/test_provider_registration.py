from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Turn
from flask_chat_memory.response import FAILED

from .conversations import BUILT_IN
from .conversations import events
from .conversations import Site
from .conversations import told


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


def text(turn: Turn) -> str:
    return f"You said: {turn.text}"


def generator(turn: Turn) -> cabc.Iterator[str]:
    yield "You said: "
    yield turn.text


async def _async_generator(turn: Turn) -> cabc.AsyncIterator[str]:
    yield "a"


class _Asynchronous:
    async def __call__(self, turn: Turn) -> str:
        return f"You said: {turn.text}"


class _AsynchronousGenerator:
    async def __call__(self, turn: Turn) -> cabc.AsyncIterator[str]:
        yield "a"


def test_an_object_may_be_an_async_provider_but_no_async_generator(site: Site) -> None:
    with pytest.raises(ConfigurationError, match="async generator"):
        site.memory.provider(_AsynchronousGenerator())  # type: ignore[type-var]
    site.memory.provider(_Asynchronous())
    assert events(site.post("hi")) == [{"text": "You said: hi"}, "[DONE]"]


def test_an_async_generator_is_refused_wherever_it_comes_from(site: Site) -> None:
    with pytest.raises(ConfigurationError, match="async generator"):
        site.memory.provider(_async_generator)  # type: ignore[type-var]
    site.memory.provider(lambda turn: _async_generator(turn))  # type: ignore[type-var]
    assert events(site.post("hi")) == [{"error": FAILED}, "[DONE]"]
    assert told(site.start().history())[1] == ("assistant", None, "failed")


@pytest.mark.parametrize("value", ["text", 5, None, ["a"]])
def test_what_is_no_function_is_refused(value: t.Any) -> None:
    with pytest.raises(ConfigurationError, match="function"):
        ChatMemory().provider("default")(value)


def test_a_second_provider_is_refused(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"default": {}, "support": {}})
    site.memory.provider(text)
    site.memory.provider("support")(text)
    for register in (site.memory.provider, site.memory.provider(), site.memory.provider("default")):
        with pytest.raises(ConfigurationError, match="provider"):
            register(generator)
    with pytest.raises(ConfigurationError, match="support"):
        site.memory.provider("support")(generator)
    assert site.start().send("hi").text == "You said: hi"


def test_a_provider_of_an_unknown_chatbot_is_refused_whenever_it_is_known(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    with pytest.raises(ConfigurationError, match="'support'.*default"):
        site.memory.provider("support")(text)
    later = ChatMemory()
    later.provider("support")(text)
    with pytest.raises(ConfigurationError, match="'support'.*default"):
        later.init_app(flask.Flask("later"))


def test_two_providers_of_the_default_chatbot_are_refused_whenever_it_is_known() -> None:
    memory = ChatMemory()
    memory.provider(text)
    memory.provider("default")(text)
    with pytest.raises(ConfigurationError, match="two providers"):
        memory.init_app(flask.Flask("later"))


def test_the_decorator_gives_the_function_back() -> None:
    memory = ChatMemory()
    assert memory.provider(text) is text
    assert memory.provider("support")(generator) is generator


def test_the_only_chatbot_takes_the_provider_without_a_name(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"support": {}})
    site.memory.provider(text)
    assert site.start().send("hi").text == "You said: hi"


def test_without_a_provider_nothing_is_stored(site: Site) -> None:
    assert site.post("hi").status_code == 503
    with pytest.raises(ConfigurationError, match=r"@memory\.provider\('default'\)"):
        site.start().send("hi")
    assert site.start().history() == []
