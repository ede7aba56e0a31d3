"""Adding to a thread."""

from __future__ import annotations

import typing as t

import pytest

from ...errors import ChatMemoryError
from ...message import ChatMessage
from ...plugins.records import Appended
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN

NO_MESSAGE: t.Any = object()
REFUSED = (ChatMemoryError, AttributeError, TypeError, ValueError)


class AppendingContract:
    """``append_messages``."""

    def test_the_first_append_makes_the_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        assert plugin.append_messages(OWNER, THREAD, exchange("1")) == Appended(THREAD, 1)
        assert plugin.has_thread(OWNER, THREAD)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]

    def test_a_batch_is_numbered_on_from_where_the_thread_ends(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.append_messages(OWNER, THREAD, exchange("2")) == Appended(THREAD, 3)
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [1, 2, 3, 4]

    def test_numbers_that_messages_bring_along_do_not_count(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.append_messages(OWNER, THREAD, plugin.load_messages(OWNER, THREAD))
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [1, 2, 3, 4]

    def test_an_empty_batch_does_nothing(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        assert plugin.append_messages(OWNER, UNKNOWN, [], key="k") == Appended(UNKNOWN, 0)
        assert not plugin.has_thread(OWNER, UNKNOWN)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)
        assert plugin.append_messages(OWNER, THREAD, [], key="k") == Appended(THREAD, 0)
        assert contents(plugin, OWNER) == before
        assert plugin.append_messages(OWNER, THREAD, [ask("2")], key="k") == Appended(THREAD, 3)

    def test_a_key_is_stored_once(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.append_messages(OWNER, THREAD, exchange("2"), key="k") == Appended(THREAD, 3)
        plugin.append_messages(OWNER, THREAD, exchange("3"), key="K")
        before = contents(plugin, OWNER)
        for batch in (exchange("2"), exchange("other")):
            assert plugin.append_messages(OWNER, THREAD, batch, key="k") == Appended(THREAD, 3, repeated=True)
        assert contents(plugin, OWNER) == before

    def test_a_key_belongs_to_its_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(threads="many")
        for scope, thread_id in ((OWNER, THREAD), (OWNER, "thread-2"), (STRANGER, THREAD)):
            assert plugin.append_messages(scope, thread_id, [ask("1")], key="k") == Appended(thread_id, 1)

    def test_a_key_is_forgotten_with_its_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="k")
        plugin.delete_thread(OWNER, THREAD)
        again = plugin.append_messages(OWNER, THREAD, [ask("2")], key="k")
        assert again is not None
        assert not again.repeated
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2"]

    @pytest.mark.parametrize("key", ["k" * 128, "%_*'\";--", "ключ 🔑", " "])
    def test_a_key_is_any_text(self, make_plugin: MakePlugin, key: str) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")], key=key)
        assert plugin.append_messages(OWNER, THREAD, [ask("1")], key=key) == Appended(THREAD, 1, repeated=True)

    @pytest.mark.parametrize("key", ["", "k" * 129, "\0", "\ud800"], ids=["empty", "long", "nul", "surrogate"])
    def test_an_impossible_key_is_refused(self, make_plugin: MakePlugin, key: str) -> None:
        plugin = make_plugin()
        with pytest.raises(ValueError):
            plugin.append_messages(OWNER, THREAD, [ask("1")], key=key)
        assert not plugin.has_thread(OWNER, THREAD)

    def test_an_answer_is_stored_while_its_question_is_there(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], reply_to="q-1") == Appended(THREAD, 2)

    @pytest.mark.parametrize("reply_to", ["q-2", "q", "Q-1", "q-1 ", "", "%", "\ud800", "x" * 100_000])
    def test_an_answer_to_no_question_of_the_thread_is_dropped(self, make_plugin: MakePlugin, reply_to: str) -> None:
        plugin = make_plugin(threads="many")
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.append_messages(OWNER, "thread-2", [ask("2")])
        before = contents(plugin, OWNER)
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], key="k", reply_to=reply_to) is None
        assert contents(plugin, OWNER) == before
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], key="k") == Appended(THREAD, 2)

    @pytest.mark.parametrize("removal", ["delete", "clear", "replace"])
    def test_an_answer_that_comes_too_late_appears_nowhere(self, make_plugin: MakePlugin, removal: str) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        if removal == "delete":
            plugin.delete_thread(OWNER, THREAD)
        elif removal == "clear":
            plugin.clear_messages(OWNER, THREAD)
        else:
            plugin.save_messages(OWNER, THREAD, [ask("2")])
        before = contents(plugin, OWNER)
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert contents(plugin, OWNER) == before

    def test_a_late_answer_does_not_land_in_what_came_after_the_deletion(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.delete_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, "thread-2", [ask("2")])
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert not plugin.has_thread(OWNER, THREAD)
        assert texts(plugin.load_messages(OWNER, "thread-2")) == ["question 2"]

    def test_the_key_is_looked_at_before_the_question(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1")
        repeated = plugin.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-gone")
        assert repeated == Appended(THREAD, 2, repeated=True)

    @pytest.mark.parametrize("batch", [[NO_MESSAGE], [ask("2"), NO_MESSAGE], [ask("2").to_dict()]])
    def test_a_batch_with_something_unstorable_leaves_no_trace(self, make_plugin: MakePlugin, batch: t.Any) -> None:
        plugin = make_plugin()
        with pytest.raises(REFUSED):
            plugin.append_messages(OWNER, THREAD, batch, key="k")
        assert not plugin.has_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        before = contents(plugin, OWNER)
        with pytest.raises(REFUSED):
            plugin.append_messages(OWNER, THREAD, batch, key="k")
        assert contents(plugin, OWNER) == before
        assert plugin.append_messages(OWNER, THREAD, [ask("3")], key="k") == Appended(THREAD, 2)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "question 3"]

    def test_messages_are_stored_as_json_and_not_as_objects(self, make_plugin: MakePlugin) -> None:
        class Unpicklable(ChatMessage):
            def __reduce_ex__(self, protocol: t.SupportsIndex) -> str:
                raise AssertionError("a message was pickled or copied as an object")

        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [Unpicklable("user", "plain")])
        plugin.save_messages(OWNER, THREAD, [Unpicklable("user", "plain"), *plugin.load_messages(OWNER, THREAD)])
        assert [type(message) for message in plugin.load_messages(OWNER, THREAD)] == [ChatMessage, ChatMessage]
