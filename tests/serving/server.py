"""A gunicorn that runs an app, and visitors with a cookie jar of their own."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import dataclasses
import http.client
import http.cookies
import json
import os
import pathlib
import socket
import subprocess
import sys
import typing as t


@contextlib.contextmanager
def gunicorn(folder: pathlib.Path, application: str, *arguments: str, **environment: str) -> cabc.Iterator[int]:
    """Run gunicorn on a free port of the loopback interface, and give the port once it accepts connections."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    os.set_inheritable(listener.fileno(), True)
    command = [sys.executable, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}", *arguments, application]
    with (folder / "gunicorn.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            pass_fds=[listener.fileno()],
            env={**os.environ, "CHAT_FOLDER": str(folder), **environment},
            stdout=log,
            stderr=log,
        )
    # The socket listens already: connections wait until a worker takes them.
    listener.close()
    try:
        yield port
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclasses.dataclass
class Visitor:
    """A browser as far as cookies go."""

    port: int
    cookies: dict[str, str] = dataclasses.field(default_factory=dict)

    def request(self, method: str, path: str, body: object = None, accept: str = "*/*") -> http.client.HTTPResponse:
        """Send a request and return the response with its body unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Accept": accept, "Content-Type": "application/json", "Connection": "close"}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        for header in response.headers.get_all("Set-Cookie", []):
            for name, morsel in http.cookies.SimpleCookie(header).items():
                self.cookies[name] = morsel.value
        return response

    def json(self, method: str, path: str, body: object = None) -> t.Any:
        with self.request(method, path, body, "application/json") as response:
            return json.loads(response.read())

    def ask(self, text: str, streamed: bool) -> str:
        """Ask a question and return the answer."""
        body = {"messages": [{"role": "user", "text": text}]}
        if not streamed:
            return t.cast(str, self.json("POST", "/chat-memory/default/messages", body)["text"])
        with self.request("POST", "/chat-memory/default/messages", body) as response:
            return "".join(event.get("text", "") for event in events(response))

    def history(self) -> list[dict[str, t.Any]]:
        return t.cast("list[dict[str, t.Any]]", self.json("GET", "/chat-memory/default/history")["messages"])


def events(response: cabc.Iterable[bytes]) -> cabc.Iterator[dict[str, str]]:
    """Read server-sent events from a response."""
    for line in response:
        if line.startswith(b"data: {"):
            yield json.loads(line[len(b"data: ") :])
