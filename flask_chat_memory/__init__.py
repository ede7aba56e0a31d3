"""A memory for the chatbots of a Flask site."""

from .conversation import Conversation as Conversation
from .errors import ChatMemoryError as ChatMemoryError
from .errors import ConfigurationError as ConfigurationError
from .errors import CorruptRecord as CorruptRecord
from .errors import InvalidMessage as InvalidMessage
from .errors import MissingOwner as MissingOwner
from .errors import RequestRefused as RequestRefused
from .errors import StorageError as StorageError
from .errors import UnknownPlugin as UnknownPlugin
from .errors import UnknownThread as UnknownThread
from .extension import ChatMemory as ChatMemory
from .message import ChatMessage as ChatMessage
from .plugins.base import Appended as Appended
from .plugins.base import ChatMemoryPlugin as ChatMemoryPlugin
from .plugins.base import CurrentThread as CurrentThread
from .plugins.base import KeepsLiveTurns as KeepsLiveTurns
from .plugins.base import LiveTurn as LiveTurn
from .plugins.base import MovesThreads as MovesThreads
from .plugins.base import Scope as Scope
from .plugins.options import Option as Option
from .plugins.options import PluginOptions as PluginOptions
from .plugins.registry import chat_memory_plugin as chat_memory_plugin
from .plugins.registry import PluginDefinition as PluginDefinition
from .turn import Turn as Turn
from .usage import Usage as Usage
