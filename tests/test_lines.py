from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec
import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import Lines
from flask_chat_memory.plugins.hiding import is_hidden
from flask_chat_memory.plugins.lines import MOST


class Thread:
    """A thread by its lines and, beside it, by lists of numbers: the visible one, and those that were left."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.last = 0
        self.visible: list[int] = []
        self.left: list[list[int]] = []

    def append(self) -> None:
        self.last += 1
        self.visible = [*self.visible, self.last]

    def replace(self, place: int, kept: set[int]) -> None:
        """Ask a question in the place of one that is seen; of what came after it, a part stays."""
        if not self.visible:
            return
        sequence = self.visible[place % len(self.visible)]
        self.lines = self.lines.replaced(sequence, self.last, kept)
        self._leave([other for other in self.visible if other < sequence or (other in kept and other > sequence)])
        self.append()

    def answer(self, place: int) -> None:
        """Answer a question of any line, or of none."""
        if not self.last:
            return
        question = 1 + place % self.last
        self.lines = self.lines.placed(self.last + 1, self.last + 2, question)
        batch = [self.last + 1, self.last + 2]
        self.last += 2
        self.left = [[*line, *batch] if question in line else line for line in self.left]
        if question in self.visible:
            self.visible = [*self.visible, *batch]

    def undo(self, places: set[int]) -> None:
        """Hide some of the newest messages that are seen."""
        chosen = {sequence for place, sequence in enumerate(reversed(self.visible)) if place in places}
        self.lines = self.lines.without(chosen, self.last)
        self._leave([other for other in self.visible if other not in chosen])

    def show(self, place: int) -> None:
        sequence = 1 + place % (self.last + 1)
        shown = self.lines.shown(sequence, self.last)
        holding = [line for line in self.left if sequence in line]
        if sequence in self.visible:
            assert shown == self.lines
        elif not holding:
            assert shown == (self.lines if sequence > self.last else None)
        else:
            assert shown
            self.lines = shown
            self.left.remove(holding[-1])
            self._leave(holding[-1])

    def _leave(self, visible: list[int]) -> None:
        if self.visible and self.visible != visible:
            self.left = [line for line in self.left if line != self.visible]
            self.left.append(self.visible)
        self.visible = visible

    def check(self) -> None:
        numbers = range(1, self.last + 1)
        assert [number for number in numbers if self.lines.sees(number)] == self.visible
        assert [number for number in numbers if not is_hidden(number, self.lines.hidden)] == self.visible
        others = [Lines(visible=line) for line in self.lines.others]
        assert [[number for number in numbers if line.sees(number)] for line in others] == self.left
        assert self.lines.sees(self.last + 1)
        assert self.lines.sees(10**9)
        assert Lines.from_json(self.lines.to_json()) == self.lines
        for line in (self.lines.visible, *self.lines.others):
            assert all(last is None or first <= last for first, last in line)
            assert all(last and last + 1 < first for (_, last), (first, _) in zip(line, line[1:], strict=False))
        self._check_versions(())
        self._check_versions(range(0, self.last, 2))
        self._check_numbers(numbers)

    def _check_numbers(self, numbers: range) -> None:
        assert self.lines.renumbered(numbers) == self.lines
        left = [number for number in numbers if number % 3]
        renumbered = self.lines.renumbered(left)
        seen = [place for place, number in enumerate(left, 1) if self.lines.sees(number)]
        assert [place for place in range(1, len(left) + 1) if renumbered.sees(place)] == seen
        assert Lines().joined(self.lines, 0) == self.lines
        joined = Lines(visible=((2, None),)).joined(self.lines, 3)
        assert [number for number in range(1, self.last + 4) if joined.sees(number)] == [
            *(2, 3),
            *(number + 3 for number in self.visible),
        ]
        assert joined.sees(self.last + 4)

    def _check_versions(self, answers: cabc.Collection[int]) -> None:
        expected: dict[int, set[int]] = {}
        for line in self.left:
            passed = {sequence for sequence in answers if sequence in line and sequence in self.visible}
            here = [sequence for sequence in self.visible if sequence not in passed]
            there = [sequence for sequence in line if sequence not in passed]
            while here[:1] == there[:1] != []:
                del here[0], there[0]
            if here and there and here[0] not in line and there[0] not in self.visible:
                expected.setdefault(here[0], {here[0]}).add(there[0])
        found = {here: set(versions) for here, versions in self.lines.versions(answers).items() if here <= self.last}
        assert found == expected


STEPS = st.one_of(
    st.just(("append",)),
    st.tuples(st.sampled_from(["answer", "show", "show"]), st.integers(0, 30)),
    st.tuples(st.just("replace"), st.integers(0, 30), st.sets(st.integers(0, 30), max_size=3)),
    st.tuples(st.just("undo"), st.sets(st.integers(0, 3), min_size=1, max_size=3)),
)


@pytest.mark.scenario("S107")
@given(st.lists(STEPS, max_size=30))
@example([("append",), ("append",), ("undo", {0}), ("show", 1), ("append",), ("undo", {0, 1}), ("undo", {1})])
def test_lines_are_what_lists_of_numbers_are(steps: list[tuple[t.Any, ...]]) -> None:
    thread = Thread()
    for name, *what in steps:
        getattr(thread, name)(*what)
        thread.check()


def test_an_edit_shows_as_another_version() -> None:
    lines = Lines().replaced(3, 4).placed(6, 6, 5).replaced(5, 6)
    assert lines.versions() == {7: (3, 5, 7)}
    back = lines.shown(3, 8)
    assert back
    assert back.visible == ((1, 4), (9, None))
    assert back.versions() == {3: (3, 5, 7)}


def test_an_edit_of_a_later_question_shows_there() -> None:
    lines = Lines().replaced(3, 4).replaced(7, 8)
    assert lines.versions() == {5: (3, 5), 9: (7, 9)}


def test_the_line_that_held_a_message_last_is_shown() -> None:
    lines = Lines().replaced(3, 4).replaced(5, 5).replaced(1, 6)
    newest, oldest = lines.shown(1, 7), lines.shown(3, 7)
    assert newest
    assert newest.visible == ((1, 2), (6, 6), (8, None))
    assert oldest
    assert oldest.visible == ((1, 4), (8, None))


def test_going_back_and_forth_keeps_each_line_once() -> None:
    lines = Lines()
    for _ in range(3):
        shown = lines.without({2}, 2).shown(2, 2)
        assert shown
        lines = shown
    assert lines == Lines(others=(((1, 1),),))


def test_what_both_lines_hold_is_no_version() -> None:
    undone = Lines().without([3, 4], 6)
    assert undone.versions() == {}
    done = undone.shown(3, 6)
    assert done
    assert done.versions() == {}


def test_the_lines_of_a_thread_take_little_room() -> None:
    lines = Lines()
    for edit in range(300):
        # Each question of a long thread is asked again.
        lines = lines.replaced(4 * edit + 1, 4 * edit + 2)
    text = lines.to_json()
    assert text
    assert len(text) < 40_000
    assert lines.others[-1] == (*lines.visible[:-2], (1195, 1198))
    assert sum(map(len, lines.others)) <= MOST
    assert lines.shown(1, 1200) is None


def test_one_line_is_stored_as_nothing() -> None:
    assert Lines().to_json() is None
    assert Lines.from_json(None) == Lines()
    text = Lines().replaced(3, 4).to_json()
    assert text == '{"visible":[[1,2],[5,null]],"others":[[[1,4]]]}'


@pytest.mark.parametrize("text", ["", "[]", '{"visible":[[1]]}', '{"visible":[["1",2]]}'])
def test_what_are_no_lines_is_refused(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Lines.from_json(text)
