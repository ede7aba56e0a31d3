"""Finding the turns of a thread that are being answered, to stop them or to follow them."""

from __future__ import annotations

from .errors import UnknownThread
from .location import Location
from .message import ChatMessage
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .repeat import asked_under

_NEWEST = 200
"""Messages among which a question is looked for."""


def stop_turns(
    location: Location, turn: str | None = None, question_id: str | None = None, key: str | None = None
) -> bool:
    """Want running turns to end: all of the thread, or the one that is named; tell whether there was one.

    :param key: the client's name for the question, for who has not learnt its id yet.
    """
    plugin, scope = location.plugin, location.scope
    place = _place(location, key)
    if place is None or not isinstance(plugin, KeepsLiveTurns):
        return False
    if key is not None:
        question = asked_under(place, key)
        if question is None or question.turn is None:
            return False
        turn = question.turn
    running = [live for live in plugin.live_turns(scope, place.thread_id) if live.lease > location.plugin.clock()]
    wanted = [live for live in running if turn in (None, live.turn) and question_id in (None, live.question_id)]
    # A list, for each is to stop.
    return any([plugin.stop_turn(scope, place.thread_id, live.turn) for live in wanted])


def find_question(location: Location, question_id: str) -> tuple[Place, ChatMessage] | None:
    """Return a question that was asked not long ago."""
    messages = location.newest(_NEWEST)
    question = next((message for message in messages if message.id == question_id and message.role == "user"), None)
    if question is None or location.thread_id is None or question.turn is None:
        return None
    return location.at(location.thread_id), question


def _place(location: Location, key: str | None) -> Place | None:
    thread_id = location.thread_id
    if thread_id is None and key is not None:
        try:
            # The page does not know the thread yet, which is named by the key.
            thread_id = location.write_id(key)
        except UnknownThread:
            return None
    return None if thread_id is None else location.at(thread_id)
