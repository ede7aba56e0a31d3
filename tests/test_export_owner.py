"""What is stored of an owner, given to them: as lines of JSON, as Markdown, as a page."""

from __future__ import annotations

import html.parser
import json
import pathlib
import tracemalloc
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import MissingOwner
from flask_chat_memory import Scope
from flask_chat_memory.plugins.records import Renewal
from flask_chat_memory.plugins.records import Thread
from flask_chat_memory.plugins.records import WholeThread
from flask_chat_memory.privacy import Format
from flask_chat_memory.testing import ManualClock

from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin

NASTY = "</pre><script>alert(1)</script> ```` & `x`\n# not a heading\n```\n~~~\n<img src=x onerror=alert(2)>"
USED = {"prompt_tokens": 10, "completion_tokens": 5}
FORMATS: tuple[Format, ...] = ("json", "md", "html")
OTHER = "user:10"


@pytest.fixture(params=["in_memory", "sqlalchemy"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    stores = {"STORAGE": "file", "OPTIONS": {"threads": "many"}, "CHATBOTS": {"default": {}, "sales": {}}}
    return Site(tmp_path, request.param, **stores)


def exported(site: Site, format: Format, owner: str = OWNER) -> str:
    with site.app.app_context():
        return b"".join(site.memory.export(owner, format)).decode()


def fill(site: Site, owner: str = OWNER) -> None:
    with site.app.app_context():
        conversation = site.memory.start_conversation(owner, title=f"title {owner}.")
        turn = conversation.turn(f"question {owner}. {NASTY}")
        turn.record(ChatMessage("assistant", None, tool_calls=[{"id": "c", "function": {"name": f"call {owner}."}}]))
        turn.record(ChatMessage("tool", [{"type": "text", "text": f"part {owner}."}], tool_call_id="c"))
        answer = turn.finish(f"answer {owner}.", usage=USED, model="gpt")
        conversation.mark(str(answer.id), 1, f"comment {owner}.")
        conversation.regenerate().finish(f"other answer {owner}.")
        site.memory.start_conversation(owner, "sales").turn(f"sales {owner}.").finish("fine")
        site.memory.user_memories(owner).add(f"memory {owner}.")
        for domain in ("summaries", "learning", "settings", "site", "facts"):
            site.memory.storage(domain).of_owner(owner).save("x", {"note": f"{domain} {owner}.", "<i>`name`</i>": 1})


MARKERS = [
    *(
        f"{kind} {OWNER}."
        for kind in ("title", "question", "call", "part", "answer", "comment", "other answer", "sales")
    ),
    *(f"{kind} {OWNER}." for kind in ("memory", "summaries", "learning", "settings", "site", "facts")),
]


@pytest.mark.parametrize("format", FORMATS)
def test_all_of_an_owner_and_nothing_of_another(site: Site, format: Format) -> None:
    for owner in (OWNER, OTHER):
        fill(site, owner)
    text = exported(site, format)
    assert [marker for marker in MARKERS if marker not in text] == []
    assert OTHER not in text
    assert "gpt" in text


def test_lines_of_json_tell_what_there_is(site: Site) -> None:
    fill(site)
    *_, end = map(json.loads, exported(site, "json").splitlines())
    assert (end["threads"], end["documents"]) == (2, 6)


@pytest.mark.parametrize("format", ["md", "html"])
def test_what_is_seen_no_more_is_marked_so(site: Site, format: Format) -> None:
    fill(site)
    text = exported(site, format)
    assert text.count("no longer shown") == 4
    assert text.index("no longer shown") < text.index(f"other answer {OWNER}.")
    assert "good" in text


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: its tags, and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_shows_text_word_for_word_and_runs_nothing(site: Site) -> None:
    fill(site)
    text = exported(site, "html")
    page = Page(text)
    assert not {"i", "script", "img", "link", "iframe", "form"} & page.tags
    assert f"\nquestion {OWNER}. {NASTY}" in page.texts
    assert "default-src 'none'" in text
    assert text.startswith("<!doctype html>") and text.endswith("</html>\n")


def test_markdown_keeps_what_was_written_in_fences(site: Site) -> None:
    fill(site)
    text = exported(site, "md")
    assert f"`````text\nquestion {OWNER}. {NASTY}\n`````\n" in text


def test_an_unfinished_answer_is_shown_as_far_as_it_came(site: Site) -> None:
    turn = site.start().turn("hello")
    plugin = site.plugin
    plugin.renew_turns([Renewal(Scope(OWNER), str(turn.thread_id), turn.id, "so far")], plugin.clock() + 30)
    assert "so far" in exported(site, "md")


@pytest.mark.parametrize("format", FORMATS)
def test_of_somebody_unknown_there_is_nothing(site: Site, format: Format) -> None:
    text = exported(site, format, "user:unknown")
    assert "0" in text
    assert site.start("user:unknown").thread_id is not None
    assert len(text) < 3000


def test_what_has_expired_is_not_in_it(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, "sqlalchemy")
    site.plugin.clock = ManualClock()
    site.start().turn("long ago").finish("fine")
    site.plugin.clock.advance(31 * 86400)
    assert "long ago" not in exported(site, "json")


def test_a_thread_that_changes_while_it_is_written_is_there_as_it_is_at_last(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    conversation = site.start()
    conversation.turn("first").finish("fine")
    with site.app.app_context():
        pieces = site.memory.export(OWNER, "md")
        begun = [next(pieces), next(pieces)]
        conversation.turn("second").finish("fine")
        text = b"".join([*begun, *pieces]).decode()
    assert "has changed meanwhile" in text
    assert text.rindex("second") > text.rindex("first") > text.index("has changed meanwhile")


@pytest.mark.parametrize("owner", ["", None, "x" * 256])
def test_nobody_has_no_export(site: Site, owner: t.Any) -> None:
    with site.app.app_context(), pytest.raises(MissingOwner):
        site.memory.export(owner)


def test_an_export_that_cannot_be_made_is_refused_at_once(site: Site, tmp_path: pathlib.Path) -> None:
    with site.app.app_context(), pytest.raises(ConfigurationError, match="no format 'pdf'"):
        site.memory.export(OWNER, t.cast(Format, "pdf"))
    other = Site(tmp_path, FiveMethodsPlugin)
    with other.app.app_context(), pytest.raises(ConfigurationError, match="lacks"):
        other.memory.export(OWNER)


@pytest.mark.parametrize("format", FORMATS)
def test_memory_does_not_grow_with_the_thread(tmp_path: pathlib.Path, format: Format) -> None:
    site = Site(tmp_path, "sqlalchemy")
    count = 10_000
    thread = Thread(id="t", created_at=1.0, last_activity=site.plugin.clock(), messages=count)
    messages = (
        ChatMessage("user" if number % 2 else "assistant", "x" * 500, id=f"m{number}").numbered(number)
        for number in range(1, count + 1)
    )
    site.plugin.restore_thread(Scope(OWNER), WholeThread(thread=thread, sequence=count, current=True), list(messages))
    with site.app.app_context():
        pieces = site.memory.export(OWNER, format)
        tracemalloc.start()
        size = sum(map(len, pieces))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert size > count * 500
    assert peak < 3_000_000
