from __future__ import annotations

import copy
import datetime as dt
import json
import types
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord
from flask_chat_memory import InvalidMessage
from flask_chat_memory import Usage

REPLACED = "\ufffd"
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
FULL: dict[str, t.Any] = {
    "role": "assistant",
    "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,x"}}],
    "tool_calls": [CALL],
    "name": "bot",
    "metadata": {"tags": ["x"]},
    "usage": {"input": 1, "output": 2, "cached": 3, "reasoning": 4, "total": 10},
    "model": "m",
    "status": "complete",
    "turn": "t",
    "id": "i",
    "created_at": "2026-01-02T00:00:00Z",
    "of_the_site": {"kept": True},
}


@pytest.mark.scenario("S012", "S020")
def test_only_the_keys_that_were_set_come_back() -> None:
    assert ChatMessage("user", "x").to_dict() == {"role": "user", "content": "x"}
    assert ChatMessage("user").to_dict() == {"role": "user"}
    assert ChatMessage("assistant", None).to_dict() == {"role": "assistant", "content": None}
    assert ChatMessage.from_dict({"role": "user", "name": None}).to_dict() == {"role": "user", "name": None}


def test_every_key_survives_dict_json_and_record() -> None:
    message = ChatMessage.from_dict(FULL)
    assert message.to_dict() == FULL
    assert list(message.to_dict()) == list(FULL)
    assert ChatMessage.from_json(message.to_json()) == message
    assert ChatMessage.from_json(message.to_json().decode()) == message
    assert ChatMessage.from_record(message.to_record()) == message


def test_the_constructor_and_the_dict_form_agree() -> None:
    known = {key: value for key, value in FULL.items() if key != "of_the_site"}
    role, content = known.pop("role"), known.pop("content")
    message = ChatMessage(role, content, **known)
    assert message == ChatMessage.from_dict({"role": role, "content": content, **known})
    for key, value in known.items():
        assert getattr(message, key) == (Usage(**value) if key == "usage" else value)


@pytest.mark.scenario("A30")
@pytest.mark.parametrize("content", ["", None, [], "None", '{"a": 1}', "   x\n", "\u2028", "0"])
def test_content_comes_back_as_typed(content: t.Any) -> None:
    stored = ChatMessage.from_json(ChatMessage("assistant", content).to_json())
    assert stored.to_dict() == {"role": "assistant", "content": content}


@pytest.mark.scenario("S015")
def test_text_beside_a_tool_call_and_the_result_are_kept() -> None:
    call = ChatMessage("assistant", "Looking it up", tool_calls=[CALL])
    assert call.to_dict() == {"role": "assistant", "content": "Looking it up", "tool_calls": [CALL]}
    result = ChatMessage("tool", "", tool_call_id="c1")
    assert ChatMessage.from_json(result.to_json()).to_dict() == {"role": "tool", "content": "", "tool_call_id": "c1"}


@pytest.mark.scenario("S021")
def test_the_input_is_not_changed_and_may_be_read_only() -> None:
    given = copy.deepcopy(FULL)
    assert ChatMessage.from_dict(given) == ChatMessage.from_dict(given)
    assert given == FULL
    frozen = types.MappingProxyType({**FULL, "metadata": types.MappingProxyType(FULL["metadata"])})
    assert ChatMessage.from_dict(frozen).to_dict() == FULL


def test_what_is_given_out_may_be_changed() -> None:
    message = ChatMessage.from_dict(FULL)
    message.to_dict()["metadata"]["tags"].append("y")
    message.to_openai()["content"].append("y")
    assert message.to_dict() == FULL


def test_keys_may_be_a_subclass_of_str() -> None:
    class Name(str):
        pass

    message = ChatMessage.from_dict({Name("role"): "user", Name("content"): "x", Name("mine"): 1})
    assert {type(key) for key in message.to_dict()} == {str}
    assert ChatMessage.from_json(message.to_json()) == message


def test_the_sequence_is_no_part_of_the_message() -> None:
    message = ChatMessage("user", "x")
    assert message.sequence is None
    first, second = message.numbered(1, "key"), message.numbered(2)
    assert (first.sequence, first.append_key, second.sequence) == (1, "key", 2)
    assert first == second == message
    assert "sequence" not in first.to_dict()
    assert first.to_json() == message.to_json()


