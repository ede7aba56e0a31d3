"""Many processes that chat at once, and processes that are killed while they do."""

from __future__ import annotations

import functools
import os
import random

import pytest

from ...plugins.base import ChatMemoryPlugin
from ...plugins.records import Appended
from .forks import Child
from .forks import needs_fork
from .forks import Say
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import texts
from .parts import THREAD

TIMES_LONGER = int(os.environ.get("CHAT_MEMORY_LOAD", "1"))
"""From the environment: how many times longer than usual these tests run."""
PROCESSES = 8
EXCHANGES = 200 * TIMES_LONGER
KILLS = 20 * TIMES_LONGER
LONGEST = 300 * TIMES_LONGER
"""Seconds after which a process counts as stuck."""


def chat(plugin: ChatMemoryPlugin, thread_id: str, writer: int, n: int, is_alone: bool) -> None:
    """Store an exchange: every other one in a batch, the rest as question and answer.

    :param is_alone: nobody else writes to the thread; then some are sent twice. Between the two, others might store
        more keys than a thread must remember.
    """
    name = f"{writer}/{n}"
    for _ in range(2 if is_alone and n % 10 == 0 else 1):
        if n % 2:
            appended = plugin.append_messages(OWNER, thread_id, exchange(name), key=f"question:{name}")
        else:
            plugin.append_messages(OWNER, thread_id, [ask(name)], key=f"question:{name}")
            answered = [answer(name)]
            appended = plugin.append_messages(OWNER, thread_id, answered, key=f"answer:{name}", reply_to=f"q-{name}")
        assert isinstance(appended, Appended)


def assert_whole(stored: list[str], writers: range, exchanges: int) -> None:
    """Check that all that the writers said is there: once, in the order of each, every batch in one piece."""
    assert len(stored) == 2 * len(writers) * exchanges
    for writer in writers:
        own = [text for text in stored if text.split()[1].startswith(f"{writer}/")]
        assert own == [f"{what} {writer}/{n}" for n in range(exchanges) for what in ("question", "answer")]
    for place, text in enumerate(stored):
        if text.startswith("question") and int(text.rpartition("/")[2]) % 2:
            assert stored[place + 1] == text.replace("question", "answer")


@needs_fork
class LoadContract:
    """Laws 5 to 8 under load; for plugins that are ``shared_by_processes``. Takes seconds."""

    @pytest.mark.parametrize("threads", [1, PROCESSES])
    def test_processes_that_chat_at_once_lose_nothing(self, make_plugin: MakePlugin, threads: int) -> None:
        def work(writer: int, _say: Say) -> None:
            plugin = make_plugin(threads="many")
            for n in range(EXCHANGES):
                chat(plugin, f"thread-{writer % threads}", writer, n, threads == PROCESSES)

        children = [Child(functools.partial(work, writer), LONGEST) for writer in range(PROCESSES)]
        assert [child.wait() for child in children] == [0] * PROCESSES
        plugin = make_plugin(threads="many")
        for thread in range(threads):
            messages = plugin.load_messages(OWNER, f"thread-{thread}")
            writers = range(thread, PROCESSES, threads)
            assert_whole(texts(messages), writers, EXCHANGES)
            assert sequences(messages) == list(range(1, len(messages) + 1))

    def test_no_acknowledged_exchange_is_lost_to_a_kill(self, make_plugin: MakePlugin) -> None:
        stored = 0

        def work(say: Say) -> None:
            plugin = make_plugin()
            for n in range(stored, stored + 100_000):
                plugin.append_messages(OWNER, THREAD, exchange(str(n)), key=f"question:{n}")
                say()

        for _ in range(KILLS):
            child = Child(work)
            child.wait_for_steps(random.randint(1, 10))
            child.kill()
            messages = make_plugin().load_messages(OWNER, THREAD)
            # The one that was being written when the process died may be there or not.
            assert len(messages) // 2 - (stored + child.steps) in (0, 1)
            stored = len(messages) // 2
            assert texts(messages) == [text for n in range(stored) for text in texts(exchange(str(n)))]
            assert sequences(messages) == list(range(1, 2 * stored + 1))
