"""Whatever owners do in whatever order, in two processes: compared with a model of plain lists.

``CHAT_MEMORY_STATE_MACHINE`` sets the number of runs for each store, 8 without it.
"""

from __future__ import annotations

import base64
import collections.abc as cabc
import contextlib
import itertools
import os
import pathlib
import secrets
import tempfile
import typing as t

import msgspec
import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from hypothesis.stateful import invariant
from hypothesis.stateful import precondition
from hypothesis.stateful import rule
from hypothesis.stateful import RuleBasedStateMachine
from hypothesis.stateful import run_state_machine_as_test

from flask_chat_memory import Conversation
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory import UnknownThread
from flask_chat_memory.plugins.rules import sequence_of
from flask_chat_memory.testing.contracts.parts import AblePlugin

from .apps import ManualClock
from .conversations import Site
from .redis_clients import cleaning
from .redis_servers import miss
from .redis_servers import URL
from .sql_servers import PLACES

RUNS = int(os.environ.get("CHAT_MEMORY_STATE_MACHINE", "8"))
EXPIRY = 1_000.0
OWNERS = ["user:1", "anon:2"]
PIECES = ["one ", "two ", "three"]

OWNER = st.sampled_from(OWNERS)
PROCESS = st.integers(0, 1)
NEW = st.sampled_from([False, False, False, False, True])
ENDING = st.sampled_from(["complete", "failed", "streamed", "cut"])
DRAW = st.integers(0, 10**6)
"""Which of the things that are there is meant; the model says how many there are."""


class Said(msgspec.Struct):
    """A turn in the model.

    :ivar turn: the one that is not over, on the side of the product.
    """

    question: str
    id: str
    key: str
    answer: tuple[str, str] | None = None
    turn: Turn | None = None

    @property
    def lines(self) -> list[tuple[str, str | None]]:
        answered = [] if self.answer is None else [(self.answer[0], self.answer[1])]
        return [(self.question, None), *answered]


class Talk(msgspec.Struct):
    """A thread in the model: turns in their order, and other lines, the one that was left last at the end."""

    title: str | None
    last_activity: float
    visible: list[Said] = []
    others: list[list[Said]] = []

    def leave(self, visible: list[Said]) -> None:
        """Show another line instead of this one."""
        left = self.visible
        if left != visible:
            self.others = [line for line in self.others if line != left]
            if left:
                self.others.append(left)
        self.visible = visible

    @property
    def every(self) -> list[Said]:
        return [said for line in [*self.others, self.visible] for said in line]

    @property
    def running(self) -> bool:
        return any(said.turn is not None for said in self.every)


