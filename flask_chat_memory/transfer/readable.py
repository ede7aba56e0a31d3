"""Exports for people: Markdown and HTML, made from the entries of one as they come."""

from __future__ import annotations

import abc
import collections.abc as cabc
import re
import urllib.parse

import markupsafe
import msgspec

from ..message import timestamp
from ..storage.keys import OWNER
from .entries import DocumentEntry
from .entries import End
from .entries import Entry
from .entries import Header
from .entries import MarkEntry
from .entries import MessageEntry
from .entries import ThreadEnd
from .entries import ThreadEntry
from .entries import UsageEntry

Facts = cabc.Mapping[str, object]
"""What is told of something, by name; what is None is left out."""

SPEAKERS = {"user": "You", "assistant": "Assistant", "tool": "Tool", "system": "System"}
DOMAINS = {
    "user_memory": "Memories",
    "summaries": "Summaries",
    "facts": "Facts",
    "learning": "What was learned",
    "settings": "Settings",
    "site": "Other documents of the site",
}
RATINGS = {1: "good", -1: "bad"}
TECHNICAL = {"id", "turn", "usage", "role", "content", "created_at", "status", "model", "sequence", "append_key"}
"""What people need not read of a message, and what is told apart."""


class Readable(abc.ABC):
    """Writes entries in the order in which they come; holds the marks of one thread, and no message."""

    def __init__(self) -> None:
        self._thread: ThreadEntry | None = None
        self._marks: dict[str, MarkEntry] = {}
        self._section: str | None = None

    def write(self, entries: cabc.Iterable[Entry]) -> cabc.Iterator[bytes]:
        """Yield the pieces of a document in UTF-8."""
        for entry in entries:
            text = "".join(self._written(entry))
            if text:
                yield text.encode()

    def _written(self, entry: Entry) -> cabc.Iterator[str]:
        if isinstance(entry, Header):
            yield self.begin("Your data")
            yield self.facts({"Exported at": entry.exported_at})
        elif isinstance(entry, ThreadEntry):
            yield from self._begin_thread(entry)
        elif isinstance(entry, MarkEntry):
            self._marks[entry.message_id] = entry
        elif isinstance(entry, MessageEntry):
            yield from self._message(entry)
        elif isinstance(entry, ThreadEnd):
            self._thread = None
        elif isinstance(entry, UsageEntry):
            yield from self._enter("Usage")
            yield self.facts({"Day": entry.day, "Chatbot": entry.chatbot, "Model": entry.model, **_numbers(entry)})
        elif isinstance(entry, DocumentEntry):
            yield from self._document(entry)
        elif isinstance(entry, End):
            yield from self._enter("All in all")
            counts = {"Conversations": entry.threads, "Messages": entry.messages, "Documents": entry.documents}
            yield self.facts({**counts, "Could not be read": entry.unreadable or None})
            yield self.end()

    def _enter(self, section: str) -> cabc.Iterator[str]:
        if section != self._section:
            self._section = section
            yield self.heading(2, section)

    def _begin_thread(self, thread: ThreadEntry) -> cabc.Iterator[str]:
        yield from self._enter("Conversations")
        if self._thread is not None:
            yield self.said("Note", {}, "This conversation has changed meanwhile; it follows once more, as it is now.")
        self._thread, self._marks = thread, {}
        yield self.heading(3, thread.title or "Conversation without a title")
        yield self.facts(
            {
                "Chatbot": thread.chatbot,
                "Begun": timestamp(thread.created_at),
                "Last activity": timestamp(thread.last_activity),
                "Configuration": thread.configuration,
                "Pinned": thread.pinned or None,
                "Archived": thread.archived or None,
            }
        )
        for live in thread.live:
            yield self.said("Assistant", {"Note": "this answer is not complete yet"}, live.text)

    def _message(self, entry: MessageEntry) -> cabc.Iterator[str]:
        message = msgspec.json.decode(entry.message)
        mark = self._marks.get(message.get("id", ""))
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
        more = {name: value for name, value in message.items() if name not in TECHNICAL}
        if len(texts) < len(parts):
            more["content"] = content
        is_seen = self._thread is None or self._thread.lines.sees(entry.sequence)
        status = message.get("status")
        yield self.said(
            SPEAKERS.get(message.get("role", ""), "Message"),
            {
                "At": message.get("created_at"),
                "Model": message.get("model"),
                "Status": status if status != "complete" else None,
                "Note": None if is_seen else "no longer shown: another version took its place",
                "Your rating": RATINGS.get(mark.rating or 0) if mark else None,
                "Your comment": mark.comment if mark else None,
                "More": _json(more) if more else None,
            },
            content if isinstance(content, str) else "\n\n".join(texts),
        )

    def _document(self, entry: DocumentEntry) -> cabc.Iterator[str]:
        yield from self._enter(DOMAINS.get(entry.domain, entry.domain))
        text = entry.document.get("text")
        rest = {name: value for name, value in entry.document.items() if name != "text" or not isinstance(text, str)}
        facts = {name: value if isinstance(value, str) else _json(value) for name, value in rest.items() if value != []}
        # The name of the document, without the owner's.
        name = urllib.parse.unquote(entry.key.partition(f"/{OWNER}")[2].partition("/")[2])
        yield self.said("Document", {"Name": name or entry.key, **facts}, text)

    @abc.abstractmethod
    def begin(self, title: str) -> str:
        """Return how a document begins."""

    @abc.abstractmethod
    def heading(self, level: int, text: str) -> str: ...

    @abc.abstractmethod
    def facts(self, facts: Facts) -> str: ...

    @abc.abstractmethod
    def said(self, who: str, facts: Facts, text: object) -> str:
        """Return a text that somebody wrote, word for word; one that is no str is none."""

    def end(self) -> str:
        """Return how a document ends."""
        return ""