def test_a_record_keeps_sequence_and_key() -> None:
    record = ChatMessage("user", "x").numbered(7, "key").to_record()
    assert record == {"sequence": 7, "key": "key", "message": {"role": "user", "content": "x"}}
    loaded = ChatMessage.from_record(json.loads(json.dumps(record)))
    assert (loaded.sequence, loaded.append_key) == (7, "key")


def test_a_message_differs_from_another_and_from_its_dict() -> None:
    message = ChatMessage("user", "x")
    assert message != ChatMessage("user", "y")
    assert message != ChatMessage("assistant", "x")
    assert message != message.to_dict()


@pytest.mark.scenario("S019")
@pytest.mark.parametrize("key", ["metadata", "usage", "model", "status", "turn", "id", "created_at", "of_the_site"])
def test_a_provider_sees_no_private_key(key: str) -> None:
    sent = ChatMessage.from_dict(FULL).numbered(4, "key").to_openai()
    assert key not in sent
    assert set(sent) == {"role", "content", "tool_calls", "name"}


@pytest.mark.scenario("S020")
def test_a_provider_sees_no_key_that_was_not_set() -> None:
    assert ChatMessage("user", "x").to_openai() == {"role": "user", "content": "x"}
    call = ChatMessage("assistant", None, tool_calls=[CALL])
    assert call.to_openai() == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = ChatMessage("tool", "r", tool_call_id="c1")
    assert result.to_openai() == {"role": "tool", "content": "r", "tool_call_id": "c1"}


def test_a_provider_sees_no_empty_list_of_calls() -> None:
    assert ChatMessage("assistant", "x", tool_calls=[]).to_openai() == {"role": "assistant", "content": "x"}


def test_the_text_of_parts_is_their_text_alone() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    parts: list[dict[str, t.Any]] = [{"type": "text", "text": "a"}, image, {"text": "b"}, {"text": 5}]
    assert ChatMessage("user", parts).text == "a\nb"
    assert ChatMessage("user", None).text == ""
    assert ChatMessage("user", []).text == ""


@pytest.mark.scenario("D39")
@pytest.mark.parametrize("identifier", [None, ""])
def test_a_tool_message_names_its_call(identifier: str | None) -> None:
    with pytest.raises(InvalidMessage) as caught:
        ChatMessage("tool", "result", tool_call_id=identifier)
    assert caught.value.path == "tool_call_id"


@pytest.mark.scenario("S017")
@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"role": "robot"}, "role"),
        ({"role": None}, "role"),
        ({"content": "x"}, "message"),
        ({"role": "user", "content": 5}, "content"),
        ({"role": "user", "content": ["text"]}, "content[0]"),
        ({"role": "assistant", "tool_calls": "c1"}, "tool_calls"),
        ({"role": "user", "metadata": [1]}, "metadata"),
        ({"role": "user", "id": 5}, "id"),
        ({"role": "user", "mine": {"a": [object()]}}, "mine.a[0]"),
    ],
)
def test_what_is_no_message_is_refused_with_its_path(given: dict[str, t.Any], path: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        ChatMessage.from_dict(given)
    assert caught.value.path == path


@pytest.mark.parametrize("given", [None, "user", [("role", "user")], 5])
def test_what_is_no_dict_is_refused(given: t.Any) -> None:
    with pytest.raises(InvalidMessage, match="not a dict"):
        ChatMessage.from_dict(given)


@pytest.mark.scenario("S017")
def test_every_role_is_known() -> None:
    for role in ("system", "user", "assistant", "developer"):
        assert ChatMessage.from_json(ChatMessage(role, "x").to_json()).role == role


def test_a_repr_holds_no_text() -> None:
    message = ChatMessage("user", "my secret", metadata={"a": "secret"}, name="secret")
    assert "secret" not in repr(message)
    assert "user" in repr(message)


def test_a_message_cannot_be_changed() -> None:
    message = ChatMessage("user", "x")
    with pytest.raises(AttributeError):
        message.content = "y"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        message.other = "y"  # type: ignore[attr-defined]
    replaced = message.replace(content="y", id="i")
    assert (message.content, replaced.to_dict()) == ("x", {"role": "user", "content": "y", "id": "i"})


@pytest.mark.scenario("S007")
def test_text_is_readable_in_the_store() -> None:
    assert "你好" in ChatMessage("user", "你好").to_json().decode()


@pytest.mark.scenario("S008")
def test_a_datetime_is_stored_as_text() -> None:
    message = ChatMessage("user", "x", created_at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    assert message.created_at == "2026-01-02T00:00:00+00:00"


@pytest.mark.scenario("S006")
@pytest.mark.parametrize("form", [str.encode, str])
@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"a\udb8d", f"a{REPLACED}"),
        (r"\u0000", REPLACED),
        (r"\ud83d\ude42", "🙂"),
        (r"\\u0000", r"\u0000"),
    ],
)
def test_a_row_that_another_program_wrote_is_readable(form: t.Any, written: str, text: str) -> None:
    row = f'{{"role": "user", "content": "{written}", "metadata": {{"k{written}": ["{written}"]}}}}'
    message = ChatMessage.from_json(form(row), 3, "key")
    assert (message.content, message.sequence, message.append_key) == (text, 3, "key")
    assert message.metadata == {f"k{text}": [text]}
    assert ChatMessage.from_json(message.to_json()) == message


