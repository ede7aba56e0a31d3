"""Domains: which keys a storage gets to see."""

from __future__ import annotations

import collections.abc as cabc
import json
import typing as t

import pytest

from flask_chat_memory import CorruptRecord
from flask_chat_memory import InvalidDocument
from flask_chat_memory import MissingOwner
from flask_chat_memory import StorageError
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.domains import WholeKeys
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.keys import FOLDERS
from flask_chat_memory.storage.keys import segment
from flask_chat_memory.storage.keys import text_of
from flask_chat_memory.storage.rules import check_key
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.documents import LIKE_ONE_ANOTHER
from flask_chat_memory.testing.contracts.documents import PATTERNS

from .own_storage import OwnStorage

LONG = "x" * 255
WIDE = "é" * 255
OWNERS = [
    *("user:1", "user:10", "user:*", "user:?", "user:", "USER:1", "user:1/", "user:1/x", "user%3a1", "@user:1", "%"),
    *(".", "..", "../user:1", "*", "?", "@", "patterns", "🙂", " ", "a\n"),
    *(LONG, LONG[1:], WIDE, WIDE[1:], WIDE[:-1] + "e"),
]


def test_the_folders_are_those_of_the_layout_and_none_is_in_another() -> None:
    assert FOLDERS["learning"] == "learning"
    assert FOLDERS["settings"] == "config"
    assert FOLDERS["summaries"] == "memory/summaries"
    assert FOLDERS["facts"] == "memory/facts"
    folders = [f"{folder}/" for folder in FOLDERS.values()]
    assert not [(a, b) for a in folders for b in folders if a != b and a.startswith(b)]


def test_readable_names_are_keys_as_they_are() -> None:
    storage = InMemoryStorage()
    domain_storage(storage, "learning").save("patterns/filesystem-read_file", {"text": "x"})
    domain_storage(storage, "user_memory").of_owner("user:1").save("likes", {})
    assert storage.list() == ["learning/patterns/filesystem-read_file", "memory/users/@user%3a1/likes"]


def test_owners_never_meet_one_another_or_what_belongs_to_nobody() -> None:
    storage = InMemoryStorage()
    domain = domain_storage(storage, "user_memory")
    domain.save("name", {"of": None})
    for owner in OWNERS:
        assert domain.of_owner(owner).list() == []
        domain.of_owner(owner).save("name", {"of": owner})
    assert domain.list() == ["name"]
    for owner in OWNERS:
        own = domain.of_owner(owner)
        assert own.list() == own.list("*") == own.list("n?me") == ["name"]
        assert own.load("name") == {"of": owner}
        assert [document for _, document in own.search(owner)] == [{"of": owner}]
    assert domain.of_owner("user:*").clean_up(4e9) == 1
    assert domain.of_owner("*").clean_up(4e9) == 1
    assert domain.of_owner("..").delete("name")
    assert domain.clean_up(4e9) == 1
    gone = ("user:*", "*", "..")
    assert [owner for owner in OWNERS if not domain.of_owner(owner).exists("name")] == [o for o in OWNERS if o in gone]


@pytest.mark.scenario("S143", "H30")
@pytest.mark.parametrize("owner", ["", None, 7, "a\0", "\ud800", "x" * 256])
def test_there_is_no_default_owner(owner: t.Any) -> None:
    with pytest.raises(MissingOwner):
        domain_storage(InMemoryStorage(), "user_memory").of_owner(owner)


def test_no_name_is_the_document_of_an_owner_or_of_another_domain() -> None:
    storage = InMemoryStorage()
    users = domain_storage(storage, "user_memory")
    users.of_owner("user:1").save("name", {})
    domain_storage(storage, "settings").save("name", {})
    for name in ("@user:1/name", "@user%3a1/name", "user:1/name", "%40user%3a1/name"):
        assert users.load(name) is None
        users.save(name, {"of": "nobody"})
    assert users.of_owner("user:1").load("name") == {}
    for name in ("../../config/name", "..", "/config/name", "a/../b"):
        with pytest.raises(ValueError):
            users.load(name)
    assert domain_storage(storage, "settings").list() == ["name"]


@pytest.mark.scenario("H1")
def test_names_that_resemble_each_other_never_share_a_document() -> None:
    for place in (domain_storage(InMemoryStorage(), "site"), domain_storage(InMemoryStorage(), "site").of_owner("a/b")):
        names = [name for name in LIKE_ONE_ANOTHER if len(name.encode()) < 160]
        for n, name in enumerate(names):
            assert not place.exists(name)
            place.save(name, {"n": n})
        assert place.list() == sorted(names)
        assert [(place.load(name) or {})["n"] for name in names] == list(range(len(names)))


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS.items(), ids=range(len(PATTERNS)))
def test_patterns_are_those_of_a_storage(pattern: str, expected: list[str]) -> None:
    domain = domain_storage(InMemoryStorage(), "site").of_owner("user:1")
    for name in reversed(PATTERNS["*"]):
        domain.save(name, {})
    assert domain.list(pattern) == expected


def test_a_sign_stands_for_one_character_of_any_script() -> None:
    domain = domain_storage(InMemoryStorage(), "site")
    for name in ("é", "ab", "你", "a b"):
        domain.save(name, {})
    assert domain.list("?") == ["é", "你"]
    assert domain.list("a?b") == ["a b"]


def test_all_documents_of_an_owner_are_deleted_even_those_that_cannot_be_listed() -> None:
    storage = InMemoryStorage()
    domain = domain_storage(storage, "user_memory")
    for owner in OWNERS:
        domain.of_owner(owner).save("name", {})
        WholeKeys(storage, "memory/users").save(f"memory/users/@{segment(owner)}/default/{segment(LONG)}", {})
    domain.save("name", {})
    for owner in ("user:1", "user:*", "*"):
        assert domain.of_owner(owner).delete_all() == 2
    assert len(storage.list()) == 2 * (len(OWNERS) - 3) + 1
    assert domain.of_owner("user:10").exists("name")


