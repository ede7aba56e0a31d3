"""Connections of the plugin to PostgreSQL and MariaDB: lost ones, the site's, and servers that refuse."""

from __future__ import annotations

import collections.abc as cabc
import threading
import typing as t

import psycopg
import pymysql
import pytest
import sqlalchemy as sa

from flask_chat_memory import Appended
from flask_chat_memory import ConfigurationError
from flask_chat_memory import LiveTurn
from flask_chat_memory import Renewal
from flask_chat_memory import StorageError
from flask_chat_memory.errors import CorruptRecord
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import HeldBatch
from flask_chat_memory.testing.contracts.parts import PATIENCE
from flask_chat_memory.testing.contracts.parts import together
from tests.redis_servers import wait_until
from tests.sql_servers import Place
from tests.sql_servers import PLACES
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OTHER
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import texts
from tests.test_sqlalchemy_plugin import user

Call = cabc.Callable[[SQLAlchemyPlugin], object]


def live(plugin: SQLAlchemyPlugin, turn: str) -> LiveTurn:
    return LiveTurn(turn, f"q-{turn}", f"a-{turn}", plugin.clock() + 30)


def start(plugin: SQLAlchemyPlugin, turn: str) -> Appended:
    return plugin.start_turn(OWNER, "thread-1", ask(turn), key=f"question:{turn}", live=live(plugin, turn))


def end(plugin: SQLAlchemyPlugin, turn: str) -> Appended | None:
    return plugin.end_turn(OWNER, "thread-1", turn, [answer(turn)], key=f"answer:{turn}", reply_to=f"q-{turn}")


CALLS: dict[str, Call] = {
    "has": lambda plugin: plugin.has_thread(OWNER, "thread-1"),
    "load": lambda plugin: plugin.load_messages(OWNER, "thread-1"),
    "current": lambda plugin: plugin.load_current(OWNER),
    "live turns": lambda plugin: plugin.live_turns(OWNER, "thread-1"),
    "append": lambda plugin: plugin.append_messages(OWNER, "thread-1", exchange("2")),
    "append by key": lambda plugin: plugin.append_messages(OWNER, "thread-1", exchange("2"), key="2"),
    "first append": lambda plugin: plugin.append_messages(OTHER, "thread-1", exchange("2"), key="2"),
    "start": lambda plugin: start(plugin, "2"),
    "end": lambda plugin: end(plugin, "1"),
    "renew": lambda plugin: plugin.renew_turns([Renewal(OWNER, "thread-1", "1")], plugin.clock() + 60),
    "save": lambda plugin: plugin.save_messages(OWNER, "thread-1", exchange("2")),
    "clear": lambda plugin: plugin.clear_messages(OWNER, "thread-1"),
    "delete": lambda plugin: plugin.delete_thread(OWNER, "thread-1"),
    "move": lambda plugin: plugin.move_threads(OTHER, OWNER),
}


