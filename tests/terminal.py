"""Programs on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal

from tests.apps import PATIENCE


def on_terminal(
    command: list[str], answer: bytes = b"", prompt: str = "", environment: dict[str, str] | None = None
) -> tuple[str, int]:
    """Run a command on a terminal of its own, and type an answer when it shows a prompt.

    :return: what the terminal shows, and the exit code.
    """
    process, terminal = pty.fork()
    if process == 0:
        # What was begun in the background may have been told to ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(command[0], command, environment or dict(os.environ))
    shown = b""
    try:
        while part := _read(terminal):
            shown += part
            if answer and prompt.encode() in shown:
                os.write(terminal, answer)
                answer = b""
    finally:
        os.close(terminal)
    return shown.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(terminal: int) -> bytes:
    assert select.select([terminal], [], [], PATIENCE)[0], "the program neither writes nor ends"
    try:
        return os.read(terminal, 4096)
    except OSError:
        # What Linux says when the program has ended.
        return b""
