"""The support chat of a small shop: an example of Flask-Chat-Memory to copy from."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import os
import pathlib
import typing as t

import flask
from cachelib import FileSystemCache
from flask_session import Session

from flask_chat_memory import ChatMemory

from . import accounts
from . import memories
from . import model
from . import my_data
from . import protection
from . import settings
from . import views
from .bot import Bot
from .search import Knowledge
from .secret_key import read_secret_key

SHOP = "Quillmoss"
SYSTEM_PROMPT = (
    f"You are the support assistant of {SHOP}, a small shop for notebooks, pens and paper. Answer in a few friendly "
    "sentences. If you do not know something about the shop, say so instead of guessing."
)
GREETING = "Hello! How can I help you today? I remember what we talk about, so you can come back to it later."
HISTORY_IN_THE_BROWSER = ("", "client")


def create_app(config: cabc.Mapping[str, t.Any] | None = None, *, instance_path: str | None = None) -> flask.Flask:
    """Make the app.

    :param config: wins over the environment and the defaults.
    :param instance_path: the folder for sessions, conversations and the secret key.
    """
    app = flask.Flask(__name__, instance_path=instance_path)
    instance = pathlib.Path(app.instance_path)
    app.config.update(
        # Without a cookie that lives on, an anonymous visitor would be forgotten when the browser is closed.
        SESSION_PERMANENT=True,
        PERMANENT_SESSION_LIFETIME=dt.timedelta(days=90),
        # A slow request that only read the session must not save it over a logout that came between.
        SESSION_REFRESH_EACH_REQUEST=False,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_TYPE="cachelib",
        CHAT_MEMORY_PLUGIN=_plugin_of(os.environ),
        # What an administrator chooses, and what is remembered of somebody, is kept here, whatever the plugin.
        CHAT_MEMORY_STORAGES={
            "settings": "file",
            "facts": "file",
            "user_memory": "sqlalchemy",
            "summaries": "sqlalchemy",
        },
        # What the settings page cannot ask for: where a server is.
        PLUGIN_OPTIONS={"redis": {"url": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")}},
        CHAT_MEMORY_CHATBOTS={
            settings.CHATBOT: {
                "system_prompt": SYSTEM_PROMPT,
                # A model is told what the visitor wanted to be remembered; the bot that works offline looks it up.
                "knowledge": True,
                "greeting": GREETING,
                "temporary": True,
                "short_term": [{"type": "hierarchical", "context_window": 32_000, "summary_threshold": 4_000}],
            }
        },
        # Visitors who are not logged in have conversations, too.
        CHAT_MEMORY_PRIVACY="visitors",
        KNOWLEDGE_FOLDER=os.environ.get("KNOWLEDGE_FOLDER") or os.path.join(app.root_path, "knowledge"),
        BOT_DELAY=0.02,
    )
    app.config.update(config or {})
    if not app.config["SECRET_KEY"]:
        app.config["SECRET_KEY"] = os.environ.get("SECRET_KEY") or read_secret_key(instance / "secret_key")
    app.config.setdefault("CHAT_MEMORY_OPTIONS", _options_of(app.config, os.environ))
    app.config.setdefault("SESSION_CACHELIB", FileSystemCache(str(instance / "sessions"), threshold=10_000))

    Session(app)
    accounts.init_app(app)
    protection.init_app(app)
    views.init_app(app)
    settings.init_app(app)
    memories.init_app(app)
    my_data.init_app(app)
    memory = ChatMemory(app, settings_loader=settings.load_settings)
    if model.is_wanted(os.environ):
        memory.provider(model.Model.from_environment(os.environ).answer)
    else:
        knowledge = Knowledge.read(pathlib.Path(app.config["KNOWLEDGE_FOLDER"]))
        memory.provider(Bot(knowledge, app.config["BOT_DELAY"]).answer)
    return app


def _options_of(config: cabc.Mapping[str, t.Any], environ: cabc.Mapping[str, str]) -> dict[str, t.Any]:
    plugin, threads = config["CHAT_MEMORY_PLUGIN"], environ.get("CHAT_MEMORY_THREADS") or "many"
    # "many": each visitor has a list of conversations beside the chat; "one": a single ongoing one.
    chosen = {"threads": threads} if plugin else {}
    return {**config["PLUGIN_OPTIONS"].get(plugin, {}), **chosen}


def _plugin_of(environ: cabc.Mapping[str, str]) -> str | None:
    # An environment holds only text, and the extension refuses the text "none": a word of ours stands for None.
    plugin = environ.get("CHAT_MEMORY_PLUGIN", "sqlalchemy")
    return None if plugin in HISTORY_IN_THE_BROWSER else plugin
