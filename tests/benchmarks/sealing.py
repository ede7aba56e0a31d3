"""What hiding a message costs, and how much of it is the cipher: 20 messages at once, as a turn reads them.

Run it as ``python -m tests.benchmarks.sealing``. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import os
import pathlib
import random
import statistics
import sys
import time

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.encryption import Cipher
from flask_chat_memory.encryption import KEY_BYTES
from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.encrypted_.sealing import Sealing
from tests.benchmarks.measure import WINDOW
from tests.benchmarks.report import environment
from tests.benchmarks.report import table
from tests.benchmarks.store import bodies
from tests.benchmarks.systems.plugin import SCOPE
from tests.encryption import NEW

_BESIDE = 37
"""Bytes beside the encrypted text: version, id of the key, nonce, tag."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what hiding a message costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    rounds = 3 if parser.parse_args().quick else 3000
    times = measure(steps(), rounds)
    print(f"{environment()} {rounds} rounds of {WINDOW} messages.\n")
    rows = [[name, f"{statistics.median(taken):.2f}", f"{min(taken):.2f}"] for name, taken in times.items()]
    print(table(["µs for a message", "median", "least"], rows))


def steps() -> dict[str, cabc.Callable[[], object]]:
    messages = [ChatMessage.from_dict(body).numbered(number) for number, body in enumerate(bodies(WINDOW), 1)]
    sealing = Sealing(Cipher([NEW]))
    sealed = sealing.seal(SCOPE, "thread", messages)
    texts = [message.content for message in sealed]
    stored = [(message.sequence, message.to_json().decode()) for message in sealed]
    plain = [(message.sequence, message.to_json().decode()) for message in messages]
    cipher, nonce, place = AESGCM(os.urandom(KEY_BYTES)), os.urandom(12), os.urandom(150)
    # As long as they are with us, without tag and what stands before.
    closed = [cipher.encrypt(nonce, os.urandom(len(msgspec.convert(text, bytes)) - _BESIDE), place) for text in texts]
    return {
        "AES-GCM alone": lambda: [cipher.decrypt(nonce, data, place) for data in closed],
        "base64 alone": lambda: msgspec.convert(texts, list[bytes]),
        "open a sealed message": lambda: sealing.open(SCOPE, "thread", sealed),
        "seal a message": lambda: sealing.seal(SCOPE, "thread", messages),
        "make a message of its row": lambda: ChatMessage.from_rows(plain),
        "make a sealed message of its row": lambda: ChatMessage.from_rows(stored),
    }


def measure(steps: cabc.Mapping[str, cabc.Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the microseconds that each step took for a message, by rounds."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name in random.sample(list(steps), len(steps)):
            start = time.perf_counter()
            steps[name]()
            times[name].append((time.perf_counter() - start) / WINDOW * 1e6)
    return times


if __name__ == "__main__":
    main()
