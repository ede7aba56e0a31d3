from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory.plugins.folding import fold
from flask_chat_memory.plugins.folding import searched_text

CHARACTERS = [*map(chr, [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x11000), *range(0x1D000, 0x1F200)])]
"""Wherever there are letters, but most of the ideographs and Hangul."""


@pytest.mark.parametrize(
    "alike",
    [
        ["Straße", "STRASSE", "strasse", "straſse"],
        ["École", "E\u0301COLE", "ecole"],
        ["İzmir", "izmir"],
        ["ΟΔΟΣ", "οδός", "οδόσ"],
        ["Ёж", "еж"],
        ["ｗｉｄｅ ﬁ①", "WIDE FI1"],
        ["ｶﾞ", "カ", "ガ"],
        ["한글", "한글"],
        ["dis\u00adcon\u200bnect", "disconnect"],
    ],
)
def test_what_is_alike_is_folded_to_the_same(alike: list[str]) -> None:
    assert len({fold(text) for text in alike}) == 1


def test_different_letters_stay_different() -> None:
    texts = ["a", "b", "天", "气", "%", "_", "\\", '"', "ו", "ب", "1", " ", "\n", "😀"]
    assert [fold(text) for text in texts] == texts


def test_folding_of_a_character_is_final_and_knows_no_case() -> None:
    folded = {character: fold(character) for character in CHARACTERS}
    assert [c for c, once in folded.items() if fold(once) != once] == []
    # In Turkish, the capital of the dotless i is I, which is that of i, too.
    assert [c for c, once in folded.items() if fold(c.upper()) != once] == ["ı"]
    assert [c for c, once in folded.items() if fold(c.lower()) != once] == []


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S", "Z", "Mn"]), max_size=6), min_size=3, max_size=3))
def test_a_part_of_a_text_is_found_in_it(parts: list[str]) -> None:
    assert fold(parts[1]) in fold("".join(parts))


@pytest.mark.scenario("S013")
def test_only_what_is_said_is_searched() -> None:
    assert searched_text(ChatMessage("user", "HÉ")) == "he"
    parts: list[dict[str, t.Any]] = [{"type": "text", "text": "A"}, {"type": "image_url", "image_url": {"url": "B"}}]
    assert searched_text(ChatMessage("assistant", [*parts, {"type": "text", "text": "C"}])) == "a\nc"
    assert searched_text(ChatMessage("assistant", None)) is None
    assert searched_text(ChatMessage("user", "\u0301")) is None
    assert searched_text(ChatMessage("system", "a")) is None
    assert searched_text(ChatMessage("tool", "a", tool_call_id="c1")) is None
