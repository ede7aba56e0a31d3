"""Keys as paths below the folder: readable, and no key can leave the folder or meet another, on any disk.

A segment of a key is a folder, the last one a file. Small letters, digits and ``-_.%@~`` stand for themselves; every
other byte is ``=`` and two hexadecimal digits, for a disk may take ``A`` for ``a``. What is not written in this way
is no document: other programs, and the plugin that keeps its threads in the same folder, may have files there.
"""

from __future__ import annotations

import collections.abc as cabc
import os
import re

MARKDOWN = ".md"
JSON = ".json"
PIECE = 150
"""Characters of a name on the disk; a longer one goes on in a folder, marked by ``=`` at its end."""

_FOREIGN = re.compile(rb"[^a-z0-9_.%@~-]")
_SUFFIXES = (MARKDOWN, JSON, ".tmp")
_DIGEST = re.compile(r"[0-9a-f]{32}")


class Names:
    """The paths below a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.locks = os.path.join(folder, "locks")

    def path(self, key: str) -> str:
        """Return the path of the file of a key, without its suffix."""
        *folders, name = key.split("/")
        return os.path.join(self.folder, *map(_folder_name, folders), _in_pieces(_encoded(name)))

    def keys(self, start: str) -> cabc.Iterator[str]:
        """Return the keys of all files of documents in the folder of the keys that begin with ``start``."""
        folders = start.split("/")[:-1]
        if not {"", ".", ".."}.isdisjoint(folders):
            return
        above = os.path.join(self.folder, *map(_folder_name, folders))
        for folder, _, files in os.walk(above, onerror=_raise):
            for name in files:
                key = self._key(os.path.relpath(os.path.join(folder, name), self.folder))
                if key is not None:
                    yield key

    def _key(self, path: str) -> str | None:
        stem, suffix = os.path.splitext(path)
        if suffix not in (MARKDOWN, JSON):
            return None
        encoded = stem.replace("=/", "")
        try:
            key = "/".join(_decoded(segment) for segment in encoded.split("/"))
        except UnicodeDecodeError:
            return None
        return key if self.path(key) == os.path.join(self.folder, stem) else None


def _encoded(segment: str) -> str:
    found = _FOREIGN.sub(lambda byte: b"=%02x" % byte[0][0], segment.encode()).decode("ascii")
    return f"=2e{found[1:]}" if found.startswith(".") else found


def _folder_name(segment: str) -> str:
    name = _encoded(segment)
    if name.endswith(_SUFFIXES):
        stem, _, suffix = name.rpartition(".")
        name = f"{stem}=2e{suffix}"
    elif _DIGEST.fullmatch(name):
        # The folder of a scope of the plugin.
        name = f"={ord(name[0]):02x}{name[1:]}"
    return _in_pieces(name)


def _in_pieces(name: str) -> str:
    # No code is cut in two: a piece ends with a whole one.
    pieces = re.findall(rf"(?:=..|[^=]){{1,{PIECE // 3}}}", name) if len(name) > PIECE else [name]
    return "=/".join(pieces)


def _decoded(segment: str) -> str:
    data = re.sub(rb"=([0-9a-f]{2})", lambda code: bytes([int(code[1], 16)]), segment.encode())
    return data.decode()


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
