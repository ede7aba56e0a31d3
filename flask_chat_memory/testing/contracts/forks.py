"""A plugin that was made before the process forked."""

from __future__ import annotations

import collections.abc as cabc
import os
import signal
import threading
import traceback
import typing as t
import warnings

import pytest

from .parts import ask
from .parts import exchange
from .parts import HeldBatch
from .parts import MakePlugin
from .parts import OWNER
from .parts import PATIENCE
from .parts import texts
from .parts import THREAD

A_MOMENT = 0.2
Say = cabc.Callable[[], None]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


class Child:
    """A forked process that does some work.

    :param work: is given a function that tells the parent of a step.
    :param longest: seconds after which the process ends by itself.
    :ivar steps: how many of its steps the parent has seen.
    """

    def __init__(self, work: cabc.Callable[[Say], object], longest: float = PATIENCE) -> None:
        self.steps = 0
        self._reader, writer = os.pipe()
        with warnings.catch_warnings():
            # A process with other threads may deadlock in the child: that it does not is what is tested.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                # A child that is stuck ends by itself.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(int(longest))
                work(lambda: t.cast(None, os.write(writer, b".")))
                status = 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        os.close(writer)

    def wait_for_steps(self, count: int) -> None:
        for _ in range(count):
            assert os.read(self._reader, 1), "the child ended early"
            self.steps += 1

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit status."""
        while os.read(self._reader, 1):
            self.steps += 1
        os.close(self._reader)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


@needs_fork
class ForkContract:
    """The plugin that the child inherited works there, and goes on working in the parent."""

    def test_the_child_uses_the_plugin_of_its_parent(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))

        def work(_say: Say) -> None:
            assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]
            plugin.append_messages(OWNER, THREAD, [ask("child")])
            assert texts(plugin.load_messages(OWNER, THREAD, limit=1)) == ["question child"]

        assert [child.wait() for child in [Child(work)]] == [0]
        stored = texts(plugin.load_messages(OWNER, THREAD))
        assert stored[:2] == ["question 1", "answer 1"]
        assert not plugin.shared_by_processes or stored[2:] == ["question child"]
        plugin.append_messages(OWNER, THREAD, [ask("parent")])
        assert texts(plugin.load_messages(OWNER, THREAD, limit=1)) == ["question parent"]

    def test_a_fork_in_the_middle_of_an_append_leaves_the_child_free(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, "thread-0", [ask("0")])
        held = HeldBatch(ask("parent"))
        append = threading.Thread(target=plugin.append_messages, args=(OWNER, "thread-0", held), daemon=True)
        append.start()
        assert held.reached.wait(PATIENCE)

        def work(_say: Say) -> None:
            assert texts(plugin.load_messages(OWNER, "thread-0")) in (["question 0"], ["question 0", "question parent"])
            plugin.append_messages(OWNER, "thread-0", [ask("child")])

        # A plugin may also keep the fork waiting until its writes are over.
        threading.Timer(A_MOMENT, held.release.set).start()
        child = Child(work)
        assert child.wait() == 0
        append.join(PATIENCE)
        assert not append.is_alive()
        assert "question parent" in texts(plugin.load_messages(OWNER, "thread-0"))
