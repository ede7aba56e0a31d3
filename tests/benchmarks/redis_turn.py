"""What storing and loading costs on Redis: redis-py alone, and the plugin, in one run.

Run it as ``python -m tests.benchmarks.redis_turn --url redis://127.0.0.1:6379/0``. Keys are made under a random prefix
and removed in the end. The systems are visited in a new random order in every round; a ratio is the median over the
rounds of the ratio of that round's medians. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import functools
import os
import pathlib
import random
import secrets
import sys
import time
import typing as t

import msgspec
import redis

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.live import LEASE
from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope
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
from tests.benchmarks.turn import SAMPLES
from tests.benchmarks.turn import stopwatch
from tests.benchmarks.turn import TURN
from tests.benchmarks.turn import WINDOW
from tests.redis_servers import remove_keys


class RawRedis:
    """RPUSH and LRANGE on one list a thread."""

    name = "raw redis-py"

    def __init__(self, url: str, prefix: str, length: int) -> None:
        self._client = redis.Redis.from_url(url)
        self._key = f"{prefix}{self.name}:{length}"
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

    def add_doomed(self, name: str, length: int) -> None:
        self._push(f"{self._key}:{name}", bodies(length))

    def delete_doomed(self, name: str) -> None:
        self._client.unlink(f"{self._key}:{name}")

    def close(self) -> None:
        self._client.close()


class ShapedRedis(RawRedis):
    """The same with what a store of conversations cannot do without: the thread's head, an index, expiry."""

    name = "raw, same shape"

    def _push(self, key: str, added: cabc.Sequence[Body]) -> None:
        now, expiry = time.time(), 30 * 24 * 3600
        pipeline = self._client.pipeline(transaction=True)
        pipeline.rpush(key, *[msgspec.json.encode(body) for body in added])
        pipeline.hset(f"{key}:head", mapping={"active": now, "question": str(added[0]["id"])})
        pipeline.zadd(f"{self._key}:index", {key: now})
        for name in (key, f"{key}:head", f"{self._key}:index"):
            pipeline.expire(name, expiry)
        pipeline.execute()

    def delete_doomed(self, name: str) -> None:
        key = f"{self._key}:{name}"
        pipeline = self._client.pipeline(transaction=True)
        pipeline.unlink(key, f"{key}:head")
        pipeline.zrem(f"{self._key}:index", key)
        pipeline.execute()


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

    def add_doomed(self, name: str, length: int) -> None:
        self._plugin.save_messages(Scope(name), THREAD_ID, messages(length))

    def delete_doomed(self, name: str) -> None:
        self._plugin.delete_thread(Scope(name), THREAD_ID)

    def close(self) -> None:
        self._plugin.close()


RAW, SHAPED, PLUGIN = RawRedis.name, ShapedRedis.name, OurRedis.name
DELETE = "delete the thread"
LIMITS = {APPEND: 2, NEWEST: 1.5, BOTH: 2, TURN: 2, ALL: 1.5, DELETE: 1.5}


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
                length: [kind(arguments.url, prefix, length) for kind in (RawRedis, ShapedRedis, OurRedis)]
                for length in lengths
            }
            results = measure(t.cast(t.Any, systems), rounds) | measure_deletions(systems, rounds)
            for system in (system for group in systems.values() for system in group):
                system.close()
        finally:
            remove_keys(client, prefix)
        version = t.cast("dict[str, t.Any]", client.info("server"))["redis_version"]
    print(f"{environment()} Redis {version}, redis-py {redis.__version__}. {rounds} rounds.")
    show(results, lengths)


def measure_deletions(systems: t.Any, rounds: int) -> Results:
    results: Results = {}
    for _ in range(rounds):
        visits = [(length, system) for length, group in systems.items() for system in group]
        for length, system in random.sample(visits, len(visits)):
            names = [f"doomed:{number}" for number in range(SAMPLES + 1)]
            for name in names:
                system.add_doomed(name, length)
            # The first pays for what making the threads has left behind, and is not counted.
            samples = [stopwatch(functools.partial(system.delete_doomed, name)) for name in names]
            results.setdefault((DELETE, system.name, length), []).append(samples[1:])
    return results


def show(results: Results, lengths: cabc.Sequence[int]) -> None:
    print(f"Median in ms (ratio to {RAW}); growth: {lengths[-1]:,} messages against {lengths[0]:,}.\n")
    for operation in (*OPERATIONS, DELETE):
        rows = []
        for name in (RAW, SHAPED, PLUGIN):
            cells = [
                f"{milliseconds(median(samples))} ({ratio(samples, results[operation, RAW, length]):.2f}x)"
                for length in lengths
                for samples in [results[operation, name, length]]
            ]
            rows.append([name, *cells, f"{growth(results, operation, name, lengths[-1], lengths[0]):.2f}x"])
        print(f"### {operation.capitalize()}\n")
        print(table(["system", *(f"{length:,}" for length in lengths), "growth"], rows))
    print(f"### Targets\n\n{table(TARGET_HEADER, targets(results, lengths))}")


def targets(results: Results, lengths: cabc.Sequence[int]) -> t.Iterator[list[str]]:
    for operation, limit in LIMITS.items():
        for length in lengths:
            for baseline in (RAW, SHAPED):
                against = ratio(results[operation, PLUGIN, length], results[operation, baseline, length])
                yield target(f"{operation}: against {baseline}, {length:,} messages", against, limit)
    full = next((length for length in lengths if length >= WINDOW), lengths[-1])
    for operation in (APPEND, NEWEST):
        what = f"{operation}: {lengths[-1]:,} messages against {full:,}"
        yield target(what, growth(results, operation, PLUGIN, lengths[-1], full), 1.25)


if __name__ == "__main__":
    main()
