"""Appends, whose batches carry whatever changes with them; who calls them holds the lock of the scope."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses

from ...disk import files as disk
from ...message import ChatMessage
from ..records import Appended
from ..records import LiveTurn
from ..records import Mark
from ..records import Scope
from . import usage
from .batches import after_batch
from .batches import are_keys_far
from .batches import encode
from .batches import is_worth_rewriting
from .batches import new_lines
from .batches import repeat_keys
from .batches import seen_in
from .batches import trimmed
from .body import Body
from .lines import Entry
from .lines import Line
from .lines import Live
from .lines import State
from .notes import Marked
from .notes import Notes
from .notes import with_notes
from .threads import Thread
from .threads import Threads


@dataclasses.dataclass
class Batch:
    """What an append is to write, and on which conditions.

    :param started: a turn that begins with the batch.
    :param ended: a turn that ends, whether or not the batch is written.
    :param title: of the thread, if the batch makes it.
    :param replaces: the sequence of the question in whose place it stands.
    :param marks: of its messages.
    """

    messages: cabc.Sequence[ChatMessage]
    _: dataclasses.KW_ONLY
    key: str | None = None
    reply_to: str | None = None
    only_into: str | None = None
    started: LiveTurn | None = None
    ended: str | None = None
    title: str | None = None
    replaces: int | None = None
    marks: cabc.Mapping[str, Mark] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entries = Entry.all_of(self.messages)

    def noted(self, notes: Notes, last: int, question: int | None) -> Notes:
        """Return the notes after the batch.

        :param last: the highest sequence before it.
        :param question: the sequence of the one that it answers.
        """
        lines, first = notes.lines, last + 1
        if self.replaces is not None:
            lines = lines.replaced(self.replaces, last)
        if question is not None:
            lines = lines.placed(first, last + len(self.entries), question)
        places = {message.id: first + place for place, message in enumerate(self.messages)}
        marks = {id: Marked.of(places[id], mark) for id, mark in self.marks.items() if id in places}
        return notes.replace(lines=lines, marks=marks | notes.marks)


class Appender(Threads):
    """Appends to threads."""

    def append(self, scope: Scope, thread_id: str, batch: Batch) -> Appended | None:
        """Do what :meth:`ChatMemoryPlugin.append_messages` promises, and :meth:`KeepsLiveTurns.start_turn`."""
        with self.find(scope, thread_id, writing=True) as thread:
            if thread is not None:
                return self._append(scope, thread, batch)
        if self.options.threads == "one":
            with self.find_current(scope, writing=True) as thread:
                if thread is not None:
                    return self._append(scope, thread, batch, named=thread_id)
        if batch.reply_to is not None:
            usage.add(self.names, scope, batch.messages, thread_id, batch.key, self.now)
            return None
        if not batch.entries or batch.replaces is not None or batch.only_into not in (None, thread_id):
            return Appended(thread_id, 0)
        lines: cabc.Sequence[Line] = new_lines(batch.entries, 1, batch.key)
        state = after_batch(State(at=self.now), batch.entries, batch.key, None, self.now)
        state = state.replace(live=_begun((), batch.started, 1))
        state = trimmed(state, self.options.max_messages, (), seen_in(None, 0, lines, batch.entries))
        if are_keys_far(state):
            lines, state = repeat_keys(lines, state, _key_of(batch, 1))
        self.create(scope, thread_id, lines, state, batch.title)
        return Appended(thread_id, 1)

    def _append(self, scope: Scope, thread: Thread, batch: Batch, named: str | None = None) -> Appended | None:
        """Append to a thread that there is.

        :param named: the thread that was asked for, if it is another one.
        """
        body = thread.body
        known = None if batch.key is None else body.key(batch.key)
        if known is None and batch.replaces is not None and (named or not body.shows(batch.replaces)):
            return Appended(named or thread.thread_id, 0)
        question = None if batch.reply_to is None else body.find(batch.reply_to)
        answerable = batch.reply_to is None or question is not None
        if known is not None or not answerable or not batch.entries:
            self._end(thread, batch.ended)
            if known is None and not answerable:
                usage.add(self.names, scope, batch.messages, thread.thread_id, batch.key, self.now)
                return None
            return Appended(thread.thread_id, known or 0, repeated=known is not None)
        if batch.only_into not in (None, thread.thread_id):
            return Appended(thread.thread_id, 0)
        if self.make_current(scope, thread.thread_id):
            disk.sync_folder(thread.files.folder)
        if batch.reply_to is not None:
            usage.add(self.names, scope, batch.messages, thread.thread_id, batch.key, self.now)
        first = body.state.last + 1
        self._extend(thread, batch, first, batch.noted(body.notes, first - 1, question))
        return Appended(thread.thread_id, first)

    def _extend(self, thread: Thread, batch: Batch, first: int, notes: Notes) -> None:
        body, entries = thread.body, batch.entries
        lines: cabc.Sequence[Line] = new_lines(entries, first, batch.key)
        state = after_batch(body.state, entries, batch.key, body, self.now)
        left = tuple(live for live in state.live if live.turn != batch.ended)
        state = state.replace(live=_begun(left, batch.started, first))
        limit = self.options.max_messages
        state = trimmed(state, limit, self.running(thread), seen_in(body, body.end, lines, entries))
        if are_keys_far(state) and not is_worth_rewriting(state, limit, body.end):
            lines, state = repeat_keys(lines, state, body.keys() | _key_of(batch, first))
        self._write(body, lines, state, notes)
        if thread.live and not state.live:
            disk.remove_file(thread.files.lease)

    def _end(self, thread: Thread, turn: str | None) -> None:
        """Remove a live record for which no answer is written."""
        state = thread.body.state
        left = tuple(live for live in state.live if live.turn != turn)
        if left != state.live:
            self._write(thread.body, [], state.replace(live=left), thread.body.notes)
            if not left:
                disk.remove_file(thread.files.lease)

    def _write(self, body: Body, lines: cabc.Sequence[Line], state: State, notes: Notes) -> None:
        """Write lines with the state, and the notes where they are others, behind what can be seen of a body."""
        if is_worth_rewriting(state, self.options.max_messages, body.end):
            _take_back(body, lines, state, notes)
            return
        if notes != body.notes:
            lines, state = with_notes(lines, state, notes, body.end)
        body.append(encode(lines, state))


def _take_back(body: Body, lines: cabc.Sequence[Line], state: State, notes: Notes) -> None:
    """Write a batch together with what can be seen of the body, and leave the rest out."""
    start = min(state.offset, body.end)
    keys = b"".join(Line(key=key, sequence=sequence).encoded() for key, sequence in body.keys(start).items())
    kept = keys + body.lasting(start)
    state = state.replace(
        offset=len(keys) + state.offset - start if state.offset < body.end else len(kept) + state.offset - body.end,
        skipped=max(0, state.first - body.state.last - 1),
        noted=0,
    )
    lines, state = with_notes(lines, state, notes.kept(state.shows), len(kept))
    disk.replace_file(body.files.body, kept + encode(lines, state))
    disk.sync_folder(body.files.folder)


def _key_of(batch: Batch, sequence: int) -> dict[str, int]:
    return {} if batch.key is None else {batch.key: sequence}


def _begun(live: tuple[Live, ...], turn: LiveTurn | None, sequence: int) -> tuple[Live, ...]:
    if turn is None:
        return live
    return (*live, Live(turn.turn, turn.question_id, turn.answer_id, turn.lease, sequence))
