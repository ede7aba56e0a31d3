from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import Appended
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import ImportRefused
from flask_chat_memory import Lines
from flask_chat_memory import LiveTurn
from flask_chat_memory import Mark
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory import UnknownThread
from flask_chat_memory.plugins.abilities import ChangeLines
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.rules import sequence_of
from flask_chat_memory.testing.contracts.parts import assert_same
from flask_chat_memory.transfer.thread_file import export_thread
from flask_chat_memory.transfer.thread_file import import_thread

from .five_methods import FiveMethodsPlugin
from .test_message_properties import dicts

Able = FilePlugin | InMemoryPlugin

OWNER, OTHER = Scope("user:1"), Scope("user:2", "support")
OF_PHP = """
{
  "thread_id": "abc123",
  "created_at": "2026-04-30T10:00:00Z",
  "updated_at": "2026-04-30T11:00:00Z",
  "messages": [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi there!", "metadata": []}
  ],
  "metadata": {
    "total_tokens": 150,
    "model": "claude-sonnet-4"
  }
}
"""


@pytest.fixture
def plugin() -> InMemoryPlugin:
    return InMemoryPlugin({"expiry": None})


def document(**changes: t.Any) -> bytes:
    """Return a document with other values for some keys, those with Ellipsis left out."""
    values = {"thread_id": "t", "messages": [{"role": "user", "content": "x"}], **changes}
    return json.dumps({key: value for key, value in values.items() if value is not ...}).encode()


