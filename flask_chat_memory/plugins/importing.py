"""Finds what an import path names."""

from __future__ import annotations

import importlib
import re
import typing as t

from ..errors import ConfigurationError

_PATH = re.compile(r"\w+(\.\w+)*[.:]\w+")


def is_path(choice: str) -> bool:
    """Tell whether a text can be an import path, ``package.module:Class``."""
    return _PATH.fullmatch(choice) is not None


def import_named(path: str, what: str, extra: str | None, unknown: type[ConfigurationError]) -> t.Any:
    """Return what an import path names.

    :param what: names it in errors.
    :param extra: installs what it needs.
    :param unknown: the error if there is nothing of the name.
    :raises ConfigurationError: if what it needs is not installed.
    """
    module_name, _, name = path.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            cure = f": install flask-chat-memory[{extra}]" if extra else ""
            raise ConfigurationError(f"{what} needs {error.name}, which is not installed{cure}") from error
        raise unknown(f"{what}: there is no module {module_name!r}") from error
    except (AttributeError, ImportError) as error:
        raise unknown(f"{what}: {module_name!r} has no {name!r}") from error
