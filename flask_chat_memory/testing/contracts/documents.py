"""Documents and keys that try a storage."""

from __future__ import annotations

import datetime as dt
import typing as t

from ...storage.rules import Document
from ...storage.rules import MAX_KEY
from .values import MADE_PLAIN
from .values import NESTED
from .values import STORED_AS_GIVEN

IMPOSSIBLE: dict[str, t.Any] = {
    "empty": "",
    "long": "x" * (MAX_KEY + 1),
    "long in bytes": "é" * (MAX_KEY // 2 + 1),
    "nul": "a\0b",
    "surrogate": "\ud800",
    "none": None,
    "number": 7,
    "list": ["a"],
    "absolute": "/etc/passwd",
    "folder": "learning/",
    "empty segment": "a//b",
    "dot": ".",
    "dots": "..",
    "upwards": "a/../b",
    "here": "./a",
}
LIKE_ONE_ANOTHER = [
    *("ab", "abc", "AB", "Ab", " ab", "ab ", "ab.", ".ab", "a*", "a_", "a%", "a?", "[ab]", "{ab}", "a:b", "a\nb"),
    *("a", "a.json", "a.md", "a.md/b", "a.tmp", "a.json/b", "a/b", "a/B", "a=b", "a=3db", "a%3db", "a=", "a=/b", "..."),
    *("0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef/x", "locks", "locks/00", "current"),
    *("x" * MAX_KEY, "x" * (MAX_KEY - 1) + "X", "é" * (MAX_KEY // 2), "🙂" * (MAX_KEY // 4), "x" * 150, "x" * 151),
    *("x' || '1'=='1", "'; DROP TABLE document; --", 'a"b', "user:1", "user:10", "user:*", "~", "@", "CON", "a\\b"),
    *("é", "e\u0301", "\u212b", "Å", "ı", "İ", "🙂", "你好", "a\u2028b", "\ufeffa", "\x7f", "-", "--", "$a", "a;b"),
]
WORDS = "no yes on off y n true True null Null ~ << = - --- ? .inf -.INF .nan NaN &a *a !!str".split(" ")
NUMBERS = "1 1e3 1.0 1.5e+3 017 0o17 0x1f 1_000 -0 +1 .5 5. 1:30 0b1 2026-04-30 12:30:45 2026-04-30T11:00:00Z".split()
MARKS = ["", "a: b", "a #b", "# c", "- d", "[e]", "{f}", "'g'", '"h"', "%i", "@j", "`k`", "|l", ">m", "x:", ":"]
SPACES = [" a", "a ", "\ta", "a\t", "  ", "\n", "\n\n a", " a\n b\n", "a\n\n", "a\n  \n", "a \nb", "\n\ta"]
BREAKS = "x\n\u2028b\u2029c\u0085d\x0be\x1f\x7f\ufeff"
READABLE: dict[str, Document] = {
    "summary": {
        "type": "conversation_summary",
        "thread_id": "abc123",
        "timestamp": "2026-04-30T11:00:00Z",
        "tokens": 500,
        "text": "## Summary\n\nUser is building a library.\n\n- one\n- two\n",
    },
    "text alone": {"text": "# Title"},
    "empty text": {"text": "", "a": 1},
    "text that is no text": {"text": None, "a": 1},
    "text with rules": {"text": "---\na: b\n---\n\n---\nend\n---"},
    "text that begins and ends with lines": {"a": "b", "text": "\n\n\n  x \n\n\n"},
    "line ends": {"text": "a\r\nb\rc\n\r\n", "a": "a\r\nb\rc\n"},
    "only a line end": {"text": "\n"},
    "breaks": {"text": BREAKS, "a": BREAKS},
    "mark of the byte order": {"text": "\ufeffa"},
    "values that look like others": {"words": WORDS, "numbers": NUMBERS, "marks": MARKS, "spaces": SPACES, "text": "x"},
    "names that look like values": {"no": 1, "1": 2, "1.5": 3, "null": 4, "": 5, "a: b": 6, "<<": 7, "text": "x"},
    "long name": {"n" * 300: 1, "a b " * 100: [{"c" * 200: 2}], "text": "x"},
    "long line": {"a": "word " * 200, "text": "word " * 5000},
    "numbers": {
        "a": [0, -0.0, 1.0, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 1 / 3, 2**64, -(2**63), 1e16, 123456789.0],
        "text": "x",
    },
    "empty": {"a": {}, "b": [], "c": [[], {}, [[]]], "d": None, "e": True, "text": "x"},
    "scripts": {"你好": "שלום 🙂 \U0010ffff", "text": "# Ελληνικά\n\nहिन्दी"},
    "deep": {"a": [[[[[NESTED]]]]], "text": "x"},
}
PLAIN = {"text": "a\ufffdb\ufffd", "at": "2026-01-02"}
DOCUMENTS: dict[str, tuple[t.Any, Document]] = {
    **{f"message, {name}": (given, given) for name, given in STORED_AS_GIVEN.items()},
    **{f"message, {name}": pair for name, pair in MADE_PLAIN.items()},
    **{f"readable, {name}": (given, given) for name, given in READABLE.items()},
    "nothing": ({}, {}),
    "text made plain": ({"text": "a\0b\ud800", "at": dt.date(2026, 1, 2)}, PLAIN),
}
INVALID: dict[str, tuple[t.Any, str]] = {
    "list": (["a"], "document"),
    "text": ("a", "document"),
    "none": (None, "document"),
    "nan": ({"a": {"b": [1, float("nan")]}}, "document.a.b[1]"),
    "infinite": ({"text": "x", "a": float("inf")}, "document.a"),
    "key": ({"a": {1: 2}}, "document.a"),
    "object": ({"a": object()}, "document.a"),
    "equal keys": ({"\0": 1, "\ufffd": 2}, "document.\ufffd"),
    "deep": ({"a": [[[[[[[NESTED]]]]]]]}, "document.a" + "[0]" * 102),
}
PATTERNS = {
    "*": ["a/b", "a/b/c", "a/b2", "a[b]", "ab", "b"],
    "**": ["a/b", "a/b/c", "a/b2", "a[b]", "ab", "b"],
    "a/*": ["a/b", "a/b/c", "a/b2"],
    "a/b": ["a/b"],
    "a/b*": ["a/b", "a/b/c", "a/b2"],
    "a/b/*": ["a/b/c"],
    "*b": ["a/b", "ab", "b"],
    "?b": ["ab"],
    "a?b": ["a/b"],
    "a*b*": ["a/b", "a/b/c", "a/b2", "a[b]", "ab"],
    "?": ["b"],
    "a[b]": ["a[b]"],
    "a[*": ["a[b]"],
    **dict.fromkeys(["[ab]", "A*", "", "a.b", "a%", "a_", "a\\*", "x/*", "../*", "/*", "a//*", "a/../*"], []),
    **dict.fromkeys(["\0*", "\ud800*", "a/b/c/d/*", "x" * 10_000 + "*", "/".join("x" * 2000) + "/*"], []),
}
"""Pattern -> the keys that it matches among those of ``"*"``."""
