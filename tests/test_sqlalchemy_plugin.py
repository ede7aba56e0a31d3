"""What is particular to the plugin on SQLite: rows, locks, connections."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import sqlite3
import threading
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord
from flask_chat_memory import LiveTurn
from flask_chat_memory import Mark
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

OWNER = Scope("user:1")


OTHER = Scope("user:2")


PATIENCE = 60.0


MakePlugin = cabc.Callable[..., SQLAlchemyPlugin]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "chat.sqlite3"


@pytest.fixture
def make_plugin(path: pathlib.Path) -> cabc.Iterator[MakePlugin]:
    opened: list[SQLAlchemyPlugin] = []

    def make(**options: t.Any) -> SQLAlchemyPlugin:
        where = {} if "engine" in options else {"url": f"sqlite:///{path}"}
        opened.append(SQLAlchemyPlugin({**where, **options}))
        return opened[-1]

    yield make
    for plugin in opened:
        plugin.close()


@pytest.fixture
def make_engine(path: pathlib.Path) -> cabc.Iterator[cabc.Callable[..., sa.Engine]]:
    opened: list[sa.Engine] = []

    def make(**options: t.Any) -> sa.Engine:
        opened.append(sa.create_engine(f"sqlite:///{path}", **options))
        return opened[-1]

    yield make
    for engine in opened:
        engine.dispose()


@pytest.fixture
def database(path: pathlib.Path) -> cabc.Iterator[sqlite3.Connection]:
    """Another program's connection to the file."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
    yield connection
    connection.close()


def user(text: str, id: str | None = None) -> ChatMessage:
    return ChatMessage("user", text, id=id)


def texts(messages: cabc.Iterable[ChatMessage]) -> list[str]:
    return [message.text for message in messages]


def every_call(plugin: SQLAlchemyPlugin, thread_id: str = "thread-1") -> None:
    """Call every method with an effect and without one."""
    plugin.append_messages(OWNER, thread_id, [user("1", "q-1")], key="k")
    plugin.append_messages(OWNER, thread_id, [user("2")], key="k2", reply_to="q-1")
    plugin.has_thread(OWNER, thread_id)
    plugin.load_messages(OWNER, thread_id, limit=20)
    plugin.load_messages(OWNER, thread_id, after=1)
    plugin.load_current(OWNER, limit=20)
    plugin.current_thread(OWNER)
    live = LiveTurn("t-1", "q-3", "a-3", lease=plugin.clock() + 30)
    plugin.start_turn(OWNER, thread_id, user("3", "q-3"), key="question:3", live=live)
    plugin.live_turns(OWNER, thread_id)
    plugin.renew_turns([Renewal(OWNER, thread_id, "t-1")], plugin.clock() + 60)
    plugin.end_turn(OWNER, thread_id, "t-1", [user("4")], key="answer:3", reply_to="q-3")
    plugin.start_turn(OWNER, thread_id, user("5", "q-5"), key="question:5", live=live, title="title", replaces=1)
    plugin.end_turn(OWNER, thread_id, "t-1", [user("6")], key="answer:5", reply_to="q-5")
    plugin.load_messages(OWNER, thread_id, limit=1, hidden=True)
    plugin.find_lines(OWNER, thread_id)
    plugin.change_lines(OWNER, thread_id, lambda lines, last: lines.shown(1, last))
    plugin.mark_message(OWNER, thread_id, "q-5", Mark(1))
    plugin.mark_message(OWNER, thread_id, "q-3", None)
    plugin.load_marks(OWNER, thread_id)
    plugin.search_messages(OWNER, "5", limit=5)
    plugin.list_threads(OWNER, limit=5)
    plugin.find_thread(OWNER, thread_id)
    plugin.update_thread(OWNER, thread_id, title="other")
    plugin.append_messages(OTHER, "thread-2", [user("7", "q-7")])
    plugin.mark_message(OTHER, "thread-2", "q-7", Mark(-1))
    plugin.move_threads(OTHER, OWNER)
    plugin.save_messages(OWNER, thread_id, plugin.load_messages(OWNER, thread_id))
    plugin.clear_messages(OWNER, thread_id)
    plugin.delete_thread(OWNER, thread_id)


