"""The write operations; who calls them holds the lock of the scope.

The order of the writes makes each change one step, so that a process may be killed, or the disk be full, at any point:

- A thread is there while its body is. Head and entry of the current thread are there before it; without a body they
  are nothing, and go when the thread is made again or the scope has no thread left.
- A batch is there with its last line, which carries the state. What stands behind the last state is what a crash has
  left; readers ignore it, and the next append cuts it off.
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
from ..records import Appended
from ..records import LiveTurn
from ..records import Scope
from ..rules import number
from ..rules import sequence_of
from . import heads
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
from .lines import newest_overlap
from .lines import State
from .lines import totals
from .threads import Thread
from .threads import Threads


class Writer(Threads):
    """Changes threads."""

    def append(
        self,
        scope: Scope,
        thread_id: str,
        entries: cabc.Sequence[Entry],
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
        started: LiveTurn | None = None,
        ended: str | None = None,
        answer: cabc.Sequence[ChatMessage] = (),
    ) -> Appended | None:
        """Do what :meth:`ChatMemoryPlugin.append_messages` promises.

        :param started: a turn that begins with the batch.
        :param ended: a turn that ends, whether or not the batch is written.
        :param answer: the messages of a batch that counts.
        """
        with self.find(scope, thread_id, writing=True) as thread:
            if thread is not None:
                return self._append(scope, thread, entries, key, reply_to, only_into, started, ended, answer)
        if self.options.threads == "one":
            with self.find_current(scope, writing=True) as thread:
                if thread is not None:
                    return self._append(scope, thread, entries, key, reply_to, only_into, started, ended, answer)
        if reply_to is not None:
            usage.add(self.names, scope, answer, thread_id, key, self.now)
            return None
        if not entries or only_into not in (None, thread_id):
            return Appended(thread_id, 0)
        lines: cabc.Sequence[Line] = new_lines(entries, 1, key)
        state = after_batch(State(at=self.now), entries, key, None, self.now)
        state = state.replace(live=_begun((), started, 1))
        state = trimmed(state, self.options.max_messages, (), seen_in(None, 0, lines, entries))
        if are_keys_far(state):
            lines, state = repeat_keys(lines, state, _key_of(lines))
        self.create(scope, thread_id, lines, state)
        return Appended(thread_id, 1)

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
                self.make_current(scope, thread_id)
                self._rewrite(scope, thread, lines, state)

    def clear(self, scope: Scope, thread_id: str) -> None:
        """Do what :meth:`ChatMemoryPlugin.clear_messages` promises; the keys of appends stay known."""
        with self.find(scope, thread_id) as thread:
            if thread is not None:
                self._rewrite(scope, thread, [], State(at=self.now, last=thread.body.state.last))
                disk.remove_file(thread.files.lease)

    def describe(self, scope: Scope, thread_id: str, changes: cabc.Mapping[str, t.Any]) -> bool:
        """Do what :meth:`DescribesThreads.update_thread` promises."""
        with self.find(scope, thread_id) as thread:
            if thread is None:
                return False
            heads.write(thread.files.head, heads.read_head(thread.files).replace(**changes))
            disk.sync_folder(thread.files.folder)
            return True

    def renew(self, scope: Scope, thread_id: str, turns: cabc.Mapping[str, str | None], lease: float) -> set[str]:
        """Extend leases and keep texts; return the turns whose stop is wanted."""
        return {live.turn for live in self._sign(scope, thread_id, turns, lease=lease) if live.stop_wanted}

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

    def exchange(self, thread: Thread, messages: cabc.Sequence[ChatMessage]) -> None:
        """Replace the messages of a body by others with the same sequences."""
        lines = [Line(sequence=sequence_of(message), message=msgspec.Raw(message.to_json())) for message in messages]
        self._replace(thread, lines, thread.body.state.replace(skipped=0, hidden=()))

    def _append(
        self,
        scope: Scope,
        thread: Thread,
        entries: cabc.Sequence[Entry],
        key: str | None,
        reply_to: str | None,
        only_into: str | None,
        started: LiveTurn | None,
        ended: str | None,
        answer: cabc.Sequence[ChatMessage],
    ) -> Appended | None:
        known = None if key is None else thread.body.key(key)
        answerable = reply_to is None or thread.body.has_message(reply_to)
        if known is not None or not answerable or not entries:
            self._end(thread, ended)
            if known is None and not answerable:
                usage.add(self.names, scope, answer, thread.thread_id, key, self.now)
                return None
            return Appended(thread.thread_id, known or 0, repeated=known is not None)
        if only_into not in (None, thread.thread_id):
            return Appended(thread.thread_id, 0)
        if self.make_current(scope, thread.thread_id):
            disk.sync_folder(thread.files.folder)
        usage.add(self.names, scope, answer, thread.thread_id, key, self.now)
        first = thread.body.state.last + 1
        self._extend(thread, entries, new_lines(entries, first, key), started, ended)
        return Appended(thread.thread_id, first)

    def _extend(
        self,
        thread: Thread,
        entries: cabc.Sequence[Entry],
        lines: cabc.Sequence[Line],
        started: LiveTurn | None,
        ended: str | None,
    ) -> None:
        body, limit = thread.body, self.options.max_messages
        state = after_batch(body.state, entries, lines[0].key, body, self.now)
        left = tuple(live for live in state.live if live.turn != ended)
        state = state.replace(live=_begun(left, started, lines[0].sequence))
        state = trimmed(state, limit, self.running(thread), seen_in(body, body.end, lines, entries))
        if is_worth_rewriting(state, limit):
            _take_back(body, lines, state)
        else:
            if are_keys_far(state):
                lines, state = repeat_keys(lines, state, body.keys() | _key_of(lines))
            body.append(encode(lines, state))
        if thread.live and not state.live:
            disk.remove_file(thread.files.lease)

    def _end(self, thread: Thread, turn: str | None) -> None:
        """Remove a live record for which no answer is written."""
        state = thread.body.state
        left = tuple(live for live in state.live if live.turn != turn)
        if left != state.live:
            thread.body.append(encode([Line(sequence=state.last)], state.replace(live=left)))
            if not left:
                disk.remove_file(thread.files.lease)

    def _rewrite(self, scope: Scope, thread: Thread, lines: cabc.Sequence[Line], state: State) -> None:
        """Replace all lines but the keys, and then the head."""
        files = thread.files
        head = heads.read_head(files)
        state = self._replace(thread, lines, state)
        heads.write(files.head, head.updated(scope, state))
        disk.sync_folder(files.folder)

    def _replace(self, thread: Thread, lines: cabc.Sequence[Line], state: State) -> State:
        """Replace all lines but the keys; return the state that stands there."""
        keys = thread.body.keys()
        lines, state = repeat_keys(lines, state.replace(offset=0, keyed=len(keys)), keys)
        disk.replace_file(thread.files.body, encode(lines, state))
        disk.sync_folder(thread.files.folder)
        return state


def _take_back(body: Body, lines: cabc.Sequence[Line], state: State) -> None:
    """Write a batch together with what can be seen of the body, and leave the rest out."""
    start = min(state.offset, body.end)
    keys, rest = body.keys(start), body.read(start, body.end)
    kept = b"".join(Line(key=key, sequence=sequence).encoded() for key, sequence in keys.items())
    state = state.replace(
        offset=state.offset - start + len(kept),
        skipped=max(0, state.first - lines[0].sequence),
    )
    disk.replace_file(body.files.body, kept + rest + encode(lines, state))
    disk.sync_folder(body.files.folder)


def _key_of(lines: cabc.Sequence[Line]) -> dict[str, int]:
    key = lines[0].key
    return {} if key is None else {key: lines[0].sequence}


def _begun(live: tuple[Live, ...], turn: LiveTurn | None, sequence: int) -> tuple[Live, ...]:
    if turn is None:
        return live
    return (*live, Live(turn.turn, turn.question_id, turn.answer_id, turn.lease, sequence))
