"""What all operations on whole threads know."""

from __future__ import annotations

import abc
import typing as t

from ..base import ChatMemoryPlugin
from .threads import Threads


class Holding(ChatMemoryPlugin, abc.ABC):
    """A plugin whose store keeps each thread as a whole."""

    _threads: Threads

    @property
    def _reading(self) -> t.ContextManager[object]:
        """What is held while a thread is read, for its value may be the one that is changed."""
        return self.lock
