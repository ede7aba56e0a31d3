"""The plugin ``file`` does in long random histories what ``in_memory`` does, whatever falls on the edge of a block."""

from __future__ import annotations

import os
import pathlib
import random
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Renewal
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_ import batches
from flask_chat_memory.plugins.file_ import blocks
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.testing import ManualClock

SCOPES = [Scope("user:1"), Scope("anon:2")]
THREADS = ["thread-1", "thread-2", "thread-3"]
STEPS = 150

Plugin = FilePlugin | InMemoryPlugin


class History:
    """Makes random calls, each on both plugins."""

    def __init__(self, seed: int, plugins: list[Plugin], clock: ManualClock) -> None:
        self._random = random.Random(seed)
        self._plugins = plugins
        self._clock = clock
        self._turns: list[tuple[Scope, str, str]] = []
        self._count = 0

    def step(self) -> None:
        calls = [self.ask] * 6 + [self.answer] * 5 + [self.exchange] * 3 + [self.load] * 4
        calls += [
            self.remark,
            self.repeat,
            self.save,
            self.clear,
            self.delete,
            self.renew,
            self.stop,
            self.move,
            self.wait,
        ]
        calls += [self.describe, self.search] + [self.edit] * 4 + [self.show, self.mark] * 2
        # Which of two that were idle equally long goes first is not promised.
        self._clock.advance(0.25)
        self._random.choice(calls)()
        for scope in SCOPES:
            self.both("current_thread", scope)
            self.both("list_threads", scope)
            for thread_id in THREADS:
                self.both("has_thread", scope, thread_id)
                self.both("load_messages", scope, thread_id)
                self.both("load_messages", scope, thread_id, hidden=True)
                self.both("live_turns", scope, thread_id)
                self.both("find_lines", scope, thread_id)
                self.both("load_marks", scope, thread_id)

    def both(self, method: str, *arguments: t.Any, **more: t.Any) -> t.Any:
        results = [getattr(plugin, method)(*arguments, **more) for plugin in self._plugins]
        assert results[0] == results[1], (method, arguments, more)
        if method == "load_messages":
            sequences = [[message.sequence for message in result] for result in results]
            assert sequences[0] == sequences[1], (method, arguments, more)
        return results[0]

    def describe(self) -> None:
        scope, thread_id = self.place()
        changes = {"title": self.name(), "pinned": self._random.random() < 0.5}
        self.both("update_thread", scope, thread_id, **changes)

    def ask(self) -> None:
        turn, (scope, thread_id) = self.name(), self.place()
        live = LiveTurn(turn, f"q-{turn}", f"a-{turn}", self._clock() + self._random.choice([5, 30]))
        question = self.message("user", turn)
        title = self._random.choice([None, turn])
        appended = self.both("start_turn", scope, thread_id, question, key=f"question:{turn}", live=live, title=title)
        self._turns.append((scope, appended.thread_id, turn))

    def edit(self) -> None:
        turn, (scope, thread_id) = self.name(), self.place()
        live = LiveTurn(turn, f"q-{turn}", f"a-{turn}", self._clock() + self._random.choice([5, 30]))
        stored = self.both("load_messages", scope, thread_id, hidden=True)
        replaced = self._random.choice(stored[-8:]).sequence if stored else 1
        more = {"key": f"question:{turn}", "live": live, "replaces": replaced}
        appended = self.both("start_turn", scope, thread_id, self.message("user", turn), **more)
        if appended.sequence:
            self._turns.append((scope, thread_id, turn))

    def show(self) -> None:
        scope, thread_id = self.place()
        shown = self._random.randint(0, 60)
        hides = self._random.random() < 0.3
        self.both(
            "change_lines",
            scope,
            thread_id,
            lambda lines, last: lines.without([shown], last) if hides else lines.shown(shown, last),
        )

    def mark(self) -> None:
        scope, thread_id = self.place()
        stored = self.both("load_messages", scope, thread_id, hidden=True)
        marked = self._random.choice([message.id for message in stored] or ["q-1"])
        mark = self._random.choice([None, Mark(1), Mark(-1, self.text())])
        self.both("mark_message", scope, thread_id, marked or "", mark)

    def search(self) -> None:
        limit = self._random.choice([None, 0, 1, 3])
        self.both("search_messages", self.place()[0], self._random.choice(["x", '"q-1"', "€€"]), limit=limit)

    def answer(self) -> None:
        if self._turns:
            scope, thread_id, turn = self._random.choice(self._turns[-6:])
            call = ChatMessage("tool", self.text(), tool_call_id="c", turn=turn)
            messages = [call] * self._random.choice([0, 0, 2]) + [self.message("assistant", turn)]
            self.both("end_turn", scope, thread_id, turn, messages, key=f"answer:{turn}", reply_to=f"q-{turn}")

    def exchange(self) -> None:
        turn = self.name()
        messages = [self.message("user", turn), self.message("assistant", turn)]
        self.both("append_messages", *self.place(), messages, key=self._random.choice([None, f"exchange:{turn}"]))

    def remark(self) -> None:
        role = self._random.choice(["assistant", "user", "system"])
        turn = self._random.choice([None, *(turn for _, _, turn in self._turns[-5:])]) if role == "assistant" else None
        self.both("append_messages", *self.place(), [ChatMessage(role, self.text(), turn=turn)])

    def repeat(self) -> None:
        if self._turns:
            scope, thread_id, turn = self._random.choice(self._turns[-12:])
            self.both("append_messages", scope, thread_id, [self.message("user", turn)], key=f"question:{turn}")

    def load(self) -> None:
        for _ in range(5):
            limit = self._random.choice([None, 0, 1, 2, 5, 100])
            name = self._random.choice(["before", "after"])
            hidden = self._random.random() < 0.3
            self.both(
                "load_messages", *self.place(), limit=limit, hidden=hidden, **{name: self._random.randint(-1, 60)}
            )
        self.both("load_current", self.place()[0], limit=self._random.choice([None, 0, 3]))

    def save(self) -> None:
        scope, thread_id = self.place()
        kept = [message for message in self.both("load_messages", scope, thread_id) if self._random.random() < 0.7]
        self.both("save_messages", scope, thread_id, [*kept, self.message("user", self.name())])

    def clear(self) -> None:
        self.both("clear_messages", *self.place())

    def delete(self) -> None:
        self.both("delete_thread", *self.place())

    def renew(self) -> None:
        told = self._random.choice([None, self.name()])
        self.both("renew_turns", [Renewal(*turn, told) for turn in self._turns[-3:]], self._clock() + 50)

    def stop(self) -> None:
        if self._turns:
            self.both("stop_turn", *self._random.choice(self._turns[-6:]))

    def move(self) -> None:
        source, target = self._random.sample(SCOPES, 2)
        # In which order several threads become part of one is not promised.
        if sum(self.both("has_thread", source, thread_id) for thread_id in THREADS) < 2:
            self.both("move_threads", source, target)

    def wait(self) -> None:
        self._clock.advance(self._random.choice([1, 10, 40, 200]))

    def place(self) -> tuple[Scope, str]:
        return SCOPES[self._random.random() < 0.2], self._random.choice([THREADS[0], *THREADS])

    def name(self) -> str:
        self._count += 1
        return str(self._count)

    def message(self, role: str, turn: str) -> ChatMessage:
        return ChatMessage(role, self.text(), id=f"{'q' if role == 'user' else 'a'}-{turn}", turn=turn)

    def text(self) -> str:
        return self._random.choice(["", "x", '"id":"q-1"\n{"key":"question:1",', "€" * self._random.randint(0, 300)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_messages": 6, "threads": "many"},
        {"max_messages": 3, "expiry": 150},
        {"max_threads": 2, "threads": "many", "max_messages": 20},
    ],
    ids=str,
)
def test_files_do_what_memory_does(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, t.Any], seed: int
) -> None:
    # Nobody pulls the plug, and there are thousands of writes.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(blocks, "BLOCK", random.Random(seed).randint(40, 400))
    monkeypatch.setattr(batches, "KEYS_KEPT", 10)
    monkeypatch.setattr(batches, "NOTES_KEPT", 500)
    clock = ManualClock()
    memory = InMemoryPlugin(options, clock=clock)
    files = FilePlugin({"folder": str(tmp_path), **options}, clock=clock)
    history = History(seed, [memory, files], clock)
    for _ in range(STEPS):
        history.step()
