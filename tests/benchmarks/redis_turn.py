"""What storing and loading costs on Redis: redis-py alone, and the plugin, in one run.

Run it as ``python -m tests.benchmarks.redis_turn --url redis://127.0.0.1:6379/0``. Keys are made under a random prefix
and removed in the end. The systems are visited in a new random order in every round; a ratio is the median over the
rounds of the ratio of that round's medians. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import os
import pathlib
import secrets
import sys
import typing as t

import msgspec
import redis

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.live import LEASE
from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.base import LiveTurn
from flask_chat_memory.plugins.base import Scope
from flask_chat_memory.plugins.redis import RedisPlugin
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import bodies
from tests.benchmarks.store import Body
from tests.benchmarks.store import messages
from tests.benchmarks.store import OTHER_LENGTH
from tests.benchmarks.store import OTHER_THREADS
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.turn import ALL
from tests.benchmarks.turn import APPEND
from tests.benchmarks.turn import BOTH
from tests.benchmarks.turn import growth
from tests.benchmarks.turn import measure
from tests.benchmarks.turn import NEWEST
from tests.benchmarks.turn import OPERATIONS
from tests.benchmarks.turn import Results
from tests.benchmarks.turn import TURN
from tests.benchmarks.turn import WINDOW
from tests.redis_servers import remove_keys


class RawRedis:
    """RPUSH and LRANGE on one list a thread."""

    name = "raw redis-py"

    def __init__(self, url: str, prefix: str, length: int) -> None:
        self._client = redis.Redis.from_url(url)
        self._key = f"{prefix}raw:{length}"
        for number in range(OTHER_THREADS):
            self._push(f"{self._key}:{number}", bodies(OTHER_LENGTH))
        self._push(self._key, bodies(length))

    def _push(self, key: str, added: cabc.Sequence[Body]) -> None:
        self._client.rpush(key, *[msgspec.json.encode(body) for body in added])

    def message(self, body: Body) -> Body:
        return body

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        self._push(self._key, messages)

    def load(self, limit: int | None) -> list[Body]:
        found = t.cast("list[bytes]", self._client.lrange(self._key, -limit if limit else 0, -1))
        return [msgspec.json.decode(body) for body in found]

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def cut(self, length: int) -> None:
        self._client.ltrim(self._key, 0, length - 1)

    def close(self) -> None:
        self._client.close()


class OurRedis:
    name = "plugin redis"

    def __init__(self, url: str, prefix: str, length: int) -> None:
        self._plugin = RedisPlugin({"url": url, "key_prefix": f"{prefix}{length}:"})
        for number in range(OTHER_THREADS):
            self._plugin.save_messages(Scope(f"user:{number + 2}"), "other", messages(OTHER_LENGTH))
        self._plugin.save_messages(SCOPE, THREAD_ID, messages(length))

    def message(self, body: Body) -> ChatMessage:
        return ChatMessage.from_dict(body)

    def append(self, messages: cabc.Sequence[ChatMessage], key: str) -> object:
        return self._plugin.append_messages(SCOPE, THREAD_ID, messages, key=key)

    def load(self, limit: int | None) -> list[ChatMessage]:
        return self._plugin.load_messages(SCOPE, THREAD_ID, limit=limit)

    def turn(self, question: ChatMessage, answer: ChatMessage, limit: int) -> None:
        turn, asked, answered = str(question.turn), str(question.id), str(answer.id)
        self._plugin.load_current(SCOPE, limit=limit)
        live = LiveTurn(turn, asked, answered, self._plugin.clock() + LEASE)
        self._plugin.start_turn(SCOPE, THREAD_ID, question, key=f"question:{asked}", live=live)
        self._plugin.end_turn(SCOPE, THREAD_ID, turn, [answer], key=f"answer:{turn}", reply_to=asked)

    def cut(self, length: int) -> None:
        self._plugin.save_messages(SCOPE, THREAD_ID, self._plugin.load_messages(SCOPE, THREAD_ID)[:length])

    def close(self) -> None:
        self._plugin.close()


RAW, PLUGIN = RawRedis.name, OurRedis.name
LIMITS = {APPEND: 2, NEWEST: 1.5, BOTH: 2, TURN: 2, ALL: 1.5}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a turn costs on Redis.")
    parser.add_argument("--url", default=os.environ.get("CHAT_MEMORY_REDIS_URL", "redis://127.0.0.1:6379/0"))
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1000, 10000], help="messages, even")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    lengths = sorted(arguments.lengths)
    prefix = f"chat-memory-benchmark-{secrets.token_hex(8)}:"
    with redis.Redis.from_url(arguments.url) as client:
        try:
            systems = {
                length: [kind(arguments.url, prefix, length) for kind in (RawRedis, OurRedis)] for length in lengths
            }
            results = measure(t.cast(t.Any, systems), rounds)
            for system in (system for group in systems.values() for system in group):
                system.close()
        finally:
            remove_keys(client, prefix)
        version = t.cast("dict[str, t.Any]", client.info("server"))["redis_version"]
    print(f"{environment()} Redis {version}, redis-py {redis.__version__}. {rounds} rounds.")
    show(results, lengths, RAW, PLUGIN, LIMITS)


Limits = cabc.Mapping[str, float]


def show(results: Results, lengths: cabc.Sequence[int], raw: str, plugin: str, limits: Limits) -> None:
    print(f"Median in ms (ratio to {raw}); growth: {lengths[-1]:,} messages against {lengths[0]:,}.\n")
    for operation in OPERATIONS:
        rows = []
        for name in (raw, plugin):
            cells = [
                f"{milliseconds(median(samples))} ({ratio(samples, results[operation, raw, length]):.2f}x)"
                for length in lengths
                for samples in [results[operation, name, length]]
            ]
            rows.append([name, *cells, f"{growth(results, operation, name, lengths[-1], lengths[0]):.2f}x"])
        print(f"### {operation.capitalize()}\n")
        print(table(["system", *(f"{length:,}" for length in lengths), "growth"], rows))
    print(f"### Targets\n\n{table(TARGET_HEADER, targets(results, lengths, raw, plugin, limits))}")


def targets(
    results: Results, lengths: cabc.Sequence[int], raw: str, plugin: str, limits: Limits
) -> t.Iterator[list[str]]:
    for operation, limit in limits.items():
        for length in lengths:
            against = ratio(results[operation, plugin, length], results[operation, raw, length])
            yield target(f"{operation}: against {raw}, {length:,} messages", against, limit)
    full = next((length for length in lengths if length >= WINDOW), lengths[-1])
    for operation in (APPEND, NEWEST):
        what = f"{operation}: {lengths[-1]:,} messages against {full:,}"
        yield target(what, growth(results, operation, plugin, lengths[-1], full), 1.25)


if __name__ == "__main__":
    main()
