"""Files and folders for their owner's eyes only, written so that a crash leaves the old content or the new."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import errno
import os

from ..errors import StorageError

TEMPORARY = ".tmp"


class DiskErrors:
    """Raises StorageError for what the operating system raises; the text names no path.

    :param what: the folder, as an error text names it.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError):
            code = errno.errorcode.get(error.errno or 0, type(error).__name__)
            raise StorageError(f"{self._what} failed: {error.strerror} ({code})") from error


def read_file(path: str) -> bytes | None:
    """Return the content of a small file; None if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return read(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


def read(descriptor: int, length: int, offset: int) -> bytes:
    """Read ``length`` bytes, or up to the end of the file."""
    data = os.pread(descriptor, length, offset)
    while len(data) < length:
        more = os.pread(descriptor, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def write(descriptor: int, data: bytes, offset: int, lasting: bool = True) -> None:
    """Write all of the data at a place and, to last, have it on the disk."""
    written = 0
    while written < len(data):
        written += os.pwrite(descriptor, data[written:] if written else data, offset + written)
    if lasting:
        os.fsync(descriptor)


def replace_file(path: str, data: bytes, lasting: bool = True) -> None:
    """Put a file in the place of what is there, in one step.

    The name of the temporary file is the same each time, so what a killed process leaves behind does not pile up; who
    calls this holds a lock.

    :param lasting: survive a loss of power, together with :func:`sync_folder`.
    """
    with replacing(path) as descriptor:
        write(descriptor, data, 0, lasting)


@contextlib.contextmanager
def replacing(path: str) -> cabc.Iterator[int]:
    """Give the descriptor of an empty file that takes the place of what is there when the context ends well."""
    temporary = path + TEMPORARY
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        remove_file(temporary)
        raise


def remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def make_folder(path: str) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
