"""What importing the extension adds to importing what it builds on, in fresh processes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile

from tests.benchmarks.report import Rounds

_WITHOUT = "flask, sqlalchemy, flask_session, flask_login"
_WITH = f"{_WITHOUT}, flask_chat_memory"


def import_times(rounds: int) -> tuple[Rounds, Rounds]:
    """Return the seconds of processor time that importing takes with the extension, and without it."""
    results: dict[str, Rounds] = {_WITH: [], _WITHOUT: []}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        import_(_WITH, environment)
        for _ in range(rounds):
            for modules in random.sample(sorted(results), len(results)):
                results[modules].append([import_(modules, environment)])
    return results[_WITH], results[_WITHOUT]


def import_(modules: str, environment: dict[str, str]) -> float:
    command = f"import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
    ran = subprocess.run([sys.executable, "-c", command], env=environment, check=True, capture_output=True, text=True)
    return float(ran.stdout)
