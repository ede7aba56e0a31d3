"""What the golden stores hold, and what a release must find in them."""

from __future__ import annotations

import typing as t

import msgspec

from flask_chat_memory import ChatMessage
from flask_chat_memory import LiveTurn
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory.knowledge.facts import GlobalFacts
from flask_chat_memory.knowledge.knowledge_base import KnowledgeBase
from flask_chat_memory.knowledge.user_memory import UserMemories
from flask_chat_memory.message import timestamp
from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.short_term.summary import Summary
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.summaries import Summaries
from flask_chat_memory.testing import ManualClock

CLOCK = ManualClock()
OWNER, GUEST = Scope("user:1"), Scope("anon:Ünï%c/ö*de 🙂", "support")
THREADS = ((OWNER, "thread-1"), (OWNER, "thread-2"), (GUEST, "třetí/../thread"))
OPTIONS: dict[str, t.Any] = {"threads": "many", "expiry": None}
BATCH = "batch:1"

MIXED = [
    ChatMessage("system", "Of the site.", id="s-1"),
    ChatMessage(
        "user",
        [{"type": "text", "text": "Was ist das? ما هذا؟ 這是什麼"}, {"type": "image_url", "image_url": {"url": "https://a.b/c"}}],
        id="q-2",
        turn="t-2",
        name="Ann",
        metadata={"tags": ["a", None, True], "numbers": [1, 2.5, 1e300, -0.0, 2**53], "nested": {"é": {}}},
    ),
    ChatMessage(
        "assistant",
        None,
        id="c-2",
        turn="t-2",
        tool_calls=[{"id": "call-1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    ),
    ChatMessage("tool", '{"left": 12}', id="r-2", turn="t-2", tool_call_id="call-1"),
    ChatMessage(
        "assistant",
        "A\0B\ud800 \"'\\ </script> \u2028 line\r\nbreaks",
        id="a-2",
        turn="t-2",
        model="model-é",
        usage={"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}},
        status="partial",
        created_at="2026-12-01T01:02:03.000004Z",
    ),
    ChatMessage.from_dict({"role": "user", "content": "With keys of the site.", "site": {"a": [1, {"b": None}]}}),
    ChatMessage("assistant", None, status="failed"),
]  # fmt: skip


def answer(turn: str) -> ChatMessage:
    usage = {"input_tokens": 7, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}
    return ChatMessage("assistant", f"Answer {turn}", id=f"a-{turn}", turn=turn, model="model-1", usage=usage)


def question(turn: str) -> ChatMessage:
    return ChatMessage("user", f"Question {turn}", id=f"q-{turn}", turn=turn)


def live(turn: str, lease: float) -> LiveTurn:
    return LiveTurn(turn, f"q-{turn}", f"a-{turn}", lease=CLOCK() + lease)


def fill(plugin: t.Any) -> None:
    """Store threads in a plugin with all abilities."""
    ask_and_answer(plugin, "thread-1", "one", title="A title with <b> & 🙂")
    plugin.append_messages(OWNER, "thread-1", MIXED, key=BATCH)
    ask_and_answer(plugin, "thread-1", "old")
    replaced = plugin.load_messages(OWNER, "thread-1", limit=2)[0].sequence
    ask_and_answer(plugin, "thread-1", "new", replaces=replaced)
    plugin.mark_message(OWNER, "thread-1", "a-one", Mark(1, "Gut 👍\nwirklich"))
    plugin.mark_message(OWNER, "thread-1", "a-new", Mark(-1))
    plugin.update_thread(OWNER, "thread-1", pinned=True, configuration="support, version 2")
    CLOCK.advance(60)
    plugin.start_turn(OWNER, "thread-2", question("live"), key="question:live", live=live("live", 30))
    plugin.renew_turns([Renewal(OWNER, "thread-2", "live", "So far")], CLOCK() + 3600)
    plugin.stop_turn(OWNER, "thread-2", "live")
    plugin.update_thread(OWNER, "thread-2", archived=True)
    CLOCK.advance(60)
    plugin.append_messages(GUEST, THREADS[2][1], [question("guest")], key="question:guest")


def ask_and_answer(plugin: t.Any, thread_id: str, turn: str, **more: t.Any) -> None:
    plugin.start_turn(OWNER, thread_id, question(turn), key=f"question:{turn}", live=live(turn, 30), **more)
    plugin.end_turn(OWNER, thread_id, turn, [answer(turn)], key=f"answer:{turn}", reply_to=f"q-{turn}")


def found_in(plugin: t.Any) -> dict[str, t.Any]:
    """Return all that a plugin tells of what :func:`fill` has stored."""
    return {
        **found_in_plain(plugin),
        "all lines": [numbered(plugin.load_messages(scope, id, hidden=True)) for scope, id in THREADS],
        "lines": [plain(plugin.find_lines(scope, id)) for scope, id in THREADS],
        "marks": [plain(plugin.load_marks(scope, id)) for scope, id in THREADS],
        "live": [plain(plugin.live_turns(scope, id)) for scope, id in THREADS],
        "threads": [plain(plugin.find_thread(scope, id)) for scope, id in THREADS],
        "lists": [plain(plugin.list_threads(scope, limit=10)) for scope in (OWNER, GUEST)],
        "current": [plugin.current_thread(scope) for scope in (OWNER, GUEST)],
        "usage": [plain(plugin.list_usage(scope)) for scope in (OWNER, GUEST)],
        "search": [
            [hit.thread_id, hit.message.id] for hit in plugin.search_messages(OWNER, "question", limit=10).found
        ],
    }


def fill_plain(plugin: ChatMemoryPlugin) -> None:
    """Store threads in a plugin without abilities."""
    plugin.append_messages(OWNER, "thread-1", MIXED, key=BATCH)
    plugin.append_messages(OWNER, "thread-1", [question("one"), answer("one")])
    plugin.append_messages(GUEST, THREADS[2][1], [question("guest")])


def found_in_plain(plugin: ChatMemoryPlugin) -> dict[str, t.Any]:
    known = plugin.append_messages(OWNER, "thread-1", MIXED, key=BATCH)
    return {
        "messages": [numbered(plugin.load_messages(scope, id)) for scope, id in THREADS],
        "known batch": plain(known),
        "there": [plugin.has_thread(scope, id) for scope, id in [*THREADS, (GUEST, "thread-1")]],
    }


def fill_documents(storage: Storage) -> None:
    """Store a document of each kind."""
    source = InMemoryStorage(clock=CLOCK)
    summary = Summary(
        thread_id="thread-1", first=1, last=9, last_id="a-2", turns=3, text="So far:\n\n- é", facts=("One", "Two"),
        tokens=12, timestamp=timestamp(CLOCK()),
    )  # fmt: skip
    Summaries(domain_storage(source, "summaries")).save(OWNER, summary)
    memories = UserMemories(domain_storage(source, "user_memory").of_owner(GUEST.owner), clock=CLOCK)
    memories.add("Likes: tea --- and\n# cake 🙂", "preference", ["a: b", "no"])
    memories.add("null", "note", source="model")
    knowledge = KnowledgeBase(domain_storage(source, "learning"), clock=CLOCK)
    knowledge.record_pattern("database/query", "Ask *once*.", ["sql"])
    knowledge.record_bug("A bug", "It\r\nfails.")
    knowledge.record_learning("deploy/database", "First the backup.")
    GlobalFacts(domain_storage(source, "facts"), clock=CLOCK).add("The shop opens at 9.")
    settings = domain_storage(source, "settings")
    settings.save("plugin", {"plugin": "redis", "options": {"expiry": None, "numbers": [1, 2.5], "é": "\u2028"}})
    for key, document in source.load_all():
        storage.save(key, document)


def found_in_documents(storage: Storage) -> dict[str, t.Any]:
    summaries = Summaries(domain_storage(storage, "summaries"))
    memories = UserMemories(domain_storage(storage, "user_memory").of_owner(GUEST.owner))
    own = ("config/*", "learning/*", "memory/*")
    return {
        "documents": {key: document for pattern in own for key, document in storage.load_all(pattern)},
        "summary": plain(summaries.load(OWNER, "thread-1")),
        "memories": plain(memories.list()),
        "knowledge": plain(KnowledgeBase(domain_storage(storage, "learning")).list()),
        "facts": GlobalFacts(domain_storage(storage, "facts")).list(),
    }


def numbered(messages: list[ChatMessage]) -> list[t.Any]:
    return [[message.sequence, message.to_dict()] for message in messages]


def plain(value: object) -> t.Any:
    return msgspec.json.decode(msgspec.json.encode(value))