@pytest.mark.scenario("S007")
def test_text_of_any_script_can_be_searched_in_the_table(make_plugin: MakePlugin, database: sqlite3.Connection) -> None:
    make_plugin().append_messages(OWNER, "thread-1", [user("say 你好 🙂"), user("other")])
    query = "SELECT count(*) FROM chat_memory_message WHERE body LIKE '%' || ? || '%'"
    assert [database.execute(query, [text]).fetchone()[0] for text in ("你好", "🙂")] == [1, 1]


@pytest.mark.scenario("S038")
def test_order_survives_a_deleted_row_and_a_vacuum(make_plugin: MakePlugin, database: sqlite3.Connection) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1"), user("2"), user("3")])
    plugin.append_messages(OTHER, "thread-1", [user("other")])
    database.execute("DELETE FROM chat_memory_message WHERE body LIKE '%\"2\"%'")
    plugin.append_messages(OWNER, "thread-1", [user("4")])
    database.execute("VACUUM")
    plugin.append_messages(OWNER, "thread-1", [user("5")])
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1", "3", "4", "5"]


CORRUPT = [
    "{{",
    "",
    "null",
    "5",
    '"text"',
    "[]",
    "{}",
    '{"role": "wizard"}',
    '{"role": "user", "content": 5}',
    b"\xff\0",
]


@pytest.mark.parametrize("body", CORRUPT)
def test_a_corrupt_row_is_reported_and_stays_as_it_is(
    make_plugin: MakePlugin, database: sqlite3.Connection, body: str | bytes
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1"), user("2")])
    plugin.append_messages(OTHER, "thread-1", [user("other")])
    database.execute("UPDATE chat_memory_message SET body = ? WHERE sequence = 2", [body])
    with pytest.raises(CorruptRecord):
        plugin.load_messages(OWNER, "thread-1")
    with pytest.raises(CorruptRecord):
        plugin.load_current(OWNER)
    assert texts(plugin.load_messages(OTHER, "thread-1")) == ["other"]
    assert texts(plugin.load_messages(OWNER, "thread-1", before=2)) == ["1"]
    plugin.append_messages(OWNER, "thread-1", [user("3")])
    assert texts(plugin.load_messages(OWNER, "thread-1", after=2)) == ["3"]
    assert database.execute("SELECT body FROM chat_memory_message WHERE sequence = 2").fetchall() == [(body,)]


@pytest.mark.scenario("S006")
def test_a_lone_surrogate_of_another_program_is_read_as_a_replacement_character(
    make_plugin: MakePlugin, database: sqlite3.Connection
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1")])
    database.execute("UPDATE chat_memory_message SET body = ?", ['{"role": "user", "content": "a\\udb8d\\u0000"}'])
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["a\ufffd\ufffd"]


@pytest.mark.scenario("S053")
def test_an_append_waits_for_a_writer_that_holds_the_lock(
    make_plugin: MakePlugin, make_engine: cabc.Callable[..., sa.Engine], database: sqlite3.Connection
) -> None:
    engine = make_engine(connect_args={"timeout": PATIENCE})
    plugin = make_plugin(engine=engine)
    plugin.append_messages(OWNER, "thread-1", [user("1")])
    engine.dispose()
    begun = threading.Event()

    @sa.event.listens_for(engine, "connect")
    def trace(connection: t.Any, _record: object) -> None:
        connection.set_trace_callback(lambda statement: begun.set() if statement.startswith("BEGIN") else None)

    database.execute("BEGIN IMMEDIATE")
    append = threading.Thread(target=plugin.append_messages, args=(OWNER, "thread-1", [user("2")]), daemon=True)
    append.start()
    assert begun.wait(PATIENCE)
    assert append.is_alive()
    database.execute("COMMIT")
    append.join(PATIENCE)
    assert not append.is_alive()
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "words"), [(b"no database " * 500, "is no database of SQLite"), (None, "cannot be opened")]
)
def test_a_file_that_cannot_be_used_is_told_by_name(
    make_plugin: MakePlugin, path: pathlib.Path, content: bytes | None, words: str
) -> None:
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(StorageError, match=f"'chat.sqlite3' {words}"):
        make_plugin().append_messages(OWNER, "thread-1", [user("secret")])
    assert content is None or path.read_bytes() == content


