"""A store that outlives the plugin."""

from __future__ import annotations

import functools

from ...message import ChatMessage
from ...plugins.records import Appended
from .parts import ask
from .parts import assert_same
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import texts
from .parts import THREAD
from .parts import together
from .threads import assert_whole_batches
from .threads import batch
from .values import MESSAGES


class PersistenceContract:
    """A second plugin with the same options has the same threads."""

    def test_another_instance_sees_what_was_stored(self, make_plugin: MakePlugin) -> None:
        first = make_plugin()
        messages = [ChatMessage.from_dict(given) for given, _ in MESSAGES.values()]
        first.append_messages(OWNER, THREAD, messages, key="k")
        before = contents(first, OWNER)
        first.close()
        second = make_plugin()
        assert contents(second, OWNER) == before
        assert_same(second.load_messages(OWNER, THREAD), messages)
        assert second.append_messages(OWNER, THREAD, [ask("1")], key="k") == Appended(THREAD, 1, repeated=True)

    def test_instances_take_turns(self, make_plugin: MakePlugin) -> None:
        first, second = make_plugin(), make_plugin()
        for n in range(3):
            first.append_messages(OWNER, THREAD, [ask(f"first {n}")])
            second.append_messages(OWNER, THREAD, [ask(f"second {n}")])
        expected = [f"question {which} {n}" for n in range(3) for which in ("first", "second")]
        assert texts(first.load_messages(OWNER, THREAD)) == expected
        first.delete_thread(OWNER, THREAD)
        assert not second.has_thread(OWNER, THREAD)
        second.append_messages(OWNER, THREAD, exchange("new"))
        assert texts(first.load_messages(OWNER, THREAD)) == ["question new", "answer new"]

    def test_instances_that_write_at_once_lose_nothing(self, make_plugin: MakePlugin) -> None:
        def write(writer: int) -> None:
            plugin = make_plugin()
            for round_ in range(5):
                plugin.append_messages(OWNER, THREAD, batch(writer, round_))

        together([functools.partial(write, writer) for writer in range(8)])
        messages = make_plugin().load_messages(OWNER, THREAD)
        assert len(messages) == 8 * 5 * 3
        assert_whole_batches(messages)
