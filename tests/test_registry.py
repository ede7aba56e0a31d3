from __future__ import annotations

import abc
import collections.abc as cabc
import importlib
import pathlib
import sys
import typing as t

import flask
import pytest

from flask_chat_memory import chat_memory_plugin
from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import PluginDefinition
from flask_chat_memory import Scope
from flask_chat_memory import UnknownPlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.registry import BUILT_IN
from flask_chat_memory.plugins.registry import PluginRegistry

from .five_methods import FiveMethodsPlugin

MODULE = """
from flask_chat_memory import chat_memory_plugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin

@chat_memory_plugin("shelf", label="Shelf", description="On a shelf.")
class ShelfPlugin(InMemoryPlugin):
    pass
"""


@pytest.fixture
def site_packages(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[pathlib.Path]:
    """A folder for distributions; what is imported from it is forgotten."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and file.startswith(str(tmp_path)):
            del sys.modules[name]


def install(folder: pathlib.Path, name: str, source: str, entry_points: dict[str, str] | None = None) -> None:
    (folder / f"{name}.py").write_text(source)
    if entry_points:
        metadata = folder / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
        (metadata / "entry_points.txt").write_text(f"[flask_chat_memory.plugins]\n{lines}")
    importlib.invalidate_caches()


@pytest.mark.parametrize("id", sorted(BUILT_IN))
def test_a_built_in_is_found_by_its_id(id: str) -> None:
    assert PluginRegistry().find(id).id == id


def test_an_installed_plugin_is_found_by_its_entry_point(site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", MODULE, {"shelf": "shelf_memory:ShelfPlugin"})
    app = flask.Flask("site")
    app.config["CHAT_MEMORY_PLUGIN"] = "shelf"
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        assert type(memory.plugin).__name__ == "ShelfPlugin"
    definition = memory.plugins.definitions()["shelf"]
    assert (definition.id, definition.label, definition.description) == ("shelf", "Shelf", "On a shelf.")
    with pytest.raises(UnknownPlugin, match=", ".join([*BUILT_IN, "shelf"])):
        memory.plugins.find("shlef")


@pytest.mark.parametrize("path", ["shelf_memory:ShelfPlugin", "shelf_memory.ShelfPlugin"])
def test_a_plugin_is_found_by_its_import_path(path: str, site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", MODULE)
    found = PluginRegistry().find(path)
    assert (found.__module__, found.__name__) == ("shelf_memory", "ShelfPlugin")


def test_a_plugin_may_be_a_class() -> None:
    assert PluginRegistry().find(FiveMethodsPlugin) is FiveMethodsPlugin


def test_an_installed_plugin_cannot_replace_a_built_in(site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", MODULE, {"in_memory": "shelf_memory:ShelfPlugin"})
    registry = PluginRegistry()
    assert registry.find("in_memory") is InMemoryPlugin
    assert registry.definitions()["in_memory"].plugin is InMemoryPlugin


def test_a_missing_driver_is_named(site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", "import driver_of_shelves\n" + MODULE, {"shelf": "shelf_memory:ShelfPlugin"})
    registry = PluginRegistry()
    for choice in ("shelf", "shelf_memory:ShelfPlugin"):
        with pytest.raises(ConfigurationError, match="needs driver_of_shelves, which is not installed") as caught:
            registry.find(choice)
        assert not isinstance(caught.value, UnknownPlugin)
    assert "shelf" not in registry.definitions()


def test_a_missing_driver_of_a_built_in_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("flask_chat_memory.plugins.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    registry = PluginRegistry()
    with pytest.raises(ConfigurationError, match=r"install flask-chat-memory\[redis\]"):
        registry.find("redis")
    assert list(registry.definitions()) == [id for id in BUILT_IN if id != "redis"]


def test_a_missing_driver_is_named_even_if_the_module_is_called_like_it(site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", "import shelf\n" + MODULE)
    with pytest.raises(ConfigurationError, match="needs shelf, which is not installed"):
        PluginRegistry().find("shelf_memory:ShelfPlugin")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_module_here:Plugin", "no module 'no_such_module_here'"),
        ("flask_chat_memory.nothing:Plugin", "no module 'flask_chat_memory.nothing'"),
        ("flask_chat_memory.plugins.in_memory:Nothing", "has no 'Nothing'"),
        ("json:JSONDecoder", "no ChatMemoryPlugin class"),
        ("json:loads", "no ChatMemoryPlugin class"),
        (
            "flask_chat_memory:ChatMemoryPlugin",
            "lacks create_thread_id, delete_thread, has_thread, load_messages, save_messages",
        ),
    ],
)
def test_an_import_path_to_no_plugin_is_refused_with_the_reason(path: str, reason: str) -> None:
    with pytest.raises(UnknownPlugin) as caught:
        PluginRegistry().find(path)
    assert path in str(caught.value)
    assert reason in str(caught.value)


def test_a_forgotten_operation_is_refused_at_start_up() -> None:
    class Incomplete(FiveMethodsPlugin):
        @abc.abstractmethod
        def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None: ...

    app = flask.Flask("site")
    app.config["CHAT_MEMORY_PLUGIN"] = Incomplete
    with pytest.raises(ConfigurationError, match="save_messages"):
        ChatMemory(app)


def test_definitions_describe_the_plugins() -> None:
    definitions = PluginRegistry().definitions()
    assert list(definitions)[: len(BUILT_IN)] == list(BUILT_IN)
    for id in BUILT_IN:
        assert definitions[id].id == id
        assert definitions[id].label
        assert definitions[id].description
    assert definitions["sqlalchemy"].options["url"].secret


def test_what_is_given_out_is_a_copy() -> None:
    registry = PluginRegistry()
    registry.definitions().clear()
    assert "in_memory" in registry.definitions()


def test_the_decorator_names_a_plugin() -> None:
    @chat_memory_plugin("mine", label="Mine", description="My own.")
    class Mine(FiveMethodsPlugin):
        pass

    assert (Mine.id, Mine.label, Mine.description) == ("mine", "Mine", "My own.")
    assert FiveMethodsPlugin.id == "five_methods"


def test_an_instance_is_made_with_checked_options() -> None:
    plugin = PluginRegistry().create("in_memory", {"threads": "many"})
    assert plugin.options.threads == "many"
    assert PluginRegistry().create(FiveMethodsPlugin).options.threads == "one"
    with pytest.raises(ConfigurationError, match="in_memory"):
        PluginRegistry().create("in_memory", {"thread": "many"})


@pytest.mark.scenario("D47")
def test_the_site_may_rename_a_plugin() -> None:
    def alter(definitions: dict[str, PluginDefinition]) -> None:
        definitions["ram"] = definitions.pop("in_memory")
        definitions["ram"].label = "RAM"

    registry = PluginRegistry(alter)
    assert registry.find("ram") is InMemoryPlugin
    assert registry.definitions()["ram"].label == "RAM"
    with pytest.raises(UnknownPlugin, match="known are: " + ", ".join([*list(BUILT_IN)[1:], "ram"])):
        registry.find("in_memory")


@pytest.mark.scenario("D47")
def test_the_site_may_replace_a_plugin() -> None:
    def alter(definitions: dict[str, PluginDefinition]) -> None:
        definitions["in_memory"].plugin = FiveMethodsPlugin

    app = flask.Flask("site")
    app.config["CHAT_MEMORY_PLUGIN"] = "in_memory"
    memory = ChatMemory(app, plugins_alter=alter)
    with app.app_context():
        assert isinstance(memory.plugin, FiveMethodsPlugin)
    assert PluginRegistry().find("in_memory") is InMemoryPlugin


@pytest.mark.scenario("D47")
@pytest.mark.parametrize("hidden", ["in_memory", "shelf"])
def test_the_site_may_hide_a_plugin(hidden: str, site_packages: pathlib.Path) -> None:
    install(site_packages, "shelf_memory", MODULE, {"shelf": "shelf_memory:ShelfPlugin"})
    registry = PluginRegistry(lambda definitions: definitions.pop(hidden))
    assert hidden not in registry.definitions()
    with pytest.raises(UnknownPlugin, match="known are"):
        registry.find(hidden)
    assert registry.find("sqlalchemy").id == "sqlalchemy"


def test_an_import_path_works_beside_alterations() -> None:
    registry = PluginRegistry(lambda definitions: definitions.clear())
    assert registry.find("flask_chat_memory.plugins.in_memory:InMemoryPlugin") is InMemoryPlugin
