from __future__ import annotations

import types
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Usage

from .conversations import BUILT_IN
from .conversations import OWNER
from .conversations import Site

ALL = Usage(input=10, output=5, cached=4, reasoning=3, total=15)
SHAPES: list[dict[str, t.Any]] = [
    {"input": 10, "output": 5, "cached": 4, "reasoning": 3, "total": 15},
    {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
    {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 3},
    },
    {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4, "reasoning": 3, "total": 15},
]


def as_object(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return types.SimpleNamespace(**{key: as_object(item) for key, item in value.items()})
    return value


@pytest.mark.parametrize("shape", SHAPES)
def test_usage_is_read_from_dicts_and_objects_of_providers(shape: dict[str, t.Any]) -> None:
    assert Usage.of(shape) == ALL
    assert Usage.of(as_object(shape)) == ALL
    assert Usage.of(types.MappingProxyType(shape)) == ALL


@pytest.mark.scenario("S130")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Usage()),
        (None, Usage()),
        ("12", Usage()),
        ({"total": 7}, Usage(total=7)),
        ({"output": 5, "input": None}, Usage(output=5)),
        ({"input": -1, "output": "5", "total": 3}, Usage(total=3)),
        ({"input": True, "output": 2.5}, Usage()),
        ({"input": 0, "input_tokens": 9}, Usage(input=0)),
        ({"input": None, "prompt_tokens": 9}, Usage(input=9)),
        ({"prompt_tokens_details": None, "completion_tokens": 5}, Usage(output=5)),
        ({"prompt_tokens_details": [4], "completion_tokens_details": {"reasoning_tokens": 3}}, Usage(reasoning=3)),
    ],
)
def test_what_is_missing_or_no_count_is_unknown(given: t.Any, expected: Usage) -> None:
    assert Usage.of(given) == expected
    assert Usage.of(as_object(given)) == expected


def test_a_usage_stays_itself() -> None:
    assert Usage.of(ALL) is ALL


@pytest.mark.parametrize("shape", [ALL, *SHAPES, as_object(SHAPES[1])])
def test_a_message_takes_any_usage(shape: t.Any) -> None:
    message = ChatMessage("assistant", "x", usage=shape)
    assert message.usage == ALL
    assert message.to_dict()["usage"] == SHAPES[0]
    assert ChatMessage.from_json(message.to_json()).usage == ALL


@pytest.mark.scenario("S130")
def test_only_counts_that_are_known_are_stored() -> None:
    assert ChatMessage("assistant", "x", usage=Usage(output=5)).to_dict()["usage"] == {"output": 5}
    assert "usage" not in ChatMessage("assistant", "x").to_dict()
    assert ChatMessage("assistant", "x").usage is None


@pytest.mark.parametrize("stored", [{"total": "7"}, {"input": -1}, {"other": [1]}, {}])
def test_odd_usage_in_a_row_is_kept_and_counts_nothing(stored: dict[str, t.Any]) -> None:
    message = ChatMessage.from_dict({"role": "assistant", "usage": stored})
    assert message.to_dict()["usage"] == stored
    assert message.usage == Usage()


@pytest.mark.scenario("A23")
@pytest.mark.parametrize("plugin", BUILT_IN)
def test_cached_and_reasoning_tokens_survive_the_reload(plugin: str, tmp_path: t.Any) -> None:
    site = Site(tmp_path, plugin)
    conversation = site.start()
    conversation.turn("hi").finish("hello", usage=SHAPES[1], model="m-1")
    again = site.start(OWNER)
    assert again.history()[-1].usage == ALL
    assert again.history()[-1].model == "m-1"
