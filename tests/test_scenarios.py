"""The ledger of faults: every kind has tests that exist, or a reason, and the page tells of them."""

from __future__ import annotations

import collections

from tests.scenarios.ledger import contract_tests
from tests.scenarios.ledger import load_chapters
from tests.scenarios.ledger import load_seen_failing
from tests.scenarios.ledger import marked_tests
from tests.scenarios.page import make_page
from tests.scenarios.page import PAGE

SCENARIOS = [scenario for chapter in load_chapters() for scenario in chapter.scenarios]
MARKED = marked_tests()


def test_every_scenario_has_tests_or_a_reason() -> None:
    bare = [
        scenario.id
        for scenario in SCENARIOS
        if bool(scenario.contracts or MARKED.get(scenario.id)) == bool(scenario.reason)
    ]
    assert bare == []


def test_every_scenario_is_listed_once() -> None:
    times = collections.Counter(scenario.id for scenario in SCENARIOS)
    assert len(times) >= 330
    assert [id for id, count in times.items() if count > 1] == []


def test_no_marker_names_an_unknown_scenario() -> None:
    assert MARKED.keys() - {scenario.id for scenario in SCENARIOS} == set()


def test_every_test_of_a_contract_that_is_named_is_run() -> None:
    named = {test for scenario in SCENARIOS for test in scenario.contracts}
    assert named - contract_tests() == set()


def test_what_was_seen_failing_is_a_test_of_its_kind() -> None:
    tests = {scenario.id: {*scenario.contracts, *MARKED.get(scenario.id, [])} for scenario in SCENARIOS}
    assert [seen for seen in load_seen_failing() if seen.test not in tests.get(seen.id, set())] == []


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(), "run python -m tests.scenarios.page"
