"""What is held is what is loaded."""

from __future__ import annotations

import datetime as dt
import decimal
import typing as t
import uuid

import pytest

from ...message import ChatMessage
from .parts import assert_same
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import THREAD

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "\\u4f60"}'}}
NESTED: t.Any = "bottom"
for _ in range(97):
    NESTED = [NESTED]

STORED_AS_GIVEN: dict[str, dict[str, t.Any]] = {
    "plain": {"role": "user", "content": "hello"},
    "no content": {"role": "user"},
    "content none": {"role": "assistant", "content": None, "status": "failed"},
    "content empty": {"role": "user", "content": ""},
    "scripts": {"role": "user", "content": "你好 Привет שלום مرحبا हिन्दी ไทย ქართული e\u0301 é"},
    "emoji": {"role": "user", "content": "🙂 👩\u200d👩\u200d👧 🇩🇪 \U0010ffff"},
    "separators": {"role": "assistant", "content": "a\u2028b\u2029c\u0085d\x0be\x1f\x7f\ufeff"},
    "white space": {"role": "assistant", "content": "\n    x = 1\r\n\ty  \n"},
    "markup": {"role": "user", "content": "</script><!--<script>'\"&amp;%s {0} $1 ?1 :name"},
    "long": {"role": "assistant", "content": "a" * 70_000},
    "long and wide": {"role": "assistant", "content": "你" * 70_000},
    "text that is json": {"role": "user", "content": '{"role": "system", "content": ["x"]}'},
    "text that is a word of json": {"role": "user", "content": "null"},
    "text that is a number": {"role": "user", "content": "1e3"},
    "parts": {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "file", "file": {"name": "é.pdf", "size": 3}},
        ],
    },
    "no parts": {"role": "user", "content": []},
    "call without text": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "call with text": {"role": "assistant", "content": "Looking it up", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    "empty tool result": {"role": "tool", "content": "", "tool_call_id": "c1", "name": "find"},
    "developer": {"role": "developer", "content": "be brief"},
    "system": {"role": "system", "content": "be kind"},
    "metadata": {
        "role": "user",
        "content": "x",
        "metadata": {
            "float": 1.0,
            "small": 5e-324,
            "large": 1.7976931348623157e308,
            "third": 1 / 3,
            "minus zero": -0.0,
            "int": 1,
            "edge": [2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1],
            "bool": [True, False],
            "none": None,
            "empty": [{}, [], ""],
            "nested": {"a": {"b": [{"c": [1, 1.0, None, "1"]}]}},
            "": "empty key",
        },
    },
    "deep": {"role": "user", "content": "x", "metadata": {"deep": NESTED}},
    "no metadata": {"role": "user", "content": "x", "metadata": {}},
    "explicit none": {"role": "user", "content": "x", "name": None, "metadata": None},
    "usage": {
        "role": "assistant",
        "content": "x",
        "usage": {"input": 10, "output": 5, "cached": 3, "reasoning": 0, "total": 15},
        "model": "m-1",
    },
    "part of the usage": {"role": "assistant", "content": "x", "usage": {"total": 7}},
    "all names": {
        "role": "assistant",
        "content": "x",
        "name": "bot",
        "status": "partial",
        "turn": "t-1",
        "id": "i-1",
        "created_at": "2026-11-30T12:00:00.000001Z",
    },
    "unknown keys": {"role": "user", "content": "x", "reasoning_content": "hm", "x-site": {"a": [1.5]}, "": 1},
    "names of a store": {"role": "user", "content": "x", "sequence": 99, "key": "k", "message": {}, "body": "{}"},
    "names of a loader": {"role": "user", "content": "x", "__class__": "os.system", "py/object": "os.system"},
}
MADE_PLAIN: dict[str, tuple[dict[str, t.Any], dict[str, t.Any]]] = {
    "nul": ({"role": "assistant", "content": "a\0b"}, {"role": "assistant", "content": "a\ufffdb"}),
    "surrogates": ({"role": "user", "content": "\ud83d x \udb8d"}, {"role": "user", "content": "\ufffd x \ufffd"}),
    "nul at any depth": (
        {"role": "user", "content": "x", "metadata": {"q\0": ["ok", {"x\0": "\ud800"}]}},
        {"role": "user", "content": "x", "metadata": {"q\ufffd": ["ok", {"x\ufffd": "\ufffd"}]}},
    ),
    "other types": (
        {
            "role": "user",
            "content": [{"type": "file", "data": b"\x89PNG"}],
            "metadata": {
                "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
                "day": dt.date(2026, 1, 2),
                "id": uuid.UUID(int=7),
                "cost": decimal.Decimal("0.10"),
                "set": {2, 1},
                "tuple": (1, (2,)),
            },
        },
        {
            "role": "user",
            "content": [{"type": "file", "data": "iVBORw=="}],
            "metadata": {
                "at": "2026-01-02T00:00:00+00:00",
                "day": "2026-01-02",
                "id": "00000000-0000-0000-0000-000000000007",
                "cost": "0.10",
                "set": [1, 2],
                "tuple": [1, [2]],
            },
        },
    ),
}
MESSAGES = {name: (given, given) for name, given in STORED_AS_GIVEN.items()} | MADE_PLAIN


class ValueContract:
    """Law 9: a message equals itself after it was stored and loaded."""

    @pytest.mark.parametrize("name", MESSAGES)
    def test_a_message_equals_itself_after_a_reload(self, make_plugin: MakePlugin, name: str) -> None:
        given, expected = MESSAGES[name]
        message = ChatMessage.from_dict(given)
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [message])
        loaded = plugin.load_messages(OWNER, THREAD)
        assert_same(loaded, [message])
        assert loaded[0].to_dict() == expected
        plugin.save_messages(OWNER, THREAD, [message, *loaded])
        assert_same(plugin.load_messages(OWNER, THREAD), [message, message])

    def test_all_of_them_fit_into_one_batch(self, make_plugin: MakePlugin) -> None:
        messages = [ChatMessage.from_dict(given) for given, _ in MESSAGES.values()]
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, messages, key="all")
        loaded = plugin.load_messages(OWNER, THREAD)
        assert_same(loaded, messages)
        assert sequences(loaded) == list(range(1, len(messages) + 1))
