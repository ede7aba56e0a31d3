"""The ledger of an owner who is forgotten, where that is interrupted."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import itertools
import os
import pathlib
import typing as t

import pytest
import redis

from flask_chat_memory import ChatMessage
from flask_chat_memory import CorruptRecord
from flask_chat_memory import Scope
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import FORGOTTEN
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis_ import scripts
from flask_chat_memory.plugins.redis_.scripts import Script
from flask_chat_memory.plugins.whole.plugin import WholeThreadsPlugin

from .own_storage import OwnStorage
from .redis_servers import remove_keys

OWNER, NOBODY = Scope("user:1"), Scope(FORGOTTEN)


class Killed(BaseException):
    """The process ends here."""


def spend(plugin: t.Any, name: str, total: int = 10, model: str = "gpt") -> None:
    plugin.append_messages(OWNER, "t", [ChatMessage("user", "?", id=f"q-{name}")], key=f"question:{name}")
    answer = ChatMessage("assistant", "!", id=f"a-{name}", usage={"total": total}, model=model)
    plugin.append_messages(OWNER, "t", [answer], key=f"answer:{name}", reply_to=f"q-{name}")


def totals(plugin: t.Any, scope: Scope) -> list[int]:
    return [line.total for line in plugin.list_usage(scope)]


def killed(*_arguments: object, **_named: object) -> t.NoReturn:
    raise Killed


@pytest.mark.parametrize("step", ["rename", "replace", "unlink"])
def test_files_count_once_whenever_the_process_is_killed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    plugin = FilePlugin({"folder": str(tmp_path)})
    for name in "12":
        spend(plugin, name)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(os, step, killed)
        plugin.forget_usage(OWNER)
    spend(plugin, "3")
    assert plugin.forget_usage(OWNER) == 1
    assert (totals(plugin, OWNER), totals(plugin, NOBODY)) == ([], [30])
    assert [path.name for path in tmp_path.rglob("*.forgotten")] == []
    assert plugin.forget_usage(OWNER) == 0
    assert totals(plugin, NOBODY) == [30]


def test_equal_ledgers_of_two_owners_both_count(tmp_path: pathlib.Path) -> None:
    plugin = FilePlugin({"folder": str(tmp_path)}, clock=lambda: 1_750_000_000.0)
    for _ in range(2):
        spend(plugin, "1")
        plugin.forget_usage(OWNER)
        plugin.delete_thread(OWNER, "t")
    assert totals(plugin, NOBODY) == [20]


def test_a_ledger_that_cannot_be_read_stays(tmp_path: pathlib.Path) -> None:
    plugin = FilePlugin({"folder": str(tmp_path)})
    spend(plugin, "1")
    [ledger] = tmp_path.glob("usage/*.jsonl")
    ledger.write_text("{{\n")
    with pytest.raises(CorruptRecord):
        plugin.forget_usage(OWNER)
    assert ledger.read_text() == "{{\n"


@pytest.mark.parametrize("step", ["FREEZE_USAGE", "ADD_USAGE", "THAW_USAGE"])
@pytest.mark.parametrize("done", [False, True])
def test_redis_counts_once_whenever_the_connection_is_lost(
    redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch, step: str, done: bool
) -> None:
    plugin = RedisPlugin({"url": redis_url, "key_prefix": key_prefix})
    for name in "12":
        spend(plugin, name)
    run = plugin._server.run

    def interrupted(script: Script, *arguments: t.Any, **named: t.Any) -> t.Any:
        if script is getattr(scripts, step):
            if done:
                run(script, *arguments, **named)
            raise Killed
        return run(script, *arguments, **named)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(plugin._server, "run", interrupted)
        plugin.forget_usage(OWNER)
    spend(plugin, "3")
    plugin.forget_usage(OWNER)
    assert (totals(plugin, OWNER), totals(plugin, NOBODY)) == ([], [30])
    with redis.Redis.from_url(redis_url) as client:
        assert list(client.scan_iter(f"{key_prefix}*:forgotten")) == []
        remove_keys(client, key_prefix)


WHOLE = {
    "in_memory": lambda: InMemoryPlugin({}),
    "documents": lambda: DocumentsPlugin({"storage": OwnStorage()}),
}


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("done", [False, True])
def test_ledgers_in_one_piece_count_once_whenever_the_process_is_killed(
    make: cabc.Callable[[], WholeThreadsPlugin], monkeypatch: pytest.MonkeyPatch, known: bool, step: int, done: bool
) -> None:
    plugin = make()
    if known:
        spend(plugin, "0")
        plugin.forget_usage(OWNER)
    for name in "12":
        spend(plugin, name)
    steps = itertools.count()

    def interrupted(change: cabc.Callable[..., None], *arguments: t.Any) -> None:
        here = next(steps)
        if here != step or done:
            change(*arguments)
        if here == step:
            raise Killed

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        for name in ("keep_ledger", "drop_ledger"):
            patch.setattr(plugin._threads, name, functools.partial(interrupted, getattr(plugin._threads, name)))
        plugin.forget_usage(OWNER)
    spend(plugin, "3")
    assert OWNER in plugin.usage_scopes()
    plugin.forget_usage(OWNER)
    assert (totals(plugin, OWNER), totals(plugin, NOBODY)) == ([], [40 if known else 30])
    assert list(plugin.usage_scopes()) == [NOBODY]
    assert plugin.forget_usage(OWNER) == 0
    assert totals(plugin, NOBODY) == [40 if known else 30]
