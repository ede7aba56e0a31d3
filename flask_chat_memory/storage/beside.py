"""Documents beside conversations: the storage takes the options that say where a plugin keeps its threads."""

from __future__ import annotations

import typing as t

import msgspec

from ..plugins.base import ChatMemoryPlugin
from ..plugins.options import CheckedOptions
from ..plugins.options import PluginOptions


def location_options(plugin: type[ChatMemoryPlugin]) -> type[CheckedOptions]:
    """Return the options of a plugin, with its checks, without those that all plugins have."""
    common = {field.name for field in msgspec.structs.fields(PluginOptions)}
    hints = t.get_type_hints(plugin.Options, include_extras=True)
    fields: list[tuple[str, t.Any, t.Any]] = [
        (field.name, hints[field.name], field.default)
        for field in msgspec.structs.fields(plugin.Options)
        if field.name not in common
    ]
    return t.cast(
        "type[CheckedOptions]",
        msgspec.defstruct(
            "Options",
            fields,
            bases=(CheckedOptions,),
            namespace={"__post_init__": t.cast(t.Any, plugin.Options).__post_init__},
            frozen=True,
            kw_only=True,
        ),
    )
