"""Titles: of the first question, of the site's function, of the caller."""

from __future__ import annotations

import asyncio
import collections.abc as cabc
import pathlib
import threading
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Conversation
from flask_chat_memory import DescribesThreads
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory import Thread
from flask_chat_memory import ThreadChanges
from flask_chat_memory import Turn
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.titles import shortened

from .conversations import ask
from .conversations import OWNER
from .conversations import Site
from .encryption import NEW
from .five_methods import FiveMethodsPlugin

PLUGINS: list[tuple[t.Any, dict[str, t.Any]]] = [
    ("in_memory", {}),
    ("sqlalchemy", {}),
    ("file", {}),
    ("encrypted", {"plugin": "sqlalchemy", "keys": [NEW]}),
]


@pytest.fixture(params=PLUGINS, ids=[name for name, _ in PLUGINS])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    name, options = request.param
    return Site(tmp_path, name, OPTIONS={"threads": "many", **options})


def title_of(site: Site, conversation: Conversation) -> str | None:
    assert conversation.thread_id is not None
    with site.app.app_context():
        thread = site.memory.open_conversation(OWNER, conversation.thread_id).find_thread(conversation.thread_id)
    assert thread is not None
    return thread.title


def wait_for_titles() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("title of turn"):
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.scenario("S028")
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("hello", "hello"),
        ("  two\n\n lines\tof text  ", "two lines of text"),
        ("", None),
        (" \n\ufffd ", None),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("word " * 12, "word " * 11 + "word"),
        ("word " * 13, "word " * 11 + "word…"),
        ("a" * 20 + " " + "b" * 100, "a" * 20 + " " + "b" * 38 + "…"),
        ("字" * 100, "字" * 59 + "…"),
        ("a\u202fb " + "c" * 30 + " " + "d" * 60, "a b " + "c" * 30 + "…"),
        ("x " * 1_000_000, "x " * 29 + "x…"),
    ],
)
def test_a_title_is_one_line_cut_between_words(text: str, title: str | None) -> None:
    assert shortened(text) == title


def test_a_thread_is_titled_by_its_first_question(site: Site) -> None:
    conversation = site.start()
    ask(conversation, "Where is\nmy order?")
    ask(conversation, "And my money?")
    assert title_of(site, conversation) == "Where is my order?"


@pytest.mark.scenario("S162")
def test_a_title_of_a_person_stays(site: Site) -> None:
    conversation = site.start()
    ask(conversation, "Where is my order?")
    assert conversation.update_thread(t.cast(str, conversation.thread_id), title="Pens")
    ask(conversation, "And my money?")
    assert title_of(site, conversation) == "Pens"


def test_a_question_that_is_sent_again_titles_nothing_again(site: Site) -> None:
    site.memory.provider(lambda turn: "fine")
    site.post("Where is my order?", key="k")
    with site.app.test_request_context():
        conversation = site.memory.conversation()
        (thread,) = conversation.list_threads().threads
        conversation.update_thread(thread.id, title="Pens")
        site.post("Where is my order?", key="k")
        (thread,) = conversation.list_threads().threads
    assert (thread.title, thread.messages) == ("Pens", 2)


def test_the_caller_names_a_new_thread(site: Site) -> None:
    asked: list[Turn] = []
    site.memory.title(lambda turn: asked.append(turn))
    with site.app.app_context():
        conversation = site.memory.start_conversation(OWNER, title="  Import of May ")
    ask(conversation, "Where is my order?")
    wait_for_titles()
    assert title_of(site, conversation) == "Import of May"
    assert asked == []


def test_too_long_a_title_is_refused_before_anything_is_stored(site: Site) -> None:
    with site.app.app_context(), pytest.raises(RequestRefused, match="at most 200 characters") as refused:
        site.memory.start_conversation(OWNER, title="x" * 201)
    assert refused.value.code == 400


def test_a_function_of_the_site_makes_the_title_when_the_answer_is_there(site: Site) -> None:
    asked: list[tuple[str, str, str | None, str]] = []

    @site.memory.title
    def make_title(turn: Turn) -> str:
        assert turn.answer is not None
        asked.append((turn.text, turn.answer.text, turn.owner, flask.current_app.name))
        return " About\norders " + "x" * 500

    conversation = site.start()
    turn = conversation.turn("Where is my order?")
    assert title_of(site, conversation) == "Where is my order?"
    turn.finish("On its way.")
    wait_for_titles()
    ask(conversation, "And my money?")
    wait_for_titles()
    assert asked == [("Where is my order?", "On its way.", OWNER, "site")]
    title = title_of(site, conversation)
    assert title is not None and title.startswith("About orders xxx") and len(title) == 200


