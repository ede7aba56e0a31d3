"""Threads where the site's Flask-Session keeps its sessions: in the same Redis or database, or in files beside them."""

from __future__ import annotations

import collections.abc as cabc
import os
import re
import sys
import time
import typing as t

from ..errors import ConfigurationError
from .abilities import CurrentThread
from .abilities import DescribesThreads
from .abilities import HidesMessages
from .abilities import KeepsLiveTurns
from .abilities import ListsThreads
from .abilities import MarksMessages
from .abilities import MovesThreads
from .abilities import PurgesThreads
from .abilities import RestoresThreads
from .abilities import RestoresUsage
from .abilities import SearchesMessages
from .base import ChatMemoryPlugin
from .base import Clock
from .forwarding import forwarding
from .options import DAY
from .options import definitions_of
from .options import Expiry
from .options import MaxThreads
from .options import Option
from .options import PluginOptions
from .registry import chat_memory_plugin
from .registry import PluginRegistry

Name = t.Annotated[
    str,
    Option(
        label="Name",
        help="In the names of keys, tables or the folder; sites that share a session store need different ones.",
    ),
]


class TemporaryOptions(PluginOptions, frozen=True, kw_only=True):
    """Where the sessions are, and the name under which the conversations are kept there."""

    expiry: Expiry = DAY
    store: t.Annotated[
        t.Any,
        Option(
            label="Session store",
            help="Found by itself; outside an app, a client of Redis, a SQLAlchemy Engine or the path of a folder.",
            secret=True,
            app_bound="session store",
        ),
    ] = None
    name: Name = "chat_memory_temporary"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", self.name):
            raise ConfigurationError(f"name is {self.name!r}; allowed are up to 31 letters, digits and underscores")
        if self.store is not None:
            self.pick()

    def pick(self) -> tuple[type[ChatMemoryPlugin], PluginOptions]:
        """Return the plugin for the store, and its options, which keep the conversations apart from the sessions.

        :raises ConfigurationError: if there is none.
        """
        id, where = _place(self.store, self.name)
        common = {name: getattr(self, name) for name in definitions_of(PluginOptions)}
        try:
            plugin = PluginRegistry().find(id)
            return plugin, plugin.Options(**common, **where)
        except ConfigurationError as error:
            raise ConfigurationError(f"flask_session and flask_session_pool cannot use the store: {error}") from error


def _place(store: t.Any, name: str) -> tuple[str, dict[str, t.Any]]:
    """Return the id of a plugin, and those of its options that say where it keeps the conversations."""
    if isinstance(store, str) and store:
        # Beside the folder, not in it: a cache removes what it finds there.
        return "file", {"folder": f"{os.path.abspath(store)}-{name}"}
    if _is_of(store, "redis", "Redis", "RedisCluster"):
        return "redis", {"client": store, "key_prefix": f"{name}:"}
    if _is_of(store, "sqlalchemy", "Engine"):
        return "sqlalchemy", {"engine": store, "table_prefix": f"{name}_"}
    raise ConfigurationError("store must be a client of Redis, a SQLAlchemy Engine or the path of a folder")


def _is_of(value: object, module: str, *names: str) -> bool:
    """Tell whether the value is of a class of a driver, without importing it: who has a value has imported it."""
    driver = sys.modules.get(module)
    return driver is not None and isinstance(value, tuple(getattr(driver, name) for name in names))


@forwarding
class TemporaryPlugin(
    HidesMessages,
    MarksMessages,
    SearchesMessages,
    ChatMemoryPlugin,
    CurrentThread,
    KeepsLiveTurns,
    MovesThreads,
    ListsThreads,
    DescribesThreads,
    PurgesThreads,
    RestoresThreads,
    RestoresUsage,
):
    """Picks the plugin for the store and leaves everything to it."""

    shared_by_processes = True

    options: TemporaryOptions
    _picked: ChatMemoryPlugin | None = None

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        if self.options.store is None:
            raise ConfigurationError(f"{self.id}: outside an app, give store")
        plugin, plain = self.options.pick()
        # The clock may be set later.
        self._picked = plugin(plain, clock=lambda: self.clock())

    def close(self) -> None:
        if self._picked is not None:
            self._picked.close()


@chat_memory_plugin(
    "flask_session",
    label="Temporary storage",
    description="One ongoing conversation for each visitor, where Flask-Session keeps the sessions.",
)
class FlaskSessionPlugin(TemporaryPlugin):
    """Keeps one thread of each scope."""

    class Options(TemporaryOptions, frozen=True, kw_only=True):
        """Those of temporary storage; one thread."""

        threads: t.Annotated[t.Literal["one"], Option(label="Conversations", help="One ongoing conversation.")] = "one"


@chat_memory_plugin(
    "flask_session_pool",
    label="Temporary storage, multiple threads",
    description="Several conversations for each visitor, where Flask-Session keeps the sessions.",
)
class FlaskSessionPoolPlugin(TemporaryPlugin):
    """Keeps several threads of each scope."""

    class Options(TemporaryOptions, frozen=True, kw_only=True):
        """Those of temporary storage; several threads, but not many."""

        threads: t.Annotated[t.Literal["many"], Option(label="Conversations", help="Several conversations.")] = "many"
        max_threads: MaxThreads = 10
        name: Name = "chat_memory_temporary_pool"
