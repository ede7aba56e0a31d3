"""Threads and ledgers that another store has held."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import itertools
import os

import msgspec

from ...disk import files as disk
from ...message import ChatMessage
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..records import Scope
from ..records import UsageDay
from ..records import WholeThread
from ..rules import check_append
from ..rules import is_thread_id
from ..rules import newest_keys
from ..rules import sequence_of
from . import heads
from . import usage
from .batches import repeat_keys
from .folder import InFolder
from .lines import Entry
from .lines import Line
from .lines import Live
from .lines import newest_overlap
from .lines import State
from .names import ThreadFiles
from .notes import Marked
from .notes import Notes
from .notes import with_notes
from .threads import Threads
from .usage import FileUsage
from .writing import Writer

CHUNK = 200
"""Messages that are written at once."""


class FileRestoring(InFolder, FileUsage, RestoresThreads, RestoresUsage, abc.ABC):
    """The two abilities, for the plugin whose folder this is."""

    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        return self._read(scope, lambda threads: _whole(threads, scope, thread_id)) if is_thread_id(thread_id) else None

    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        check_append(whole.thread.id, None)
        with self._writing(scope) as writer:
            if instead_of is not None and _whole(writer, scope, whole.thread.id) != instead_of:
                return False
            _restore(writer, scope, whole, messages)
            return True

    def usage_scopes(self) -> cabc.Iterator[Scope]:
        with self._errors:
            for ledger in usage.read_all(self._names):
                yield Scope(ledger.owner, ledger.chatbot)

    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        with self._writing(scope):
            usage.put(self._names, scope, days)


def _whole(threads: Threads, scope: Scope, thread_id: str) -> WholeThread | None:
    with threads.find(scope, thread_id) as thread:
        if thread is None:
            return None
        notes, state = thread.body.notes, thread.body.state
        return WholeThread(
            thread=heads.read_head(thread.files).record(state),
            sequence=state.last,
            keys=newest_keys(thread.body.keys().items()),
            lines=notes.lines,
            marks=dict(sorted(notes.records().items())),
            current=threads.is_current(scope, thread_id),
            live=tuple(live.record() for live in thread.live),
        )


def _restore(writer: Writer, scope: Scope, whole: WholeThread, messages: cabc.Iterable[ChatMessage]) -> None:
    files = writer.names.thread(scope, whole.thread.id)
    disk.make_folder(files.folder)
    try:
        with disk.replacing(files.body) as descriptor:
            body = _NewBody(descriptor, whole)
            body.add(messages)
            state = body.end()
            _describe(writer, scope, files, whole, state, body.live)
        disk.sync_folder(files.folder)
        if not whole.current:
            writer.forget_current(scope, whole.thread.id)
    except BaseException:
        writer.tidy(scope)
        raise


def _describe(
    writer: Writer, scope: Scope, files: ThreadFiles, whole: WholeThread, state: State, live: cabc.Sequence[Live]
) -> None:
    """Write what stands beside a body that is about to be there."""
    thread = whole.thread
    head = heads.Head.of(scope, thread.id, state, thread.title)
    head = head.replace(
        created_at=dt.datetime.fromtimestamp(thread.created_at, dt.UTC),
        pinned=thread.pinned,
        archived=thread.archived,
        configuration=thread.configuration,
    )
    heads.write(files.head, head)
    if live:
        heads.write(files.lease, heads.Leases.of(live), lasting=False)
    if whole.current:
        heads.write(writer.names.current(scope), heads.Current(thread.id))
    disk.sync_folder(files.folder)


class _NewBody:
    """A body that is written a part at a time; its last line carries the state."""

    def __init__(self, descriptor: int, whole: WholeThread) -> None:
        self._descriptor = descriptor
        self._whole = whole
        self._end = 0
        self._places = {id: 0 for id in {*whole.marks, *(live.question_id for live in whole.live)}}
        self._turn: str | None = None
        self._last = self._overlap = 0
        self._model: str | None = None
        self.live: list[Live] = []

    def add(self, messages: cabc.Iterable[ChatMessage]) -> None:
        rest = iter(messages)
        while chunk := list(itertools.islice(rest, CHUNK)):
            entries = [(sequence_of(message), entry) for message, entry in zip(chunk, Entry.all_of(chunk), strict=True)]
            self._overlap = newest_overlap(entries, self._turn, self._last, self._overlap)
            self._last, newest = entries[-1]
            self._turn = newest.turn
            self._model = next((entry.model for _, entry in reversed(entries) if entry.model), self._model)
            for message in chunk:
                if message.id in self._places:
                    self._places[message.id] = sequence_of(message)
            self._write(Line(sequence=sequence, message=msgspec.Raw(entry.text)) for sequence, entry in entries)

    def end(self) -> State:
        whole, thread = self._whole, self._whole.thread
        begun = [
            Live(live.turn, live.question_id, live.answer_id, live.lease, self._places[live.question_id])
            for live in whole.live
        ]
        self.live = [
            msgspec.structs.replace(live, text=told.text, stop_wanted=told.stop_wanted)
            for live, told in zip(begun, whole.live, strict=True)
        ]
        state = State(
            at=thread.last_activity,
            last=whole.sequence,
            count=thread.messages,
            tokens=thread.tokens,
            model=self._model,
            keyed=len(whole.keys),
            overlap=self._overlap,
            live=tuple(begun),
        )
        marks = {id: Marked.of(self._places[id], mark) for id, mark in whole.marks.items()}
        lines, state = repeat_keys([], state, whole.keys)
        lines, state = with_notes(lines, state, Notes(whole.lines, marks), self._end)
        self._write([*lines, Line(sequence=state.last, state=state)])
        os.fsync(self._descriptor)
        return state

    def _write(self, lines: cabc.Iterable[Line]) -> None:
        data = b"".join(line.encoded() for line in lines)
        disk.write(self._descriptor, data, self._end, lasting=False)
        self._end += len(data)
