"""What turns have cost: of a thread, of an owner, and in money."""

from __future__ import annotations

import datetime as dt
import logging
import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import CorruptRecord
from flask_chat_memory import MissingOwner
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory import Usage
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.usage import Counted

from .apps import make_site
from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin

USED = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
DAY = dt.date(2025, 6, 15)


@pytest.fixture(params=["in_memory", "sqlalchemy", "file"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param, CHATBOTS={"default": {}, "sales": {}})


def spend(site: Site, text: str = "hello", chatbot: str = "default", model: str = "gpt") -> Turn:
    turn = site.start(chatbot=chatbot).turn(text)
    turn.finish("fine", usage=USED, model=model)
    return turn


@pytest.mark.scenario("S127", "A24")
def test_a_thread_tells_its_totals_right_after_it_is_loaded(site: Site) -> None:
    for text in ("one", "two", "three"):
        spend(site, text)
    assert site.start().usage() == Usage(input=30, output=15, cached=0, reasoning=0, total=45)


@pytest.mark.scenario("S127")
def test_replayed_history_is_not_counted(site: Site) -> None:
    turn = spend(site)
    copied = site.stored(turn.thread_id)
    site.plugin.save_messages(Scope("user:2"), "copied", copied)
    with site.app.app_context():
        assert site.memory.usage("user:2") == []
        spend(site, "again")
        assert [line.total for line in site.memory.usage(OWNER)] == [30]


def test_a_conversation_of_nobody_has_cost_nothing(tmp_path: pathlib.Path) -> None:
    site = make_site(tmp_path, CHAT_MEMORY_PLUGIN=None)
    with site.app.test_request_context():
        assert site.memory.conversation().usage() == Usage(input=0, output=0, cached=0, reasoning=0, total=0)


@pytest.mark.scenario("S128")
def test_what_the_parts_of_one_model_call_tell_is_counted_once(site: Site) -> None:
    turn = site.start().turn("hello")
    turn.record(ChatMessage("assistant", None, tool_calls=[{"id": "c"}], usage=USED, model="gpt"))
    turn.record(ChatMessage("tool", "42", tool_call_id="c"))
    turn.finish("fine", usage=USED, model="gpt")
    assert site.start().usage().total == 15
    with site.app.app_context():
        assert [(line.turns, line.total) for line in site.memory.usage(OWNER)] == [(1, 15)]


def test_an_owner_has_used_what_all_chatbots_counted(site: Site) -> None:
    clock = site.plugin.clock = lambda: 1_750_000_000.0
    with site.app.app_context():
        t.cast(t.Any, site.memory.plugin_for("sales")).clock = clock
    spend(site)
    spend(site, chatbot="sales", model="big")
    with site.app.app_context():
        lines = site.memory.usage(OWNER)
        assert [(line.chatbot, line.model, line.day) for line in lines] == [
            ("default", "gpt", DAY),
            ("sales", "big", DAY),
        ]
        assert Usage.sum(lines).total == 30
        assert site.memory.usage(OWNER, "sales") == lines[1:]
        assert site.memory.usage(OWNER, since=DAY + dt.timedelta(days=1)) == []
        assert site.memory.usage(OWNER, until=DAY) == lines
        assert site.memory.usage("user:2") == []
        with pytest.raises(MissingOwner):
            site.memory.usage("")
        with pytest.raises(ConfigurationError, match="no chatbot 'other'"):
            site.memory.usage(OWNER, "other")


@pytest.mark.scenario("S129")
def test_a_deleted_thread_stays_in_the_bill(site: Site) -> None:
    spend(site)
    site.start().reset()
    assert site.start().usage().total == 0
    with site.app.app_context():
        assert Usage.sum(site.memory.usage(OWNER)).total == 15


def test_an_answer_to_a_thread_that_was_reset_meanwhile_has_cost_as_much(site: Site) -> None:
    turn = site.start().turn("hello")
    site.start().reset()
    turn.finish("too late", usage=USED)
    with site.app.app_context():
        assert [(line.turns, line.total) for line in site.memory.usage(OWNER)] == [(1, 15)]


def test_a_plugin_that_does_not_count_is_named(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FiveMethodsPlugin)
    with site.app.app_context(), pytest.raises(ConfigurationError, match="'default' does not count"):
        site.memory.usage(OWNER)


def test_the_price_is_that_of_the_site(site: Site) -> None:
    spend(site)
    spend(site, model="big")
    with site.app.app_context():
        with pytest.raises(ConfigurationError, match=r"@memory\.price"):
            site.memory.cost(OWNER)

        @site.memory.price
        def price(usage: Counted, model: str | None) -> float:
            return (usage.total or 0) * (2 if model == "big" else 1)

        assert site.memory.cost(OWNER) == 45
        assert site.memory.cost(OWNER, "sales") == 0
        with pytest.raises(ConfigurationError, match="price already"):
            site.memory.price(price)


@pytest.mark.scenario("S130")
def test_sums_ignore_what_is_not_known() -> None:
    usages = [Usage(), Usage(total=7), Usage(output=5), Usage(input=1, output=1, total=3, cached=1, reasoning=2)]
    assert Usage.sum(usages) == Usage(input=1, output=6, cached=1, reasoning=2, total=15)


def test_a_ledger_that_cannot_be_read_is_kept_and_does_not_cost_the_answer(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, "file")
    spend(site)
    assert isinstance(site.plugin, FilePlugin)
    [ledger] = tmp_path.rglob("usage/*.jsonl")
    ledger.write_text("{{")
    with caplog.at_level(logging.ERROR):
        turn = spend(site, "again")
    assert "not counted" in caplog.text
    assert site.stored(turn.thread_id)[-1].text == "fine"
    assert ledger.read_text() == "{{"
    with site.app.app_context(), pytest.raises(CorruptRecord):
        site.memory.usage(OWNER)
