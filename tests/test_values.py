from __future__ import annotations

import base64
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import types
import typing as t
import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory import InvalidMessage
from flask_chat_memory.values import plain

REPLACED = "\ufffd"


class Text(str):
    def __str__(self) -> str:
        return "not the text"


class Count(int):
    pass


class Amount(float):
    pass


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.StrEnum):
    DARK = "dark"


class Level(enum.IntEnum):
    HIGH = 1


@dataclasses.dataclass
class Point:
    x: int = 0


@pytest.mark.scenario("S001", "S009", "S012", "A22")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (2**70, 2**70),
        (-(2**70), -(2**70)),
        (1.0, 1.0),
        (1e16, 1e16),
        ("你好 🙂", "你好 🙂"),
        ("a\x00b", f"a{REPLACED}b"),
        ("\ud83d", REPLACED),
        ("\udb8d tail", f"{REPLACED} tail"),
        (Text("text"), "text"),
        (Text("\x00"), REPLACED),
        (Count(3), 3),
        (Amount(1.5), 1.5),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02T00:00:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (decimal.Decimal("0.010"), "0.010"),
        (b"\x89PNG", "iVBORw=="),
        (bytearray(b"\x89PNG"), "iVBORw=="),
        (memoryview(b"\x89PNG"), "iVBORw=="),
        ((1, "two"), [1, "two"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({(2, 1), (1, 2)}, [[1, 2], [2, 1]]),
        (types.MappingProxyType({"a": types.MappingProxyType({"b": (1,)})}), {"a": {"b": [1]}}),
    ],
)
def test_a_value_is_made_plain(value: object, expected: object) -> None:
    found = plain({"at": [value]}, "metadata")["at"][0]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.scenario("S002")
@pytest.mark.parametrize("value", ["q\x00", Text("q\x00")])
def test_keys_are_cleaned_at_any_depth(value: str) -> None:
    assert plain({"a": [{value: ["x\x00y"]}]}, "metadata") == {"a": [{f"q{REPLACED}": [f"x{REPLACED}y"]}]}


@pytest.mark.parametrize("order", [[1, "a", None, 2.5, (1,)], [(1,), 2.5, None, "a", 1]])
def test_a_set_of_several_types_has_one_order(order: list[t.Any]) -> None:
    assert plain(set(order), "metadata") == plain(set(reversed(order)), "metadata")


@pytest.mark.scenario("S009")
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        Amount("nan"),
        Colour.RED,
        Shade.DARK,
        Level.HIGH,
        Point(),
        object(),
        Point,
        1j,
        dt.timedelta(1),
        iter([1]),
        10**5000,
        {1: "x"},
        {None: "x"},
        {Shade.DARK: "x"},
        {("a",): "x"},
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_a_rule_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(InvalidMessage) as caught:
        ChatMessage("user", "text", metadata={"tags": ["fine", {"deep": value}]})
    assert caught.value.path == "metadata.tags[1].deep"
    assert str(caught.value).startswith("metadata.tags[1].deep: ")


@pytest.mark.parametrize(
    "value", [{"a\x00": 1, f"a{REPLACED}": 2}, dict.fromkeys(["\ud800", "\udfff"], 1), {"a\x00": 1, "a\ud800": 2}]
)
def test_keys_that_become_equal_are_refused(value: dict[str, int]) -> None:
    with pytest.raises(InvalidMessage, match="become equal") as caught:
        plain(value, "metadata")
    assert caught.value.path.startswith("metadata.")


def test_top_level_keys_that_become_equal_are_refused() -> None:
    with pytest.raises(InvalidMessage, match="become equal"):
        ChatMessage.from_dict({"role": "user", "a\x00": 1, f"a{REPLACED}": 2})


def nested(levels: int, wrap: t.Callable[[t.Any], t.Any]) -> t.Any:
    value: t.Any = "core"
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: (inner,)])
def test_a_hundred_levels_are_stored_and_one_more_is_refused(wrap: t.Callable[[t.Any], t.Any]) -> None:
    message = ChatMessage("user", "text", metadata={"a": nested(99, wrap)})
    assert ChatMessage.from_json(message.to_json()) == message
    with pytest.raises(InvalidMessage, match="100 levels") as caught:
        ChatMessage("user", "text", metadata={"a": nested(100, wrap)})
    assert caught.value.path.startswith("metadata.a")


def test_a_value_that_contains_itself_is_refused() -> None:
    ring: list[t.Any] = []
    ring.append(ring)
    with pytest.raises(InvalidMessage, match="100 levels"):
        plain(ring, "metadata")


def test_the_input_is_neither_changed_nor_kept() -> None:
    given = {"list": [1, {"a": {"b": (1, 2)}}], "set": {1}, "text": "a\x00"}
    before = copy.deepcopy(given)
    message = ChatMessage("user", "text", metadata=given)
    assert given == before
    t.cast("list[t.Any]", given["list"]).append("later")
    assert message.metadata == {"list": [1, {"a": {"b": [1, 2]}}], "set": [1], "text": f"a{REPLACED}"}


def test_a_view_of_every_other_byte_becomes_text() -> None:
    assert plain(memoryview(b"abcdef")[::2], "metadata") == base64.b64encode(b"ace").decode()


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.decimals(),
    st.uuids(),
    st.dates(),
    st.datetimes(),
)
VALUES: st.SearchStrategy[t.Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner) | st.sets(st.integers())
    ),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_plain_stays_as_it_is_and_survives_json(value: t.Any) -> None:
    try:
        made = plain(value, "metadata")
    except InvalidMessage as error:
        assert "become equal" in str(error)
        return
    assert plain(made, "metadata") == made
    loaded = msgspec.json.decode(msgspec.json.encode(made))
    # repr tells 1 from 1.0 and True, and 0.0 from -0.0.
    assert repr(loaded) == repr(made)
