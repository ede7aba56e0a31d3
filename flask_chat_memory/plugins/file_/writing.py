"""The write operations; who calls them holds the lock of the scope.

The order of the writes makes each change one step, so that a process may be killed, or the disk be full, at any point:

- A thread is there while its body is. Head and entry of the current thread are there before it; without a body they
  are nothing, and go when the thread is made again, the scope has no thread left, or with the next purge.
- A batch is there with its last line, which carries the state. What stands behind the last state is what a crash has
  left; readers ignore it, and the next append cuts it off.
- What is hidden and what is marked is told by the body, too, so it changes with a batch or as one.
- To save, to clear and to take back space, the body is replaced by a rename.
- A thread moves by the rename of its body; head and current entry of the new scope are there before it.
- A thread is removed body first.
- An answer is counted before it is written; the ledger remembers which answers it has counted.
"""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...disk import files as disk
from ...message import ChatMessage
from ..abilities import ChangeLines
from ..records import Mark
from ..records import Scope
from ..rules import number
from ..rules import sequence_of
from . import heads
from .appending import Appender
from .batches import encode
from .batches import repeat_keys
from .lines import Entry
from .lines import Line
from .lines import Live
from .lines import newest_overlap
from .lines import State
from .lines import totals
from .notes import Marked
from .notes import Notes
from .notes import with_notes
from .threads import Thread


class Writer(Appender):
    """Changes threads."""

    def replace(self, scope: Scope, thread_id: str, messages: cabc.Sequence[tuple[ChatMessage, Entry]]) -> None:
        """Do what :meth:`ChatMemoryPlugin.save_messages` promises; the keys of appends stay known."""
        with self.find(scope, thread_id) as thread:
            old = State(at=self.now) if thread is None else thread.body.state
            numbered = number((message for message, _ in messages), old.last)
            entries = [(sequence_of(message), entry) for message, (_, entry) in zip(numbered, messages, strict=True)]
            lines = [Line(sequence=sequence, message=msgspec.Raw(entry.text)) for sequence, entry in entries]
            asked = {message.id: message.sequence for message in numbered if message.role == "user"}
            state = State(
                at=self.now,
                last=max([old.last, *(sequence for sequence, _ in entries)]),
                count=len(entries),
                overlap=newest_overlap(entries),
                live=tuple(
                    msgspec.structs.replace(turn, sequence=asked[turn.question_id])
                    for turn in old.live
                    if turn.question_id in asked
                ),
                **totals(entry for _, entry in entries),
            )
            if thread is None:
                self.create(scope, thread_id, lines, state)
            else:
                places = {message.id: sequence_of(message) for message in numbered}
                marks = {
                    id: msgspec.structs.replace(mark, sequence=places[id])
                    for id, mark in thread.body.notes.marks.items()
                    if id in places
                }
                self.make_current(scope, thread_id)
                self._rewrite(scope, thread, lines, state, Notes(marks=marks))

    def clear(self, scope: Scope, thread_id: str) -> None:
        """Do what :meth:`ChatMemoryPlugin.clear_messages` promises; the keys of appends stay known."""
        with self.find(scope, thread_id) as thread:
            if thread is not None:
                self._rewrite(scope, thread, [], State(at=self.now, last=thread.body.state.last), Notes())
                disk.remove_file(thread.files.lease)

    def describe(self, scope: Scope, thread_id: str, changes: cabc.Mapping[str, t.Any]) -> bool:
        """Do what :meth:`DescribesThreads.update_thread` promises."""
        with self.find(scope, thread_id) as thread:
            if thread is None:
                return False
            heads.write(thread.files.head, heads.read_head(thread.files).replace(**changes))
            disk.sync_folder(thread.files.folder)
            return True

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        """Do what :meth:`HidesMessages.change_lines` promises."""
        with self.find(scope, thread_id, writing=True) as thread:
            if thread is None:
                return False
            body = thread.body
            lines = change(body.notes.lines, body.state.last)
            if lines is None or lines == body.notes.lines:
                return False
            self._write(body, [], body.state, body.notes.replace(lines=lines))
            return True

    def mark(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        """Do what :meth:`MarksMessages.mark_message` promises."""
        with self.find(scope, thread_id, writing=True) as thread:
            sequence = None if thread is None else thread.body.find(message_id)
            if thread is None or sequence is None:
                return False
            body = thread.body
            marks = {id: other for id, other in body.notes.marks.items() if id != message_id}
            if mark is not None:
                marks[message_id] = Marked.of(sequence, mark)
            if marks != body.notes.marks:
                self._write(body, [], body.state, body.notes.replace(marks=marks))
            return True

    def renew(self, scope: Scope, thread_id: str, turns: cabc.Mapping[str, str | None], lease: float) -> set[str]:
        """Extend leases and keep texts; return the turns that are to stop, as they do when they are gone."""
        signed = self._sign(scope, thread_id, turns, lease=lease)
        return turns.keys() - {live.turn for live in signed if not live.stop_wanted}

    def stop(self, scope: Scope, thread_id: str, turn: str) -> bool:
        """Do what :meth:`KeepsLiveTurns.stop_turn` promises."""
        return bool(self._sign(scope, thread_id, {turn: None}, stop_wanted=True))

    def _sign(self, scope: Scope, thread_id: str, turns: cabc.Mapping[str, str | None], **changes: t.Any) -> list[Live]:
        """Write down what is told of turns, text and changes; return those that there are."""
        with self.find(scope, thread_id) as thread:
            if thread is None:
                return []
            signed = {
                live.turn: msgspec.structs.replace(
                    live, text=live.text if turns[live.turn] is None else turns[live.turn], **changes
                )
                for live in thread.live
                if live.turn in turns
            }
            if signed:
                leases = heads.Leases.of(signed.get(live.turn, live) for live in thread.live)
                heads.write(thread.files.lease, leases, lasting=False)
            return list(signed.values())

    def exchange(self, thread: Thread, messages: cabc.Sequence[ChatMessage], marks: cabc.Mapping[str, Marked]) -> None:
        """Replace the messages of a body and their marks by others with the same sequences."""
        lines = [Line(sequence=sequence_of(message), message=msgspec.Raw(message.to_json())) for message in messages]
        state = thread.body.state.replace(skipped=0, hidden=(), noted=0)
        self._replace(thread, lines, state, thread.body.notes.replace(marks=marks))

    def _rewrite(self, scope: Scope, thread: Thread, lines: cabc.Sequence[Line], state: State, notes: Notes) -> None:
        """Replace all lines but the keys, and then the head."""
        files = thread.files
        head = heads.read_head(files)
        state = self._replace(thread, lines, state, notes)
        heads.write(files.head, head.updated(scope, state))
        disk.sync_folder(files.folder)

    def _replace(self, thread: Thread, lines: cabc.Sequence[Line], state: State, notes: Notes) -> State:
        """Replace all lines but the keys; return the state that stands there."""
        keys = thread.body.keys()
        lines, state = repeat_keys(lines, state.replace(offset=0, keyed=len(keys)), keys)
        lines, state = with_notes(lines, state, notes, 0)
        disk.replace_file(thread.files.body, encode(lines, state))
        disk.sync_folder(thread.files.folder)
        return state
