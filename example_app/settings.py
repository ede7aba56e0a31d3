"""The page on which an administrator chooses where conversations are kept."""

from __future__ import annotations

import typing as t

import flask
import wtforms
from flask_login import current_user
from flask_wtf import FlaskForm
from wtforms.validators import InputRequired
from wtforms.validators import NumberRange
from wtforms.validators import Optional

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import CorruptRecord
from flask_chat_memory import PluginDefinition
from flask_chat_memory.plugins.options import LARGEST
from flask_chat_memory.plugins.options import OptionDefinition

CHATBOT = "support"
IN_THE_BROWSER = ""
"""What the page sends for None."""
FORBIDDEN = "Only an administrator may change the settings."

Choice = dict[str, t.Any]
"""``plugin``, an id or None, and ``options``, those of the plugin that the page offers."""
UNREADABLE: Choice = {"plugin": "(unreadable)", "options": {}}
"""Stands for what is stored and no choice: people may edit the file."""


def init_app(app: flask.Flask) -> None:
    """Add the page to the app."""
    app.add_url_rule("/settings", view_func=settings, methods=["GET", "POST"])


def load_settings(chatbot: str) -> Choice | None:
    """Return what the administrator chose; the extension asks whenever it resolves a conversation."""
    choice = _read(chatbot)
    if choice is None or choice["plugin"] is None:
        return choice
    return {"plugin": choice["plugin"], "options": _complete(choice["plugin"], choice["options"])}


def settings() -> flask.typing.ResponseReturnValue:
    """Show the form of a plugin, or store the choice."""
    if not current_user.is_authenticated:
        return flask.redirect(flask.url_for("login"), 303)
    if not current_user.is_administrator:
        flask.abort(403, FORBIDDEN)
    definitions = _memory().plugins.definitions()
    stored = _stored()
    in_use = IN_THE_BROWSER if stored["plugin"] is None else stored["plugin"]
    plugin = flask.request.values.get("plugin", in_use if in_use in definitions else IN_THE_BROWSER)
    if plugin != IN_THE_BROWSER and plugin not in definitions:
        flask.abort(400, "There is no such plugin.")
    definition = definitions.get(plugin)
    form = form_of(definition)(data=stored["options"] if plugin == in_use else {})
    if form.validate_on_submit() and _store(form, definition):
        return flask.redirect(flask.url_for("settings", saved=1), 303)
    is_unused = stored is UNREADABLE or in_use != IN_THE_BROWSER and _memory().plugin_for(CHATBOT) is None
    page = flask.render_template(
        "settings.html", form=form, plugin=plugin, in_use=in_use, definitions=definitions, is_unused=is_unused
    )
    return page, 422 if form.is_submitted() else 200, {"Cache-Control": "private, no-store"}


def form_of(definition: PluginDefinition | None) -> type[FlaskForm]:
    """Make the form of a plugin's editable options; of none, for the history in the browser."""
    options = definition.options.values() if definition else ()
    return type("OptionsForm", (FlaskForm,), {option.name: _field(option) for option in options if option.editable})


def _field(option: OptionDefinition) -> t.Any:
    about = {"label": option.label, "description": option.help, "default": option.default}
    if option.choices:
        chosen = {str(choice): choice for choice in option.choices}
        return wtforms.SelectField(choices=list(chosen), coerce=lambda text: chosen.get(str(text), text), **about)
    if option.type == "bool":
        return wtforms.BooleanField(**about)
    presence = Optional() if option.optional else InputRequired("This cannot be empty.")
    if option.type in ("int", "float"):
        kind = wtforms.IntegerField if option.type == "int" else wtforms.FloatField
        least = NumberRange(min=option.minimum, message=f"The smallest number is {option.minimum}.")
        most = NumberRange(max=LARGEST, message="This number is too large.")
        return kind(validators=[presence, least, most], **about)
    return wtforms.StringField(validators=[presence], **about)


def _store(form: FlaskForm, definition: PluginDefinition | None) -> bool:
    """Store the choice, unless the plugin itself refuses it; then the form says why."""
    plugin = definition.id if definition else None
    options = {field.name: field.data for field in form if field.name != "csrf_token"}
    if definition is not None:
        try:
            definition.plugin.Options.make(_complete(definition.id, options), definition.label)
        except ConfigurationError as error:
            form.form_errors.append(str(error))
            return False
    _memory().storage("settings").save(_key(CHATBOT), {"plugin": plugin, "options": options})
    return True


def _stored() -> Choice:
    """Return the choice that the page begins with."""
    try:
        choice = _read(CHATBOT)
    except CorruptRecord:
        return UNREADABLE
    if choice is None:
        config = flask.current_app.config
        return {"plugin": config["CHAT_MEMORY_PLUGIN"], "options": config["CHAT_MEMORY_OPTIONS"]}
    return choice


def _read(chatbot: str) -> Choice | None:
    choice = _memory().storage("settings").load(_key(chatbot))
    if choice is None or isinstance(choice.get("plugin", ...), str | None) and isinstance(choice.get("options"), dict):
        return choice
    return UNREADABLE


def _complete(plugin: str, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Add what only whoever runs the site decides, such as the address of a server."""
    config = flask.current_app.config
    configured = plugin == config["CHAT_MEMORY_PLUGIN"]
    return {**(config["CHAT_MEMORY_OPTIONS"] if configured else config["PLUGIN_OPTIONS"].get(plugin, {})), **options}


def _key(chatbot: str) -> str:
    return f"chatbot-{chatbot}"


def _memory() -> ChatMemory:
    return t.cast(ChatMemory, flask.current_app.extensions["chat_memory"])
