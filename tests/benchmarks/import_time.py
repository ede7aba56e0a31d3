"""What importing the extension adds to importing what it builds on, in fresh processes."""

from __future__ import annotations

import random
import subprocess
import sys

from tests.benchmarks.report import Rounds

_BEFORE = "flask, sqlalchemy, flask_session, flask_login"
_TIMED = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_times(rounds: int) -> tuple[Rounds, Rounds]:
    """Return the seconds that importing takes with the extension, and without it."""
    modules = {True: f"{_BEFORE}, flask_chat_memory", False: _BEFORE}
    results: dict[bool, Rounds] = {True: [], False: []}
    for _ in range(rounds):
        for extended in random.sample(sorted(modules), len(modules)):
            command = [sys.executable, "-c", _TIMED.format(modules[extended])]
            seconds = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            results[extended].append([seconds])
    return results[True], results[False]
