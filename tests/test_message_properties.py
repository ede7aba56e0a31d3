from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
JSON: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
KNOWN = {
    "content": st.none() | TEXT | st.lists(OBJECTS, max_size=3),
    "tool_calls": st.none() | st.lists(OBJECTS, max_size=3),
    "tool_call_id": TEXT.filter(bool),
    "name": st.none() | TEXT,
    "metadata": st.none() | OBJECTS,
    "usage": st.none() | OBJECTS,
    "model": st.none() | TEXT,
    "status": st.none() | TEXT,
    "turn": st.none() | TEXT,
    "id": st.none() | TEXT,
    "created_at": st.none() | TEXT,
}


@st.composite
def dicts(draw: st.DrawFn) -> dict[str, t.Any]:
    roles = st.sampled_from(["system", "user", "assistant", "tool", "developer"])
    made = {"role": draw(roles), **draw(st.fixed_dictionaries({}, optional=KNOWN))}
    if made["role"] == "tool":
        made.setdefault("tool_call_id", "c1")
    foreign = draw(OBJECTS)
    return {**{key: value for key, value in foreign.items() if key not in KNOWN}, **made}


@given(dicts())
def test_a_dict_comes_back_as_it_was(given: dict[str, t.Any]) -> None:
    written = json.dumps(given, sort_keys=True)
    message = ChatMessage.from_dict(given)
    # Compared as text, for 1, 1.0 and True are equal.
    assert json.dumps(message.to_dict(), sort_keys=True) == written == json.dumps(given, sort_keys=True)


@given(dicts(), st.booleans())
def test_a_stored_message_equals_itself(given: dict[str, t.Any], as_text: bool) -> None:
    message = ChatMessage.from_dict(given)
    body = message.to_json()
    loaded = ChatMessage.from_json(body.decode() if as_text else body, 1)
    assert loaded == message
    assert loaded.to_json() == body
    assert json.dumps(loaded.to_dict()) == json.dumps(message.to_dict())


@pytest.mark.scenario("S006")
@given(dicts())
def test_rows_with_escapes_load_like_rows_without(given: dict[str, t.Any]) -> None:
    assert ChatMessage.from_json(json.dumps(given)) == ChatMessage.from_json(json.dumps(given, ensure_ascii=False))


@pytest.mark.scenario("S019")
@given(dicts())
def test_a_provider_never_sees_more_than_public_keys(given: dict[str, t.Any]) -> None:
    sent = ChatMessage.from_dict(given).to_openai()
    assert set(sent) <= {"role", "content", "name", "tool_calls", "tool_call_id"}
    assert all(value is not None for key, value in sent.items() if key != "content")


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored(text: str) -> None:
    message = ChatMessage("user", text, metadata={"text": [text]})
    assert ChatMessage.from_json(message.to_json()) == message
    message.text.encode()
    assert "\x00" not in message.text


@given(st.binary())
def test_any_bytes_load_or_are_reported(data: bytes) -> None:
    try:
        ChatMessage.from_json(data)
    except CorruptRecord:
        pass