class Owners(RuleBasedStateMachine):
    """Two owners in two processes, of which each has a site of its own over the same store."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.model: dict[str, dict[str, Talk]] = {owner: {} for owner in OWNERS}
        self.number = 0
        self.closing = contextlib.ExitStack()

    def store(self) -> tuple[str, dict[str, t.Any]]:
        """Return the plugin and its options."""
        return "in_memory", {}

    @initialize()
    def open(self) -> None:
        self.plugin, self.options = self.store()
        self.sites = [self.make_site()]
        self.sites.append(self.make_site() if self.sites[0].plugin.shared_by_processes else self.sites[0])

    def make_site(self) -> Site:
        options = {"threads": "many", "expiry": int(EXPIRY), **self.options}
        site = Site(pathlib.Path(self.folder.name), self.plugin, OPTIONS=options)
        site.plugin.clock = self.clock
        return site

    def teardown(self) -> None:
        for talks in self.model.values():
            for talk in talks.values():
                for said in talk.every:
                    if said.turn is not None:
                        said.turn.finish("in the end")
                        said.turn = None
        for site in getattr(self, "sites", []):
            site.plugin.close()
        self.closing.close()
        self.folder.cleanup()

    # What the rules share.

    def some_talk(self, owner: str, draw: int) -> tuple[str, Talk] | None:
        talks = list(self.model[owner].items())
        return talks[draw % len(talks)] if talks else None

    def conversation(self, owner: str, thread_id: str | None, process: int) -> Conversation:
        site = self.sites[process]
        with site.app.app_context():
            if thread_id is None:
                return site.memory.start_conversation(owner)
            return site.memory.open_conversation(owner, thread_id)

    def ask(
        self, owner: str, thread_id: str | None, process: int, take: cabc.Callable[[Conversation, str, str], Turn]
    ) -> tuple[str, Said]:
        """Take a turn with a question that nobody has asked yet."""
        self.number += 1
        self.clock.advance(0.5)
        text, key = f"Question {self.number}?", f"key-{self.number}"
        conversation = self.conversation(owner, thread_id, process)
        turn = take(conversation, text, key)
        assert turn.thread_id is not None and not turn.repeated
        said = Said(turn.text, turn.id, key, turn=turn)
        return turn.thread_id, said

    def end(self, talk: Talk | None, said: Said, how: str) -> None:
        """End a turn; in the model, its answer is where its question is, if its thread is still there."""
        turn = said.turn
        assert turn is not None
        said.turn = None
        self.clock.advance(0.5)
        text = f"Answer to {said.question}"
        if how == "complete":
            turn.finish(text)
        elif how == "failed":
            turn.fail("the model is down", text)
        else:
            stream = turn.stream(iter(PIECES))
            pieces = len(PIECES) + 1 if how == "streamed" else 2
            text = "".join(itertools.islice(stream, pieces))
            stream.close()
        if talk is not None:
            said.answer = (text, {"streamed": "complete", "cut": "partial"}.get(how, how))
            talk.last_activity = self.clock()

    # What owners do.

    @rule(owner=OWNER, draw=DRAW, process=PROCESS, new=NEW, how=ENDING)
    def says(self, owner: str, draw: int, process: int, new: bool, how: str) -> None:
        self.begins(owner, draw, process, new)
        talk, said = self.last
        self.end(talk, said, how)

    @rule(owner=OWNER, draw=DRAW, process=PROCESS, new=NEW)
    def begins(self, owner: str, draw: int, process: int, new: bool) -> None:
        """Ask, and leave the answer for later."""
        chosen = None if new else self.some_talk(owner, draw)
        thread_id, said = self.ask(
            owner,
            chosen and chosen[0],
            process,
            lambda conversation, text, key: conversation.turn(
                {"messages": [{"role": "user", "text": text}], "key": key, "thread_id": conversation.thread_id}
            ),
        )
        if chosen is None:
            self.model[owner][thread_id] = Talk(said.question, self.clock())
        talk = self.model[owner][thread_id]
        talk.visible = [*talk.visible, said]
        talk.last_activity = self.clock()
        self.last = talk, said

    @rule(draw=DRAW, how=ENDING)
    def ends(self, draw: int, how: str) -> None:
        running = [
            (talk, said)
            for talks in self.model.values()
            for talk in talks.values()
            for said in talk.every
            if said.turn is not None
        ]
        if running:
            talk, said = running[draw % len(running)]
            self.end(talk, said, how)

    @rule(owner=OWNER, draw=DRAW, which=DRAW, process=PROCESS)
    def repeats(self, owner: str, draw: int, which: int, process: int) -> None:
        """Send a question that was answered once more: the same answer, and nothing new."""
        chosen = self.some_talk(owner, draw)
        answered = [said for said in chosen[1].visible if said.answer and said.turn is None] if chosen else []
        if chosen is None or not answered:
            return
        said = answered[which % len(answered)]
        if said.answer is None or said.answer[1] == "failed":
            return
        turn = self.conversation(owner, chosen[0], process).turn(
            {"messages": [{"role": "user", "text": said.question}], "key": said.key, "thread_id": chosen[0]}
        )
        assert turn.repeated and turn.id == said.id
        assert turn.answer is not None and (turn.answer.text, turn.answer.status) == said.answer

    @rule(owner=OWNER, draw=DRAW, process=PROCESS, how=st.sampled_from(["reset", "delete"]))
    def removes(self, owner: str, draw: int, process: int, how: str) -> None:
        chosen = self.some_talk(owner, draw)
        if chosen is None or draw % 3:
            return
        conversation = self.conversation(owner, chosen[0], process)
        if how == "reset":
            assert conversation.reset(chosen[0]) not in (None, chosen[0])
        else:
            assert conversation.delete_thread(chosen[0])
            assert not conversation.delete_thread(chosen[0])
        self.remove(owner, chosen[0])

    def remove(self, owner: str, thread_id: str) -> None:
        """Forget a thread in the model; the turns in it go on, and their answers are lost."""
        talk = self.model[owner].pop(thread_id)
        for said in talk.every:
            if said.turn is not None:
                self.end(None, said, "complete")

    @rule(owner=OWNER, draw=DRAW, process=PROCESS, how=ENDING)
    def regenerates(self, owner: str, draw: int, process: int, how: str) -> None:
        chosen = self.some_talk(owner, draw)
        if chosen is None or not chosen[1].visible or chosen[1].visible[-1].turn is not None:
            return
        self.replaces(owner, chosen, len(chosen[1].visible) - 1, process, how, None)

    @rule(owner=OWNER, draw=DRAW, which=DRAW, process=PROCESS, how=ENDING)
    def edits(self, owner: str, draw: int, which: int, process: int, how: str) -> None:
        chosen = self.some_talk(owner, draw)
        if chosen is not None and chosen[1].visible:
            place = which % len(chosen[1].visible)
            self.replaces(owner, chosen, place, process, how, self.question_id(owner, *chosen, place))

    def question_id(self, owner: str, thread_id: str, talk: Talk, place: int) -> str:
        messages = self.conversation(owner, thread_id, 0).history()
        [found] = [m.id for m in messages if m.role == "user" and m.turn == talk.visible[place].id]
        assert found is not None
        return found

    def replaces(
        self, owner: str, chosen: tuple[str, Talk], place: int, process: int, how: str, question_id: str | None
    ) -> None:
        thread_id, talk = chosen
        _, said = self.ask(
            owner,
            thread_id,
            process,
            lambda conversation, text, key: (
                conversation.regenerate(thread_id=thread_id, key=key)
                if question_id is None
                else conversation.edit(question_id, text, thread_id=thread_id, key=key)
            ),
        )
        talk.leave([*talk.visible[:place], said])
        talk.last_activity = self.clock()
        self.end(talk, said, how)

    @rule(owner=OWNER, draw=DRAW, which=DRAW, process=PROCESS)
    def switches(self, owner: str, draw: int, which: int, process: int) -> None:
        """Show the line that held a hidden question last."""
        chosen = self.some_talk(owner, draw)
        if chosen is None or not chosen[1].others:
            return
        thread_id, talk = chosen
        line = talk.others[which % len(talk.others)]
        said = line[which % len(line)]
        sequence = self.sequences(owner, thread_id)[said.id]
        assert self.conversation(owner, thread_id, process).switch(sequence, thread_id)
        if said not in talk.visible:
            line = next(line for line in reversed(talk.others) if said in line)
            talk.others = [other for other in talk.others if other != line]
            talk.leave(line)

    def sequences(self, owner: str, thread_id: str) -> dict[str, int]:
        """Return the sequence of the question of each turn."""
        plugin: AblePlugin = self.sites[0].plugin
        messages = plugin.load_messages(Scope(owner), thread_id, hidden=True)
        return {message.turn or "": sequence_of(message) for message in messages if message.role == "user"}

    @rule(owner=OWNER, draw=DRAW, which=DRAW, process=PROCESS)
    def takes_back(self, owner: str, draw: int, which: int, process: int) -> None:
        chosen = self.some_talk(owner, draw)
        if chosen is None or not chosen[1].visible:
            return
        thread_id, talk = chosen
        place = which % len(talk.visible)
        said = talk.visible[place]
        if said.turn is not None:
            return
        assert self.conversation(owner, thread_id, process).undo(said.id, thread_id)
        talk.leave([*talk.visible[:place], *talk.visible[place + 1 :]])

    @rule(owner=OWNER, draw=DRAW, process=PROCESS, title=st.sampled_from(["a", "Ü", "b"]))
    def renames(self, owner: str, draw: int, process: int, title: str) -> None:
        chosen = self.some_talk(owner, draw)
        if chosen is not None:
            assert self.conversation(owner, chosen[0], process).update_thread(chosen[0], title=title)
            chosen[1].title = title

    @rule(owner=OWNER, number=st.integers(1, 20), process=PROCESS)
    def searches(self, owner: str, number: int, process: int) -> None:
        text = f"question {number}?"
        hits = self.conversation(owner, None, process).search(text)
        expected = [
            thread_id
            for thread_id, talk in self.model[owner].items()
            for said in talk.visible
            for line, _ in said.lines
            if text in line.casefold()
        ]
        assert sorted(hit.thread_id for hit in hits.found if hit.message_id) == sorted(expected)

    # What time, operators and logins do.

    @precondition(lambda self: not any(talk.running for talks in self.model.values() for talk in talks.values()))
    # No sum of the first is just below the expiry, which the moments that turns take would then pass unseen.
    @rule(seconds=st.sampled_from([0.4 * EXPIRY, EXPIRY + 1]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for talks in self.model.values():
            for thread_id, talk in list(talks.items()):
                if talk.last_activity < self.clock() - EXPIRY:
                    del talks[thread_id]

    @rule(process=PROCESS, age=st.sampled_from([1.0, 5.0, EXPIRY]))
    def purges(self, process: int, age: float) -> None:
        before = self.clock() - age
        list(self.sites[process].plugin.purge_threads(before))
        for talks in self.model.values():
            for thread_id, talk in list(talks.items()):
                if talk.last_activity < before and not talk.running:
                    del talks[thread_id]

    @rule(process=PROCESS)
    def logs_in(self, process: int) -> None:
        """The anonymous visitor becomes the user; turns that are running stay behind."""
        user, anonymous = OWNERS
        left = self.sites[process].plugin.move_threads(Scope(anonymous), Scope(user))
        staying = {thread_id: talk for thread_id, talk in self.model[anonymous].items() if talk.running}
        assert left == len(staying)
        for thread_id, talk in self.model[anonymous].items():
            if thread_id not in staying:
                self.model[user][thread_id] = talk
        self.model[anonymous] = staying

    @precondition(lambda self: not any(talk.running for talks in self.model.values() for talk in talks.values()))
    @rule(process=PROCESS)
    def restarts(self, process: int) -> None:
        if self.sites[0] is not self.sites[1]:
            self.sites[process].plugin.close()
            self.sites[process] = self.make_site()

    # What must be so after each step.

    @invariant()
    def each_process_tells_what_was_said(self) -> None:
        for site in getattr(self, "sites", []):
            for owner, talks in self.model.items():
                with site.app.app_context():
                    listed = site.memory.start_conversation(owner).list_threads(100).threads
                newest = sorted(talks, key=lambda thread_id: -talks[thread_id].last_activity)
                assert [thread.id for thread in listed] == newest
                assert [thread.title for thread in listed] == [talks[thread_id].title for thread_id in newest]
                for thread_id, talk in talks.items():
                    self.is_told(site, owner, thread_id, talk)

    def is_told(self, site: Site, owner: str, thread_id: str, talk: Talk) -> None:
        other = OWNERS[1 - OWNERS.index(owner)]
        with site.app.app_context():
            history = site.memory.open_conversation(owner, thread_id).history()
            with pytest.raises(UnknownThread):
                site.memory.open_conversation(other, thread_id)
        assert [(message.text, message.status) for message in history] == [
            line for said in talk.visible for line in said.lines
        ]
        every = site.plugin.load_messages(Scope(owner), thread_id, hidden=True)
        numbers = [sequence_of(message) for message in every]
        assert numbers == sorted(set(numbers))


class OnSQLite(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        return "sqlalchemy", {"url": f"sqlite:///{self.folder.name}/chat.sqlite3"}


class OnPostgreSQL(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        return "sqlalchemy", {"url": self.closing.enter_context(PLACES["postgresql"]()).url}


class OnMariaDB(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        return "sqlalchemy", {"url": self.closing.enter_context(PLACES["mariadb"]()).url}


class OnRedis(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        url, prefix = os.environ[URL], f"chat-memory-test-{secrets.token_hex(8)}:"
        self.closing.enter_context(cleaning(redis.Redis.from_url(url), prefix))
        return "redis", {"url": url, "key_prefix": prefix}


class OnDocuments(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        return "documents", {"storage": "in_memory"}


class OnFiles(Owners):
    def store(self) -> tuple[str, dict[str, t.Any]]:
        return "file", {"folder": self.folder.name}


def fresh_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


class Encrypted(Owners):
    """Over SQLite, with a new key after each restart."""

    def store(self) -> tuple[str, dict[str, t.Any]]:
        self.keys = [fresh_key()]
        url = f"sqlite:///{self.folder.name}/chat.sqlite3"
        return "encrypted", {"plugin": "sqlalchemy", "options": {"url": url}, "keys": list(self.keys)}

    @precondition(lambda self: not any(talk.running for talks in self.model.values() for talk in talks.values()))
    @rule()
    def keys_are_rotated(self) -> None:
        self.keys.insert(0, fresh_key())
        self.options = {**self.options, "keys": list(self.keys)}
        for site in self.sites:
            site.plugin.close()
        self.sites = [self.make_site(), self.make_site()]


@pytest.mark.parametrize(
    "owners", [Owners, OnSQLite, OnPostgreSQL, OnMariaDB, OnRedis, OnFiles, OnDocuments, Encrypted]
)
def test_nothing_is_lost_crossed_or_revived(owners: type[Owners]) -> None:
    if owners is OnRedis and URL not in os.environ:
        miss(f"{URL} is not set")
    run_state_machine_as_test(owners, settings=settings(max_examples=RUNS, stateful_step_count=40, deadline=None))