def test_what_other_programs_keep_in_the_folder_is_not_listed() -> None:
    storage = InMemoryStorage()
    for key in ("site/a b", "site/%C3%A9", "site/%zz", "site/@x", "site", "site2/a", "other"):
        storage.save(key, {})
    assert domain_storage(storage, "site").list() == []


@pytest.mark.scenario("H24")
def test_clean_up_goes_by_the_stored_time() -> None:
    clock = ManualClock()
    domain = domain_storage(InMemoryStorage(clock=clock), "site")
    domain.save("a/1", {})
    domain.of_owner("user:1").save("a/1", {})
    clock.advance(10)
    domain.save("a/2", {})
    assert domain.clean_up(clock.now, "a/*") == 1
    assert domain.list() == ["a/2"]
    assert domain.of_owner("user:1").list() == ["a/1"]


def test_clean_up_passes_over_what_is_no_time() -> None:
    storage = OwnStorage()
    for place, time in enumerate([10**400, "10**400", "soon", "", True, None, [1], "9999-12-31T23:59:59-23:59"]):
        storage.save(f"a/{place}", {"updated_at": time})
    storage.save("b", {"updated_at": 10**400, "timestamp": "2026-01-01"})
    assert storage.clean_up(4e9) == 1
    assert not storage.exists("b")


def test_any_text_is_one_segment_and_no_two_are_the_same() -> None:
    texts = [*OWNERS, *LIKE_ONE_ANOTHER, "%2e", ".%2e", "%2e."]
    segments = [segment(text) for text in texts]
    assert len(set(segments)) == len(set(texts))
    for found in segments:
        assert check_key(found) == found
        assert "/" not in found
        assert not found.startswith(("@", "."))
        assert len(found) <= 150


def test_whole_keys_of_segments_are_any_text() -> None:
    storage = InMemoryStorage()
    documents = WholeKeys(storage, "site")
    names = [*OWNERS, *LIKE_ONE_ANOTHER]
    keys = [f"site/ids/{segment(name)}" for name in names]
    for name, key in zip(names, keys, strict=True):
        documents.save(key, {"name": name})
    assert [(documents.load(key) or {})["name"] for key in keys] == names
    assert documents.list("site/ids/*") == sorted(set(keys))


def test_a_segment_tells_its_text_unless_it_was_shortened() -> None:
    for text in (*OWNERS, *LIKE_ONE_ANOTHER):
        assert text_of(segment(text)) in (text, None)
    assert text_of(segment("user:é/1")) == "user:é/1"
    assert text_of(segment("é" * 100)) is None
    for foreign in ("a b", "%C3%A9", "%zz", "@x"):
        assert text_of(foreign) is None


class FailingStorage(OwnStorage):
    """Raises what a driver raises, and gives what no document is."""

    def load(self, key: str) -> t.Any:
        if key.endswith("text"):
            return "no dict"
        raise ConnectionError(f"hidden words of {key}")

    delete = list = exists = t.cast(t.Any, load)

    def save(self, key: str, document: object) -> None:
        self.load(key)


CALLS: dict[str, cabc.Callable[[t.Any], object]] = {
    "save": lambda domain: domain.save("a", {}),
    "load": lambda domain: domain.load("a"),
    "exists": lambda domain: domain.exists("a"),
    "delete": lambda domain: domain.delete("a"),
    "list": lambda domain: domain.list("a"),
    "load all": lambda domain: domain.load_all("a"),
    "search": lambda domain: domain.search("a", "a"),
    "exchange": lambda domain: domain.exchange("a", {}, {}),
    "stored times": lambda domain: domain.stored_times("a"),
    "owned": lambda domain: domain.owned(),
    "clean up": lambda domain: domain.clean_up(0, "a"),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_sites_own_storage_raises_arrives_as_a_storage_error(call: str) -> None:
    with pytest.raises(StorageError, match=r"^the storage failed \(ConnectionError\)$") as caught:
        CALLS[call](domain_storage(FailingStorage(), "site"))
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_what_a_sites_own_storage_cannot_read_arrives_as_a_storage_error() -> None:
    class Careless(OwnStorage):
        def load(self, key: str) -> t.Any:
            return json.loads(self.records[key])

    storage = Careless({"site/a": b"{hidden words"})
    with pytest.raises(StorageError, match=r"^the storage failed \(JSONDecodeError\)$"):
        domain_storage(storage, "site").load("a")


def test_a_sites_own_storage_may_yield_its_keys() -> None:
    class Yielding(OwnStorage):
        def list(self, pattern: str = "*") -> t.Any:
            yield from super().list(pattern)

    domain = domain_storage(Yielding(), "site")
    for name in ("a", "b", "c"):
        domain.save(name, {})
    assert domain.list() == ["a", "b", "c"]


def test_what_a_sites_own_storage_gives_must_be_a_document() -> None:
    with pytest.raises(CorruptRecord, match="site/text"):
        domain_storage(FailingStorage(), "site").load("text")


def test_a_sites_own_storage_gets_only_plain_documents() -> None:
    given: list[object] = []

    class Careless(OwnStorage):
        def save(self, key: str, document: object) -> None:
            given.append(document)

    domain = domain_storage(Careless(), "site")
    with pytest.raises(InvalidDocument):
        domain.save("a", {"b": float("nan")})
    domain.save("a", {"b": (1, b"x")})
    assert given == [{"b": [1, "eA=="]}]
