"""What is called how below the folder: digests, which no owner, chatbot or thread id can leave or make collide.

::

    conversations/<scope>/<thread>.json    who, which, since when
    conversations/<scope>/<thread>.jsonl   the messages
    conversations/<scope>/<thread>.lease   until when its turns run
    conversations/<scope>/current.json     the scope's one ongoing thread
    usage/<scope>.jsonl                    what the answers have cost
    locks/00 ... locks/63
"""

from __future__ import annotations

import collections.abc as cabc
import hashlib
import os
import re
import typing as t

from ..records import Scope

_OURS = re.compile(r"(current\.json|[0-9a-f]{32}\.(json|jsonl|lease))(\.tmp)?")
_DIGEST = re.compile(r"[0-9a-f]{32}")
_LEDGER = re.compile(r"[0-9a-f]{32}\.jsonl")
_BODY = re.compile(r"([0-9a-f]{32})\.jsonl")


class ThreadFiles(t.NamedTuple):
    """The paths of one thread."""

    folder: str
    name: str

    @property
    def head(self) -> str:
        return f"{self.folder}/{self.name}.json"

    @property
    def body(self) -> str:
        return f"{self.folder}/{self.name}.jsonl"

    @property
    def lease(self) -> str:
        return f"{self.folder}/{self.name}.lease"

    @property
    def shown(self) -> str:
        """The thread as an error text may name it."""
        return f"conversations/{os.path.basename(self.folder)}/{self.name}"


class Names:
    """The paths below the folder of the plugin."""

    def __init__(self, folder: str) -> None:
        self.locks = os.path.join(folder, "locks")
        self._conversations = os.path.join(folder, "conversations")
        self._usage = os.path.join(folder, "usage")

    def folder(self, scope: Scope) -> str:
        return f"{self._conversations}/{scope_name(scope)}"

    def current(self, scope: Scope) -> str:
        return f"{self.folder(scope)}/current.json"

    def usage(self, scope: Scope) -> str:
        return f"{self._usage}/{scope_name(scope)}.jsonl"

    def all_usage(self) -> list[str]:
        """Return the paths of the ledgers of all scopes."""
        found = (_LEDGER.fullmatch(name) for name in _listed(self._usage))
        return sorted(f"{self._usage}/{match[0]}" for match in found if match)

    def thread(self, scope: Scope, thread_id: str) -> ThreadFiles:
        return ThreadFiles(self.folder(scope), _digest(thread_id))

    def threads(self, scope: Scope) -> list[ThreadFiles]:
        """Return the threads of a scope; whatever else lies in the folder is none."""
        return self._threads(self.folder(scope))

    def all_threads(self) -> cabc.Iterator[ThreadFiles]:
        """Yield the threads of all scopes."""
        for folder in self.folders():
            yield from self._threads(folder)

    def folders(self) -> cabc.Iterator[str]:
        """Yield the folders of all scopes."""
        try:
            folders = os.scandir(self._conversations)
        except FileNotFoundError:
            return
        with folders:
            for entry in folders:
                if entry.is_dir(follow_symlinks=False) and _DIGEST.fullmatch(entry.name):
                    yield entry.path

    def leftovers(self, folder: str) -> list[str]:
        """Return the paths of all files of ours in the folder of a scope that belong to no thread in it."""
        ours = [name for name in _listed(folder) if _OURS.fullmatch(name)]
        bodies = {match[1] for name in ours if (match := _BODY.fullmatch(name))}
        left = (name for name in ours if name.partition(".")[0] not in bodies)
        return [os.path.join(folder, name) for name in left if not (bodies and name.startswith("current."))]

    def is_left_over(self, folder: str) -> bool:
        """Tell whether the folder of a scope holds nothing, or files of ours that belong to no thread in it."""
        return not _listed(folder) or bool(self.leftovers(folder))

    def remains(self, scope: Scope) -> list[str]:
        """Return the paths of all files of ours that are in the folder of a scope."""
        folder = self.folder(scope)
        return [os.path.join(folder, name) for name in _listed(folder) if _OURS.fullmatch(name)]

    def _threads(self, folder: str) -> list[ThreadFiles]:
        found = (_BODY.fullmatch(name) for name in _listed(folder))
        return sorted(ThreadFiles(folder, match[1]) for match in found if match)


def scope_name(scope: Scope) -> str:
    return _digest(scope.owner, scope.chatbot)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _digest(*names: str) -> str:
    # None of the names can hold a NUL, so the joined text tells them apart.
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