@pytest.mark.parametrize(
    "row",
    [
        b"{{",
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b"\xff\xfe",
        b"{}",
        b'{"role": "robot"}',
        b'{"role": "user", "content": 5}',
        b'{"role": "tool", "content": "no call"}',
        b'{"role": "user", "metadata": {"n": NaN}}',
        b'{"role": "user", "metadata": {"n": 1e999}}',
        b'{"role": "user", "metadata": {"a\\ud800": 1, "a\\udfff": 2}}',
        b'{"role": "user", "content": "cut in the mid',
        b'{"role": "user", "metadata": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
)
def test_a_corrupt_row_is_reported_and_its_text_is_not_quoted(row: bytes) -> None:
    with pytest.raises(CorruptRecord, match="the stored message 9 cannot be read") as caught:
        ChatMessage.from_json(row, 9)
    assert caught.value.__cause__ is not None


@pytest.mark.scenario("S153")
def test_a_row_that_names_a_class_is_plain_data() -> None:
    row = '{"role": "user", "__class__": "os.system", "type": "constructor", "method": "eval"}'
    assert ChatMessage.from_json(row).to_dict() == json.loads(row)


def test_rows_load_as_one_by_one() -> None:
    given = [ChatMessage.from_dict(FULL), ChatMessage("user", "x"), ChatMessage("tool", "r", tool_call_id="c1")]
    texts = [message.to_json() for message in given]
    loaded = ChatMessage.from_rows([*enumerate(texts, 1), (4, texts[0].decode())])
    assert loaded == [*given, given[0]]
    assert [(message.sequence, message.append_key) for message in loaded] == [(n, None) for n in (1, 2, 3, 4)]
    assert [message.to_json() for message in loaded[:3]] == texts


@pytest.mark.scenario("S076")
@pytest.mark.parametrize("corrupt", ['{"role": "robot"}', "", '{"role": "tool"}', '{"role": "user"},{"role": "user"}'])
def test_a_corrupt_row_among_others_is_named(corrupt: str) -> None:
    fine = '{"role": "user", "mine": 1}'
    with pytest.raises(CorruptRecord, match="the stored message 2 cannot be read"):
        ChatMessage.from_rows([(1, fine), (2, corrupt), (3, fine)])


def test_messages_of_one_origin_share_nothing_that_can_be_changed() -> None:
    message = ChatMessage.from_dict(FULL)
    numbered = message.numbered(1)
    for given in (numbered.metadata, numbered.tool_calls, numbered.content, numbered.to_dict()["of_the_site"]):
        t.cast(t.Any, given).clear()
    assert message == numbered == ChatMessage.from_dict(FULL)
