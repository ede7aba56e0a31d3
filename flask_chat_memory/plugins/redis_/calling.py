"""How an operation calls its script: what all scripts are given, and the names of the keys."""

from __future__ import annotations

import abc
import collections.abc as cabc
import secrets
import typing as t

from ..base import ChatMemoryPlugin
from ..records import Scope
from ..rules import is_thread_id
from .names import index_name
from .names import thread_digest
from .scripts import Script
from .server import Server


class RedisCalls(ChatMemoryPlugin, abc.ABC):
    """What the operations and abilities of the plugin have in common.

    :ivar _rules: what the options say of threads, for the scripts that write.
    """

    _server: Server
    _prefix: str
    _rules: cabc.Mapping[str, t.Any]

    def _run(self, script: Script, scope: Scope, thread_id: str, *, repeatable: bool = False, **given: t.Any) -> t.Any:
        if not is_thread_id(thread_id):
            return None
        given |= {**self._times(), "digest": thread_digest(thread_id)}
        return self._server.run(script, self._index(scope), given, repeatable=repeatable)

    def _write(
        self,
        script: Script,
        scope: Scope,
        thread_id: str,
        bodies: cabc.Iterable[bytes] = (),
        *,
        repeatable: bool = False,
        **given: t.Any,
    ) -> t.Any:
        given |= self._times()
        given |= self._rules
        given["owner"] = scope.owner
        given["chatbot"] = scope.chatbot
        given["id"] = thread_id
        given["digest"] = thread_digest(thread_id)
        # Tells the same call, sent again, from another one.
        given["nonce"] = secrets.token_hex(8)
        return self._server.run(script, self._index(scope), given, bodies, repeatable=repeatable)

    def _times(self) -> dict[str, t.Any]:
        now, expiry = float(self.clock()), self.options.expiry
        return {"now": now, "time": repr(now), "cutoff": float("-inf") if expiry is None else now - expiry}

    def _index(self, scope: Scope) -> str:
        return index_name(self._prefix, scope)

    def _name(self, scope: Scope, thread_id: str) -> str:
        return f"{self._index(scope)}:{thread_digest(thread_id)}"
