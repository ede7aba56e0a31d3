"""Gives the threads of one scope to another; who calls this holds the locks of both."""

from __future__ import annotations

import collections.abc as cabc
import os

import msgspec

from ...disk import files as disk
from ...errors import CorruptRecord
from ..abilities import Reseals
from ..records import Scope
from . import heads
from .appending import Batch
from .lines import Live
from .names import ThreadFiles
from .notes import Marked
from .threads import Thread
from .writing import Writer


def move(writer: Writer, source: Scope, target: Scope, reseal: Reseals | None) -> int:
    """Do what :meth:`MovesThreads.move_threads` promises.

    :raises CorruptRecord: for a thread that cannot be read, after all others have been moved.
    """
    left = 0
    unreadable: CorruptRecord | None = None
    current = heads.read_current(writer.names.current(source))
    for files in writer.names.threads(source):
        try:
            left += _move_one(writer, source, target, files, current, reseal)
        except CorruptRecord as error:
            unreadable = error
    writer.tidy(source)
    if unreadable is not None:
        raise unreadable
    return left


def _move_one(
    writer: Writer, source: Scope, target: Scope, files: ThreadFiles, current: str | None, reseal: Reseals | None
) -> bool:
    """Move a thread; tell whether it was left because a turn is running."""
    with writer.open_unnamed(files) as thread:
        if thread is None:
            writer.remove(files)
        elif writer.running(thread):
            return True
        elif (into := _joined(writer, target, thread, current)) is not None:
            messages, marks = thread.body.messages(), thread.body.notes.marks
            if reseal:
                messages = reseal.messages(thread.thread_id, into, messages)
                marks = _resealed(marks, thread.thread_id, into, reseal)
            records = {id: mark.record() for id, mark in marks.items()}
            writer.append(target, thread.thread_id, Batch(messages, key=f"adopt:{thread.thread_id}", marks=records))
            writer.remove(files)
            writer.forget_current(source, thread.thread_id)
        else:
            head = heads.read_head(thread.files).updated(target, thread.body.state)
            if reseal:
                thread.live = _resealed_texts(thread, reseal)
                if head.title is not None:
                    head = head.replace(title=reseal.title(thread.thread_id, head.title))
                messages = reseal.messages(thread.thread_id, thread.thread_id, thread.body.messages(hidden=True))
                marks = _resealed(thread.body.notes.marks, thread.thread_id, thread.thread_id, reseal)
                writer.exchange(thread, messages, marks)
            _rename(writer, source, target, thread, head, thread.thread_id == current)
    return False


def _resealed_texts(thread: Thread, reseal: Reseals) -> tuple[Live, ...]:
    """Return the turns that died, with what they told."""
    return tuple(
        msgspec.structs.replace(live, text=live.text and reseal.live_text(thread.thread_id, live.turn, live.text))
        for live in thread.live
    )


def _resealed(marks: cabc.Mapping[str, Marked], old: str, new: str, reseal: Reseals) -> dict[str, Marked]:
    return {
        id: msgspec.structs.replace(mark, comment=mark.comment and reseal.comment(old, new, id, mark.comment))
        for id, mark in marks.items()
    }


def _joined(writer: Writer, target: Scope, thread: Thread, current: str | None) -> str | None:
    """Return the id of the thread of the target that a thread becomes part of, if it does."""
    with writer.find(target, thread.thread_id) as same:
        if same is not None:
            return same.thread_id
    if writer.options.threads != "one" or thread.thread_id != current:
        return None
    with writer.find_current(target) as ongoing:
        return None if ongoing is None else ongoing.thread_id


def _rename(writer: Writer, source: Scope, target: Scope, thread: Thread, head: heads.Head, is_current: bool) -> None:
    new, thread_id = writer.names.thread(target, thread.thread_id), thread.thread_id
    writer.remove(new)
    disk.make_folder(new.folder)
    heads.write(new.head, head)
    if is_current:
        writer.make_current(target, thread_id)
    if thread.live:
        heads.write(new.lease, heads.Leases.of(thread.live), lasting=False)
    disk.sync_folder(new.folder)
    os.rename(thread.files.body, new.body)
    disk.sync_folder(new.folder)
    disk.sync_folder(thread.files.folder)
    writer.remove(thread.files)
    writer.forget_current(source, thread_id)
    writer.limit(target, new)
