"""What is older than it may be: gone for readers at once, and deleted by a purge."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import threading
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import purging
from flask_chat_memory import Scope
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.short_term.summary import Summary
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.domains import DomainStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.keys import FOLDERS
from flask_chat_memory.summaries import Summaries
from flask_chat_memory.testing import ManualClock

from .apps import make_app
from .apps import make_site
from .own_storage import OwnStorage

DAY = 86_400


@pytest.fixture(params=[InMemoryStorage, OwnStorage])
def aged(request: pytest.FixtureRequest) -> cabc.Iterator[tuple[DomainStorage, ManualClock]]:
    """Documents that are kept for a day: an old one, one of an owner, one that was stored again, and a new one."""
    storage, clock = request.param(), ManualClock()
    storage.clock = clock
    domain = domain_storage(storage, "site", retention=DAY)
    for place in (domain, domain.of_owner("user:1")):
        place.save("old", {"n": 1, "kind": "x", "updated_at": clock.now})
        place.save("again", {"n": 1, "kind": "x", "updated_at": clock.now})
    clock.advance(DAY)
    domain.save("again", {"n": 2, "kind": "x", "updated_at": clock.now})
    assert domain.exists("old")
    clock.advance(1)
    domain.save("new", {"n": 3, "kind": "x", "updated_at": clock.now})
    yield domain, clock


Aged = tuple[DomainStorage, ManualClock]


def test_an_old_document_is_gone_for_every_reader(aged: Aged) -> None:
    domain, _ = aged
    assert domain.load("old") is None
    assert not domain.exists("old")
    assert domain.list() == ["again", "new"]
    assert [name for name, _ in domain.load_all()] == ["again", "new"]
    assert [name for name, _ in domain.search("x")] == ["again", "new"]
    assert domain.delete("old") is False
    assert domain.of_owner("user:1").list() == []
    assert domain.owned() == {}
    assert list(domain.stored_times()) == ["again", "new"]


def test_an_old_document_is_not_exchanged_and_a_new_one_does_not_become_younger(aged: Aged) -> None:
    domain, clock = aged
    old, new = domain._storage.load("site/old") or {}, domain.load("new") or {}
    assert not domain.exchange("old", old, {"n": 4})
    clock.advance(DAY)
    assert domain.exchange("new", new, {**new, "n": 4})
    assert not domain.exchange("new", new, {**new, "n": 5})
    assert (domain.load("new") or {})["n"] == 4
    clock.advance(1)
    assert domain.load("new") is None


def test_an_old_document_leaves_room_for_a_new_one(aged: Aged) -> None:
    domain, _ = aged
    assert domain.create("old", {"n": 4, "updated_at": aged[1].now})
    assert not domain.create("old", {"n": 5})
    assert (domain.load("old") or {})["n"] == 4


def test_a_purge_removes_the_old_documents_of_all(aged: Aged) -> None:
    domain, clock = aged
    assert domain.count_expired() == 3
    assert domain.purge() == 3
    assert (domain.count_expired(), domain.purge()) == (0, 0)
    clock.advance(-DAY)
    assert domain.list() == ["again", "new"]
    assert domain.of_owner("user:1").list() == []


def test_without_a_retention_documents_stay(aged: Aged) -> None:
    storage = domain_storage(aged[0]._storage, "site")
    assert storage.list() == ["again", "new", "old"]
    assert (storage.purge(), storage.count_expired()) == (0, 0)


@pytest.mark.parametrize(
    ("retention", "told"),
    [
        (7, "must be a dict"),
        ({"conversation": 7}, "no domain 'conversation'.*'expiry'"),
        ({"summaries": 7}, "no domain 'summaries'"),
        ({"lerning": 7}, "no domain 'lerning'.*learning"),
        ({"learning": 0}, "must be a whole number"),
        ({"learning": -1}, "must be a whole number"),
        ({"learning": True}, "must be a whole number"),
        ({"learning": "7"}, "must be a whole number"),
    ],
)
def test_a_wrong_retention_is_refused_at_start_up(tmp_path: pathlib.Path, retention: t.Any, told: str) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_RETENTION=retention)
    with pytest.raises(ConfigurationError, match=f"CHAT_MEMORY_RETENTION.*{told}"):
        ChatMemory(app)


def test_a_retention_needs_a_storage(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=None, CHAT_MEMORY_RETENTION={"site": DAY})
    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_RETENTION has 'site'.*set CHAT_MEMORY_STORAGE"):
        ChatMemory(app)


@pytest.mark.parametrize("every", [0, -1, "often", 1.5, True])
def test_a_wrong_number_of_requests_is_refused_at_start_up(tmp_path: pathlib.Path, every: t.Any) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PURGE_EVERY=every)
    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_PURGE_EVERY"):
        ChatMemory(app)


@pytest.mark.scenario("S169", "N38")
def test_one_call_purges_all(tmp_path: pathlib.Path) -> None:
    storage = InMemoryStorage(clock=ManualClock())
    retention = {domain: DAY for domain in FOLDERS if domain not in ("conversation", "summaries")}
    app = make_app(tmp_path, CHAT_MEMORY_STORAGE=storage, CHAT_MEMORY_RETENTION={**retention, "settings": None})
    memory = ChatMemory(app)
    with app.app_context():
        clock = set_clock(memory)
        memory.start_conversation("user:1").turn("question").finish("answer")
        for domain in retention:
            memory.storage(domain).of_owner("user:1").save("a", {"text": "x"})
        storage.clock.advance(DAY + 1)  # type: ignore[attr-defined]
        clock.advance(30 * DAY + 1)
        counts = memory.purge()
    assert counts == {"conversation": 1, "messages": 2, **{domain: 1 for domain in retention if domain != "settings"}}
    assert [key for key in storage.list() if not key.startswith("config/")] == []


def test_summaries_go_with_their_threads(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    with app.app_context():
        clock = set_clock(memory)
        conversation = memory.start_conversation("user:1")
        conversation.turn("question").finish("answer")
        Summaries(memory.storage("summaries")).save(
            Scope("user:1"), Summary(thread_id=str(conversation.thread_id), timestamp="2026-01-01T00:00:00Z")
        )
        assert memory.purge() == {"conversation": 0, "messages": 0}
        clock.advance(30 * DAY + 1)
        assert memory.purge() == {"conversation": 1, "messages": 2, "summaries": 1}


def set_clock(memory: ChatMemory, chatbot: str | None = None) -> ManualClock:
    plugin = memory.plugin_for(chatbot)
    assert plugin is not None
    clock = plugin.clock = ManualClock()
    return clock


@pytest.mark.scenario("S171")
@pytest.mark.parametrize("before", [0, -1, 1e12, float("nan"), float("inf")])
def test_a_wrong_time_is_refused_before_anything_is_deleted(tmp_path: pathlib.Path, before: float) -> None:
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    with app.app_context():
        memory.start_conversation("user:1").turn("question").finish("answer")
        with pytest.raises(ValueError, match="before"):
            memory.purge(before=before)
        with pytest.raises(ConfigurationError, match="no chatbot 'nobody'"):
            memory.purge(before=1.0, chatbot="nobody")
        assert memory.purge() == {"conversation": 0, "messages": 0}
        assert memory.plugin is not None
        assert memory.plugin.current_thread(Scope("user:1"))  # type: ignore[attr-defined]


def short_and_long(folder: pathlib.Path, long: int | None) -> tuple[flask.Flask, ChatMemory, ManualClock]:
    """A site with two chatbots and a former one, whose threads are all in one database."""
    chatbots = {
        "short": {"plugin": "sqlalchemy", "options": {"expiry": DAY, "threads": "many"}},
        "long": {"plugin": "sqlalchemy", "options": {"expiry": long, "threads": "many"}},
    }
    app = make_app(folder, CHAT_MEMORY_CHATBOTS=chatbots)
    memory, clock = ChatMemory(app), ManualClock()
    with app.app_context():
        for name in chatbots:
            plugin = memory.plugin_for(name)
            assert plugin is not None
            plugin.clock = clock
            for scope in (Scope("user:1", name), Scope("user:1", "former")):
                plugin.append_messages(scope, f"of-{name}", [ChatMessage("user", "x")])
    return app, memory, clock


def left(memory: ChatMemory) -> set[tuple[str, str]]:
    plugin = memory.plugin_for("long")
    assert isinstance(plugin, SQLAlchemyPlugin)
    return {(scope.chatbot, thread.id) for scope, thread in plugin.all_threads()}


def test_each_chatbot_has_the_expiry_of_its_plugin(tmp_path: pathlib.Path) -> None:
    app, memory, clock = short_and_long(tmp_path, 3 * DAY)
    former = {("former", "of-short"), ("former", "of-long")}
    with app.app_context():
        clock.advance(DAY)
        assert memory.purge()["conversation"] == 0
        clock.advance(1)
        assert memory.purge(chatbot="long")["conversation"] == 0
        assert memory.purge()["conversation"] == 1
        assert left(memory) == {("long", "of-long")} | former
        clock.advance(2 * DAY)
        assert memory.purge()["conversation"] == 3
        assert left(memory) == set()


def test_where_one_keeps_for_ever_nothing_else_goes_with_the_others(tmp_path: pathlib.Path) -> None:
    app, memory, clock = short_and_long(tmp_path, None)
    with app.app_context():
        clock.advance(1000 * DAY)
        assert memory.purge()["conversation"] == 1
        assert left(memory) == {("long", "of-long"), ("former", "of-short"), ("former", "of-long")}
        assert memory.purge(before=clock.now)["conversation"] == 3


@pytest.mark.scenario("N41")
def test_purges_follow_requests(tmp_path: pathlib.Path) -> None:
    site = make_site(tmp_path, CHAT_MEMORY_PURGE_EVERY=3)
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("a")
    clock.advance(30 * DAY + 1)
    site.browser().client.get("/plain").close()
    assert site.rows("thread") == 1
    site.browser().client.get("/plain").close()
    wait_for_purge()
    assert site.rows("thread") == site.rows("message") == 0
    assert site.rows("usage") == 1


def wait_for_purge() -> None:
    for thread in threading.enumerate():
        if thread.name == purging.NAME:
            thread.join()


class Stepwise:
    """Batches that come when they are let."""

    def __init__(self) -> None:
        self.begun = 0
        self.taken = 0
        self.go = threading.Event()

    def __call__(self) -> cabc.Iterator[dict[str, int]]:
        self.begun += 1
        return self._batches()

    def _batches(self) -> cabc.Iterator[dict[str, int]]:
        self.go.wait()
        while True:
            self.taken += 1
            yield {"conversation": purging.MOST // 2}


def test_purges_do_not_overlap_and_leave_much_to_the_next_one() -> None:
    app, batches = flask.Flask("site"), Stepwise()
    purge = purging.BackgroundPurge(app, 1, batches)
    for _ in range(3):
        purge.after_request(flask.Response()).close()
    batches.go.set()
    wait_for_purge()
    assert (batches.begun, batches.taken) == (1, 2)
    purge.after_request(flask.Response()).close()
    wait_for_purge()
    assert batches.begun == 2


def test_a_purge_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> t.NoReturn:
        raise ConfigurationError("it cannot")

    purging.BackgroundPurge(flask.Flask("site"), 1, fail).after_request(flask.Response()).close()
    wait_for_purge()
    assert "what is expired was not purged" in caplog.text
