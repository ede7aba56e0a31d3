"""The secret key of a site that was given none."""

from __future__ import annotations

import os
import pathlib
import secrets
import tempfile


def read_secret_key(file: pathlib.Path) -> str:
    """Return the key in the file, which is made on first use and readable by its owner alone.

    :raises RuntimeError: if the file holds no key.
    """
    if not file.exists():
        _make(file)
    key = file.read_text().strip()
    if len(key) < 32:
        raise RuntimeError(f"{file} holds no secret key; delete it and a new one is made, which logs everybody out")
    return key


def _make(file: pathlib.Path) -> None:
    """Write a random key, unless another process does it at the same time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # A link appears with its content, and only if there is none yet: all workers see the same whole key.
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}-")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
            stream.flush()
            os.fsync(descriptor)
        os.link(temporary, file)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
