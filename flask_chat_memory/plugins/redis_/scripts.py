"""The Lua scripts, each put together from its own file and those of the functions that it uses."""

from __future__ import annotations

import hashlib
import importlib.resources

READS = ("head", "thread")
DESCRIBES = (*READS, "describing")
DELETES = (*READS, "removing")
WRITES = (*DELETES, "writing")
ADDS = (*WRITES, "adding")


class Script:
    """A script that a server knows by its digest once it has run there.

    :param uses: names of the files before its own.
    :param package: where the files are.
    """

    def __init__(self, name: str, uses: tuple[str, ...] = (), package: str = __package__) -> None:
        folder = importlib.resources.files(package)
        parts = [folder.joinpath(f"{part}.lua").read_text(encoding="utf-8") for part in (*uses, name)]
        self.text = "\n".join(parts).encode()
        self.digest = hashlib.sha1(self.text, usedforsecurity=False).hexdigest()


LOAD = Script("load", READS)
LIVE = Script("live", READS)
LINES = Script("lines", WRITES)
MARK = Script("mark", WRITES)
MARKS = Script("marks", READS)
APPEND = Script("append", ("head", "quick", *ADDS[1:]))
REPLACE = Script("replace", WRITES)
CLEAR = Script("clear", WRITES)
DELETE = Script("delete", DELETES)
FIND = Script("find", DESCRIBES)
LIST = Script("list", DESCRIBES)
EVERY = Script("every", DESCRIBES)
UPDATE = Script("update", WRITES)
PURGE = Script("purge", DELETES)
RENEW = Script("renew", WRITES)
STOP = Script("stop", WRITES)
THREADS = Script("threads", WRITES)
EXPORT = Script("export", WRITES)
RECEIVE = Script("receive", ADDS)
USAGE = Script("usage", ("head",))
FREEZE_USAGE, ADD_USAGE, THAW_USAGE = (Script(f"{step}_usage", ("head",)) for step in ("freeze", "add", "thaw"))
WHOLE = Script("whole", (*DESCRIBES, "removing", "writing"))
STAGE = Script("stage", WRITES)
RESTORE = Script("restore", (*WRITES, "describing"))
RECKON = Script("reckon", ("head",))
