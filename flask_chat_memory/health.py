"""Whether the stores of an app answer, within a time."""

from __future__ import annotations

import collections.abc as cabc
import threading
import time
import typing as t

from .plugins.base import ChatMemoryPlugin
from .plugins.forks import rest_in_forks
from .storage.base import Storage

if t.TYPE_CHECKING:
    import concurrent.futures

    Answer = concurrent.futures.Future[float]
    """The seconds that an answer took."""

SECONDS = 2.0
"""That a store has to answer."""

Store = ChatMemoryPlugin | Storage


class Health:
    """Asks stores for a sign of life; one that never answers holds one thread, however often it is asked."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._answers: dict[int, Answer] = {}
        rest_in_forks(self)

    def after_fork(self) -> None:
        self.lock = threading.RLock()
        self._answers = {}

    def told(self, stores: cabc.Sequence[tuple[Store, list[str]]], seconds: float) -> dict[str, t.Any]:
        """Return what :meth:`ChatMemory.health` returns.

        :param stores: each with the names of what it serves.
        :param seconds: for all of them together.
        """
        begun = time.monotonic()
        with self.lock:
            self._answers = {key: answer for key, answer in self._answers.items() if not answer.done()}
            for store, _ in stores:
                if id(store) not in self._answers:
                    self._answers[id(store)] = _ask(store)
            answers = [self._answers[id(store)] for store, _ in stores]
        told = []
        for (store, serves), answer in zip(stores, answers, strict=True):
            try:
                took, error = answer.result(max(0.0, begun + seconds - time.monotonic())), None
            except Exception as failure:
                took, error = time.monotonic() - begun, type(failure).__name__
            told.append(
                {
                    "id": store.id,
                    "serves": serves,
                    "ok": error is None,
                    "milliseconds": round(took * 1000, 1),
                    "error": error,
                }
            )
        return {"ok": all(one["ok"] for one in told), "stores": told}


def _ask(store: Store) -> Answer:
    # Imported on first use, for it takes a while.
    import concurrent.futures

    answer: Answer = concurrent.futures.Future()

    def ping() -> None:
        begun = time.monotonic()
        try:
            store.ping()
        except BaseException as error:
            answer.set_exception(error)
        else:
            answer.set_result(time.monotonic() - begun)

    threading.Thread(target=ping, name="chat-memory-health", daemon=True).start()
    return answer
