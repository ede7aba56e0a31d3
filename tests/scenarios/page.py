"""Makes ``docs/scenarios.md`` of the ledger: ``python -m tests.scenarios.page``."""

from __future__ import annotations

from tests.scenarios.ledger import load_chapters
from tests.scenarios.ledger import load_seen_failing
from tests.scenarios.ledger import marked_tests
from tests.scenarios.ledger import Scenario
from tests.scenarios.ledger import TESTS

PAGE = TESTS.parent / "docs" / "scenarios.md"
INTRODUCTION = """\
# Scenarios

Which faults is this package tested against? Software that keeps chats has had each of these in production, or nearly;
most were found in chat apps and in libraries that keep the history of a chat. Beside each kind of fault stand the
tests that cover it. A test of a contract runs on every plugin or storage that it concerns, encrypted and not.

The marker `scenario` of a test names the kinds that it covers, and the files in `tests/scenarios/chapters` name all
kinds, with the tests of contracts, or with the reason why there is nothing to test. `python -m tests.scenarios.page`
makes this page; a test fails when it is out of date, when a kind has neither test nor reason, and when a marker or a
file names what does not exist.
"""
SEEN_FAILING = """\
## Seen failing

For a random tenth of the kinds that have tests, the code that guards against the fault was removed, and a test failed:

| kind | what was removed | what failed |
|---|---|---|
"""


def make_page() -> str:
    marked = marked_tests()
    parts = [INTRODUCTION]
    for chapter in load_chapters():
        lines = [_line(scenario, marked.get(scenario.id, [])) for scenario in chapter.scenarios]
        parts.append(f"## {chapter.title}\n\n" + "\n".join(lines) + "\n")
    rows = [f"| {seen.id} | {seen.removed} | `{seen.test}` |" for seen in load_seen_failing()]
    parts.append(SEEN_FAILING + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _line(scenario: Scenario, marked: list[str]) -> str:
    tests = ", ".join(f"`{test}`" for test in [*scenario.contracts, *marked])
    return f"- **{scenario.id}** {scenario.title}: {scenario.reason or tests}"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
