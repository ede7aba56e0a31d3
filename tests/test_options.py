from __future__ import annotations

import typing as t

import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory import Option
from flask_chat_memory import PluginOptions
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.options import definitions_of
from flask_chat_memory.plugins.options import MASK
from flask_chat_memory.plugins.options import shown_value
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin


class ServerOptions(PluginOptions, frozen=True, kw_only=True):
    host: str
    port: t.Annotated[int, Option(label="Port", help="Of the server.", minimum=1, editable=True)] = 5432
    password: t.Annotated[str | None, Option(label="Password", secret=True)] = None
    pin: t.Annotated[int, Option(label="Pin", secret=True, minimum=1000)] = 1234
    mode: t.Literal["fast", "safe"] = "safe"
    ratio: t.Annotated[float, Option(label="Ratio", minimum=0)] = 0.5
    hosts: list[str] = []


def make(**values: t.Any) -> ServerOptions:
    return ServerOptions.make({"host": "h", **values}, "KEY")


def test_values_are_converted_and_defaults_stand() -> None:
    options = make(port="99", ratio="1.5", expiry=None)
    assert (options.host, options.port, options.ratio, options.expiry) == ("h", 99, 1.5, None)
    assert (options.mode, options.threads, options.max_threads, options.max_messages) == ("safe", "one", 100, None)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"prot": 1}, ["'prot'", "host", "port", "expiry"]),
        ({"port": 0}, ["port", "0", "1"]),
        ({"port": "http"}, ["port", "'http'", "int"]),
        ({"port": True}, ["port", "True", "int"]),
        ({"port": None}, ["port", "None", "int"]),
        ({"mode": "slow"}, ["mode", "'slow'", "'fast' or 'safe'"]),
        ({"mode": ["fast"]}, ["mode", "['fast']", "'fast' or 'safe'"]),
        ({"ratio": -0.1}, ["ratio", "-0.1", "0"]),
        ({"host": 5}, ["host", "5", "str"]),
    ],
)
def test_a_wrong_value_names_key_option_value_and_choices(values: dict[str, t.Any], parts: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(**values)
    for part in ["KEY", *parts]:
        assert part in str(caught.value)


def test_a_required_option_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigurationError, match="KEY.*host"):
        ServerOptions.make({}, "KEY")


@pytest.mark.parametrize("values", [{"password": 987_654}, {"pin": "hunter2"}, {"pin": 17}])
def test_a_secret_is_masked_in_errors(values: dict[str, t.Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(**values)
    assert MASK in str(caught.value)
    assert str(next(iter(values.values()))) not in str(caught.value)


def test_a_secret_is_masked_in_reprs_and_listings() -> None:
    options = make(password="hunter2")
    assert "hunter2" not in repr(options)
    assert "hunter2" not in f"{options}"
    assert "host='h'" in repr(options)
    assert shown_value(options, "password") == MASK
    assert shown_value(make(), "password") is None
    assert shown_value(options, "host") == "h"


def test_the_address_of_a_database_is_a_secret() -> None:
    options = SQLAlchemyPlugin.Options.make({"url": "sqlite:///hunter2.db"}, "KEY")
    assert "hunter2" not in repr(options)


def test_options_are_described_for_a_settings_page() -> None:
    definitions = definitions_of(ServerOptions)
    assert list(definitions)[:4] == ["expiry", "max_messages", "threads", "max_threads"]
    port = definitions["port"]
    assert (port.type, port.default, port.label, port.help) == ("int", 5432, "Port", "Of the server.")
    assert (port.minimum, port.editable, port.secret, port.optional) == (1, True, False, False)
    assert (definitions["password"].optional, definitions["password"].secret) == (True, True)
    assert definitions["mode"].choices == ("fast", "safe")
    assert definitions["expiry"].optional
    assert definitions["host"].label == "Host"


def test_every_option_of_a_built_in_has_a_label() -> None:
    for definition in PluginRegistry().definitions().values():
        assert {"expiry", "max_messages", "threads", "max_threads"} <= set(definition.options)
        for option in definition.options.values():
            assert option.label


def test_options_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        make().port = 5  # type: ignore[misc]


@pytest.mark.parametrize("given", [None, {}, PluginOptions()])
def test_a_plugin_takes_options_or_their_values(given: t.Any) -> None:
    assert InMemoryPlugin(given).options.threads == "one"


def test_a_plugin_checks_values_that_are_passed_directly() -> None:
    with pytest.raises(ConfigurationError, match="options of in_memory has no option 'limit'"):
        InMemoryPlugin({"limit": 5})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"url": "sqlite:///a.db", "engine": object()},
        {"url": "sqlite://"},
        {"url": "sqlite:///:memory:"},
        {"url": "sqlite:///file:x?mode=memory&uri=true"},
        {"url": "oracle://host/db"},
        {"url": "nonsense"},
        {"url": "sqlite:///a.db", "table_prefix": "a b"},
        {"url": "sqlite:///a.db", "table_prefix": "x" * 33},
        {"url": "sqlite:///a.db", "table_prefix": "a;--"},
    ],
)
def test_a_database_that_cannot_be_used_is_refused(values: dict[str, t.Any]) -> None:
    with pytest.raises(ConfigurationError):
        SQLAlchemyPlugin(values)