def drop_connections(place: Place) -> None:
    """End all connections but the one that does so, as a server does that is started anew."""
    if place.is_postgresql:
        schema = check_url(place.url).query["options"]
        found = place.run(
            "SELECT pid, pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = :name",
            name=schema,
        )
        assert found
        return
    threads = place.run("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
    for (thread,) in threads:
        place.run(f"KILL {thread}")
    query = "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    wait_until(lambda: place.run(query)[0][0] == 0, "the connections are closed")


@pytest.fixture
def dropping(place: Place) -> cabc.Callable[[], None]:
    if place.is_postgresql:
        url = check_url(place.url)
        # Found again by it.
        place.url = url.update_query_dict({"application_name": t.cast(str, url.query["options"])}).render_as_string(
            hide_password=False
        )
    return lambda: drop_connections(place)


@pytest.mark.scenario("S070")
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize("whose", ["ours", "the site's"])
def test_a_dropped_connection_goes_unnoticed(
    place: Place, dropping: cabc.Callable[[], None], call: Call, whose: str
) -> None:
    plain = place.make_plugin()
    plugin = plain if whose == "ours" else place.make_plugin(engine=place.make_engine())
    start(plugin, "1")
    expected = CALLS["load"](plugin)
    # Several dead connections wait in the pool.
    lent = [plugin._database._engine.raw_connection() for _ in range(3)]
    for connection in lent:
        connection.close()
    dropping()
    result = call(plugin)
    assert texts(plain.load_messages(OWNER, "thread-1")) in (
        ["question 1"],
        ["question 1", "answer 1"],
        ["question 1", "question 2"],
        ["question 1", "question 2", "answer 2"],
        ["question 2", "answer 2"],
        [],
    )
    assert not isinstance(result, Appended) or not result.repeated
    if call is CALLS["load"]:
        assert result == expected
    if call is CALLS["delete"]:
        assert result is True


Hook = cabc.Callable[[t.Any, str], None]


def lost_connection(place: Place) -> Exception:
    return psycopg.OperationalError("lost") if place.is_postgresql else pymysql.err.OperationalError(2013, "lost")


def hooked_engine(
    place: Place, before: Hook = lambda cursor, text: None, after: Hook = lambda cursor, text: None
) -> sa.Engine:
    """Return an engine that calls something before and after each statement of its cursors."""

    def text_of(query: t.Any) -> str:
        return query if isinstance(query, str) else bytes(query).decode()

    class PostgreSQLCursor(psycopg.Cursor[t.Any]):
        def execute(self, query: t.Any, *arguments: t.Any, **options: t.Any) -> t.Any:
            before(self, text_of(query))
            result = super().execute(query, *arguments, **options)
            after(self, text_of(query))
            return result

    class MariaDBCursor(pymysql.cursors.Cursor):
        def execute(self, query: t.Any, args: t.Any = None) -> int:
            before(self, text_of(query))
            result = super().execute(query, args)
            after(self, text_of(query))
            return result

    if place.is_postgresql:
        return place.make_engine(connect_args={"cursor_factory": PostgreSQLCursor})
    return place.make_engine(connect_args={"cursorclass": MariaDBCursor})


def losing_engine(place: Place, words: tuple[str, ...], lost: list[str]) -> sa.Engine:
    """Return an engine whose connection is lost when a statement that begins with one of the words is done.

    :param lost: what was lost so far; once is enough.
    """

    def lose(cursor: t.Any, text: str) -> None:
        if not lost and text.lstrip().startswith(words):
            lost.append(text)
            cursor.connection.close()
            raise lost_connection(place)

    return hooked_engine(place, after=lose)


COMMITTED = ("WITH asked", "COMMIT")


def test_an_append_whose_acknowledgement_is_lost_is_stored_once(place: Place) -> None:
    lost: list[str] = []
    plugin = place.make_plugin(engine=losing_engine(place, COMMITTED, lost))
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("0"))
    assert plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1") == Appended("thread-1", 3)
    assert len(lost) == 1
    assert plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1") == Appended("thread-1", 3, repeated=True)
    assert len(plugin.load_messages(OWNER, "thread-1")) == 4


def test_a_turn_whose_acknowledgements_are_lost_is_as_any_other(place: Place) -> None:
    lost: list[str] = []
    plugin = place.make_plugin(engine=losing_engine(place, COMMITTED, lost))
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("0"))
    assert start(plugin, "1") == Appended("thread-1", 3)
    assert len(lost) == 1
    assert [live.turn for live in plugin.live_turns(OWNER, "thread-1")] == ["1"]
    lost.clear()
    assert end(plugin, "1") == Appended("thread-1", 4)
    assert len(lost) == 1
    assert plugin.live_turns(OWNER, "thread-1") == []
    assert texts(plugin.load_messages(OWNER, "thread-1", after=2)) == ["question 1", "answer 1"]


def test_an_append_without_a_key_is_not_doubled(place: Place) -> None:
    lost: list[str] = []
    plugin = place.make_plugin(engine=losing_engine(place, COMMITTED, lost))
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("0"))
    with pytest.raises(StorageError, match="stored it or not"):
        plugin.append_messages(OWNER, "thread-1", exchange("1"))
    assert len(lost) == 1
    assert len(plugin.load_messages(OWNER, "thread-1")) == 4


def test_a_conflict_at_the_commit_keeps_nobody_out(place: Place) -> None:
    conflicts: list[str] = []

    def refuse(_cursor: object, text: str) -> None:
        if text == "COMMIT" and len(conflicts) < 5:
            conflicts.append(text)
            raise psycopg.errors.SerializationFailure if place.is_postgresql else pymysql.err.OperationalError(1213)

    other = place.make_plugin()
    other.has_thread(OWNER, "thread-1")
    plugin = place.make_plugin(engine=hooked_engine(place, before=refuse))
    with pytest.raises(StorageError):
        plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    assert len(conflicts) == 5
    assert other.append_messages(OWNER, "thread-1", exchange("1"), key="1") == Appended("thread-1", 1)


