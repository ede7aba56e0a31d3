"""Storages whose store outlives them, is shared, is damaged, or fails."""

from __future__ import annotations

import collections.abc as cabc
import functools
import typing as t

import pytest

from ...errors import CorruptRecord
from ...errors import StorageError
from ...storage.base import Storage
from .documents import DOCUMENTS
from .forks import Child
from .forks import needs_fork
from .forks import Say
from .storage import BUG
from .storage import contents
from .storage import KEY
from .storage import MakeStorage
from .storage import same

PROCESSES = 4

DamageDocument = cabc.Callable[[Storage, str], None]
BreakStorage = cabc.Callable[[Storage], None]

OPERATIONS: dict[str, cabc.Callable[[Storage], object]] = {
    "save": lambda storage: storage.save(KEY, {"a": "hidden words"}),
    "save text": lambda storage: storage.save(KEY, {"text": "hidden words"}),
    "load": lambda storage: storage.load(KEY),
    "delete": lambda storage: storage.delete(KEY),
    "list": lambda storage: storage.list(),
    "exists": lambda storage: storage.exists(KEY),
    "load all": lambda storage: storage.load_all(),
    "search": lambda storage: storage.search("hidden words"),
    "clean up": lambda storage: storage.clean_up(2e9),
}


class StoragePersistenceContract:
    """A second storage over the same store has the same documents."""

    def test_another_instance_has_what_was_saved(self, make_storage: MakeStorage) -> None:
        first = make_storage()
        for place, (given, _) in enumerate(DOCUMENTS.values()):
            first.save(f"a/{place}", given)
        first.close()
        second = make_storage()
        for place, (_, expected) in enumerate(DOCUMENTS.values()):
            assert same(second.load(f"a/{place}"), expected)

    def test_instances_take_turns(self, make_storage: MakeStorage) -> None:
        first, second = make_storage(), make_storage()
        first.save(KEY, {"a": 1})
        second.save(KEY, {"a": 2, "text": "x"})
        second.save(BUG, {"b": 1})
        assert first.load(KEY) == {"a": 2, "text": "x"}
        assert first.delete(BUG)
        assert second.list() == [KEY]


@needs_fork
class StorageForkContract:
    """The storage that a child inherited works there, and goes on working in the parent."""

    def test_the_child_uses_the_storage_of_its_parent(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.save(KEY, {"a": 1})

        def work(_say: Say) -> None:
            assert storage.load(KEY) == {"a": 1}
            storage.save(KEY, {"a": 2})
            assert storage.load(KEY) == {"a": 2}

        assert Child(work).wait() == 0
        storage.save(BUG, {"b": 1})
        assert storage.list() == [BUG, KEY]


@needs_fork
class StorageProcessContract:
    """A store that processes share."""

    def test_many_processes_begin_at_once(self, make_storage: MakeStorage) -> None:
        def write(writer: int, _say: Say) -> None:
            storage = make_storage()
            for n in range(10):
                storage.save(f"a/{writer}/{n}", {"n": n})
                storage.save("a/shared", {"all": [writer] * 200})

        children = [Child(functools.partial(write, writer)) for writer in range(PROCESSES)]
        assert [child.wait() for child in children] == [0] * PROCESSES
        storage = make_storage()
        expected = {f"a/{writer}/{n}": {"n": n} for writer in range(PROCESSES) for n in range(10)}
        stored = contents(storage)
        assert stored.pop("a/shared") in [{"all": [writer] * 200} for writer in range(PROCESSES)]
        assert stored == expected

    def test_a_kill_leaves_whole_documents(self, make_storage: MakeStorage) -> None:
        def write(say: Say) -> None:
            storage = make_storage()
            for n in range(100_000):
                storage.save(KEY, {"n": [n] * 1000} if n % 2 else {"n": [n] * 1000, "text": "x"})
                say()

        child = Child(write)
        child.wait_for_steps(5)
        child.kill()
        storage = make_storage()
        numbers = (storage.load(KEY) or {})["n"]
        assert numbers == [numbers[0]] * 1000
        assert numbers[0] >= 4
        storage.save(KEY, {"n": 1})
        assert contents(storage) == {KEY: {"n": 1}}


class StorageCorruptionContract:
    """A document that cannot be read is reported and kept, and does no harm to its neighbours.

    The fixture ``damage_document`` gives a function of storage and key that makes the document unreadable.
    """

    @pytest.mark.parametrize("document", [{"a": 1}, {"a": 1, "text": "x"}], ids=["json", "text"])
    def test_damage_is_reported_and_kept(
        self, make_storage: MakeStorage, damage_document: DamageDocument, document: dict[str, t.Any]
    ) -> None:
        storage = make_storage()
        storage.save(KEY, document)
        storage.save(BUG, {"b": 1})
        damage_document(storage, KEY)
        for _ in range(2):
            with pytest.raises(CorruptRecord, match=KEY):
                storage.load(KEY)
        assert storage.load(BUG) == {"b": 1}
        assert storage.exists(KEY)
        assert storage.list() == [BUG, KEY]
        with pytest.raises(CorruptRecord):
            storage.search("x")
        assert storage.delete(KEY)
        assert storage.load(KEY) is None


class FailingStorageContract:
    """What the driver raises arrives as StorageError with the cause, and tells nothing of the documents.

    The fixture ``break_storage`` gives a function of the storage after which its store no longer works.
    """

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_a_failure_keeps_its_cause_and_shows_no_text(
        self, make_storage: MakeStorage, break_storage: BreakStorage, operation: str
    ) -> None:
        storage = make_storage()
        storage.save(KEY, {"a": 1})
        break_storage(storage)
        with pytest.raises(StorageError) as caught:
            OPERATIONS[operation](storage)
        assert caught.value.__cause__ is not None
        assert "hidden words" not in str(caught.value)
