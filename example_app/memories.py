"""What the bot remembers of a visitor, and the pages on which they see, change and delete it."""

from __future__ import annotations

import re
import typing as t

import flask
import wtforms
from flask_wtf import FlaskForm
from wtforms.validators import InputRequired

from flask_chat_memory import ChatMemory
from flask_chat_memory import InvalidKnowledge
from flask_chat_memory import MissingOwner
from flask_chat_memory import Turn
from flask_chat_memory.knowledge.user_memory import CATEGORIES
from flask_chat_memory.knowledge.user_memory import UserMemories
from flask_chat_memory.knowledge.user_memory import UserMemory

_TOLD = re.compile(
    r"\W*(?:please\s+)?(?:remember|keep in mind|note)(?:\s*,)?\s+that\s+(?P<text>\S.*)", re.IGNORECASE | re.DOTALL
)
_ASKED = re.compile(
    r"\bwhat\b.{0,20}\b(?:know|remember|remembered|noted?)\b.{0,20}\b(?:about|of) me\b|\bwhat have i told you\b",
    re.IGNORECASE,
)
NOTHING = "I remember nothing about you yet. Tell me something: “Remember that I …”."
TEMPORARY = "This is a temporary chat: nothing of it is remembered, and nothing from before is looked at."
NOBODY = "I can remember that only when this chat is kept on the server. Log in, and I can."


def reply(turn: Turn) -> str | None:
    """Remember what a visitor asks to be remembered, or tell what is; None if a question is about something else."""
    told = _TOLD.fullmatch(turn.text)
    if not told and not _ASKED.search(turn.text):
        return None
    if turn.notice == "temporary":
        return TEMPORARY
    if turn.owner is None:
        return NOBODY
    if told:
        # As a model would call it.
        said = _memory().remember_tool(turn.owner).call({"text": told["text"], "category": "note"})
        return "I will remember that." if said == "Remembered." else said
    known = _memory().user_memories(turn.owner).list(limit=10)
    lines = [f"- {' '.join(memory.text.split())}" for memory in known]
    return "\n".join(["This is what you told me:", "", *lines]) if lines else NOTHING


class MemoryForm(FlaskForm):  # type: ignore[misc]
    """One memory."""

    text = wtforms.TextAreaField("What to remember", [InputRequired("This cannot be empty.")])
    category = wtforms.SelectField("Kind", choices=list(CATEGORIES), default="note")
    tags = wtforms.StringField("Tags", description="Separated by commas; none is fine.")


def init_app(app: flask.Flask) -> None:
    """Add the pages to the app."""
    app.add_url_rule("/memories", view_func=memories, methods=["GET", "POST"])
    app.add_url_rule("/memories/<id>", view_func=edit_memory, methods=["GET", "POST"])
    app.add_url_rule("/memories/<id>/delete", view_func=delete_memory, methods=["POST"])


def memories() -> flask.typing.ResponseReturnValue:
    """Show all memories of the visitor, or add one."""
    own = _own()
    if own is None:
        # No form: its token would give a cookie to somebody of whom nothing is kept.
        return flask.render_template("memories.html"), {"Cache-Control": "private, no-store"}
    form = MemoryForm()
    if form.validate_on_submit() and _stored(form, own):
        return _to_list()
    return _private(flask.render_template("memories.html", form=form, memories=own.list()), form)


def edit_memory(id: str) -> flask.typing.ResponseReturnValue:
    """Show one memory of the visitor in a form, or change it."""
    own = _own()
    memory = own.get(id) if own else None
    if own is None or memory is None:
        flask.abort(404)
    form = MemoryForm(data={"text": memory.text, "category": memory.category, "tags": ", ".join(memory.tags)})
    if form.validate_on_submit() and _stored(form, own, memory):
        return _to_list()
    return _private(flask.render_template("memory.html", form=form, memory=memory), form)


def delete_memory(id: str) -> flask.typing.ResponseReturnValue:
    """Delete one memory of the visitor."""
    own = _own()
    if own is not None and FlaskForm().validate_on_submit():
        own.delete(id)
    return _to_list()


def _stored(form: MemoryForm, own: UserMemories, memory: UserMemory | None = None) -> bool:
    """Store what the form holds, unless it is refused; then the form says why."""
    tags = [tag.strip() for tag in (form.tags.data or "").split(",") if tag.strip()]
    given: dict[str, t.Any] = {"text": form.text.data, "category": form.category.data, "tags": tags}
    try:
        if memory is None:
            own.add(**given)
        else:
            own.update(memory.id, **given)
    except InvalidKnowledge as error:
        field = form[error.path.partition("[")[0]]
        field.errors = [*field.errors, f"This {error.reason}."]
        return False
    return True


def _own() -> UserMemories | None:
    try:
        return _memory().user_memories()
    except MissingOwner:
        return None


def _private(page: str, form: FlaskForm) -> flask.typing.ResponseReturnValue:
    return page, 422 if form.is_submitted() else 200, {"Cache-Control": "private, no-store"}


def _to_list() -> flask.typing.ResponseReturnValue:
    return flask.redirect(flask.url_for("memories"), 303)


def _memory() -> ChatMemory:
    return t.cast(ChatMemory, flask.current_app.extensions["chat_memory"])
