"""What is remembered of one owner."""

from __future__ import annotations

import collections.abc as cabc
import functools
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import InvalidKnowledge
from flask_chat_memory import MissingOwner
from flask_chat_memory.knowledge.user_memory import CATEGORIES
from flask_chat_memory.knowledge.user_memory import UserMemories
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.parts import together

from .document_stores import make_storage as make_storage
from .document_stores import MakeStorage
from .document_stores import store as store

OWNERS = ["user:1", "user:10", "user:*", "user:?", "USER:1", "../user:1", "user:1/x", "é", "*"]


class Clock(ManualClock):
    """Goes on by a second whenever it is asked."""

    def __call__(self) -> float:
        self.advance(1)
        return super().__call__()


def memories_of(owner: str, storage: Storage, **more: t.Any) -> UserMemories:
    return UserMemories(domain_storage(storage, "user_memory").of_owner(owner), **{"clock": Clock(), **more})


def texts(memories: cabc.Iterable[t.Any]) -> list[str]:
    return [memory.text for memory in memories]


def test_a_memory_is_what_was_added(store: Storage) -> None:
    memories = memories_of("user:1", store, clock=ManualClock(1_800_000_000))
    added = memories.add("  Likes tea.\nNot coffee. ", "preference", ["drinks", "drinks", "breakfast"])
    assert (added.text, added.category, added.source) == ("Likes tea.\nNot coffee.", "preference", "owner")
    assert added.tags == ("drinks", "breakfast")
    assert added.created_at == added.updated_at == "2027-01-15T08:00:00Z"
    assert memories.get(added.id) == added
    assert memories.list() == [added]


def test_the_newest_is_listed_first(store: Storage) -> None:
    memories = memories_of("user:1", store)
    for text, category, tags in (("a", "note", ["x"]), ("b", "decision", []), ("c", "note", ["x", "y"])):
        memories.add(text, category, tags)
    assert texts(memories.list()) == ["c", "b", "a"]
    assert texts(memories.list(limit=2)) == ["c", "b"]
    assert texts(memories.list(category="note")) == ["c", "a"]
    assert texts(memories.list(tag="x", limit=1)) == ["c"]
    assert texts(memories.list(tag="z")) == texts(memories.list(limit=0)) == []


@pytest.mark.parametrize("limit", [-1, True, 1.0, "1"])
def test_what_is_no_limit_is_refused(limit: t.Any) -> None:
    with pytest.raises(ValueError, match="limit"):
        memories_of("user:1", InMemoryStorage()).list(limit=limit)


@pytest.mark.scenario("H21")
def test_search_looks_at_what_was_said_whatever_case_and_accents(store: Storage) -> None:
    memories = memories_of("user:1", store)
    for text, tags in (("Möchte CAFÉ in Łódź", ["Früh"]), ("住在東京", []), ("lives at 100% *speed*_", [])):
        memories.add(text, "preference", tags)
    for wanted in ("CAFÉ", "cafe", "MOCHTE", "frUH", "möchte café in Łodz"):
        assert texts(memories.search(wanted)) == ["Möchte CAFÉ in Łódź"]
    assert texts(memories.search("東京")) == ["住在東京"]
    for literal in ("%", "*", "_"):
        assert texts(memories.search(literal)) == ["lives at 100% *speed*_"]
    for name in ("category", "text", "user_memory", "preference", "created_at", "owner", "'; DROP", "a|b", ".*"):
        assert memories.search(name) == []


@pytest.mark.scenario("S077")
def test_what_is_given_is_changed_and_nothing_else(store: Storage) -> None:
    memories = memories_of("user:1", store)
    old, other = memories.add("a", "decision", ["x"]), memories.add("b")
    changed = memories.update(old.id, text="c")
    assert changed is not None
    assert (changed.text, changed.category, changed.tags) == ("c", "decision", ("x",))
    assert (changed.id, changed.created_at) == (old.id, old.created_at)
    assert changed.updated_at > other.updated_at
    assert memories.list() == [changed, other]
    again = memories.update(old.id, category="note", tags=[])
    assert again is not None
    assert (again.text, again.category, again.tags) == ("c", "note", ())


