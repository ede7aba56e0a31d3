"""The whole contract but the load, for plugins that have every ability."""

from __future__ import annotations

from flask_chat_memory.testing import contracts


class EveryAbility(
    contracts.PluginContract,
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
):
    """Needs the fixture ``make_plugin``."""


class LastingContract(
    EveryAbility,
    contracts.PersistenceContract,
    contracts.CorruptionContract,
    contracts.FailingStoreContract,
):
    """For plugins whose store outlives them; needs the fixtures ``damage`` and ``break_store``, too."""


class EveryContract(LastingContract, contracts.ProcessContract):
    """For plugins whose store is shared by processes."""
