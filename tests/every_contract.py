"""The whole contract but the load, for plugins that are shared by processes and have every ability."""

from __future__ import annotations

from flask_chat_memory.testing import contracts


class EveryContract(
    contracts.PluginContract,
    contracts.PersistenceContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.LastingNumbersContract,
    contracts.MaxThreadsContract,
    contracts.CurrentThreadContract,
    contracts.LiveTurnsContract,
    contracts.MovesThreadsContract,
    contracts.ListsThreadsContract,
    contracts.DescribesThreadsContract,
    contracts.PurgesThreadsContract,
    contracts.RestoresThreadsContract,
    contracts.CountsUsageContract,
    contracts.HidesMessagesContract,
    contracts.MarksMessagesContract,
    contracts.SearchesMessagesContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
    contracts.ProcessContract,
    contracts.CorruptionContract,
    contracts.FailingStoreContract,
):
    """Needs the fixtures ``make_plugin``, ``damage`` and ``break_store``."""