def test_deleted_is_gone(store: Storage) -> None:
    memories = memories_of("user:1", store)
    first, second = memories.add("a"), memories.add("b")
    assert memories.delete(first.id)
    assert not memories.delete(first.id)
    assert memories.get(first.id) is memories.update(first.id, text="c") is None
    assert memories.list() == [second]
    memories.add("c")
    assert memories.clear() == 2
    assert memories.list() == []


@pytest.mark.scenario("S142")
def test_owners_never_meet(store: Storage) -> None:
    of = {owner: memories_of(owner, store) for owner in OWNERS}
    ids = {owner: memories.add(f"about {owner}").id for owner, memories in of.items()}
    for owner, memories in of.items():
        assert texts(memories.list()) == texts(memories.search("about")) == [f"about {owner}"]
        for other in OWNERS:
            if other != owner:
                assert memories.get(ids[other]) is None
                assert memories.update(ids[other], text="stolen") is None
                assert not memories.delete(ids[other])
    assert of["user:*"].clear() == of["*"].clear() == 1
    assert [owner for owner in OWNERS if texts(of[owner].list()) == [f"about {owner}"]] == [
        owner for owner in OWNERS if owner not in ("user:*", "*")
    ]


@pytest.mark.parametrize(
    "id", ["", ".", "..", "../x", "/etc/passwd", "a//b", "x" * 600, "\0", "*", "?", 7, None, "é", "é" * 200]
)
def test_an_id_that_nobody_gave_finds_nothing(store: Storage, id: t.Any) -> None:
    memories = memories_of("user:1", store)
    memory = memories.add("a")
    assert memories.get(id) is memories.update(id, text="b") is None
    assert memories.delete(id) is False
    assert memories.list() == [memory]


def test_ids_cannot_be_guessed() -> None:
    memories = memories_of("user:1", InMemoryStorage())
    ids = {memories.add(str(n)).id for n in range(50)}
    assert len({id[:8] for id in ids}) == 50
    assert {len(id) for id in ids} == {24}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"text": ""}, "text: must not be empty"),
        ({"text": " \n\t"}, "text: must not be empty"),
        ({"text": None}, "text: must be text, not NoneType"),
        ({"text": "é" * 1001}, "text: has more than 1,000 characters"),
        ({"category": "wish"}, "category: must be one of preference, context, note, instruction, decision"),
        ({"category": ["note"]}, "category: must be one of preference, context, note, instruction, decision"),
        ({"tags": "a"}, "tags: must be a list of texts"),
        ({"tags": 7}, "tags: must be a list of texts"),
        ({"tags": [str(n) for n in range(11)]}, "tags: are more than 10"),
        ({"tags": ["a", "b" * 51]}, "tags[1]: has more than 50 characters"),
        ({"tags": ["a", ""]}, "tags[1]: must not be empty"),
        ({"tags": ["a", 1]}, "tags[1]: must be text, not int"),
    ],
)
def test_bad_values_are_refused_before_anything_is_written(values: dict[str, t.Any], sentence: str) -> None:
    memories = memories_of("user:1", InMemoryStorage())
    memory = memories.add("a")
    with pytest.raises(InvalidKnowledge) as caught:
        memories.add(**{"text": "b", **values})
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError)
    if values.get("text", "") is not None:
        with pytest.raises(InvalidKnowledge, match="^"):
            memories.update(memory.id, **values)
    assert memories.list() == [memory]


@pytest.mark.parametrize("text", ["x" * 1000, "🙂" * 1000, "---\na: b\n---\n", "a\0b", "\ud800", "<b>", "a\r\n\u2028b"])
def test_any_text_comes_back_as_it_was_added(store: Storage, text: str) -> None:
    memories = memories_of("user:1", store)
    added = memories.add(text, tags=["é", "a: b", "null"])
    assert memories.list() == [added]
    assert added.text.encode()