def test_a_message_that_cannot_be_read_is_told_by_its_thread(
    make_plugin: MakePlugin, database: sqlite3.Connection
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1")])
    database.execute("UPDATE chat_memory_message SET body = 'hidden words'")
    with pytest.raises(CorruptRecord, match=f"message 1 .*{thread_key(OWNER, 'thread-1')}") as caught:
        plugin.load_messages(OWNER, "thread-1")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("column", ["lines", "hidden_ranges"])
def test_lines_that_cannot_be_read_are_told_by_their_thread_and_stay(
    make_plugin: MakePlugin, database: sqlite3.Connection, column: str
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1", "q-1"), user("2")])
    plugin.change_lines(OWNER, "thread-1", lambda lines, last: lines.without([2], last))
    database.execute(f"UPDATE chat_memory_thread SET {column} = '[[hidden words'")
    calls: dict[str, list[cabc.Callable[[], object]]] = {
        "lines": [
            lambda: plugin.find_lines(OWNER, "thread-1"),
            lambda: plugin.change_lines(OWNER, "thread-1", lambda lines, last: lines),
            lambda: plugin.append_messages(OWNER, "thread-1", [user("3")], key="3", reply_to="q-1"),
        ],
        "hidden_ranges": [
            lambda: plugin.load_messages(OWNER, "thread-1"),
            lambda: plugin.load_messages(OWNER, "thread-1", after=1),
            lambda: plugin.load_current(OWNER, limit=1),
        ],
    }
    for call in calls[column]:
        with pytest.raises(CorruptRecord, match=thread_key(OWNER, "thread-1")) as caught:
            call()
        assert "words" not in str(caught.value)
    assert database.execute(f"SELECT {column}, messages FROM chat_memory_thread").fetchall() == [("[[hidden words", 2)]


@pytest.mark.scenario("S053")
def test_a_lock_that_lasts_is_a_storage_error_and_nothing_is_stored(
    make_plugin: MakePlugin, make_engine: cabc.Callable[..., sa.Engine], database: sqlite3.Connection
) -> None:
    plugin = make_plugin(engine=make_engine(connect_args={"timeout": 0.01}))
    plugin.append_messages(OWNER, "thread-1", [user("1")])
    database.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError) as caught:
        plugin.append_messages(OWNER, "thread-1", [user("secret")], key="k")
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert not isinstance(caught.value, CorruptRecord)
    assert "'chat.sqlite3' is busy" in str(caught.value)
    assert "secret" not in str(caught.value)
    database.execute("ROLLBACK")
    appended = plugin.append_messages(OWNER, "thread-1", [user("2")], key="k")
    assert appended is not None
    assert not appended.repeated
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1", "2"]


@pytest.mark.scenario("S060", "S074")
def test_a_full_disk_leaves_what_was_there(
    make_plugin: MakePlugin, make_engine: cabc.Callable[..., sa.Engine], database: sqlite3.Connection
) -> None:
    engine = make_engine()
    plugin = make_plugin(engine=engine)
    plugin.append_messages(OWNER, "thread-1", [user("1")])

    @sa.event.listens_for(engine, "checkout")
    def fill(connection: t.Any, _record: object, _proxy: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {database.execute('PRAGMA page_count').fetchone()[0] + 2}")

    batch = [user("2"), user("x" * 100_000)]
    with pytest.raises(StorageError):
        plugin.append_messages(OWNER, "thread-1", batch)
    with pytest.raises(StorageError):
        plugin.save_messages(OWNER, "thread-1", batch)
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1"]
    plugin.append_messages(OWNER, "thread-1", [user("3")])
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1", "3"]


@pytest.mark.scenario("S054")
def test_reading_goes_on_while_somebody_writes(make_plugin: MakePlugin, database: sqlite3.Connection) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1")])
    database.execute("BEGIN EXCLUSIVE")
    database.execute("DELETE FROM chat_memory_message")
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1"]
    assert texts(make_plugin().load_current(OWNER)[1]) == ["1"]
    database.execute("ROLLBACK")


@pytest.mark.scenario("S061", "S069")
def test_calls_that_raise_give_their_connection_back(
    make_plugin: MakePlugin, make_engine: cabc.Callable[..., sa.Engine], database: sqlite3.Connection
) -> None:
    engine = make_engine(pool_size=2, max_overflow=0, pool_timeout=1)
    plugin = make_plugin(engine=engine)
    plugin.append_messages(OWNER, "corrupt", [user("1")])
    database.execute("UPDATE chat_memory_message SET body = '{{'")
    for n in range(50):
        if n % 10 == 3:
            with pytest.raises(CorruptRecord):
                plugin.load_messages(OWNER, "corrupt")
        elif n % 10 == 7:
            with pytest.raises(AttributeError):
                plugin.append_messages(OTHER, "thread-1", [user("half"), None])  # type: ignore[list-item]
        else:
            plugin.append_messages(OTHER, "thread-1", [user(str(n))])
    assert t.cast(sa.QueuePool, engine.pool).checkedout() == 0
    assert "half" not in texts(plugin.load_messages(OTHER, "thread-1"))


@pytest.mark.scenario("S194")
def test_messages_name_no_column_that_is_not_theirs(make_plugin: MakePlugin, database: sqlite3.Connection) -> None:
    plugin = make_plugin()
    message = ChatMessage("assistant", "text", id="a-1", turn="t-1")
    plugin.append_messages(OWNER, "thread-1", [message], key="k")
    row = database.execute("SELECT sequence, message_id, turn, role, body FROM chat_memory_message").fetchone()
    assert row == (1, "a-1", "t-1", "assistant", '{"role":"assistant","content":"text","turn":"t-1","id":"a-1"}')


@pytest.mark.scenario("S159", "N38")
@pytest.mark.parametrize("removal", ["delete", "purge"])
def test_a_thread_that_is_gone_leaves_no_row_behind(
    make_plugin: MakePlugin, database: sqlite3.Connection, removal: str
) -> None:
    plugin = make_plugin()
    every_call(plugin)
    live = LiveTurn("t-1", "q-1", "a-1", lease=plugin.clock() + 30)
    plugin.start_turn(OWNER, "thread-1", user("1", "q-1"), key="question:1", live=live)
    plugin.mark_message(OWNER, "thread-1", "q-1", Mark(1))
    if removal == "delete":
        for thread_id in ("thread-1", "thread-2"):
            plugin.delete_thread(OWNER, thread_id)
    else:
        now = plugin.clock() + 60
        plugin.clock = lambda: now
        assert list(plugin.purge_threads(now))
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    # What the answers have cost stays, and which version the tables are of.
    tables.remove("chat_memory_usage")
    tables.remove("chat_memory_version")
    assert len(tables) == 6
    assert {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables} == dict.fromkeys(
        tables, 0
    )


@pytest.mark.scenario("S051")
def test_the_table_refuses_a_number_that_is_there(make_plugin: MakePlugin, database: sqlite3.Connection) -> None:
    make_plugin().append_messages(OWNER, "thread-1", [user("1")])
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        database.execute("INSERT INTO chat_memory_message SELECT * FROM chat_memory_message")


REMOVALS: dict[str, cabc.Callable[[SQLAlchemyPlugin], object]] = {
    "delete": lambda plugin: plugin.delete_thread(OWNER, "thread-1"),
    "clear": lambda plugin: plugin.clear_messages(OWNER, "thread-1"),
    "save": lambda plugin: plugin.save_messages(OWNER, "thread-1", []),
    "purge": lambda plugin: list(plugin.purge_threads(plugin.clock() + 60)),
}


@pytest.mark.scenario("S175")
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_removal_that_breaks_off_half_way_removes_nothing(
    make_plugin: MakePlugin, database: sqlite3.Connection, removal: str
) -> None:
    plugin = make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("1", "q-1"), user("2")])
    plugin.mark_message(OWNER, "thread-1", "q-1", Mark(1))
    # The marks go after the messages.
    database.execute("CREATE TRIGGER no BEFORE DELETE ON chat_memory_mark BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(StorageError):
        REMOVALS[removal](plugin)
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["1", "2"]
    database.execute("DROP TRIGGER no")
    REMOVALS[removal](plugin)
    assert plugin.load_messages(OWNER, "thread-1") == []
    assert plugin.load_marks(OWNER, "thread-1") == {}
