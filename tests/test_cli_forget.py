"""``flask chat-memory forget``."""

from __future__ import annotations

import json
import pathlib

import click.testing
import pytest

from .conversations import OWNER
from .conversations import Site


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    site = Site(tmp_path, "sqlalchemy")
    for owner in (OWNER, "user:10"):
        with site.app.app_context():
            site.memory.start_conversation(owner).turn("hello").finish("fine")
            site.memory.user_memories(owner).add("likes dots")
    return site


def forget(site: Site, *args: str) -> click.testing.Result:
    return site.app.test_cli_runner().invoke(args=["chat-memory", "forget", *args])


def stored(site: Site, owner: str = OWNER) -> int:
    with site.app.app_context():
        return sum(site.memory.forget(owner, dry_run=True).values())


def test_an_owner_is_forgotten_and_counted(site: Site) -> None:
    result = forget(site, OWNER, "--yes", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["owner"], told["dry_run"]) == (OWNER, False)
    assert {name: count for name, count in told["deleted"].items() if count} == {
        "conversation": 1,
        "usage": 1,
        "user_memory": 1,
    }
    assert (stored(site), stored(site, "user:10")) == (0, 3)
    again = forget(site, OWNER, "--yes", "--json")
    assert sum(json.loads(again.stdout)["deleted"].values()) == 0


def test_people_read_a_table(site: Site) -> None:
    result = forget(site, OWNER, "--yes")
    assert "conversation" in result.stdout and "deleted" in result.stdout


def test_a_dry_run_deletes_nothing_and_asks_nothing(site: Site) -> None:
    result = forget(site, OWNER, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "would be deleted" in result.stdout
    assert stored(site) == 3


def test_nobody_to_ask_means_nothing_is_deleted(site: Site) -> None:
    assert forget(site, OWNER).exit_code == 2
    assert stored(site) == 3


@pytest.mark.parametrize("args", [[], [""], ["forgotten"], ["x" * 256], [OWNER, "surplus"], [OWNER, "--nonsense"]])
def test_what_is_no_owner_is_wrong_usage(site: Site, args: list[str]) -> None:
    result = forget(site, *args, "--yes")
    assert result.exit_code == 2
    assert stored(site) == 3


def test_a_store_that_is_down_is_a_sentence(site: Site) -> None:
    with site.app.app_context():
        site.plugin.close()
    result = forget(site, OWNER, "--yes")
    assert result.exit_code == 1
    assert "Error: " in result.stderr