class Markdown(Readable):
    """What was written stands in fences, where no markup of it counts."""

    def begin(self, title: str) -> str:
        return f"# {title}\n\n"

    def heading(self, level: int, text: str) -> str:
        shown = text if level < 3 else _quoted(text)
        return f"{'#' * level} {shown}\n\n"

    def facts(self, facts: Facts) -> str:
        lines = [f"- {_named(name)}: {_quoted(str(value))}\n" for name, value in facts.items() if value is not None]
        return "".join(lines) + "\n" if lines else ""

    def said(self, who: str, facts: Facts, text: object) -> str:
        fenced = ""
        if isinstance(text, str) and text:
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            fenced = f"{fence}text\n{text}\n{fence}\n\n"
        return f"**{who}**\n\n{self.facts(facts)}{fenced}"


class HTML(Readable):
    """A page that opens as a file: no script, nothing that is loaded from elsewhere."""

    def begin(self, title: str) -> str:
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        )

    def heading(self, level: int, text: str) -> str:
        return f'<h{level} dir="auto">{markupsafe.escape(text)}</h{level}>\n'

    def facts(self, facts: Facts) -> str:
        shown = [
            f'<div><dt>{markupsafe.escape(name)}</dt><dd dir="auto">{markupsafe.escape(value)}</dd></div>\n'
            for name, value in facts.items()
            if value is not None
        ]
        return f"<dl>\n{''.join(shown)}</dl>\n" if shown else ""

    def said(self, who: str, facts: Facts, text: object) -> str:
        # A browser drops the first line break in pre.
        words = f'<pre dir="auto">\n{markupsafe.escape(text)}</pre>\n' if isinstance(text, str) and text else ""
        return f"<section>\n<strong>{who}</strong>\n{self.facts(facts)}{words}</section>\n"

    def end(self) -> str:
        return "</main>\n</body>\n</html>\n"


STYLE = """
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
section { margin: 1rem 0; padding: .5rem 1rem; border-left: .25rem solid #767676; }
dl { margin: .25rem 0; font-size: .875rem; color: #505050; }
dl div { display: flex; gap: .5rem; }
dt::after { content: ":"; }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { margin: .5rem 0; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #1a1a1a; }
  dl { color: #c0c0c0; }
}
"""


def _quoted(text: str) -> str:
    """Return text as code in one line."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}" if line else "(nothing)"


def _named(name: str) -> str:
    """Return the name of a fact, which a document may have chosen."""
    return name if re.fullmatch(r"\w[\w ]*", name) else _quoted(name)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _numbers(entry: UsageEntry) -> dict[str, int]:
    names = {"Answers": "turns", "Input tokens": "input", "Output tokens": "output", "Tokens": "total"}
    return {shown: getattr(entry, name) for shown, name in names.items()}
