"""What the stores of a site tell of themselves; nothing is made in them."""

from __future__ import annotations

import collections.abc as cabc
import os

from ...errors import ChatMemoryError
from ...errors import StorageError
from ...extension import ChatMemory
from ...plugins.base import ChatMemoryPlugin
from ...plugins.reports import StoreReport
from ...storage.choice import StorageSettings
from .finding import Finding

TOLERANCE = 2.0
"""Seconds by which the clocks of two hosts may differ."""

Examine = cabc.Callable[[], StoreReport | None]


def check_stores(memory: ChatMemory) -> cabc.Iterator[Finding]:
    """Look at the stores of the chatbots, and at those of the domains of documents, each once."""
    of_chatbots: dict[int, tuple[ChatMemoryPlugin, list[str]]] = {}
    for name in memory.settings.chatbots:
        try:
            plugin = memory.plugin_for(name)
        except ChatMemoryError as error:
            yield _failed(f"chatbot {name!r}", error)
            continue
        if plugin is not None:
            of_chatbots.setdefault(id(plugin), (plugin, []))[1].append(name)
    for plugin, names in of_chatbots.values():
        what = f"conversations of {', '.join(names)}"
        yield from _look(what, plugin.examine_store)
        yield from _check_workers(what, plugin)
    of_documents: list[tuple[StorageSettings, list[str]]] = []
    for domain, chosen in memory.settings.storages.items():
        if chosen is not None and domain != "conversation":
            known = next((domains for settings, domains in of_documents if settings == chosen), None)
            if known is None:
                of_documents.append((chosen, [domain]))
            else:
                known.append(domain)
    for _, domains in of_documents:
        what = f"documents of {', '.join(domains)}"
        try:
            storage = memory.storage(domains[0])
        except ChatMemoryError as error:
            yield _failed(what, error)
        else:
            yield from _look(what, storage.examine_store)


def _look(what: str, examine: Examine) -> cabc.Iterator[Finding]:
    try:
        report = examine()
    except ChatMemoryError as error:
        yield _failed(what, error)
        return
    if report is None:
        yield Finding("store", "ok", f"{what}: the store tells nothing of itself")
        return
    version = f", {report.version}" if report.version else ""
    state = "" if report.made else "; it is empty and is made on first use"
    yield Finding("store", "ok", f"{what}: {report.place} can be reached{version}{state}")
    for trouble in report.troubles:
        yield Finding("store", "problem", f"{what}: {trouble.text}", trouble.cure)
    if report.ahead is not None:
        yield _clock(what, report.ahead)
    if report.one_host:
        yield Finding(
            "hosts",
            "note",
            f"{what}: {report.place} serves the workers of one host, from a local disk",
            "for several hosts choose PostgreSQL, MariaDB or Redis",
        )


def _clock(what: str, ahead: float) -> Finding:
    side = "ahead of" if ahead > 0 else "behind"
    text = f"{what}: the clock of the store is {abs(ahead):.1f} seconds {side} that of this host"
    if abs(ahead) <= TOLERANCE:
        return Finding("clock", "ok", text)
    return Finding("clock", "problem", text, "let NTP set the clocks of both hosts")


def _check_workers(what: str, plugin: ChatMemoryPlugin) -> cabc.Iterator[Finding]:
    workers = os.environ.get("WEB_CONCURRENCY", "")
    if plugin.shared_by_processes:
        return
    text = f"{what}: plugin {plugin.id!r} keeps them in one process"
    cure = "choose another plugin, as sqlalchemy, unless the site has one worker"
    several = workers.isdecimal() and int(workers) > 1
    yield Finding("workers", "problem" if several else "note", text, cure)


def _failed(what: str, error: ChatMemoryError) -> Finding:
    if isinstance(error, StorageError):
        cure = "see that the server runs and lets this host and its user in"
        return Finding("store", "problem", f"{what}: {error}", f"{cure}; the options are in the configuration above")
    return Finding("configuration", "problem", f"{what}: {error}", "correct what the sentence names")
