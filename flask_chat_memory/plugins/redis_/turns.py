"""Messages as they are added, and the turns that begin and end with them."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ...message import ChatMessage
from ...values import clean
from ..abilities import KeepsLiveTurns
from ..counting import total_tokens
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import check_append
from ..rules import check_changes
from . import scripts
from .calling import RedisCalls
from .names import thread_digest
from .packing import bounded
from .packing import live_turns_of
from .packing import pack
from .packing import unpack_lines
from .packing import unpack_live
from .usage import usage_fields


class RedisTurns(RedisCalls, KeepsLiveTurns, abc.ABC):
    """The append, and the live records of turns."""

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(scope, thread_id, messages, key, reply_to, only_into)

    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
        title: str | None = None,
        replaces: int | None = None,
    ) -> Appended:
        begins = {
            "begins": [clean(live.turn), float(live.lease), [live.question_id, live.answer_id]],
            "title": check_changes({"title": title})["title"],
            "replaces": bounded(replaces),
        }
        return t.cast(Appended, self._append(scope, thread_id, [question], key, None, only_into, **begins))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        # The keys of several scopes can be in one script, unless they are on several servers.
        scopes: dict[str, list[tuple[str, list[str | None]]]] = {}
        for scope, thread_id, turn, text in turns:
            index = self._index(scope)
            group = scopes.setdefault(index if self._server.is_cluster else "", [])
            group.append((index, [thread_digest(thread_id), clean(turn), text]))
        unwanted: set[str] = set()
        for group in scopes.values():
            indexes, names = zip(*group, strict=True)
            given = {**self._times(), **self._rules, "lease": float(lease), "turns": names}
            stops = self._server.run(scripts.RENEW, indexes[0], given, repeatable=True, others=indexes[1:])
            unwanted.update(turn.decode() for turn in stops)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        return bool(self._run(scripts.STOP, scope, thread_id, repeatable=True, turn=clean(turn), **self._rules))

    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(scope, thread_id, messages, key, reply_to, only_into, ends=clean(turn))

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        packed = self._run(scripts.LIVE, scope, thread_id, repeatable=True)
        return live_turns_of(unpack_live(packed, self._name(scope, thread_id))) if packed else []

    def _append(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        key: str | None,
        reply_to: str | None = None,
        only_into: str | None = None,
        **turn: t.Any,
    ) -> Appended | None:
        check_append(thread_id, key)
        messages = list(messages)
        packed, bodies = pack(messages)
        given = {
            "messages": packed,
            "tokens": total_tokens(messages),
            "key": key,
            "reply_to": None if reply_to is None else clean(reply_to),
            "only_into": only_into,
            "usage": [] if reply_to is None else usage_fields(messages, self.clock()),
            **turn,
        }
        while True:
            stored = self._write(scripts.APPEND, scope, thread_id, bodies, repeatable=key is not None, **given)
            if stored is None:
                return None
            name, first, repeated, *state = stored
            appended = Appended(name.decode(), first, bool(repeated))
            if not state:
                return appended
            seen, last, question, packed_lines = state
            lines = unpack_lines(packed_lines, self._name(scope, appended.thread_id))
            if reply_to is not None:
                lines = lines.placed(last + 1, last + len(messages), question)
            elif lines.sees(question):
                lines = lines.replaced(question, last)
            else:
                return appended
            given |= {"seen": seen.decode(), "lines": lines.to_json()}
