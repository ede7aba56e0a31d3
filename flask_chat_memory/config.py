"""The ``CHAT_MEMORY_*`` configuration: its defaults, and the checks that make settings of it."""

from __future__ import annotations

import collections.abc as cabc
import copy
import difflib
import re
import types
import typing as t

from .errors import ConfigurationError
from .plugins.options import definitions_of
from .plugins.registry import PluginChoice
from .plugins.registry import PluginRegistry
from .redaction import read_redaction
from .settings import ChatbotSettings
from .settings import DEFAULT_CHATBOT
from .settings import PluginSettings
from .settings import Settings
from .short_term.chain import Chain
from .short_term.chain import coverage_of
from .short_term.chain import make_chain
from .storage.choice import read_retention
from .storage.choice import read_storages

PREFIX = "CHAT_MEMORY_"
DEFAULTS: dict[str, t.Any] = {
    "CHAT_MEMORY_PLUGIN": None,
    "CHAT_MEMORY_OPTIONS": {},
    "CHAT_MEMORY_CHATBOTS": {},
    "CHAT_MEMORY_SHORT_TERM": [{"type": "window", "turns": 20}],
    "CHAT_MEMORY_STORAGE": None,
    "CHAT_MEMORY_STORAGES": {},
    "CHAT_MEMORY_RETENTION": {},
    "CHAT_MEMORY_PURGE_EVERY": None,
    "CHAT_MEMORY_USER_MEMORIES": 100,
    "CHAT_MEMORY_REDACTION": True,
    "CHAT_MEMORY_ON_LOGIN": "adopt",
    "CHAT_MEMORY_PRIVACY": None,
    "CHAT_MEMORY_URL_PREFIX": "/chat-memory",
    "CHAT_MEMORY_PRELOAD": 50,
    "CHAT_MEMORY_MAX_MESSAGE_CHARS": 32_000,
    "CHAT_MEMORY_ON_UNAVAILABLE": "refuse",
}
CHATBOT_KEYS = (
    "plugin", "options", "history", "system_prompt", "knowledge", "short_term", "greeting", "enabled", "temporary",
    "on_disconnect",
)  # fmt: skip
KNOWLEDGE_DOMAINS = ("facts", "user_memory")
"""What a chatbot with ``knowledge`` reads."""
_CHATBOT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def read_settings(config: cabc.MutableMapping[str, t.Any], registry: PluginRegistry) -> Settings:
    """Check the configuration and write the defaults back to it.

    :raises ConfigurationError: naming the key, the value and what is allowed.
    """
    for key in config:
        if key.startswith(PREFIX) and key not in DEFAULTS:
            close = difflib.get_close_matches(key, DEFAULTS, n=1, cutoff=0.8)
            hint = f"; did you mean {close[0]}?" if close else f"; the keys are: {', '.join(DEFAULTS)}"
            raise ConfigurationError(f"there is no configuration key {key}{hint}")
    for key, value in DEFAULTS.items():
        config.setdefault(key, copy.deepcopy(value))
    plugin = choose_plugin(
        registry,
        config["CHAT_MEMORY_PLUGIN"],
        config["CHAT_MEMORY_OPTIONS"],
        "CHAT_MEMORY_PLUGIN",
        "CHAT_MEMORY_OPTIONS",
    )
    chatbots = _read_chatbots(config, registry, plugin)
    storages = read_storages(config, plugin.plugin if plugin else None, plugin.options if plugin else None)
    for chatbot in chatbots.values():
        if chatbot.plugin and chatbot.history and storages["conversation"] is None:
            _check_storage(chatbot.plugin)
        if chatbot.plugin and chatbot.history and storages["summaries"] is None and coverage_of(chatbot.short_term):
            raise ConfigurationError(
                f"the short-term memory of chatbot {chatbot.name!r} makes summaries, and there is no storage for them: "
                "CHAT_MEMORY_PLUGIN names none; set CHAT_MEMORY_STORAGE or CHAT_MEMORY_STORAGES['summaries']"
            )
        missing = next((domain for domain in KNOWLEDGE_DOMAINS if storages[domain] is None), None)
        if chatbot.knowledge and missing is not None:
            raise ConfigurationError(
                f"chatbot {chatbot.name!r} has knowledge, and there is no storage for it: CHAT_MEMORY_PLUGIN names "
                f"none; set CHAT_MEMORY_STORAGE or CHAT_MEMORY_STORAGES[{missing!r}]"
            )
    return Settings(
        chatbots=types.MappingProxyType(chatbots),
        storages=types.MappingProxyType(storages),
        retention=types.MappingProxyType(read_retention(config["CHAT_MEMORY_RETENTION"], storages)),
        purge_every=_read_purge_every(config),
        user_memories=_number(config, "CHAT_MEMORY_USER_MEMORIES", 1),
        redaction=read_redaction(config["CHAT_MEMORY_REDACTION"]),
        on_login=_choice(config, "CHAT_MEMORY_ON_LOGIN", ("adopt", "leave")),
        privacy=_choice(config, "CHAT_MEMORY_PRIVACY", (None, "users", "visitors")),
        url_prefix=_read_url_prefix(config),
        preload=_number(config, "CHAT_MEMORY_PRELOAD", 1),
        max_message_chars=_number(config, "CHAT_MEMORY_MAX_MESSAGE_CHARS", 1),
        on_unavailable=_choice(config, "CHAT_MEMORY_ON_UNAVAILABLE", ("refuse", "answer")),
    )


