"""A document with a text as Markdown: the text is the body, everything else the front matter, in YAML.

What a value looks like decides what it is, as in JSON: ``true`` and ``false``, ``null``, decimal numbers. Everything
else is text, dates and ``no`` and ``on`` among it, with or without quotes.
"""

from __future__ import annotations

import re
import typing as t

from ...errors import ConfigurationError
from ..rules import Document
from ..rules import TEXT

try:
    import yaml
except ImportError as error:
    raise ConfigurationError("Markdown documents need PyYAML: install flask-chat-memory[yaml]") from error

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)(?:^)---[ \t]*(?:\r?\n|\Z)(?:\r?\n)?", re.DOTALL | re.MULTILINE)
_RARE_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_WIDE = 2**30


class _Loader(yaml.SafeLoader):
    """Reads as text whatever is not certainly something else.

    It knows neither aliases, which can grow without end, nor tags, which can ask for what a value is not.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = t.cast(t.Any, self).peek_event()
        if isinstance(event, yaml.AliasEvent) or event.tag is not None:
            raise yaml.YAMLError("aliases and tags are not read")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[t.Hashable, t.Any]:
        found: dict[t.Hashable, t.Any] = {}
        for name, value in node.value:
            # A key is text, whatever it looks like.
            if not isinstance(name, yaml.ScalarNode) or name.value in found:
                raise yaml.YAMLError("a key is no text, or is there twice")
            found[name.value] = self.construct_object(value, deep=deep)
        return found


class _Dumper(yaml.SafeDumper):
    """Quotes text that this or another reader could take for something else."""

    # Dates may stand without quotes: here they are text.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: object) -> bool:
        return True


def _resolve(name: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{pattern})\Z"), list(first))


# Each must be part of what the dumper takes for the same, or text would come back as something else.
_resolve("null", r"~|null|Null|NULL|", "~nN\0")
_Loader.yaml_implicit_resolvers.setdefault("", []).extend(_Loader.yaml_implicit_resolvers.pop("\0"))
_resolve("bool", r"true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789")
_resolve("float", r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?", "-0123456789")


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _RARE_BREAKS.search(text):
        # Without an escape they would come back as line feeds.
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def to_markdown(document: Document) -> str:
    """Return a plain document with a text as Markdown with front matter."""
    front = {name: value for name, value in document.items() if name != TEXT}
    head = yaml.dump(front, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDE) if front else ""
    return f"---\n{head}---\n\n{document[TEXT]}\n"


def from_markdown(text: str) -> Document:
    """Return the document of a Markdown text; without front matter, all of it is the text.

    :raises ValueError: if the front matter cannot be read.
    """
    front = _FRONT.match(text)
    body = text[front.end() :] if front else text
    try:
        document = yaml.load(front[1], Loader=_Loader) if front else None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("the front matter is no YAML") from error
    if document is None:
        document = {}
    if not isinstance(document, dict) or TEXT in document:
        raise ValueError("the front matter has no names, or the name of the text")
    return {**document, TEXT: body.removesuffix("\n")}