def test_a_server_that_lets_in_and_answers_nothing_is_not_asked_for_ever(place: Place) -> None:
    asked: list[str] = []

    def drop(cursor: t.Any, text: str) -> None:
        if asked:
            assert len(asked) < 20
            asked.append(text)
            cursor.connection.close()
            raise lost_connection(place)

    plugin = place.make_plugin(engine=hooked_engine(place, before=drop))
    plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    asked.append("from now on")
    with pytest.raises(StorageError):
        plugin.load_messages(OWNER, "thread-1")
    with pytest.raises(StorageError):
        plugin.append_messages(OWNER, "thread-1", exchange("2"), key="2")


def test_a_connection_that_is_lost_in_the_middle_leaves_nothing_behind(place: Place) -> None:
    lost: list[str] = []
    plugin = place.make_plugin(engine=losing_engine(place, ("UPDATE",), lost))
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("0"))
    assert plugin.append_messages(OWNER, "thread-1", exchange("1")) == Appended("thread-1", 3)
    assert len(lost) == 1
    assert len(plugin.load_messages(OWNER, "thread-1")) == 4


@pytest.mark.scenario("S069")
def test_one_connection_is_enough_and_none_is_kept(place: Place) -> None:
    engine = place.make_engine(pool_size=1, max_overflow=0, pool_timeout=1)
    plugin = place.make_plugin(engine=engine)
    every_call(plugin)
    start(plugin, "1")
    # The model streams: the site has its connection.
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT 1")) == 1
    end(plugin, "1")
    assert t.cast(sa.QueuePool, engine.pool).checkedout() == 0