def choose_plugin(
    registry: PluginRegistry, choice: PluginChoice | None, options: t.Any, plugin_key: str, options_key: str
) -> PluginSettings | None:
    """Find a plugin and check its options.

    :param plugin_key: the configuration key of the plugin, for errors; ``options_key`` that of its options.
    """
    if not isinstance(options, cabc.Mapping):
        raise ConfigurationError(f"{options_key} must be a dict, not {type(options).__name__}")
    if choice is None:
        return None
    try:
        plugin = registry.find(choice)
    except ConfigurationError as error:
        raise type(error)(f"{plugin_key}: {error}") from error
    return PluginSettings(plugin, plugin.Options.make(options, options_key))


def _check_storage(settings: PluginSettings) -> None:
    """Refuse a plugin that keeps threads in a storage, where there is none."""
    for name, definition in definitions_of(type(settings.options)).items():
        if definition.app_bound == "storage" and getattr(settings.options, name) is None:
            raise ConfigurationError(
                f"plugin {settings.plugin.id!r} needs a storage: set its option {name}, or CHAT_MEMORY_STORAGE"
            )
        if definition.app_bound == "options":
            wrapped: t.Any = settings.options
            _check_storage(PluginSettings(wrapped.plugin, wrapped.options))


def _read_chatbots(
    config: cabc.Mapping[str, t.Any], registry: PluginRegistry, plugin: PluginSettings | None
) -> dict[str, ChatbotSettings]:
    given = config["CHAT_MEMORY_CHATBOTS"]
    if not isinstance(given, cabc.Mapping):
        raise ConfigurationError(f"CHAT_MEMORY_CHATBOTS must be a dict, not {type(given).__name__}")
    short_term = make_chain(config["CHAT_MEMORY_SHORT_TERM"], "CHAT_MEMORY_SHORT_TERM")
    chatbots = given or {DEFAULT_CHATBOT: {}}
    return {name: _read_chatbot(name, values, plugin, short_term, registry) for name, values in chatbots.items()}


def _read_chatbot(
    name: t.Any, values: t.Any, plugin: PluginSettings | None, short_term: Chain, registry: PluginRegistry
) -> ChatbotSettings:
    where = f"CHAT_MEMORY_CHATBOTS[{name!r}]"
    if not isinstance(name, str) or not _CHATBOT_NAME.fullmatch(name):
        raise ConfigurationError(f"{where}: a name has 1 to 64 letters, digits, hyphens and underscores")
    if not isinstance(values, cabc.Mapping):
        raise ConfigurationError(f"{where} must be a dict, not {type(values).__name__}")
    for key in values:
        if key not in CHATBOT_KEYS:
            raise ConfigurationError(f"{where} has no key {key!r}; the keys are: {', '.join(CHATBOT_KEYS)}")
    if "options" in values and "plugin" not in values:
        raise ConfigurationError(f"{where} has options without a plugin; they go together")
    if "plugin" in values:
        plugin = choose_plugin(
            registry, values["plugin"], values.get("options", {}), f"{where}['plugin']", f"{where}['options']"
        )
    if "short_term" in values:
        short_term = make_chain(values["short_term"], f"{where}['short_term']")
    return ChatbotSettings(
        name=name,
        plugin=plugin,
        history=_typed(values, "history", bool, True, where),
        system_prompt=_typed(values, "system_prompt", str, None, where),
        knowledge=_typed(values, "knowledge", bool, False, where),
        short_term=short_term,
        greeting=_typed(values, "greeting", str, None, where),
        enabled=_typed(values, "enabled", bool, True, where),
        temporary=_typed(values, "temporary", bool, False, where),
        on_disconnect=_choice({"on_disconnect": "stop", **values}, "on_disconnect", ("stop", "finish"), where),
    )


def _typed(values: cabc.Mapping[str, t.Any], key: str, kind: type, default: t.Any, where: str) -> t.Any:
    value = values.get(key, default)
    if value is not default and not isinstance(value, kind):
        raise ConfigurationError(f"{where}[{key!r}] is {value!r}; it must be a {kind.__name__}")
    return value


def _choice(config: cabc.Mapping[str, t.Any], key: str, allowed: tuple[str | None, ...], where: str = "") -> t.Any:
    if config[key] not in allowed:
        name = f"{where}[{key!r}]" if where else key
        raise ConfigurationError(f"{name} is {config[key]!r}; allowed is {' or '.join(map(repr, allowed))}")
    return config[key]


def _number(config: cabc.Mapping[str, t.Any], key: str, minimum: int) -> int:
    value = config[key]
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if type(value) is not int or value < minimum:
        raise ConfigurationError(f"{key} is {config[key]!r}; it must be a whole number from {minimum} on")
    return value


def _read_url_prefix(config: cabc.Mapping[str, t.Any]) -> str | None:
    prefix = config["CHAT_MEMORY_URL_PREFIX"]
    if prefix is None:
        return None
    if not isinstance(prefix, str) or not re.fullmatch(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+", prefix):
        raise ConfigurationError(
            f"CHAT_MEMORY_URL_PREFIX is {prefix!r}; it must be a path like '/chat-memory', or None"
        )
    return prefix


def _read_purge_every(config: cabc.Mapping[str, t.Any]) -> int | None:
    key = "CHAT_MEMORY_PURGE_EVERY"
    return None if config[key] is None else _number(config, key, 1)
