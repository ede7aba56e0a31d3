"""Files with what people have written."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import errno
import os
import stat
import tempfile
import typing as t

Path = str | os.PathLike[str]


@contextlib.contextmanager
def private_file(path: Path) -> cabc.Iterator[t.BinaryIO]:
    """Write a file, which is there once it is whole or not at all, for its owner's eyes only.

    Until then it has a name that nobody can have foreseen, nor opened before.

    :raises OSError: if it cannot be written, or is a device, a pipe or a link, in whose place nothing is put.
    """
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise FileExistsError(errno.EEXIST, "it is no regular file", os.fspath(path))
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".export-")
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
