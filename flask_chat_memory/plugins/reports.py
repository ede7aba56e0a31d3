"""What a store tells the operator of itself."""

from __future__ import annotations

import os
import stat

import msgspec


class Trouble(msgspec.Struct, frozen=True):
    """Something that is wrong, and what to do about it."""

    text: str
    cure: str


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a store, without secrets.

    :param place: names it.
    :param version: of the server or the library; None where there is none.
    :param made: there are tables, keys or a folder; they are made on first use.
    :param one_host: only the processes of one host can share it.
    :param ahead: seconds by which its clock is ahead of ours; None if it has none of its own.
    """

    place: str
    version: str | None = None
    made: bool = True
    one_host: bool = False
    ahead: float | None = None
    troubles: tuple[Trouble, ...] = ()


def troubles_of(path: str) -> tuple[Trouble, ...]:
    """Return what is wrong with a file or folder, or with the place where it is to be made."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return () if _can_be_made(path) else (Trouble(f"{path} is not there and cannot be made", _cure(path)),)
    except OSError:
        return (Trouble(f"{path} cannot be looked at", _cure(path)),)
    wanted = os.R_OK | os.W_OK | (os.X_OK if stat.S_ISDIR(found.st_mode) else 0)
    troubles = []
    if not os.access(path, wanted):
        troubles.append(Trouble(f"{path} cannot be read and written", _cure(path)))
    if os.name == "posix" and found.st_mode & 0o077:
        text = f"{path} is open to other users of this host (mode {stat.S_IMODE(found.st_mode):o})"
        troubles.append(Trouble(text, f"chmod go-rwx {path}"))
    return tuple(troubles)


def _can_be_made(path: str) -> bool:
    above = os.path.dirname(os.path.abspath(path))
    while not os.path.exists(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def _cure(path: str) -> str:
    return f"give {path}, or the folder above it, to the user that the site runs as"


def report_of_folder(path: str) -> StoreReport:
    """Return what is to be told of a folder in which there is all."""
    return StoreReport(
        place=f"the folder {os.path.basename(path)!r}",
        made=os.path.exists(path),
        one_host=True,
        troubles=troubles_of(path),
    )
