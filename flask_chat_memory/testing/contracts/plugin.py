"""What every plugin keeps, whatever its abilities."""

from __future__ import annotations

from ...plugins.abilities import CurrentThread
from ...plugins.options import definitions_of
from ...plugins.rules import is_thread_id
from .appending import AppendingContract
from .loading import LoadingContract
from .parts import ask
from .parts import MakePlugin
from .parts import OWNER
from .parts import THREAD
from .replacing import ReplacingContract
from .scopes import ScopeContract
from .thread_ids import ThreadIdContract
from .values import ValueContract


class PluginContract(
    LoadingContract, AppendingContract, ReplacingContract, ScopeContract, ThreadIdContract, ValueContract
):
    """The five required operations with the two defaults, in one OS thread, without any limit reached."""

    def test_new_thread_ids_are_storable_long_and_never_the_same(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        ids = {plugin.create_thread_id() for _ in range(1000)}
        assert len(ids) == 1000
        assert all(is_thread_id(thread_id) and len(thread_id) >= 16 for thread_id in ids)

    def test_a_new_thread_id_is_only_a_string(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        assert not plugin.has_thread(OWNER, plugin.create_thread_id())

    def test_the_one_thread_persists_only_where_it_can_be_found_again(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(threads="one")
        assert plugin.has_persistent_thread is isinstance(plugin, CurrentThread)

    def test_secret_options_are_not_shown(self, make_plugin: MakePlugin) -> None:
        options = make_plugin().options
        for name, definition in definitions_of(type(options)).items():
            value = getattr(options, name)
            if definition.secret and value is not None:
                assert str(value) not in repr(options)

    def test_a_sign_of_life_makes_nothing(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.ping()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.ping()
        assert len(plugin.load_messages(OWNER, THREAD)) == 1

    def test_closing_twice_is_closing_once(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.close()
        plugin.close()
