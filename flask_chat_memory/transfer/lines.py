"""What a document of one thread tells of its messages besides them: the lines, and the marks."""

from __future__ import annotations

import collections.abc as cabc

import msgspec

from ..errors import ImportRefused
from ..message import ChatMessage
from ..plugins.abilities import HidesMessages
from ..plugins.abilities import MarksMessages
from ..plugins.base import ChatMemoryPlugin
from ..plugins.lines import Line
from ..plugins.lines import Lines
from ..plugins.records import Appended
from ..plugins.records import Mark
from ..plugins.records import Scope
from ..plugins.rules import check_mark
from ..plugins.rules import sequence_of


def load_lines(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> tuple[list[ChatMessage], Lines]:
    """Return the messages of all lines, and the lines with their places, from 1, for sequences."""
    if not isinstance(plugin, HidesMessages):
        return plugin.load_messages(scope, thread_id), Lines()
    lines = plugin.find_lines(scope, thread_id)
    while True:
        messages = plugin.load_messages(scope, thread_id, hidden=True)
        same = plugin.find_lines(scope, thread_id)
        if same == lines:
            return messages, lines.renumbered([sequence_of(message) for message in messages])
        lines = same


def load_marks(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> dict[str, Mark]:
    """Return the marks of a thread, in an order that does not change."""
    return dict(sorted(plugin.load_marks(scope, thread_id).items())) if isinstance(plugin, MarksMessages) else {}


def restore(
    plugin: ChatMemoryPlugin,
    scope: Scope,
    appended: Appended,
    messages: cabc.Sequence[ChatMessage],
    lines: Lines,
    marks: cabc.Mapping[str, Mark],
) -> None:
    """Give messages that were appended their lines and marks, unless they have them already."""
    places = [appended.sequence + place for place in range(len(messages))]
    if lines != Lines() and isinstance(plugin, HidesMessages):
        plugin.change_lines(
            scope,
            appended.thread_id,
            lambda old, _: old.joined(lines, appended.sequence - 1) if all(map(old.sees, places)) else None,
        )
    ids = {message.id for message in messages}
    if marks and isinstance(plugin, MarksMessages):
        known = plugin.load_marks(scope, appended.thread_id)
        for id in sorted((marks.keys() & ids) - known.keys()):
            plugin.mark_message(scope, appended.thread_id, id, marks[id])


def checked_lines(given: object, visible: int, hidden: int) -> Lines:
    """Return the lines that a document gives.

    :param visible: how many of its messages are seen.
    :param hidden: how many are not.
    :raises ImportRefused: if they are none, or are not those of the messages.
    """
    try:
        lines = Lines() if given is None else msgspec.convert(given, Lines)
    except msgspec.ValidationError as error:
        raise ImportRefused("lines are no lines of a thread") from error
    total = visible + hidden
    *before, (first, end) = lines.visible or [(0, 0)]
    sound = end is None and _is_line((*before, (first, total + 1)), total + 1)
    if not (sound and all(_is_line(line, total) for line in lines.others)):
        raise ImportRefused("lines are no lines of a thread")
    if sum(map(lines.sees, range(1, total + 1))) != visible:
        raise ImportRefused("lines are not those of the messages")
    return lines


def checked_marks(given: object) -> dict[str, Mark]:
    """Return the marks that a document gives.

    :raises ImportRefused: if they are none.
    """
    try:
        return {id: check_mark(mark) for id, mark in msgspec.convert(given, dict[str, Mark]).items()}
    except (msgspec.ValidationError, ValueError) as error:
        raise ImportRefused("marks are no marks of messages") from error


def _is_line(line: Line, most: int) -> bool:
    """Tell whether ranges between 1 and the greatest number stand in their order and do not touch."""
    end = -1
    for first, last in line:
        if last is None or not end + 1 < first <= last <= most:
            return False
        end = last
    return bool(line)
