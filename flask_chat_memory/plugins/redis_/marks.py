"""What people think of messages: a hash of the thread."""

from __future__ import annotations

import abc

from ...values import clean
from ..abilities import MarksMessages
from ..records import Mark
from ..records import Scope
from ..rules import check_mark
from ..rules import is_thread_id
from . import scripts
from .calling import RedisCalls
from .packing import pack_mark
from .packing import unpack_marks


class RedisMarks(RedisCalls, MarksMessages, abc.ABC):
    """The ability."""

    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        kept = None if mark is None else pack_mark(check_mark(mark))
        if not is_thread_id(thread_id):
            return False
        message = clean(message_id)
        return bool(self._write(scripts.MARK, scope, thread_id, repeatable=True, message=message, mark=kept))

    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        found = self._run(scripts.MARKS, scope, thread_id, repeatable=True)
        return unpack_marks(found or [], self._name(scope, thread_id))
