"""The line of the README that starts the example app."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request

CHECKOUT = pathlib.Path(__file__).parents[1]


def test_the_example_app_starts_with_the_line_of_the_readme(tmp_path: pathlib.Path) -> None:
    readme = (CHECKOUT / "README.md").read_text()
    line = re.search(r"&& \.venv/bin/(flask --app example_app run)$", readme, re.MULTILINE)
    assert line is not None
    # A copy, so that what the app keeps is not in the checkout.
    shutil.copytree(CHECKOUT / "example_app", tmp_path / "example_app")
    command = [sys.executable, "-m", *shlex.split(line[1]), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+", text) for text in server.stderr)
            url = next(match[0] for match in found if match)
            with urllib.request.urlopen(url, timeout=30) as response:
                assert "<chat-memory" in response.read().decode()
        finally:
            server.terminate()