@pytest.mark.scenario("D29", "A36")
def test_a_file_with_roles_and_contents_alone_is_imported(plugin: ChatMemoryPlugin, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "thread-abc123.json"
    path.write_text(OF_PHP)
    assert import_thread(plugin, OWNER, path) == Appended("abc123", 1)
    [question, answer] = plugin.load_messages(OWNER, "abc123")
    assert question.to_dict() == {"role": "user", "content": "Hello"}
    assert answer.to_dict() == {"role": "assistant", "content": "Hi there!", "metadata": {}}


@pytest.mark.scenario("S200")
def test_to_import_again_changes_nothing(plugin: ChatMemoryPlugin) -> None:
    import_thread(plugin, OWNER, OF_PHP.encode())
    plugin.append_messages(OWNER, "abc123", [ChatMessage("user", "more")])
    assert import_thread(plugin, OWNER, OF_PHP.encode()) == Appended("abc123", 1, repeated=True)
    assert len(plugin.load_messages(OWNER, "abc123")) == 3


@pytest.mark.scenario("S139", "S202")
def test_an_import_stays_in_its_scope(plugin: ChatMemoryPlugin) -> None:
    plugin.append_messages(OTHER, "abc123", [ChatMessage("user", "mine")])
    import_thread(plugin, OWNER, OF_PHP.encode())
    assert [message.text for message in plugin.load_messages(OTHER, "abc123")] == ["mine"]


def test_the_document_is_the_one_that_others_know(plugin: ChatMemoryPlugin) -> None:
    usage = {"input": 100, "output": 50}
    messages = [
        ChatMessage("user", "Hello", created_at="2026-04-30T10:00:00Z"),
        ChatMessage("assistant", "Hi", usage=usage, model="m", created_at="2026-04-30T11:00:00Z"),
    ]
    plugin.append_messages(OWNER, "abc123", messages)
    text = export_thread(plugin, OWNER, "abc123")
    assert json.loads(text) == {
        "thread_id": "abc123",
        "created_at": "2026-04-30T10:00:00Z",
        "updated_at": "2026-04-30T11:00:00Z",
        "messages": [message.to_dict() for message in messages],
        "metadata": {"total_tokens": 150, "model": "m"},
    }


@given(messages=st.lists(dicts().map(ChatMessage.from_dict), max_size=5), thread_id=st.text("abcä/.", min_size=1))
def test_what_is_exported_and_imported_is_the_same(messages: list[ChatMessage], thread_id: str) -> None:
    source, target = InMemoryPlugin({"threads": "many"}), InMemoryPlugin({"threads": "many"})
    source.save_messages(OWNER, thread_id, messages)
    text = export_thread(source, OWNER, thread_id)
    assert import_thread(target, OTHER, text).thread_id == thread_id
    assert_same(target.load_messages(OTHER, thread_id), messages)
    assert not messages or export_thread(target, OTHER, thread_id) == text


def test_a_thread_goes_from_a_plugin_to_another(plugin: ChatMemoryPlugin, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "thread.json"
    messages = [ChatMessage("user", "你好 \u2028", id="q", turn="1"), ChatMessage("assistant", None, turn="1")]
    longest = "t" * 122
    plugin.append_messages(OWNER, longest, messages)
    assert path.write_bytes(export_thread(plugin, OWNER, longest)) > 0
    files = FilePlugin({"folder": str(tmp_path / "files")})
    assert import_thread(files, OTHER, path) == Appended(longest, 1)
    assert_same(files.load_messages(OTHER, longest), messages)


def edit(plugin: Able, name: str, replaces: int | None = None) -> None:
    """Ask a question, perhaps in the place of another one, and answer it."""
    live = LiveTurn(name, f"q-{name}", f"a-{name}", 0.0)
    question = ChatMessage("user", f"question {name}", id=f"q-{name}", turn=name)
    answer = ChatMessage("assistant", f"answer {name}", id=f"a-{name}", turn=name)
    plugin.start_turn(OWNER, "t", question, key=f"question:{name}", live=live, replaces=replaces)
    plugin.end_turn(OWNER, "t", name, [answer], key=f"answer:{name}", reply_to=f"q-{name}")


def with_lines() -> Able:
    plugin = InMemoryPlugin({"max_messages": 6})
    for name in ("gone", "1", "2"):
        edit(plugin, name)
    edit(plugin, "2b", replaces=5)
    plugin.mark_message(OWNER, "t", "a-2", Mark(-1, "no"))
    plugin.mark_message(OWNER, "t", "a-1", Mark(1))
    return plugin


def versions(plugin: Able, scope: Scope, thread_id: str) -> list[list[str]]:
    """Return the texts of the visible line and of the others, each shown and left again."""
    messages = plugin.load_messages(scope, thread_id, hidden=True)
    lines = plugin.find_lines(scope, thread_id)
    every = [lines.visible, *lines.others]
    return [[message.text for message in messages if Lines(line).sees(sequence_of(message))] for line in every]


@pytest.mark.scenario("S201")
def test_lines_and_marks_go_with_a_thread_and_are_read_by_who_does_not_know_them(tmp_path: pathlib.Path) -> None:
    source = with_lines()
    document = json.loads(export_thread(source, OWNER, "t"))
    first, other = ["question 1", "answer 1"], ["question 2", "answer 2"]
    assert [message["content"] for message in document["messages"]] == [*first, "question 2b", "answer 2b"]
    assert [message["content"] for message in document["hidden"]] == other
    assert document["lines"] == {"visible": [[1, 2], [5, None]], "others": [[[1, 4]]]}
    target = FilePlugin({"folder": str(tmp_path)})
    for _ in range(2):
        import_thread(target, OTHER, export_thread(source, OWNER, "t"))
        assert versions(target, OTHER, "t") == [[*first, "question 2b", "answer 2b"], [*first, *other]]
        assert target.load_marks(OTHER, "t") == {"a-2": Mark(-1, "no"), "a-1": Mark(1)}
        assert export_thread(target, OTHER, "t") == export_thread(source, OWNER, "t")
    poor = FiveMethodsPlugin()
    import_thread(poor, OTHER, export_thread(source, OWNER, "t"))
    assert [message.text for message in poor.load_messages(OTHER, "t")] == [*first, "question 2b", "answer 2b"]


def test_lines_of_an_import_join_those_that_a_conversation_has(tmp_path: pathlib.Path) -> None:
    text = export_thread(with_lines(), OWNER, "t").replace(b'"thread_id": "t"', b'"thread_id": "imported"')
    target = FilePlugin({"folder": str(tmp_path)})
    edit(target, "own")
    edit(target, "own b", replaces=1)
    import_thread(target, OWNER, text)
    own, own_b, first = ["question own", "answer own"], ["question own b", "answer own b"], ["question 1", "answer 1"]
    joined = [[*own_b, *first, "question 2b", "answer 2b"], own, [*own_b, *first, "question 2", "answer 2"]]
    assert versions(target, OWNER, "t") == joined
    # To import again leaves alone what was chosen since.
    target.change_lines(OWNER, "t", lambda lines, last: lines.shown(1, last))
    import_thread(target, OWNER, text)
    assert versions(target, OWNER, "t")[0] == own
    edit(target, "later")
    assert versions(target, OWNER, "t")[0] == [*own, "question later", "answer later"]


def test_an_import_that_was_interrupted_is_finished_by_the_next(tmp_path: pathlib.Path) -> None:
    class Interrupted(FilePlugin):
        def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
            raise StorageError("out of order")

    text, options = export_thread(with_lines(), OWNER, "t"), {"folder": str(tmp_path)}
    with pytest.raises(StorageError):
        import_thread(Interrupted(options), OTHER, text)
    target = FilePlugin(options)
    assert import_thread(target, OTHER, text) == Appended("t", 1, repeated=True)
    assert export_thread(target, OTHER, "t") == text


def test_a_file_is_its_owners_and_takes_the_place_of_the_old_one(
    plugin: ChatMemoryPlugin, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "thread.json"
    path.write_text("old")
    path.chmod(0o644)
    plugin.append_messages(OWNER, "t", [ChatMessage("user", "x")])
    assert path.read_bytes() != export_thread(plugin, OWNER, "t", path) == path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["thread.json"]


def test_an_export_that_fails_leaves_the_old_file_and_nothing_else(
    plugin: ChatMemoryPlugin, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError("no space left")

    path = tmp_path / "thread.json"
    path.write_text("old")
    plugin.append_messages(OWNER, "t", [ChatMessage("user", "x")])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        export_thread(plugin, OWNER, "t", path)
    assert {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)} == {"thread.json": "old"}


@pytest.mark.scenario("S139", "N1")
def test_an_unknown_thread_and_that_of_another_are_not_exported(
    plugin: ChatMemoryPlugin, tmp_path: pathlib.Path
) -> None:
    plugin.append_messages(OWNER, "t", [ChatMessage("user", "x")])
    for thread_id in ("t", "unknown", ""):
        with pytest.raises(UnknownThread, match="the owner has no thread of this id"):
            export_thread(plugin, OTHER, thread_id, tmp_path / "thread.json")
    assert os.listdir(tmp_path) == []


def test_a_thread_without_messages_is_exported_and_imported(plugin: ChatMemoryPlugin) -> None:
    plugin.save_messages(OWNER, "t", [])
    text = export_thread(plugin, OWNER, "t")
    assert json.loads(text)["messages"] == []
    assert import_thread(plugin, OTHER, text) == Appended("t", 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "no JSON in UTF-8"),
        (b"{", "no JSON in UTF-8"),
        (OF_PHP.encode("utf-16"), "no JSON in UTF-8"),
        (b"\xff", "no JSON in UTF-8"),
        (b"[" * 100_000, "no JSON in UTF-8"),
        (b'{"n": ' + b"9" * 5000 + b"}", "no JSON in UTF-8"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'{"thread_id": NaN}', "NaN in it"),
        (b'{"thread_id": "a", "thread_id": "b"}', "a key twice"),
        (document().replace(b'"role": "user"', b'"role": "user", "role": "system"'), "a key twice"),
        (document(thread_id=...), "thread_id is no id"),
        (document(thread_id=5), "thread_id is no id"),
        (document(thread_id="a\0"), "thread_id is no id"),
        (document(thread_id="a" * 123), "thread_id is no id"),
        (document(messages=...), "messages is no list"),
        (document(messages={"0": {"role": "user"}}), "messages is no list"),
        (document(created_at=5), "created_at is no text"),
        (document(updated_at=[]), "updated_at is no text"),
        (document(metadata="secret"), "metadata is no object"),
        (document(hidden={}), "hidden is no list"),
        (document(hidden=["secret"]), r"hidden\[0\] is no object"),
        (document(hidden=[{"role": "user"}]), "lines are not those of the messages"),
        (document(lines="secret"), "lines are no lines"),
        (document(lines={"visible": []}), "lines are no lines"),
        (document(lines={"visible": [[1, 1]]}), "lines are no lines"),
        (document(lines={"visible": [[2, None], [1, None]]}), "lines are no lines"),
        (document(lines={"visible": [[0, None]]}), "lines are no lines"),
        (document(lines={"visible": [[2, None]]}), "lines are not those of the messages"),
        (document(lines={"others": [[[1, 2]]]}), "lines are no lines"),
        (document(lines={"others": [[]]}), "lines are no lines"),
        (document(lines={"others": [[[1, None]]]}), "lines are no lines"),
        (document(marks=["secret"]), "marks are no marks"),
        (document(marks={"a": {"rating": 2}}), "marks are no marks"),
        (document(marks={"a": {"comment": "x" * 2001}}), "marks are no marks"),
        (document(messages=["secret"]), r"messages\[0\] is no object"),
        (document(messages=[{"content": "secret"}]), r"messages\[0\] cannot be stored"),
        (document(messages=[{"role": "user"}, {"role": "secret"}]), r"messages\[1\]\.role cannot be stored"),
        (document(messages=[{"role": "user", "content": 5}]), r"messages\[0\]\.content cannot"),
        (document(messages=[{"role": "user", "content": ["secret"]}]), r"messages\[0\]\.content cannot"),
        (document(messages=[{"role": "tool", "content": "secret"}]), r"messages\[0\]\.tool_call_id cannot"),
        (document(messages=[{"role": "user", "id": 5}]), r"messages\[0\]\.id cannot"),
        (document(messages=[{"role": "user", "secret": 1.5}]).replace(b"1.5", b"1e999"), r"messages\[0\] cannot"),
    ],
)
def test_what_is_no_thread_is_refused_and_nothing_is_stored(
    plugin: ChatMemoryPlugin, text: bytes, reason: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "thread.json"
    path.write_bytes(text)
    for source in (text, path):
        with pytest.raises(ImportRefused, match=reason) as caught:
            import_thread(plugin, OWNER, source)
        assert "secret" not in str(caught.value)
    assert not any(plugin.has_thread(OWNER, thread_id) for thread_id in ("t", "a", "b"))


def test_a_document_that_is_too_large_is_refused(plugin: ChatMemoryPlugin, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "thread.json"
    path.write_bytes(document())
    size = path.stat().st_size
    for source in (path, document()):
        with pytest.raises(ImportRefused, match=f"larger than {size - 1} bytes"):
            import_thread(plugin, OWNER, source, max_bytes=size - 1)
        assert import_thread(plugin, OWNER, source, max_bytes=size).thread_id == "t"


def test_a_file_that_is_not_there_is_no_refusal(plugin: ChatMemoryPlugin, tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        import_thread(plugin, OWNER, tmp_path / "thread.json")