class Interrupted(cabc.Sequence[t.Any]):
    """A batch in the middle of which the program is told to stop."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: t.Any) -> t.Any:
        raise KeyboardInterrupt

    def __iter__(self) -> cabc.Iterator[t.Any]:
        raise KeyboardInterrupt


def test_a_connection_is_not_used_again_after_an_interruption(place: Place) -> None:
    engine = place.make_engine(pool_size=1, max_overflow=0, pool_timeout=1)
    plugin = place.make_plugin(engine=engine)
    plugin.append_messages(OWNER, "thread-1", exchange("1"))
    invalidated: list[object] = []
    sa.event.listen(engine, "invalidate", lambda connection, *_: invalidated.append(connection))
    with pytest.raises(KeyboardInterrupt):
        plugin.append_messages(OWNER, "thread-1", Interrupted())
    assert len(invalidated) == 1
    # Nothing of it is left: no lock, no half of a batch.
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("2"))
    assert len(plugin.load_messages(OWNER, "thread-1")) == 4


def test_the_same_owner_of_another_site_on_the_server_waits_for_nobody(place: Place) -> None:
    server = "postgresql" if place.is_postgresql else "mariadb"
    with PLACES[server]() as other:
        held = HeldBatch(ask("1"))
        append = threading.Thread(target=place.make_plugin().append_messages, args=(OWNER, "thread-1", held))
        append.start()
        try:
            assert held.reached.wait(PATIENCE)
            together([lambda: other.make_plugin().append_messages(OWNER, "thread-1", exchange("2"))])
        finally:
            held.release.set()
            append.join(PATIENCE)


def test_a_stream_that_is_left_does_not_cost_a_connection(place: Place) -> None:
    engine = place.make_engine()
    plugin = place.make_plugin(engine=engine)
    start(plugin, "1")
    invalidated: list[object] = []
    sa.event.listen(engine, "invalidate", lambda connection, *_: invalidated.append(connection))
    try:
        raise GeneratorExit
    except GeneratorExit:
        end(plugin, "1")
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["question 1", "answer 1"]
    assert invalidated == []


def test_writers_do_not_wait_for_one_another(place: Place) -> None:
    plugin = place.make_plugin()
    plugin.append_messages(OWNER, "thread-1", exchange("0"))
    held = HeldBatch(ask("1"))
    append = threading.Thread(target=plugin.append_messages, args=(OWNER, "thread-1", held), daemon=True)
    append.start()
    assert held.reached.wait(PATIENCE)
    plugin.append_messages(OTHER, "thread-1", exchange("1"))
    plugin.delete_thread(OTHER, "thread-1")
    assert append.is_alive()
    held.release.set()
    append.join(PATIENCE)
    assert len(plugin.load_messages(OWNER, "thread-1")) == 3


def settings_of(place: Place, engine: sa.Engine) -> tuple[object, ...]:
    connection = engine.raw_connection()
    driver = t.cast(t.Any, connection.dbapi_connection)
    try:
        with driver.cursor() as cursor:
            if place.is_postgresql:
                cursor.execute("SELECT current_setting('transaction_isolation'), current_setting('search_path')")
                return (driver.autocommit, driver.isolation_level, *cursor.fetchone())
            cursor.execute("SELECT @@autocommit, @@tx_isolation, @@sql_mode")
            return (driver.get_autocommit(), *cursor.fetchone())
    finally:
        connection.close()


@pytest.mark.parametrize("isolation", [None, "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"])
def test_an_engine_of_the_site_is_left_as_it_is(place: Place, isolation: str | None) -> None:
    options = {} if isolation is None else {"isolation_level": isolation}
    engine = place.make_engine(pool_size=1, max_overflow=0, pool_timeout=1, **options)
    before = settings_of(place, engine)
    plugin = place.make_plugin(engine=engine)
    every_call(plugin)
    plugin.append_messages(OWNER, "thread-1", exchange("1"))
    place.run("ALTER TABLE chat_memory_thread RENAME TO put_aside")
    for call in CALLS.values():
        with pytest.raises(StorageError):
            call(plugin)
    assert settings_of(place, engine) == before
    plugin.close()
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT 1")) == 1


def test_what_the_site_sets_at_every_checkout_holds(place: Place) -> None:
    engine = sa.create_engine(check_url(place.url).set(query={}))
    name = place.run("SELECT current_schema()" if place.is_postgresql else "SELECT DATABASE()")[0][0]

    @sa.event.listens_for(engine, "checkout")
    def enter(connection: t.Any, _record: object, _proxy: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET search_path TO {name}" if place.is_postgresql else f"USE {name}")

    plugin = place.make_plugin(engine=engine)
    every_call(plugin)
    plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    engine.dispose()
    assert len(place.make_plugin().load_messages(OWNER, "thread-1")) == 2


def test_what_the_site_reads_at_every_checkout_is_in_nobodys_way(place: Place) -> None:
    place.run("CREATE TABLE site (id INT)")
    engine = place.make_engine()

    @sa.event.listens_for(engine, "checkout")
    def look(connection: t.Any, *_facts: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM site")

    every_call(place.make_plugin(engine=engine))


@pytest.mark.scenario("S004")
@pytest.mark.parametrize("place", ["mariadb"], indirect=True)
def test_a_charset_that_lacks_scripts_is_refused(place: Place) -> None:
    url = check_url(place.url).update_query_dict({"charset": "utf8"})
    engine = sa.create_engine(url)
    with pytest.raises(ConfigurationError, match="'utf8'.*use charset=utf8mb4"):
        place.make_plugin(engine=engine)
    # It may be set where the plugin does not see it before it connects.
    hidden = place.make_engine(connect_args={"charset": "utf8", "init_command": "SET sql_mode = ''"})
    with pytest.raises(StorageError, match="'utf8'.*use 'utf8mb4'"):
        place.make_plugin(engine=hidden).append_messages(OWNER, "thread-1", [user("a 😀 b")], key="1")
    plugin = place.make_plugin(url=url.render_as_string(hide_password=False))
    plugin.append_messages(OWNER, "thread-1", [user("a 😀 b")], key="1")
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["a 😀 b"]


def changed(place: Place, what: str) -> tuple[str, str]:
    """Return a URL at which something is wrong, and what the error says of it."""
    url = check_url(place.url)
    words = {
        "user": "refuses the user",
        "database": "does not exist",
        "port": "cannot be reached",
    }
    values: dict[str, t.Any] = {
        "user": url.set(username="nobody_here", password="hidden-secret"),
        "database": url.set(database="not_there"),
        "port": url.set(port=1),
    }
    return values[what].render_as_string(hide_password=False), words[what]


@pytest.mark.parametrize("what", ["user", "database", "port"])
def test_a_server_that_refuses_is_told_by_name(place: Place, what: str) -> None:
    url, words = changed(place, what)
    plugin = place.make_plugin(url=url)
    for call in CALLS.values():
        with pytest.raises(StorageError, match=words) as caught:
            call(plugin)
        assert caught.value.__cause__ is not None
        parsed = sa.make_url(url)
        assert f"{parsed.database!r} at {parsed.host}:{parsed.port}" in str(caught.value)
        assert "secret" not in str(caught.value)
        assert "nobody" not in str(caught.value)


@pytest.mark.parametrize("host", ["database", "password", "role"])
def test_a_host_is_not_taken_for_what_is_wrong(place: Place, host: str) -> None:
    url = check_url(place.url).set(host=f"{host}.invalid").render_as_string(hide_password=False)
    with pytest.raises(StorageError, match="cannot be reached"):
        place.make_plugin(url=url).load_messages(OWNER, "thread-1")


@pytest.mark.parametrize("call", ["load", "current", "move"])
def test_a_message_that_cannot_be_read_is_told_by_its_thread(place: Place, call: str) -> None:
    plugin = place.make_plugin()
    for scope in (OWNER, OTHER):
        plugin.append_messages(scope, "thread-1", exchange("1"))
    place.run("UPDATE chat_memory_message SET body = 'hidden words'")
    with pytest.raises(CorruptRecord, match=r"message \d .*thread_key") as caught:
        CALLS[call](plugin)
    assert "hidden" not in str(caught.value)
    assert place.run("SELECT DISTINCT body FROM chat_memory_message") == [("hidden words",)]


def test_missing_tables_are_told_by_code(place: Place) -> None:
    plugin = place.make_plugin(create_tables=False)
    for call in CALLS.values():
        with pytest.raises(StorageError, match="lacks a table of the plugin") as caught:
            call(plugin)
        assert not any(word in str(caught.value) for word in ("SELECT", "chat_memory_thread", "question"))
    metadata = sa.MetaData()
    define_tables(metadata)
    metadata.create_all(place.engine)
    assert plugin.append_messages(OWNER, "thread-1", exchange("1")) == Appended("thread-1", 1)


def test_a_database_that_is_read_only_says_so(place: Place) -> None:
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("1"), key="1")
    engine = place.make_engine()

    @sa.event.listens_for(engine, "connect")
    def close_to_writes(connection: t.Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SET default_transaction_read_only = on" if place.is_postgresql else "SET SESSION TRANSACTION READ ONLY"
            )
        connection.commit()

    plugin = place.make_plugin(engine=engine)
    for key in (None, "2"):
        with pytest.raises(StorageError, match="is read-only") as caught:
            plugin.append_messages(OWNER, "thread-1", [user("hidden words")], key=key)
        assert "hidden" not in str(caught.value)
    assert len(plugin.load_messages(OWNER, "thread-1")) == 2


def test_a_text_that_the_server_refuses_is_not_shown(place: Place) -> None:
    plugin = place.make_plugin()
    plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    place.run("DROP TABLE chat_memory_append_key")
    place.run("CREATE TABLE chat_memory_append_key (thread_key CHAR(1), append_key CHAR(1), sequence INT)")
    with pytest.raises(StorageError, match="no room for so long a value") as caught:
        plugin.append_messages(OWNER, "thread-1", [user("hidden words")], key="hidden key")
    assert "hidden" not in str(caught.value)
    assert len(plugin.load_messages(OWNER, "thread-1")) == 2


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg2://user:secret@db/chat", "psycopg2; with PostgreSQL the driver is psycopg"),
        ("mysql+mysqldb://user:secret@db/chat", "mysqldb; with MariaDB the driver is pymysql"),
        ("mssql+pyodbc://user:secret@db/chat", "is of mssql; sqlite, postgresql, mariadb and mysql"),
    ],
)
def test_a_driver_that_is_not_known_is_refused_by_name(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        SQLAlchemyPlugin({"url": url})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "extra"),
    [("postgresql://db/chat", "postgresql"), ("mysql://db/chat", "mysql"), ("mariadb://db/x", "mysql")],
)
def test_a_driver_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, extra: str
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=rf"install flask-chat-memory\[{extra}\]"):
        SQLAlchemyPlugin({"url": url})


@pytest.mark.parametrize("url", ["postgresql://db/chat", "mysql://db/chat", "mariadb://db/chat"])
def test_a_url_without_a_driver_is_opened_with_ours(url: str) -> None:
    assert check_url(url).drivername.partition("+")[2] in ("psycopg", "pymysql")


def test_an_engine_with_one_connection_for_all_is_refused(place: Place) -> None:
    with pytest.raises(ConfigurationError, match="poolclass"):
        place.make_plugin(engine=place.make_engine(poolclass=sa.StaticPool))
