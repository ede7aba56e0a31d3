"""The lines of threads: a script compares and sets what is made of them here."""

from __future__ import annotations

import abc

from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..lines import Lines
from ..records import Scope
from ..rules import is_thread_id
from . import scripts
from .packing import unpack_lines
from .reading import RedisReading


class RedisLines(RedisReading, HidesMessages, abc.ABC):
    """The ability; what is read is visible, and so is what is replaced."""

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        found = self._newest(scope, thread_id, 0) if is_thread_id(thread_id) else None
        return unpack_lines(found[0].lines, self._name(scope, thread_id)) if found else Lines()

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        while is_thread_id(thread_id) and (found := self._newest(scope, thread_id, 0)):
            head = found[0]
            lines = unpack_lines(head.lines, self._name(scope, thread_id))
            changed = change(lines, head.sequence)
            if changed is None or changed == lines:
                return False
            packed = changed.to_json()
            if self._write(scripts.LINES, scope, thread_id, repeatable=True, seen=head.nonce, lines=packed):
                return True
        return False
