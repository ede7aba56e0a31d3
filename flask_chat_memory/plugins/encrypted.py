"""Any plugin, with what is said in its threads hidden from whoever reads its store."""

from __future__ import annotations

import collections.abc as cabc
import functools
import time
import types
import typing as t

import msgspec

from ..encryption import Cipher
from ..errors import ConfigurationError
from ..message import ChatMessage
from .base import ChatMemoryPlugin
from .base import Clock
from .encrypted_.abilities import ABILITIES
from .encrypted_.sealing import Sealing
from .encrypted_.wrapping import Wrapping
from .options import definitions_of
from .options import Option
from .options import PluginOptions
from .records import Appended
from .records import Scope
from .registry import chat_memory_plugin
from .registry import PluginRegistry
from .reports import StoreReport
from .rules import check_append

if t.TYPE_CHECKING:
    from .sql.schema import Schema


@chat_memory_plugin(
    "encrypted",
    label="Encrypted",
    description="Another plugin, with messages and titles encrypted before they reach it.",
)
class EncryptedPlugin(Wrapping):
    """Encrypts what the wrapped plugin keeps; has the abilities that it has."""

    class Options(PluginOptions, frozen=True, kw_only=True):
        """The wrapped plugin and the keys. The options of all plugins stand here, not in ``options``.

        Without a value they are what the wrapped plugin has by default.
        """

        plugin: t.Annotated[
            t.Any, Option(label="Plugin", help="What keeps the conversations: an id, an import path or a class.")
        ]
        keys: t.Annotated[
            list[str],
            Option(
                label="Keys",
                help="Base64 of 32 random bytes each. The first one encrypts, all decrypt.",
                secret=True,
            ),
        ]
        options: t.Annotated[
            t.Any, Option(label="Options", help="The options of that plugin.", secret=True, app_bound="options")
        ] = None

        def __post_init__(self) -> None:
            try:
                Cipher(self.keys)
            except ConfigurationError as error:
                raise ConfigurationError(f"encrypted: {error}") from error

        @classmethod
        def make(cls, values: cabc.Mapping[str, t.Any], where: str) -> t.Self:
            made = super().make(values, where)
            plugin = _wrappable(made.plugin, where)
            options = _options_of(plugin, made.options, values, f"{where}['options']")
            common = {name: getattr(options, name) for name in definitions_of(PluginOptions)}
            return msgspec.structs.replace(made, plugin=plugin, options=options, **common)

    storage = "encrypted"
    options: Options

    def __new__(
        cls, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> EncryptedPlugin:
        return super().__new__(_with_abilities(cls, cls._checked(options).plugin))

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        checked = self._checked(options)
        self._sealing = Sealing(Cipher(checked.keys))
        self._wrapped: ChatMemoryPlugin = checked.plugin(checked.options)
        super().__init__(checked, clock=clock)

    @classmethod
    def _checked(cls, options: PluginOptions | cabc.Mapping[str, t.Any] | None) -> Options:
        if isinstance(options, cls.Options):
            return options
        return cls.Options.make(t.cast("cabc.Mapping[str, t.Any]", options or {}), f"options of {cls.id}")

    @property
    def clock(self) -> Clock:
        """The clock of the wrapped plugin."""
        return self._wrapped.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._wrapped.clock = clock

    @property
    def has_persistent_thread(self) -> bool:
        return self._wrapped.has_persistent_thread

    def create_thread_id(self) -> str:
        return self._wrapped.create_thread_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        return self._wrapped.has_thread(scope, thread_id)

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        sealed = self._wrapped.load_messages(scope, thread_id, limit=limit, before=before, after=after)
        return self._sealing.open(scope, thread_id, sealed) if sealed else []

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        self._wrapped.save_messages(scope, thread_id, self._sealing.seal(scope, thread_id, messages))

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        return self._wrapped.delete_thread(scope, thread_id)

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        check_append(thread_id, key)

        def write(sealed: list[ChatMessage], **only: str) -> Appended | None:
            return self._wrapped.append_messages(scope, thread_id, sealed, key=key, reply_to=reply_to, **only)

        return self._write(write, scope, thread_id, messages, only_into)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        self._wrapped.clear_messages(scope, thread_id)

    def examine_store(self) -> StoreReport | None:
        return self._wrapped.examine_store()

    def store_identity(self) -> object:
        return self._wrapped.store_identity()

    def schemas(self) -> tuple[Schema, ...]:
        return self._wrapped.schemas()

    def ping(self) -> None:
        self._wrapped.ping()

    def close(self) -> None:
        self._wrapped.close()


@functools.cache
def _with_abilities(encrypted: type[EncryptedPlugin], wrapped: type[ChatMemoryPlugin]) -> type[EncryptedPlugin]:
    """Return the class that has the abilities of the wrapped one, and no other."""
    abilities = [gives for gives, needed in ABILITIES.items() if all(issubclass(wrapped, one) for one in needed)]
    attributes = {
        "__module__": encrypted.__module__,
        "__qualname__": encrypted.__qualname__,
        "shared_by_processes": wrapped.shared_by_processes,
    }
    return types.new_class(encrypted.__name__, (*abilities, encrypted), exec_body=lambda body: body.update(attributes))


def _wrappable(choice: t.Any, where: str) -> type[ChatMemoryPlugin]:
    if choice is None:
        raise ConfigurationError(f"{where}: plugin is None; name the plugin that keeps what is encrypted")
    try:
        plugin = PluginRegistry().find(choice)
    except ConfigurationError as error:
        raise type(error)(f"{where}['plugin']: {error}") from error
    if issubclass(plugin, EncryptedPlugin):
        raise ConfigurationError(f"{where}['plugin'] is 'encrypted' itself; name the plugin that keeps the messages")
    return plugin


def _options_of(
    plugin: type[ChatMemoryPlugin], options: t.Any, outer: cabc.Mapping[str, t.Any], where: str
) -> PluginOptions:
    if options is None:
        options = {}
    if not isinstance(options, cabc.Mapping):
        raise ConfigurationError(f"{where} must be a dict, not {type(options).__name__}")
    common = definitions_of(PluginOptions)
    for name in options:
        if name in common:
            raise ConfigurationError(f"{where} has {name!r}, which is for both plugins; give it beside 'plugin'")
    return plugin.Options.make({**options, **{name: outer[name] for name in common if name in outer}}, where)
