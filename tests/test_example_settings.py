"""The settings page of the example app, on which an administrator chooses where conversations are kept."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import re
import typing as t

import flask
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from example_app.settings import form_of
from flask_chat_memory import Option
from flask_chat_memory import PluginDefinition
from flask_chat_memory import PluginOptions
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

from .example_site import app as app
from .example_site import ask
from .example_site import client as client
from .example_site import log_in
from .example_site import make_app as make_app
from .example_site import memory_of
from .example_site import plain_environment as plain_environment
from .example_site import shown

PAGE = "/settings"


@pytest.fixture
def administrator(client: FlaskClient) -> FlaskClient:
    log_in(client)
    return client


def choose(client: FlaskClient, plugin: str, **options: str) -> TestResponse:
    """Fill in the form of a plugin, whose other fields stay as they are, and send it."""
    page = client.get(PAGE, query_string={"plugin": plugin}).text
    fields = dict(re.findall(r'<input[^>]* name="([a-z_]+)"[^>]* value="([^"]*)"', page))
    selects = re.findall(r'<select[^>]* name="([a-z_]+)".*?<option selected value="([^"]*)"', page, re.DOTALL)
    return client.post(PAGE, data={**fields, **dict(selects), "plugin": plugin, **options})


def plugin_of(app: flask.Flask) -> t.Any:
    with app.test_request_context():
        return memory_of(app).plugin_for("support")


def test_the_page_is_for_administrators(client: FlaskClient) -> None:
    refused = client.get(PAGE)
    assert (refused.status_code, refused.location) == (303, "/login")
    assert client.post(PAGE, data={"plugin": ""}).status_code == 303
    log_in(client, "basil")
    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, data={"plugin": ""}).status_code == 403
    assert "Settings" not in client.get("/").text


def test_an_administrator_finds_the_page(administrator: FlaskClient) -> None:
    assert 'href="/settings"' in administrator.get("/").text
    page = administrator.get(PAGE)
    assert page.status_code == 200
    assert page.headers["Cache-Control"] == "private, no-store"


def test_the_page_offers_every_plugin_of_the_registry(app: flask.Flask, administrator: FlaskClient) -> None:
    offered = re.findall(r'<option value="(\w*)"', administrator.get(PAGE).text)
    assert {"", *memory_of(app).plugins.definitions()} <= set(offered)


@pytest.mark.parametrize(
    ("plugin", "kind"), [("in_memory", InMemoryPlugin), ("file", FilePlugin), ("sqlalchemy", SQLAlchemyPlugin)]
)
def test_a_plugin_is_chosen_with_its_options(
    app: flask.Flask, administrator: FlaskClient, plugin: str, kind: type[t.Any]
) -> None:
    saved = choose(administrator, plugin, expiry="3600", max_messages="", threads="many", max_threads="7")
    assert (saved.status_code, saved.location) == (303, "/settings?saved=1")
    assert "Saved" in administrator.get(saved.location).text
    chosen = plugin_of(app)
    assert isinstance(chosen, kind)
    options = chosen.options
    assert (options.expiry, options.max_messages, options.threads, options.max_threads) == (3600, None, "many", 7)
    page = administrator.get(PAGE).text
    assert f'<option value="{plugin}" selected>' in page
    assert 'value="3600"' in page


def test_history_in_the_browser_is_chosen(app: flask.Flask, administrator: FlaskClient) -> None:
    assert "On the server" in administrator.get("/").text
    choose(administrator, "")
    assert plugin_of(app) is None
    assert "In this browser" in administrator.get("/").text


def test_only_editable_options_are_asked_for(administrator: FlaskClient) -> None:
    page = administrator.get(PAGE, query_string={"plugin": "redis"}).text
    assert 'name="expiry"' in page
    assert 'name="url"' not in page
    assert "redis://" not in page


def test_an_option_that_is_not_editable_cannot_be_sent(app: flask.Flask, administrator: FlaskClient) -> None:
    before = plugin_of(app).options.url
    choose(administrator, "sqlalchemy", url="sqlite:////elsewhere.sqlite3", table_prefix="stolen_")
    assert plugin_of(app).options.url == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("expiry", "0"),
        ("expiry", "-5"),
        ("expiry", "soon"),
        ("expiry", "1.5"),
        ("expiry", "9" * 30),
        ("max_messages", "0"),
        ("max_threads", ""),
        ("max_threads", "<b>"),
        ("threads", "few"),
    ],
)
def test_a_bad_value_is_refused_beside_its_field(
    app: flask.Flask, administrator: FlaskClient, field: str, value: str
) -> None:
    choose(administrator, "file", max_threads="7")
    before = plugin_of(app)
    refused = choose(administrator, "sqlalchemy", **{field: value})
    assert refused.status_code == 422
    _, beside = refused.text.split(f'id="{field}"')
    assert f'id="{field}-error"' in beside.partition('class="field"')[0]
    assert f'aria-describedby="{field}-error {field}-help"' in refused.text
    assert "<b>" not in refused.text
    assert plugin_of(app) is before


def test_what_the_plugin_refuses_is_said(make_app: cabc.Callable[..., flask.Flask]) -> None:
    app = make_app(PLUGIN_OPTIONS={"redis": {"url": "http://:secret@127.0.0.1/"}})
    client = app.test_client()
    log_in(client)
    refused = choose(client, "redis")
    assert refused.status_code == 422
    assert "redis://" in refused.text
    assert "secret" not in refused.text
    assert isinstance(plugin_of(app), SQLAlchemyPlugin)


def test_an_unknown_plugin_is_refused(administrator: FlaskClient) -> None:
    assert administrator.get(PAGE, query_string={"plugin": "papyrus"}).status_code == 400
    assert administrator.post(PAGE, data={"plugin": "papyrus"}).status_code == 400


def test_a_post_without_the_token_of_the_form_changes_nothing(app: flask.Flask, administrator: FlaskClient) -> None:
    before = plugin_of(app)
    refused = administrator.post(PAGE, data={"plugin": "file", "max_threads": "7", "threads": "one"})
    assert refused.status_code == 422
    assert plugin_of(app) is before


def test_another_site_cannot_change_the_settings(app: flask.Flask, administrator: FlaskClient) -> None:
    before = plugin_of(app)
    assert administrator.post(PAGE, data={"plugin": ""}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert plugin_of(app) is before


def test_the_choice_reaches_every_worker_and_outlives_them(
    administrator: FlaskClient, make_app: cabc.Callable[..., flask.Flask]
) -> None:
    other = make_app()
    visitor = other.test_client()
    ask(visitor, "My name is Ada")
    choose(administrator, "file")
    assert isinstance(plugin_of(other), FilePlugin)
    # What the former plugin keeps stays there, and comes back with it.
    assert shown(visitor) == []
    ask(visitor, "Hello")
    assert isinstance(plugin_of(make_app()), FilePlugin)
    choose(administrator, "sqlalchemy")
    assert "My name is Ada" in shown(visitor)[0]


def test_a_stored_choice_that_cannot_be_used_is_reported(app: flask.Flask, administrator: FlaskClient) -> None:
    with app.app_context():
        memory_of(app).storage("settings").save("chatbot-support", {"plugin": "file", "options": {"expiry": "soon"}})
    assert plugin_of(app) is None
    assert "cannot be used" in administrator.get(PAGE).text
    assert "Saved" not in administrator.get(PAGE, query_string={"saved": 1}).text


@pytest.mark.parametrize(
    "text",
    [
        *("{half", "[]", "{}", '{"plugin": "file"}', '{"plugin": 7, "options": {}}', '{"options": {}}'),
        *('{"plugin": ["file"], "options": {}}', '{"plugin": "file", "options": []}'),
        *('{"plugin": "file", "options": null}', '{"plugin": "papyrus", "options": {}}'),
    ],
)
def test_a_damaged_choice_takes_down_neither_the_site_nor_the_page_that_mends_it(
    app: flask.Flask, administrator: FlaskClient, tmp_path: pathlib.Path, text: str
) -> None:
    choose(administrator, "sqlalchemy")
    [file] = tmp_path.rglob("chatbot-support.json")
    file.write_text(text)
    assert administrator.get("/").status_code == 200
    assert administrator.get("/chat-memory/support/history").status_code in (200, 503)
    assert "cannot be used" in administrator.get(PAGE).text
    assert file.read_text() == text
    assert choose(administrator, "file").status_code == 303
    assert isinstance(plugin_of(app), FilePlugin)


@pytest.mark.parametrize("plugin", [FilePlugin, "flask_chat_memory.plugins.file:FilePlugin"])
def test_a_plugin_that_the_registry_does_not_list_is_said_to_be_in_use(
    make_app: cabc.Callable[..., flask.Flask], plugin: t.Any
) -> None:
    client = make_app(CHAT_MEMORY_PLUGIN=plugin).test_client()
    log_in(client)
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "a plugin that is not in this list" in page.text
    assert "(in use)" not in page.text


def test_the_options_of_the_configuration_are_shown_and_stay(
    make_app: cabc.Callable[..., flask.Flask], tmp_path: pathlib.Path
) -> None:
    app = make_app(CHAT_MEMORY_PLUGIN="file", CHAT_MEMORY_OPTIONS={"folder": "of-the-site", "expiry": 3600})
    client = app.test_client()
    log_in(client)
    assert 'value="3600"' in client.get(PAGE).text
    choose(client, "file", max_threads="7")
    options = plugin_of(app).options
    assert (options.folder, options.expiry, options.max_threads) == (str(tmp_path / "of-the-site"), 3600, 7)


def test_a_plugin_with_an_address_may_be_the_configured_one(make_app: cabc.Callable[..., flask.Flask]) -> None:
    app = make_app(CHAT_MEMORY_PLUGIN="redis", PLUGIN_OPTIONS={"redis": {"url": "redis://127.0.0.1:1/0"}})
    assert plugin_of(app).options.url == "redis://127.0.0.1:1/0"


class Options(PluginOptions, frozen=True, kw_only=True):
    share: t.Annotated[float, Option(label="Share", minimum=0, editable=True)] = 0.5
    copies: t.Annotated[t.Literal[1, 2], Option(label="Copies", editable=True)] = 1
    wide: t.Annotated[bool, Option(label="Wide", editable=True)] = True


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        ({"share": "0.25", "copies": "2"}, []),
        ({"share": "much"}, ["share"]),
        ({"share": "-1"}, ["share"]),
        ({"share": "nan", "copies": "3"}, ["copies", "share"]),
    ],
)
def test_a_form_has_a_field_for_each_type(app: flask.Flask, sent: dict[str, str], refused: list[str]) -> None:
    class Typed(FilePlugin):
        pass

    Typed.Options = Options  # type: ignore[assignment,misc]
    fields = {"threads": "one", "max_threads": "5", "share": "1", "copies": "1"}
    with app.test_request_context(method="POST", data={**fields, **sent}):
        form = form_of(PluginDefinition("typed", "Typed", "", Typed))(meta={"csrf": False})
        assert form.validate() is not bool(refused)
        assert sorted(form.errors) == refused
        if not refused:
            assert (form.share.data, form.copies.data, form.wide.data) == (0.25, 2, False)
