"""The ledger of the plugin ``file``: lines that are added up now and then, torn or corrupt ones."""

from __future__ import annotations

import json
import logging
import pathlib

import pytest

from flask_chat_memory import CorruptRecord
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_.usage import ANSWERS_KEPT
from flask_chat_memory.plugins.file_.usage import LINES_KEPT
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import THREAD


@pytest.fixture
def plugin(tmp_path: pathlib.Path) -> FilePlugin:
    return FilePlugin({"folder": str(tmp_path)}, clock=ManualClock())


def spend(plugin: FilePlugin, key: str) -> None:
    told = answer(key).replace(usage={"input": 10, "output": 5}, model=f"m-{int(key) % 2}")
    plugin.append_messages(OWNER, THREAD, [told], key=f"answer:{key}", reply_to="gone")


def spent(plugin: FilePlugin) -> list[tuple[str | None, int, int]]:
    return [(day.model, day.turns, day.total) for day in plugin.list_usage(OWNER)]


def ledger_of(folder: pathlib.Path) -> pathlib.Path:
    [ledger] = folder.rglob("usage/*")
    return ledger


@pytest.mark.scenario("S131")
def test_the_lines_are_added_up_and_remembered(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    sizes = []
    for number in range(2 * LINES_KEPT):
        spend(plugin, str(number))
        sizes.append(len(ledger_of(tmp_path).read_bytes().splitlines()))
    assert max(sizes) <= LINES_KEPT + 1
    assert sum(after < before for before, after in zip(sizes, sizes[1:], strict=False)) in (1, 2)
    expected = [("m-0", LINES_KEPT, 15 * LINES_KEPT), ("m-1", LINES_KEPT, 15 * LINES_KEPT)]
    assert spent(plugin) == expected
    for number in range(2 * LINES_KEPT - ANSWERS_KEPT, 2 * LINES_KEPT):
        spend(plugin, str(number))
    assert spent(plugin) == expected


def test_a_torn_line_counts_as_not_there(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    spend(plugin, "0")
    ledger = ledger_of(tmp_path)
    committed = ledger.stat().st_size
    spend(plugin, "2")
    whole = ledger.read_bytes()
    for size in range(committed, len(whole)):
        ledger.write_bytes(whole[:size])
        assert spent(plugin) == [("m-0", 1, 15)]
    spend(plugin, "2")
    assert ledger.read_bytes() == whole


@pytest.mark.parametrize("damaged", [b"{}", b"{", b"\xff", b'{"day":"x","models":5}'])
@pytest.mark.parametrize("place", [0, 1])
def test_a_line_that_cannot_be_read_is_reported_and_kept(
    plugin: FilePlugin, tmp_path: pathlib.Path, place: int, damaged: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(LINES_KEPT):
        spend(plugin, str(number))
    ledger = ledger_of(tmp_path)
    lines = ledger.read_bytes().splitlines()
    lines[place] = damaged
    ledger.write_bytes(b"\n".join([*lines, b""]))
    before = ledger.read_bytes()
    with pytest.raises(CorruptRecord, match=r"usage/\w+\.jsonl cannot be read"):
        plugin.list_usage(OWNER)
    with caplog.at_level(logging.ERROR):
        spend(plugin, "1000")
    assert "not counted" in caplog.text
    assert ledger.read_bytes() == before


@pytest.mark.scenario("N21")
def test_the_ledger_is_readable_and_holds_no_content(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    spend(plugin, "1")
    sums, line = map(json.loads, ledger_of(tmp_path).read_text().splitlines())
    assert sums == {"owner": "user:1", "chatbot": "default", "days": {}}
    assert line.keys() == {"answer", "day", "models"}
    numbers = {"turns": 1, "input": 10, "output": 5, "cached": 0, "reasoning": 0, "total": 15}
    assert line["models"] == {"m-1": numbers}
    assert "answer 1" not in ledger_of(tmp_path).read_text()
