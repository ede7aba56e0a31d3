"""The contract of storages of documents."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import functools
import typing as t

import msgspec
import pytest

from ...errors import InvalidDocument
from ...storage.base import Storage
from ...storage.rules import Document
from ..clock import ManualClock
from .documents import DOCUMENTS
from .documents import IMPOSSIBLE
from .documents import INVALID
from .documents import LIKE_ONE_ANOTHER
from .documents import PATTERNS
from .parts import together

KEY = "learning/patterns/filesystem-read_file"
BUG = "learning/bugs/bug-2026-04-30-001"
WRITERS = 8


class MakeStorage(t.Protocol):
    """Opens the store of the test."""

    def __call__(self) -> Storage: ...


def same(loaded: object, expected: object) -> bool:
    """Compare more strictly than ``==`` does: 1, 1.0 and True differ."""
    order: t.Any = {"order": "sorted"}
    return loaded == expected and msgspec.json.encode(loaded, **order) == msgspec.json.encode(expected, **order)


def contents(storage: Storage) -> dict[str, Document | None]:
    return {key: storage.load(key) for key in storage.list()}


def save_nothing(storage: Storage, key: str) -> None:
    storage.save(key, {})


def at(clock: ManualClock) -> Document:
    return {"updated_at": dt.datetime.fromtimestamp(clock.now, dt.UTC).isoformat()}


class StorageContract:
    """The five required operations and the five over them."""

    @pytest.mark.parametrize("other", [{"b": [1.5, None, "ä"]}, {"text": "x", "a": 1}])
    def test_a_document_is_exchanged_for_another_only_while_it_is_there(
        self, make_storage: MakeStorage, other: Document
    ) -> None:
        storage = make_storage()
        assert not storage.exchange(KEY, {"a": 1}, other)
        assert storage.load(KEY) is None
        storage.save(KEY, {"a": 1})
        assert not storage.exchange(KEY, {"a": 2}, other)
        assert storage.load(KEY) == {"a": 1}
        assert storage.exchange(KEY, {"a": 1}, other)
        assert same(storage.load(KEY), other)
        assert storage.list() == [KEY]
        assert storage.exchange(KEY, other, {"a": 1})
        assert same(storage.load(KEY), {"a": 1})

    def test_of_many_exchanges_one_is_done(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.save(KEY, {"n": 0})
        done = together([functools.partial(storage.exchange, KEY, {"n": 0}, {"n": n}) for n in range(1, WRITERS + 1)])
        assert sorted(done) == [False] * (WRITERS - 1) + [True]
        assert storage.load(KEY) == {"n": done.index(True) + 1}

    def test_an_unknown_key_has_nothing(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        assert storage.load(KEY) is None
        assert storage.exists(KEY) is False
        assert storage.delete(KEY) is False
        assert storage.list() == []

    def test_what_was_saved_is_there_until_it_is_deleted(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.save(KEY, {"a": 1})
        storage.save(BUG, {"b": 2})
        assert storage.load(KEY) == {"a": 1}
        assert storage.exists(KEY) is True
        assert storage.list() == [BUG, KEY]
        assert storage.delete(KEY) is True
        assert storage.delete(KEY) is False
        assert (storage.load(KEY), storage.exists(KEY)) == (None, False)
        assert contents(storage) == {BUG: {"b": 2}}

    def test_a_document_replaces_the_whole_of_what_was_there(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        for document in ({"a": 1, "b": 2}, {"b": 3}, {"b": 3, "text": "x"}, {"c": 4, "text": "y"}, {"c": 4}, {}):
            storage.save(KEY, document)
            assert storage.load(KEY) == document
            assert storage.list() == [KEY]
        assert storage.delete(KEY)
        assert not storage.exists(KEY)

    def test_a_document_is_created_only_where_there_is_none(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        assert storage.create(KEY, {"a": 1}) is True
        assert storage.create(KEY, {"b": 2, "text": "x"}) is False
        assert contents(storage) == {KEY: {"a": 1}}
        with pytest.raises(InvalidDocument):
            storage.create(KEY, {"a": float("nan")})
        storage.save(KEY, {"text": "x"})
        assert storage.create(KEY, {"a": 1}) is False
        assert storage.delete(KEY)
        assert storage.create(KEY, {"text": "y"}) is True
        assert contents(storage) == {KEY: {"text": "y"}}

    def test_of_many_who_create_a_document_one_does(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        created: list[tuple[int, int]] = []

        def create(writer: int) -> None:
            for n in range(10):
                if storage.create(f"a/{n}", {"writer": writer}):
                    created.append((n, writer))

        together([functools.partial(create, writer) for writer in range(WRITERS)])
        assert sorted(n for n, _ in created) == [*range(10)]
        assert contents(storage) == {f"a/{n}": {"writer": writer} for n, writer in created}

    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_what_was_saved_is_what_is_loaded(self, make_storage: MakeStorage, name: str) -> None:
        given, expected = DOCUMENTS[name]
        storage = make_storage()
        storage.save(KEY, given)
        loaded = storage.load(KEY)
        assert same(loaded, expected)
        assert loaded is not None
        storage.save(KEY, loaded)
        assert same(storage.load(KEY), expected)

    def test_the_order_of_names_is_kept(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.save(KEY, {"z": 1, "a": {"y": 1, "b": 2}, "m": 3})
        assert list(storage.load(KEY) or {}) == ["z", "a", "m"]
        assert list((storage.load(KEY) or {})["a"]) == ["y", "b"]
        storage.save(KEY, {"z": 1, "a": 2, "text": "x"})
        assert [name for name in storage.load(KEY) or {} if name != "text"] == ["z", "a"]

    @pytest.mark.parametrize("name", INVALID)
    def test_what_cannot_be_stored_is_refused_before_anything_is_written(
        self, make_storage: MakeStorage, name: str
    ) -> None:
        document, path = INVALID[name]
        storage = make_storage()
        storage.save(KEY, {"a": 1})
        for key in (KEY, BUG):
            with pytest.raises(InvalidDocument) as caught:
                storage.save(key, document)
            assert caught.value.path == path
        assert contents(storage) == {KEY: {"a": 1}}

    def test_a_document_is_a_copy(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        given: dict[str, t.Any] = {"a": {"b": [1]}}
        storage.save(KEY, given)
        given["a"]["b"].append(2)
        loaded = storage.load(KEY)
        assert loaded == {"a": {"b": [1]}}
        loaded["a"]["b"].append(3)
        assert storage.load(KEY) == {"a": {"b": [1]}}

    @pytest.mark.parametrize("key", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
    def test_what_cannot_be_a_key_is_refused(self, make_storage: MakeStorage, key: t.Any) -> None:
        storage = make_storage()
        storage.save(KEY, {"a": 1})
        save = functools.partial(save_nothing, storage)
        calls: list[cabc.Callable[[t.Any], object]] = [storage.load, storage.delete, storage.exists, save]
        for call in calls:
            with pytest.raises(ValueError):
                call(key)
        assert contents(storage) == {KEY: {"a": 1}}

    def test_keys_that_resemble_each_other_never_share_a_document(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        for place, key in enumerate(LIKE_ONE_ANOTHER):
            assert not storage.exists(key)
            storage.save(key, {"place": place} if place % 2 else {"place": place, "text": key})
        assert storage.list() == sorted(LIKE_ONE_ANOTHER)
        gone = ("ab", "a*", "a%", "a/b", "locks")
        assert all(storage.delete(key) for key in gone)
        for place, key in enumerate(LIKE_ONE_ANOTHER):
            document = storage.load(key)
            assert (document is None) if key in gone else (document is not None and document["place"] == place)

    @pytest.mark.parametrize(("pattern", "expected"), PATTERNS.items(), ids=range(len(PATTERNS)))
    def test_a_pattern_has_two_signs_and_nothing_else(
        self, make_storage: MakeStorage, pattern: str, expected: list[str]
    ) -> None:
        storage = make_storage()
        for key in reversed(PATTERNS["*"]):
            storage.save(key, {})
        assert storage.list(pattern) == expected

    def test_a_pattern_is_text(self, make_storage: MakeStorage) -> None:
        for pattern in (None, 7, ["*"]):
            with pytest.raises(ValueError):
                make_storage().list(t.cast(str, pattern))

    def test_all_documents_are_loaded_at_once(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        stored: dict[str, Document] = {f"a/{place:03}": {"place": place} for place in range(205)}
        stored |= {"a/é": {"text": "x"}, "b/1": {}}
        for key, document in stored.items():
            storage.save(key, document)
        assert storage.load_all() == list(stored.items())
        assert storage.load_all("a/20?") == [(key, stored[key]) for key in stored if key.startswith("a/20")]
        assert storage.load_all("b/*") == [("b/1", {})]
        assert storage.load_all("c/*") == storage.load_all("A/*") == []

    def test_search_finds_a_text_in_any_value(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        found: dict[str, Document] = {
            "a/1": {"text": "Needle in a haystack"},
            "a/2": {"list": [{"deep": "my NEEDLE"}]},
            "b/1": {"title": "needle"},
        }
        for key, document in {**found, "a/3": {"needle": "only the name"}, "needle": {"a": "need le"}}.items():
            storage.save(key, document)
        assert storage.search("nEEdle") == list(found.items())
        assert storage.search("needle", "a/*") == [("a/1", found["a/1"]), ("a/2", found["a/2"])]
        assert storage.search("needle", "c/*") == []

    def test_search_is_literal(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        texts = ["100%", "a_b", "a.b", "x*y", "[z]", "\\", "'", "ÄÖ", "你好", "a\nb", '"']
        for place, text in enumerate(texts):
            storage.save(f"a/{place:02}", {"value": f"<{text}>"})
        for place, text in enumerate(texts):
            assert [key for key, _ in storage.search(text)] == [f"a/{place:02}"]
        assert storage.search("äö") == storage.search("ÄÖ")
        assert storage.search(".*") == storage.search("a%b") == []

    def test_clean_up_removes_what_was_stored_before(self, make_storage: MakeStorage) -> None:
        storage, clock = make_storage(), ManualClock()
        t.cast(t.Any, storage).clock = clock
        for key in ("a/1", "a/2", "b/1"):
            storage.save(key, at(clock))
        limit = clock.now + 10
        clock.advance(10)
        storage.save("a/2", {**at(clock), "text": "stored again"})
        storage.save("a/3", at(clock))
        assert storage.clean_up(limit - 20) == 0
        assert storage.clean_up(limit, "a/*") == 1
        assert storage.list() == ["a/2", "a/3", "b/1"]
        assert storage.clean_up(limit) == 1
        assert storage.clean_up(limit + 0.5) == 2
        assert storage.list() == []

    def test_it_is_known_when_a_document_was_stored(self, make_storage: MakeStorage) -> None:
        storage, clock = make_storage(), ManualClock()
        t.cast(t.Any, storage).clock = clock
        begun = clock.now
        for key in ("a/1", "a/2", "b/1"):
            storage.save(key, at(clock))
        clock.advance(10)
        storage.save("a/2", {**at(clock), "text": "stored again"})
        times = {"a/1": begun, "a/2": begun + 10, "b/1": begun}
        assert storage.stored_times() == pytest.approx(times, abs=0.001)
        assert storage.stored_times("a/2") == pytest.approx({"a/2": begun + 10}, abs=0.001)
        assert storage.stored_times("c/*") == {}

    def test_readers_meet_whole_documents_while_others_write(self, make_storage: MakeStorage) -> None:
        storage = make_storage()

        def document(writer: int) -> Document:
            return {"a": [writer] * 500, **({"text": f"{writer}\n" * 500} if writer % 2 else {})}

        whole = [document(writer) for writer in range(WRITERS)]

        def write(writer: int) -> None:
            for _ in range(5):
                storage.save(KEY, whole[writer])

        def read() -> None:
            for _ in range(20):
                assert storage.load(KEY) in whole
                assert storage.list() == [KEY]

        storage.save(KEY, whole[0])
        writes: list[cabc.Callable[[], None]] = [functools.partial(write, writer) for writer in range(WRITERS)]
        together([*writes, read, read])
        assert storage.load(KEY) in whole

    def test_folders_come_and_go_while_others_write_there(self, make_storage: MakeStorage) -> None:
        storage = make_storage()

        def write(writer: int) -> None:
            for round_ in range(5):
                storage.save(f"a/b/{writer}", {"round": round_})
                assert storage.load(f"a/b/{writer}") == {"round": round_}
                assert storage.delete(f"a/b/{writer}")
            storage.save(f"a/b/{writer}", {})

        together([functools.partial(write, writer) for writer in range(WRITERS)])
        assert storage.list("a/b/*") == [f"a/b/{writer}" for writer in range(WRITERS)]

    def test_a_sign_of_life_makes_nothing(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.ping()
        assert storage.list() == []

    def test_closing_twice_is_closing_once(self, make_storage: MakeStorage) -> None:
        storage = make_storage()
        storage.save(KEY, {})
        storage.close()
        storage.close()
