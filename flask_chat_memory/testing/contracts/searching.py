"""Text that is found in the threads of a scope."""

from __future__ import annotations

import typing as t

import pytest

from ...message import ChatMessage
from ...plugins.abilities import HidesMessages
from ...plugins.abilities import MovesThreads
from ...plugins.abilities import SearchesMessages
from ...plugins.records import Search
from .expiry import EXPIRY
from .hiding import replace
from .hiding import show
from .listing import fill
from .listing import SCOPES
from .listing import with_ability
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import THREAD

FOLDED = {
    "Die GRÖSSE der Straße": "größe der STRASSE",
    "un café crème": "CAFE CREME",
    "une e\u0301cole": "École",
    "İSTANBUL": "istanbul",
    "今天天气很好": "天气",
    "ＷＩＤＥ ﬁgures": "wide fig",
    "한국어 문장": "국어",
    "Ἀθῆναι": "αθηναι",
    "Ёлка и йод": "елка и ИОД",
    "what no \0 store holds": "NO \0 STORE",
    "x" * 40_000 + " at the far end": "AT THE FAR",
}
LITERAL = [
    "100% sure",
    "snake_case",
    "C:\\temp\\new",
    'say "hello"',
    "it's",
    "a*b?",
    "[a-z]+",
    "{1: 2}",
    "line\none",
    "<i>&amp;</i>",
    "--; DROP TABLE",
    "$1 ${x} %s",
]
NOWHERE = ["%", "_", "a%b", "%e", "__", "\\", "\\n", '"', "role", "content", "user", "metadata", "null", ".*", "l_ne"]


def found(plugin: AblePlugin, text: str, limit: int | None = None) -> list[tuple[str, str | None]]:
    """Return the threads and the ids of the messages that are found."""
    search = plugin.search_messages(OWNER, text, limit=limit)
    assert search.complete
    return [(place.thread_id, place.message.id) for place in search.found]


def say(id: str, text: str) -> ChatMessage:
    return ChatMessage("user", text, id=id, turn=id, metadata={"user": "metadata"})


class SearchesMessagesContract:
    """The ability :class:`SearchesMessages`."""

    def test_case_accents_and_scripts_make_no_difference(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        plugin.append_messages(OWNER, THREAD, [say(str(place), text) for place, text in enumerate(FOLDED)])
        for place, query in enumerate(FOLDED.values()):
            assert found(plugin, query) == [(THREAD, str(place))], query

    def test_text_is_taken_literally(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        plugin.append_messages(OWNER, THREAD, [say(str(place), text) for place, text in enumerate(LITERAL)])
        for place, text in enumerate(LITERAL):
            assert found(plugin, text) == [(THREAD, str(place))], text
        plugin.save_messages(OWNER, THREAD, [say("1", "some plain line\nand one more")])
        for text in NOWHERE:
            assert found(plugin, text) == [], text

    def test_what_is_found_is_the_message(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        parts: list[dict[str, t.Any]] = [
            {"type": "text", "text": "first needle"},
            {"type": "image_url", "image_url": {"url": "https://example.org/picture"}},
            {"type": "text", "text": "second part"},
        ]
        message = ChatMessage("user", parts, id="q-1", turn="1", metadata={"a": [1, 2.5]})
        plugin.append_messages(OWNER, THREAD, [*exchange("0"), message])
        search = plugin.search_messages(OWNER, "NEEDLE\nsecond")
        assert isinstance(search, Search)
        assert [(place.thread_id, place.message, place.message.sequence) for place in search.found] == [
            (THREAD, message, 3)
        ]
        assert found(plugin, "picture") == []

    def test_only_what_users_and_assistants_say_is_found(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        calls = [{"id": "c1", "type": "function", "function": {"name": "needle", "arguments": "{}"}}]
        messages = [
            ask("needle"),
            ChatMessage("assistant", None, tool_calls=calls, id="call", turn="needle"),
            ChatMessage("tool", "needle", tool_call_id="c1", id="result", turn="needle"),
            *(ChatMessage(role, "needle", id=role, turn="needle") for role in ("system", "developer")),
            answer("needle"),
        ]
        plugin.append_messages(OWNER, THREAD, messages)
        assert found(plugin, "needle") == [(THREAD, "a-needle"), (THREAD, "q-needle")]

    def test_the_newest_comes_first(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, SearchesMessages)
        fill(plugin, clock, *"cab")
        plugin.append_messages(OWNER, "a", exchange("again"))
        expected = [("a", "q-again"), ("a", "q-a"), ("b", "q-b"), ("c", "q-c")]
        for limit in (None, 0, 1, 2, 3, 4, 99):
            assert found(plugin, "QUESTION", limit) == expected[:limit]
        for wrong in (-1, True, 1.0, "1"):
            with pytest.raises(ValueError, match="limit"):
                plugin.search_messages(OWNER, "question", limit=t.cast(t.Any, wrong))

    @pytest.mark.parametrize("text", ["", "\u0301", "nowhere"])
    def test_a_search_may_find_nothing(self, make_plugin: MakePlugin, text: str) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        assert found(plugin, text) == []
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert found(plugin, text) == []

    def test_what_is_hidden_is_not_found(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        if not isinstance(plugin, HidesMessages):
            pytest.skip("the plugin hides no messages")
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        replace(plugin, 3)
        plugin.append_messages(OWNER, THREAD, exchange("3"))
        assert found(plugin, "question") == [(THREAD, "q-3"), (THREAD, "q-1")]
        assert found(plugin, "answer", 2) == [(THREAD, "a-3"), (THREAD, "a-1")]
        show(plugin, 3)
        assert found(plugin, "question") == [(THREAD, "q-2"), (THREAD, "q-1")]

    def test_what_is_gone_is_not_found(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, SearchesMessages, expiry=EXPIRY, max_messages=2)
        fill(plugin, clock, "expired")
        clock.advance(EXPIRY)
        fill(plugin, clock, "deleted", "cleared", "saved", "trimmed", "kept")
        plugin.delete_thread(OWNER, "deleted")
        plugin.clear_messages(OWNER, "cleared")
        plugin.save_messages(OWNER, "saved", [say("own", "another question")])
        plugin.append_messages(OWNER, "trimmed", exchange("new"))
        assert sorted(found(plugin, "question")) == [("kept", "q-kept"), ("saved", "own"), ("trimmed", "q-new")]

    def test_a_search_is_confined_to_its_scope(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages)
        for place, scope in enumerate(SCOPES):
            plugin.append_messages(scope, THREAD, exchange(str(place)))
        for place, scope in enumerate(SCOPES):
            search = plugin.search_messages(scope, "question")
            assert [found.message.id for found in search.found] == [f"q-{place}"]

    def test_what_moves_is_found_where_it_went(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, SearchesMessages, threads="one")
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        plugin.append_messages(STRANGER, THREAD, exchange("1"))
        plugin.move_threads(STRANGER, OWNER)
        plugin.append_messages(STRANGER, "thread-2", exchange("2"))
        plugin.move_threads(STRANGER, OWNER)
        assert found(plugin, "question") == [(THREAD, "q-2"), (THREAD, "q-1")]
        assert plugin.search_messages(STRANGER, "question").found in ([], ())