def test_every_category_is_known() -> None:
    memories = memories_of("user:1", InMemoryStorage())
    for category in CATEGORIES:
        assert memories.add(category, category).category == category


@pytest.mark.scenario("H25")
def test_the_newest_are_kept(store: Storage) -> None:
    memories = memories_of("user:1", store, most=3)
    for n in range(5):
        memories.add(str(n))
    assert texts(memories.list()) == ["4", "3", "2"]
    oldest = memories.list()[-1]
    memories.update(oldest.id, tags=["still true"])
    memories.add("5")
    assert texts(memories.list()) == ["5", "2", "4"]


def test_what_is_remembered_already_is_renewed(store: Storage) -> None:
    memories = memories_of("user:1", store, most=2)
    first, _ = memories.add("Likes Tea", "preference"), memories.add("b")
    again = memories.add("likes tea", "note", ["x"])
    assert (again.id, again.created_at, again.category, again.text) == (first.id, first.created_at, "note", "likes tea")
    assert texts(memories.list()) == ["likes tea", "b"]


def test_what_a_model_writes_takes_the_place_only_of_what_a_model_wrote(store: Storage) -> None:
    memories = memories_of("user:1", store, most=3)
    memories.add("mine")
    for n in range(9):
        memories.add(f"noted {n}", source="model")
    assert texts(memories.list()) == ["noted 8", "noted 7", "mine"]
    renewed = memories.add("MINE", "context", source="model")
    assert (renewed.text, renewed.category, renewed.source) == ("mine", "note", "owner")
    for memory in memories.list(limit=3):
        memories.update(memory.id, category="context")
    with pytest.raises(InvalidKnowledge, match="no room beside the 3 memories of the owner"):
        memories.add("noted 9", source="model")
    assert len(memories.list()) == 3
    memories.add("and more")
    assert texts(memories.list())[0] == "and more"


def test_threads_that_add_at_once_overwrite_nothing(make_storage: MakeStorage) -> None:
    def add(writer: int) -> None:
        memories = memories_of("user:1", make_storage())
        for n in range(5):
            memories.add(f"{writer}-{n}")

    together([functools.partial(add, writer) for writer in range(4)])
    found = texts(memories_of("user:1", make_storage()).list())
    assert sorted(found) == [f"{writer}-{n}" for writer in range(4) for n in range(5)]