def test_the_visitor_does_not_wait_for_the_title(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    release = threading.Event()

    @site.memory.title
    def make_title(turn: Turn) -> str:
        assert release.wait(20)
        return "At last"

    @site.memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        yield "fine"

    assert "[DONE]" in site.post("hello").text
    release.set()
    wait_for_titles()
    assert title_of(site, site.start()) == "At last"


@pytest.mark.scenario("S162")
def test_a_person_who_is_faster_than_the_function_wins(site: Site) -> None:
    @site.memory.title
    def make_title(turn: Turn) -> str:
        conversation.update_thread(t.cast(str, turn.thread_id), title="Mine")
        return "Not mine"

    conversation = site.start()
    ask(conversation, "hello")
    wait_for_titles()
    assert title_of(site, conversation) == "Mine"


def test_what_the_function_raises_is_logged_and_changes_nothing(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    @site.memory.title
    def make_title(turn: Turn) -> str:
        raise RuntimeError("the model is gone")

    conversation = site.start()
    turn = ask(conversation, "hello")
    wait_for_titles()
    assert turn.answer is not None and turn.answer.status == "complete"
    assert title_of(site, conversation) == "hello"
    assert "the title function of a chatbot failed chatbot=default" in caplog.text


@pytest.mark.parametrize("made", [None, "", "  ", 7])
def test_a_function_that_knows_no_title_changes_nothing(tmp_path: pathlib.Path, made: t.Any) -> None:
    site = Site(tmp_path)
    site.memory.title(lambda turn: made)
    conversation = site.start()
    ask(conversation, "hello")
    wait_for_titles()
    assert title_of(site, conversation) == "hello"


def test_without_an_answer_no_title_is_made(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    asked: list[Turn] = []
    site.memory.title(lambda turn: asked.append(turn))
    for end in ("fail", "leave"):
        turn = site.start().turn("hello")
        turn.fail("no model") if end == "fail" else turn.leave()
        site.start().reset()
    wait_for_titles()
    assert asked == []


def test_an_async_function_makes_titles(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)

    @site.memory.title("default")
    async def make_title(turn: Turn) -> str:
        await asyncio.sleep(0)
        return "Later"

    conversation = site.start()
    ask(conversation, "hello")
    wait_for_titles()
    assert title_of(site, conversation) == "Later"


class DescribingPlugin(FiveMethodsPlugin, DescribesThreads):
    """Keeps titles but no live turns, so that a title does not come with the question."""

    titles: dict[str, t.Any]
    full = False

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        return Thread(id=thread_id, created_at=0, last_activity=0, messages=0, **self.titles)

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        if self.full:
            raise StorageError("no room for titles")
        self.titles = dict(changes)
        return True


def test_a_title_is_stored_after_the_question_where_it_cannot_come_with_it(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, DescribingPlugin)
    conversation = site.start()
    ask(conversation, "Where is my order?")
    ask(conversation, "And my money?")
    assert title_of(site, conversation) == "Where is my order?"


def test_a_title_that_cannot_be_stored_does_not_cost_the_turn(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, DescribingPlugin)
    site.plugin.full = True
    turn = ask(site.start(), "hello")
    assert turn.answer is not None and turn.answer.text == "fine"
    assert "the title of a thread was not stored" in caplog.text


def test_a_plugin_without_titles_works_and_says_so_when_asked_for_one(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FiveMethodsPlugin)
    site.memory.title(lambda turn: "never")
    conversation = site.start()
    ask(conversation, "hello")
    wait_for_titles()
    with site.app.app_context(), pytest.raises(ConfigurationError, match="must inherit DescribesThreads"):
        site.memory.start_conversation(OWNER, title="x")
    with pytest.raises(ConfigurationError, match="must inherit DescribesThreads"):
        conversation.list_threads()


class CountingTitles(InMemoryPlugin):
    updates = 0

    def update_thread(self, *arguments: t.Any, **changes: t.Any) -> bool:
        self.updates += 1
        return super().update_thread(*arguments, **changes)


def test_a_title_comes_with_the_question_and_is_no_write_of_its_own(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingTitles)
    conversation = site.start()
    for text in ("one", "two", "three"):
        ask(conversation, text)
    assert title_of(site, conversation) == "one"
    assert site.plugin.updates == 0


def test_an_edit_of_the_first_question_leaves_the_title(site: Site) -> None:
    conversation = site.start()
    turn = ask(conversation, "Where is my order?")
    conversation.edit(str(turn.question.id), "Where is my money?").finish("fine")
    assert title_of(site, conversation) == "Where is my order?"


def test_functions_are_refused_like_providers(tmp_path: pathlib.Path) -> None:
    memory = Site(tmp_path).memory
    memory.title("default")(lambda turn: None)
    for call in (
        lambda: memory.title("default")(lambda turn: None),
        lambda: memory.title("sales")(lambda turn: None),
        lambda: memory.title()(t.cast(t.Any, 7)),
        lambda: ChatMemory().title()(t.cast(t.Any, "no function")),
    ):
        with pytest.raises(ConfigurationError):
            call()
