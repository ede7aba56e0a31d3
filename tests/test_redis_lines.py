"""What is particular to lines and marks on Redis: what comes between reading and writing, and what is corrupt."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import typing as t

import msgspec
import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord
from flask_chat_memory import LiveTurn
from flask_chat_memory import Scope
from flask_chat_memory.plugins.lines import Lines
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis_ import scripts
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from flask_chat_memory.testing.contracts.parts import together

from .redis_clients import RedisURL
from .redis_servers import Client

OWNER = Scope("user:1")
OTHER = Scope("user:2")
THREAD = "thread-1"


def question(name: str) -> ChatMessage:
    return ChatMessage("user", f"q-{name}", id=f"q-{name}", turn=name)


def answer(name: str) -> ChatMessage:
    return ChatMessage("assistant", f"a-{name}", id=f"a-{name}", turn=name)


def replace(plugin: RedisPlugin, sequence: int, name: str) -> Appended:
    live = LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock())
    return plugin.start_turn(OWNER, THREAD, question(name), key=f"q-{name}", live=live, replaces=sequence)


def reply(plugin: RedisPlugin, name: str) -> Appended | None:
    return plugin.end_turn(OWNER, THREAD, name, [answer(name)], key=f"a-{name}", reply_to=f"q-{name}")


def texts(plugin: RedisPlugin, scope: Scope = OWNER, thread_id: str = THREAD, **place: t.Any) -> list[str]:
    return [message.text for message in plugin.load_messages(scope, thread_id, **place)]


@contextlib.contextmanager
def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, call: cabc.Callable[[], object]) -> cabc.Iterator[None]:
    """Call something once when lines have been read, before what follows from them is written."""
    calls = [call]
    follow = getattr(Lines, name)

    def late(lines: Lines, *given: t.Any) -> Lines | None:
        if calls:
            calls.pop()()
        return t.cast("Lines | None", follow(lines, *given))

    with monkeypatch.context() as patch:
        patch.setattr(Lines, name, late)
        yield
    assert calls == []


class TestLines(RedisURL):
    @pytest.fixture
    def plugin(self, where: dict[str, t.Any]) -> cabc.Iterator[RedisPlugin]:
        plugin = RedisPlugin(where)
        plugin.append_messages(OWNER, THREAD, [question("1"), answer("1")])
        yield plugin
        plugin.close()

    def test_a_question_is_not_put_in_the_place_of_one_that_was_replaced_meanwhile(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with meanwhile(monkeypatch, "replaced", lambda: replace(plugin, 1, "2")):
            assert replace(plugin, 1, "3") == Appended(THREAD, 0)
        assert texts(plugin) == ["q-2"]
        assert len(plugin.load_messages(OWNER, THREAD, hidden=True)) == 3

    def test_an_answer_goes_to_its_line_though_another_one_is_shown_meanwhile(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace(plugin, 1, "2")
        with meanwhile(
            monkeypatch, "placed", lambda: plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.shown(1, last))
        ):
            assert reply(plugin, "2") == Appended(THREAD, 4)
        assert texts(plugin) == ["q-1", "a-1"]
        assert plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.shown(3, last))
        assert texts(plugin) == ["q-2", "a-2"]

    def test_a_change_of_lines_is_made_of_what_is_stored_when_it_is(self, plugin: RedisPlugin) -> None:
        seen = []

        def change(lines: Lines, last: int) -> Lines | None:
            seen.append(last)
            if len(seen) == 1:
                plugin.append_messages(OWNER, THREAD, [question("2")])
            return lines.without([last], last)

        assert plugin.change_lines(OWNER, THREAD, change)
        assert seen == [2, 3]
        assert texts(plugin) == ["q-1", "a-1"]

    def test_of_many_who_replace_a_question_at_once_one_does(self, plugin: RedisPlugin) -> None:
        found = together([functools.partial(replace, plugin, 1, str(name)) for name in range(2, 8)])
        assert sorted(appended.sequence for appended in found) == [0, 0, 0, 0, 0, 3]
        assert len(texts(plugin)) == 1

    def test_a_usual_thread_takes_one_round_trip_and_one_with_lines_two_to_answer(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[object] = []
        execute = plugin._server._execute

        def counted(*command: t.Any, **where: t.Any) -> t.Any:
            calls.append(command)
            return execute(*command, **where)

        monkeypatch.setattr(plugin._server, "_execute", counted)

        def count(call: cabc.Callable[[], object]) -> int:
            calls.clear()
            call()
            return len(calls)

        reads: list[cabc.Callable[[], object]] = [
            lambda: plugin.load_messages(OWNER, THREAD, limit=2),
            lambda: plugin.load_messages(OWNER, THREAD),
            lambda: plugin.load_messages(OWNER, THREAD, after=0),
            lambda: plugin.load_current(OWNER, limit=2),
        ]
        for read in reads:
            # The server knows the scripts from now on.
            read()
        assert [count(read) for read in reads] == [1] * 4
        assert count(lambda: plugin.append_messages(OWNER, THREAD, [answer("1")], reply_to="q-1", key="a")) == 1
        assert count(lambda: replace(plugin, 1, "2")) == 2
        assert count(lambda: reply(plugin, "2")) == 2
        assert count(lambda: plugin.append_messages(OWNER, THREAD, [question("3")])) == 1
        assert [count(read) for read in reads] == [1] * 4
        # One more, over what is hidden.
        assert count(lambda: plugin.load_current(OWNER, limit=20)) == 1
        plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.without([last], last))
        assert count(lambda: plugin.load_current(OWNER, limit=2)) == 2

    def test_lines_that_cannot_be_read_are_reported_and_kept(
        self, plugin: RedisPlugin, cleaner: Client, key_prefix: str
    ) -> None:
        name = f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}"
        replace(plugin, 1, "2")
        head = msgspec.msgpack.decode(t.cast(t.Any, cleaner.lindex(f"{name}:messages", -1)))
        cleaner.lset(f"{name}:messages", -1, t.cast(t.Any, msgspec.msgpack.encode([*head[:-1], "{half"])))
        before = cleaner.dump(f"{name}:messages")
        calls: list[cabc.Callable[[], object]] = [
            lambda: plugin.load_messages(OWNER, THREAD, limit=1),
            lambda: plugin.load_messages(OWNER, THREAD, after=0),
            lambda: plugin.load_current(OWNER),
            lambda: plugin.find_lines(OWNER, THREAD),
            lambda: plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.without([3], last)),
            lambda: replace(plugin, 3, "3"),
            lambda: reply(plugin, "2"),
            lambda: plugin.move_threads(OWNER, OTHER),
        ]
        for call in calls:
            with pytest.raises(CorruptRecord, match=r"lines of a thread") as caught:
                call()
            assert name in str(caught.value)
        assert cleaner.dump(f"{name}:messages") == before
        assert len(plugin.load_messages(OWNER, THREAD, hidden=True)) == 3

    def test_a_mark_that_cannot_be_read_is_reported(
        self, plugin: RedisPlugin, cleaner: Client, key_prefix: str
    ) -> None:
        name = f"{index_name(key_prefix, OWNER)}:{thread_digest(THREAD)}"
        cleaner.hset(f"{name}:marks", "q-1", '{"rating": 7}')
        with pytest.raises(CorruptRecord, match=r"mark of a thread") as caught:
            plugin.load_marks(OWNER, THREAD)
        assert name in str(caught.value)

    def test_a_move_that_is_repeated_takes_the_lines_and_marks_that_came_later(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace(plugin, 1, "2")
        plugin.mark_message(OWNER, THREAD, "a-1", Mark(1))
        with monkeypatch.context() as patch, pytest.raises(AttributeError):
            patch.setattr(scripts, "DELETE", None)
            plugin.move_threads(OWNER, OTHER)
        assert texts(plugin, OTHER) == ["q-2"]
        reply(plugin, "2")
        replace(plugin, 3, "3")
        plugin.mark_message(OWNER, THREAD, "q-2", Mark(-1))
        lines = plugin.find_lines(OWNER, THREAD)
        assert plugin.move_threads(OWNER, OTHER) == 0
        assert plugin.find_lines(OTHER, THREAD) == lines
        assert texts(plugin, OTHER) == ["q-3"]
        assert [message.sequence for message in plugin.load_messages(OTHER, THREAD, hidden=True)] == [1, 2, 3, 4, 5]
        assert plugin.load_marks(OTHER, THREAD) == {"a-1": Mark(1), "q-2": Mark(-1)}
        assert plugin.current_thread(OTHER) == THREAD

    def test_what_was_written_to_a_copy_survives_the_repeated_move(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch, pytest.raises(AttributeError):
            patch.setattr(scripts, "DELETE", None)
            plugin.move_threads(OWNER, OTHER)
        plugin.append_messages(OTHER, THREAD, [question("2")])
        plugin.mark_message(OTHER, THREAD, "a-1", Mark(1))
        plugin.append_messages(OWNER, THREAD, [question("3")])
        plugin.mark_message(OWNER, THREAD, "a-1", Mark(-1))
        plugin.mark_message(OWNER, THREAD, "q-1", Mark(-1))
        assert plugin.move_threads(OWNER, OTHER) == 0
        assert texts(plugin, OTHER) == ["q-1", "a-1", "q-2", "q-3"]
        assert plugin.load_marks(OTHER, THREAD) == {"a-1": Mark(1), "q-1": Mark(-1)}

    def test_a_conversation_takes_in_what_is_visible_with_its_marks(
        self, plugin: RedisPlugin, cleaner: Client, key_prefix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plugin.append_messages(OTHER, "thread-2", [question("0")])
        replace(plugin, 1, "2")
        for name in ("a-1", "q-2"):
            plugin.mark_message(OWNER, THREAD, name, Mark(1))
        with monkeypatch.context() as patch, pytest.raises(AttributeError):
            patch.setattr(scripts, "DELETE", None)
            plugin.move_threads(OWNER, OTHER)
        reply(plugin, "2")
        plugin.mark_message(OWNER, THREAD, "a-2", Mark(1))
        assert plugin.move_threads(OWNER, OTHER) == 0
        assert texts(plugin, OTHER, "thread-2") == ["q-0", "q-2", "a-2"]
        assert plugin.load_marks(OTHER, "thread-2") == {"q-2": Mark(1), "a-2": Mark(1)}
        assert plugin.find_lines(OTHER, "thread-2") == Lines()
        name = f"{index_name(key_prefix, OTHER)}:{thread_digest('thread-2')}"
        deadlines = {t.cast(t.Any, cleaner).pexpiretime(f"{name}:{part}") for part in ("messages", "marks")}
        assert len(deadlines) == 1

    def test_a_copy_of_what_has_not_changed_since_is_left(
        self, plugin: RedisPlugin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch, pytest.raises(AttributeError):
            patch.setattr(scripts, "DELETE", None)
            plugin.move_threads(OWNER, OTHER)
        plugin.update_thread(OTHER, THREAD, title="of the new owner")
        assert plugin.move_threads(OWNER, OTHER) == 0
        [thread] = plugin.list_threads(OTHER)
        assert (thread.title, thread.messages) == ("of the new owner", 2)