class BusyStorage(InMemoryStorage):
    """Lets another writer do something right before it creates, or deletes, a document."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, cabc.Callable[[], object]] = {}

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        self.before.pop("create", lambda: None)()
        return super().create(key, document)

    def delete(self, key: str) -> bool:
        self.before.pop("delete", lambda: None)()
        return super().delete(key)


@pytest.fixture
def busy() -> BusyStorage:
    return BusyStorage()


def test_two_changes_of_one_memory_at_once_both_count(busy: BusyStorage) -> None:
    memories = memories_of("user:1", busy)
    memory = memories.add("Likes tea", "note", ["drinks"])
    busy.before["create"] = lambda: memories.update(memory.id, text="Likes green tea")
    changed = memories.update(memory.id, category="preference")
    assert changed is not None
    assert (changed.text, changed.category, changed.tags) == ("Likes green tea", "preference", ("drinks",))
    assert memories.list() == [changed] == [memories.get(memory.id)]


def test_what_a_model_says_again_does_not_undo_what_the_owner_has_written(busy: BusyStorage) -> None:
    memories = memories_of("user:1", busy)
    memory = memories.add("Likes tea", source="model")
    busy.before["create"] = lambda: memories.update(memory.id, text="Likes coffee")
    memories.add("likes tea", source="model")
    assert sorted(texts(memories.list())) == ["Likes coffee", "likes tea"]


@pytest.mark.parametrize("moment", ["create", "delete"])
def test_a_memory_that_is_deleted_while_it_is_changed_does_not_come_back(busy: BusyStorage, moment: str) -> None:
    memories = memories_of("user:1", busy)
    memory = memories.add("Likes tea")
    busy.before[moment] = lambda: memories.delete(memory.id)
    assert memories.update(memory.id, text="Likes green tea") is None
    assert memories.list() == [] and busy.list() == []


def test_a_memory_that_is_changed_while_it_is_deleted_is_gone(busy: BusyStorage) -> None:
    memories = memories_of("user:1", busy)
    memory = memories.add("Likes tea")
    busy.before["delete"] = lambda: memories.update(memory.id, text="Likes green tea")
    assert memories.delete(memory.id)
    assert memories.list() == [] and busy.list() == []


def test_a_memory_that_is_renewed_while_room_is_made_stays(busy: BusyStorage) -> None:
    memories = memories_of("user:1", busy, most=2)
    oldest, _ = memories.add("oldest"), memories.add("b")
    busy.before["delete"] = lambda: memories.add("Oldest", source="model")
    memories.add("c")
    assert memories.get(oldest.id) is not None
    memories.add("d")
    assert len(memories.list()) == 2


def test_a_memory_that_is_changed_while_it_is_adopted_comes_along(busy: BusyStorage) -> None:
    source, target = memories_of("anon:1", busy), memories_of("user:1", busy)
    memory = source.add("Likes tea")
    busy.before["delete"] = lambda: source.update(memory.id, text="Likes green tea")
    source.move_to(target)
    assert (texts(source.list()), texts(target.list())) == ([], ["Likes green tea"])


def test_what_a_writer_that_died_has_left_is_not_shown(busy: BusyStorage) -> None:
    memories = memories_of("user:1", busy, most=1)
    memory = memories.add("Likes tea")

    def die() -> None:
        raise KeyboardInterrupt

    busy.before["delete"] = die
    with pytest.raises(KeyboardInterrupt):
        memories.update(memory.id, text="Likes green tea")
    assert len(busy.list()) == 2
    assert texts(memories.list()) == ["Likes green tea"]
    memories.add("another")
    assert texts(memories.list()) == ["another"] and len(busy.list()) == 1


def test_an_id_names_no_other_revision(store: Storage) -> None:
    memories = memories_of("user:1", store)
    memory = memories.add("Likes tea")
    memories.update(memory.id, text="Likes green tea")
    for id in (f"{memory.id}.r1", f"{memory.id[:-1]}*", memory.id[:-1], "*"):
        assert memories.get(id) is None
        assert memories.update(id, text="x") is None
        assert not memories.delete(id)
    assert texts(memories.list()) == ["Likes green tea"]


def test_threads_that_change_one_memory_at_once_lose_nothing(make_storage: MakeStorage) -> None:
    memory = memories_of("user:1", make_storage()).add("Likes tea")
    changes: list[dict[str, t.Any]] = [{"text": "Likes green tea"}, {"tags": ["drinks"]}, {"category": "preference"}]
    together(
        [functools.partial(memories_of("user:1", make_storage()).update, memory.id, **change) for change in changes]
    )
    [changed] = memories_of("user:1", make_storage()).list()
    assert (changed.text, changed.tags, changed.category) == ("Likes green tea", ("drinks",), "preference")


@needs_fork
def test_processes_that_add_at_once_overwrite_nothing_and_keep_the_cap(tmp_path: pathlib.Path) -> None:
    def open_memories() -> UserMemories:
        return memories_of("user:1", FileStorage({"folder": str(tmp_path)}), most=15)

    def work(name: str, _say: object) -> None:
        memories = open_memories()
        for n in range(10):
            memories.add(f"{name}-{n}")

    children = [Child(functools.partial(work, name)) for name in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    memories = open_memories()
    assert len(memories.list()) == 15
    assert {"a-9", "b-9"} <= set(texts(memories.list()))


def test_a_memory_is_a_file_that_people_can_read(tmp_path: pathlib.Path) -> None:
    memories = memories_of("user:1", FileStorage({"folder": str(tmp_path)}), clock=ManualClock(1_800_000_000))
    memory = memories.add("Likes tea.", "preference", ["drinks"])
    assert (tmp_path / f"memory/users/@user%3a1/{memory.id}.md").read_text() == (
        "---\ntype: user_memory\ncategory: preference\ntags:\n- drinks\nsource: owner\n"
        "created_at: 2027-01-15T08:00:00Z\nupdated_at: 2027-01-15T08:00:00Z\n---\n\nLikes tea.\n"
    )


def test_what_people_write_into_the_folder_is_read_as_far_as_it_goes(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    memories = memories_of("user:1", FileStorage({"folder": str(tmp_path)}))
    memory = memories.add("a")
    folder = tmp_path / "memory/users/@user%3a1"
    (folder / "by-hand.md").write_text("Likes tea.")
    (folder / "odd.md").write_text("---\ncategory: wish\ntags: x\nupdated_at: soon\n---\n\nodd")
    (folder / "other.json").write_text('{"likes": ["tea"]}')
    (folder / "broken.md").write_text("---\na: {{\n---\nx")
    assert memories.list()[0] == memory
    assert sorted(texts(memories.list())) == ["Likes tea.", "a", "odd"]
    by_hand = memories.get("by-hand")
    assert by_hand is not None
    assert (by_hand.category, by_hand.tags, by_hand.updated_at) == ("note", (), "1970-01-01T00:00:00Z")
    assert memories.get("other") is None
    assert "cannot be read" in caplog.text
    assert memories.clear() == 3
    assert sorted(path.name for path in folder.iterdir()) == ["broken.md", "other.json"]


def make_site(tmp_path: pathlib.Path, owner: str | None = None, **config: t.Any) -> tuple[flask.Flask, ChatMemory]:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(TESTING=True, SECRET_KEY="secret", CHAT_MEMORY_PLUGIN="in_memory")
    app.config.update({f"CHAT_MEMORY_{name}": value for name, value in config.items()})
    memory = ChatMemory(app, owner_loader=lambda: owner)
    memory.provider(lambda turn: "fine")
    return app, memory


def test_the_visitor_of_a_request_is_the_owner(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, "account:1")
    with app.test_request_context():
        memory.user_memories().add("a")
        assert texts(memory.user_memories("account:1").list()) == ["a"]
        assert memory.user_memories("account:10").list() == []
    with app.app_context():
        assert texts(memory.user_memories("account:1").list()) == ["a"]


def test_an_anonymous_visitor_is_an_owner_as_soon_as_something_was_stored(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path)

    @app.get("/memories")
    def memories() -> list[str]:
        memory.user_memories().add("a")
        return texts(memory.user_memories().list())

    visitor, other = app.test_client(), app.test_client()
    with pytest.raises(MissingOwner, match="nothing was stored for this visitor yet"):
        visitor.get("/memories")
    for client in (visitor, other):
        question = {"messages": [{"role": "user", "text": "hi"}]}
        client.post("/chat-memory/default/messages", json=question, buffered=True)
    assert visitor.get("/memories").json == other.get("/memories").json == ["a"]
    with app.app_context():
        assert len(memory.storage("user_memory")._storage.list()) == 2


def test_outside_of_a_request_the_owner_is_named(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, "account:1")
    with app.app_context():
        with pytest.raises(ConfigurationError, match=r"user_memories\(owner\)"):
            memory.user_memories()
        for nobody in ("", "x" * 256, "\0"):
            with pytest.raises(MissingOwner):
                memory.user_memories(nobody)


def test_the_configuration_says_how_many_are_kept(tmp_path: pathlib.Path) -> None:
    app, memory = make_site(tmp_path, USER_MEMORIES=2)
    with app.app_context():
        for n in range(4):
            memory.user_memories("user:1").add(str(n))
        assert texts(memory.user_memories("user:1").list()) == ["3", "2"]
    for wrong in (0, -1, True, "many", None):
        with pytest.raises(ConfigurationError, match="CHAT_MEMORY_USER_MEMORIES"):
            make_site(tmp_path, USER_MEMORIES=wrong)
