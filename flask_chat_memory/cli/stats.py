"""``flask chat-memory stats``."""

from __future__ import annotations

import collections
import collections.abc as cabc
import dataclasses
import datetime as dt
import functools

import click

from ..errors import CorruptRecord
from ..message import ChatMessage
from ..plugins.abilities import HidesMessages
from ..plugins.base import ChatMemoryPlugin
from ..plugins.counting import total_tokens
from ..plugins.records import Scope
from ..plugins.records import Thread
from ..plugins.rules import sequence_of
from ..retention import purger
from ..storage.rules import stored_time
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .output import print_json
from .output import print_table
from .progress import progress

PAGE = 500


@dataclasses.dataclass
class Day:
    """What was written on a day and is still stored.

    :ivar threads: that began on it.
    :ivar bytes: of the messages as JSON, before an encryption.
    """

    threads: int = 0
    messages: int = 0
    tokens: int = 0
    bytes: int = 0


Days = cabc.MutableMapping[dt.date, Day]


@operator_command
@chatbot_option
@click.option("--days", type=click.IntRange(min=1), default=30, show_default=True, help="The newest days.")
@click.option("--plot", type=click.Path(dir_okay=False, writable=True), metavar="FILE.svg", help="Draw them, too.")
def command(as_json: bool, chatbot: str | None, days: int, plot: str | None) -> None:
    """Count what is stored by the day on which it was written, of UTC.

    It reads every message of these days, so it takes its time on a large site.

    \b
    flask chat-memory stats --days 7
    flask chat-memory stats --plot stats.svg
    """
    draw = _drawing() if plot is not None else None
    plugins = [(name, plugin, purger(name, plugin)) for name, plugin in server_plugins(chatbot)]
    today = max((_day(plugin.clock()) for _, plugin, _ in plugins), default=_day(0.0))
    since = dt.date.fromordinal(max(1, today.toordinal() - days + 1))
    found: Days = collections.defaultdict(Day)
    with progress("Counting") as done:
        for name, plugin, purging in plugins:
            for scope, thread in purging.all_threads(chatbot=name):
                done(1)
                if _day(thread.last_activity) >= since and not plugin.is_expired(thread.last_activity):
                    _count(found, plugin, scope, thread, since)
    rows = sorted(found.items())
    if as_json:
        print_json([{"day": day.isoformat(), **dataclasses.asdict(counts)} for day, counts in rows])
    else:
        _print(rows)
    # What took so long to count is not lost if the picture cannot be written.
    if plot is not None and draw is not None:
        draw(plot, rows)


def _print(rows: cabc.Sequence[tuple[dt.date, Day]]) -> None:
    table: list[tuple[str, Day]] = [(day.isoformat(), counts) for day, counts in rows]
    table.append(("all", Day(*(sum(column) for column in zip(*(_numbers(day) for _, day in rows), strict=True)))))
    print_table(
        ("day", "threads", "messages", "tokens", "bytes"),
        [(name, *(f"{number:,}" for number in _numbers(counts))) for name, counts in table],
    )


def _drawing() -> cabc.Callable[[str, cabc.Sequence[tuple[dt.date, Day]]], None]:
    try:
        from .plot import draw
    except ImportError as error:
        raise click.ClickException("--plot needs matplotlib: install flask-chat-memory[plot]") from error
    return draw


def _count(found: Days, plugin: ChatMemoryPlugin, scope: Scope, thread: Thread, since: dt.date) -> None:
    if _day(thread.created_at) >= since:
        found[_day(thread.created_at)].threads += 1
    try:
        for message in _messages(plugin, scope, thread.id, since):
            day = found[_written(message) or _day(thread.last_activity)]
            day.messages += 1
            day.tokens += total_tokens([message])
            day.bytes += len(message.to_json())
    except CorruptRecord:
        click.echo(f"A conversation with {scope.chatbot} cannot be read; the rest of it is not counted.", err=True)


def _messages(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str, since: dt.date) -> cabc.Iterator[ChatMessage]:
    """Yield what was written since a day, the newest page first."""
    load = functools.partial(plugin.load_messages, scope, thread_id, limit=PAGE)
    if isinstance(plugin, HidesMessages):
        load = functools.partial(load, hidden=True)
    page = load()
    while page:
        written = [message for message in page if (_written(message) or dt.date.max) >= since]
        yield from written
        page = load(before=sequence_of(page[0])) if written else []


def _written(message: ChatMessage) -> dt.date | None:
    seconds = stored_time({"timestamp": message.created_at})
    return None if seconds is None else _day(seconds)


def _day(seconds: float) -> dt.date:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date()


def _numbers(day: Day) -> tuple[int, ...]:
    return dataclasses.astuple(day)
