"""The documentation is held to the code: its Python runs, its tables and messages are those of the code."""

from __future__ import annotations

import ast
import collections.abc as cabc
import dataclasses
import importlib.metadata
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import tomllib
import traceback
import types
import typing as t

import flask
import pytest

import flask_chat_memory
from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory.config import CHATBOT_KEYS
from flask_chat_memory.config import DEFAULTS
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.flask_session import FlaskSessionPlugin
from flask_chat_memory.plugins.flask_session import FlaskSessionPoolPlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.options import definitions_of
from flask_chat_memory.plugins.options import OptionDefinition
from flask_chat_memory.plugins.options import PluginOptions
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.short_term.chain import BUILT_IN
from flask_chat_memory.testing import contracts
from flask_chat_memory.web.labels import LABELS
from flask_chat_memory.web.templating import chat_widget

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
CONTRACT_PAGES = [DOCS / "writing-a-plugin.md", DOCS / "storage.md"]
LANGUAGES = {"python", "shell", "text", "toml", "css", "jinja", "{toctree}", "{eval-rst}", "{include}"}

Page = dict[str, t.Any]
RunPage = cabc.Callable[[pathlib.Path], Page]


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block of a page; ``line`` is that of its first line of code."""

    language: str
    code: str
    line: int


def blocks_of(page: pathlib.Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(?P<language>\S*)[^\n]*\n(?P<code>.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m["language"], m["code"], text.count("\n", 0, m.start("code")) + 1) for m in found]


def python_of(page: pathlib.Path) -> list[Block]:
    return [block for block in blocks_of(page) if block.language == "python"]


def table_of(page: pathlib.Path, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    below = page.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip()[1:-1].split("|") for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def value_of(cell: str) -> t.Any:
    return ast.literal_eval(cell.strip("`"))


@pytest.fixture
def run_page(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> cabc.Iterator[RunPage]:
    """Run the blocks of a page as one module in an empty folder; configuration in it is checked block by block."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page_of_the_docs")
    module.__file__ = str(tmp_path / "page_of_the_docs.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    namespace = vars(module)

    def run(page: pathlib.Path) -> Page:
        for block in python_of(page):
            try:
                exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), namespace)
                check_configuration(namespace)
            except Exception as error:
                frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(page)]
                line = frames[-1].lineno if frames else getattr(error, "lineno", None) or block.line
                raise AssertionError(f"{page.relative_to(ROOT)}, line {line}: {error!r}") from error
        return namespace

    yield run
    close(namespace)


def check_configuration(namespace: Page) -> None:
    """Set up an app with the configuration that a block assigns to names, and close it."""
    keys = [name for name in namespace if name.startswith(("CHAT_MEMORY_", "SESSION_"))]
    if keys:
        app = flask.Flask("page_of_the_docs")
        app.config.update({name: namespace.pop(name) for name in keys})
        ChatMemory(app)


def close(namespace: Page) -> None:
    app = namespace.get("app")
    if app is not None and "chat_memory" in app.extensions:
        memory = app.extensions["chat_memory"]
        with app.app_context():
            for name in memory.settings.chatbots:
                plugin = memory.plugin_for(name)
                if plugin is not None:
                    plugin.close()
    if "engine" in namespace:
        namespace["engine"].dispose()


def ask(client: t.Any, text: str, path: str = "/chat-memory/default/messages") -> str:
    response = client.post(path, json={"messages": [{"role": "user", "text": text}]})
    assert response.status_code == 200, response.text
    return t.cast(str, response.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_runs(page: pathlib.Path, run_page: RunPage) -> None:
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_escapes_the_tests_by_its_language_or_indentation(page: pathlib.Path) -> None:
    blocks = blocks_of(page)
    assert {block.language for block in blocks} <= LANGUAGES
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(blocks)


def test_a_failing_block_is_named_by_page_and_line(run_page: RunPage, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "quickstart.md"
    monkeypatch.setattr(__name__ + ".python_of", lambda _: [Block("python", "x = 1\n1 / 0\n", 40)])

    with pytest.raises(AssertionError, match=r"quickstart\.md, line 41: ZeroDivisionError"):
        run_page(page)


def test_the_example_of_the_readme_keeps_a_conversation_over_a_reload(run_page: RunPage) -> None:
    app = run_page(ROOT / "README.md")["app"]
    visitor, other = app.test_client(), app.test_client()

    assert "You said: Good morning" in ask(visitor, "Good morning")

    assert "You said: Good morning" in visitor.get("/").text
    assert "Good morning" not in other.get("/").text


def test_the_example_of_the_readme_runs_with_history_in_the_browser(run_page: RunPage, tmp_path: pathlib.Path) -> None:
    [block] = python_of(ROOT / "README.md")
    code = block.code.replace('CHAT_MEMORY_PLUGIN="sqlalchemy"', "CHAT_MEMORY_PLUGIN=None")
    assert code != block.code
    namespace: Page = {"__name__": "page_of_the_docs"}
    exec(code, namespace)
    visitor = namespace["app"].test_client()

    assert "You said: Good morning" in ask(visitor, "Good morning")

    assert "Good morning" not in visitor.get("/").text
    assert list(tmp_path.iterdir()) == []


def test_the_readme_is_short_and_its_two_lines_name_what_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert len(text.splitlines()) <= 80
    extras = set(re.findall(r'-e "\.\[(\w+)\]"', text))
    assert {"example", "test"} <= extras <= set(project["optional-dependencies"])
    assert (ROOT / "example_app" / "__init__.py").is_file()
    for path in re.findall(r"`((?:docs|flask_chat_memory|plugins)/[\w./-]+)`", text):
        assert (ROOT / path).exists() or (ROOT / "flask_chat_memory" / path).exists(), path


def test_the_views_of_the_streaming_page_store_what_they_answer(run_page: RunPage, tmp_path: pathlib.Path) -> None:
    page = DOCS / "streaming.md"
    blocks = [block for block in python_of(page) if "async def" not in block.code]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(__name__ + ".python_of", lambda _: blocks)
        app = run_page(page)["app"]
    visitor = app.test_client()

    ask(visitor, "One", "/my-chat")
    ask(visitor, "Two", "/one-piece")
    ask(visitor, "Three", "/with-a-tool")
    ask(visitor, "Four", "/personal")

    shown = visitor.get("/chat-memory/default/history").get_json()["messages"]
    assert [message["text"] for message in shown] == [
        *("One", "I was sent 1 messages."),
        *("Two", "A whole answer."),
        *("Three", "There are 12 left."),
        *("Four", "You asked from /personal: Four"),
    ]
    assert {message["status"] for message in shown if message["role"] == "ai"} == {"complete"}


def test_the_login_of_the_security_page_changes_the_session_and_keeps_the_conversation(run_page: RunPage) -> None:
    app = run_page(DOCS / "security.md")["app"]
    app.extensions["chat_memory"].provider(lambda turn: "Yes.")
    visitor = app.test_client()
    ask(visitor, "Before the login")
    planted = visitor.get_cookie("session").value

    assert visitor.post("/login").status_code == 204

    assert visitor.get_cookie("session").value != planted
    shown = visitor.get("/chat-memory/default/history").get_json()["messages"]
    assert [message["text"] for message in shown] == ["Before the login", "Yes."]


def test_the_policy_of_the_security_page_carries_the_nonce_of_the_widget(run_page: RunPage) -> None:
    page = DOCS / "security.md"
    blocks = [block for block in python_of(page) if "flask_session" not in block.code and "session." not in block.code]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(__name__ + ".python_of", lambda _: blocks)
        response = run_page(page)["app"].test_client().get("/")

    nonces = set(re.findall(r' nonce="([^"]+)"', response.text))
    assert len(nonces) == 1
    assert f"'nonce-{nonces.pop()}'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", CONTRACT_PAGES, ids=lambda page: page.stem)
def test_what_the_docs_write_passes_the_shipped_contract(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code = "\n".join(block.code for block in python_of(page))
    (tmp_path / "test_code_of_the_docs.py").write_text(code, encoding="utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert re.search(r"\d{2,} passed", run.stdout), run.stdout


@pytest.mark.parametrize("page", CONTRACT_PAGES, ids=lambda page: page.stem)
def test_every_contract_is_named(page: pathlib.Path) -> None:
    names = [name for name in vars(contracts) if name.endswith("Contract")]
    names = [name for name in names if ("Storage" in name) == (page.stem == "storage")]
    assert len(names) > 4
    assert [name for name in names if name not in page.read_text(encoding="utf-8")] == []


def test_the_configuration_table_has_every_key_with_its_default() -> None:
    rows = table_of(DOCS / "configuration.md", "Keys")

    assert {key.strip("`"): value_of(default) for key, default, _ in rows} == DEFAULTS


def test_the_chatbot_table_has_every_key() -> None:
    rows = table_of(DOCS / "configuration.md", "Chatbots")

    assert tuple(key.strip("`") for key, _, _ in rows) == CHATBOT_KEYS


def test_the_chatbot_table_has_the_defaults() -> None:
    app = flask.Flask("chatbots")
    memory = ChatMemory(app)
    with app.app_context():
        chatbot = memory.settings.chatbot(None)
    literal = [(key.strip("`"), default) for key, default, _ in table_of(DOCS / "configuration.md", "Chatbots")]

    found = {key: value_of(default) for key, default in literal if "CHAT_MEMORY_" not in default}
    assert found == {key: getattr(chatbot, key) for key in found}


def described(definition: OptionDefinition) -> list[str]:
    kind = " or ".join(f'`"{choice}"`' for choice in definition.choices) or definition.type
    return [
        f"`{definition.name}`",
        kind + (" or `None`" if definition.optional else ""),
        _shown_default(definition),
        str(definition.minimum or ""),
    ]


def _shown_default(definition: OptionDefinition) -> str:
    if definition.required:
        return "required"
    return f'`"{definition.default}"`' if isinstance(definition.default, str) else f"`{definition.default!r}`"


def test_the_option_tables_have_every_option_as_it_is_defined() -> None:
    common = definitions_of(PluginOptions)
    tables = {"Options of all plugins": common}
    for plugin in (
        SQLAlchemyPlugin,
        FilePlugin,
        RedisPlugin,
        FlaskSessionPlugin,
        FlaskSessionPoolPlugin,
        DocumentsPlugin,
        EncryptedPlugin,
    ):
        added = {k: v for k, v in definitions_of(plugin.Options).items() if common.get(k) != v}
        tables[f"Options of `{plugin.id}`"] = added

    for heading, options in tables.items():
        rows = [row[:4] for row in table_of(DOCS / "configuration.md", heading)]
        assert rows == [described(definition) for definition in options.values()]
    assert definitions_of(InMemoryPlugin.Options) == common


def test_the_short_term_table_has_every_kind_with_its_options() -> None:
    rows = table_of(DOCS / "configuration.md", "Short-term memory")

    assert {(kind.strip("`"), option.strip("`"), value_of(default)) for kind, option, default, _ in rows} == {
        (kind, parameter.name, parameter.default)
        for kind, path in BUILT_IN.items()
        for parameter in inspect.signature(pkgutil.resolve_name(path)).parameters.values()
    }


def test_the_widget_page_has_every_argument_label_and_property() -> None:
    page = DOCS / "widget.md"
    parameters = inspect.signature(chat_widget).parameters.values()
    style = (ROOT / "flask_chat_memory/web/static/chat-memory.css").read_text(encoding="utf-8")

    assert {key.strip("`"): value_of(default) for key, default, _ in table_of(page, "Arguments")} == {
        parameter.name: parameter.default for parameter in parameters
    }
    assert {key.strip("`"): text for key, text in table_of(page, "Labels")} == LABELS
    assert {name.strip("`") for name, _ in table_of(page, "Colours and size")} == set(
        re.findall(r"var\((--chat-memory-[\w-]+)", style)
    )


def test_the_widget_page_has_every_route() -> None:
    app = flask.Flask("routes")
    ChatMemory(app)
    routes = {
        f"{method} {rule.rule.removeprefix('/chat-memory')}"
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("chat_memory.") and rule.endpoint != "chat_memory.static"
        for method in t.cast("set[str]", rule.methods) - {"HEAD", "OPTIONS"}
    }

    assert {route.strip("`") for route, _, _ in table_of(DOCS / "widget.md", "A widget of your own")} == routes


def test_the_api_page_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    public = [name for name, value in vars(flask_chat_memory).items() if isinstance(value, type) or callable(value)]

    documented = set(re.findall(r"^\.\. auto\w+:: (\w+)(?:\(\))?$", page, re.MULTILINE))
    assert documented == set(public)


def test_every_page_can_be_reached() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    [toctree] = [block.code for block in blocks_of(DOCS / "index.md") if block.language == "{toctree}"]

    names = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert set(toctree.split()) - {":hidden:"} == names
    assert {name.removesuffix(".md") for name in re.findall(r"\]\(([\w-]+\.md)\)", index)} == names - {"api", "changes"}


KEY = "ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="
WRONG_CONFIGURATIONS: list[dict[str, t.Any]] = [
    {"PLUGINS": "sqlalchemy"},
    {"PLUGIN": "sqlalchmy"},
    {"PLUGIN": "None"},
    {"PLUGIN": "my_package.chat:Folder"},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"expire": 60}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"threads": "two"}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"expiry": 0}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"url": "sqlite://"}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"url": "oracle://localhost/shop"}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"url": "postgresql+psycopg2://localhost/shop"}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"url": "sqlite:///chat.sqlite3", "engine": object()}},
    {"PLUGIN": "sqlalchemy", "OPTIONS": {"engine": "sqlite:///chat.sqlite3"}},
    {"PLUGIN": "encrypted", "OPTIONS": {"plugin": "sqlalchemy"}},
    {"PLUGIN": "encrypted", "OPTIONS": {"plugin": "sqlalchemy", "keys": ["secret"]}},
    {"PLUGIN": "encrypted", "OPTIONS": {"plugin": "encrypted", "keys": [KEY]}},
    {"PLUGIN": "encrypted", "OPTIONS": {"plugin": "sqlalchemy", "keys": [KEY], "options": {"expiry": 60}}},
    {"PLUGIN": "flask_session"},
    {"PLUGIN": "flask_session_pool", "SESSION_TYPE": "mongodb"},
    {"CHATBOTS": {"support": {"prompt": "Be brief."}}},
    {"CHATBOTS": {"support": {"options": {}}}},
    {"SHORT_TERM": [{"type": "token"}]},
    {"ON_LOGIN": "move"},
    {"PRELOAD": -1},
    {"URL_PREFIX": "chat/"},
]


@pytest.fixture
def quoted() -> set[str]:
    """The lines of the messages that the troubleshooting page quotes."""
    blocks = [block for block in blocks_of(DOCS / "troubleshooting.md") if block.language == "text"]
    return {line for block in blocks for line in block.code.splitlines()}


def message_of(call: cabc.Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        call()
    return str(caught.value)


def test_the_troubleshooting_page_quotes_the_errors_as_they_are(quoted: set[str]) -> None:
    # Other distributions of the environment may bring plugins, whose names would be in the texts.
    assert not importlib.metadata.entry_points(group="flask_chat_memory.plugins")
    raised = set()
    for values in WRONG_CONFIGURATIONS:
        app = flask.Flask("wrong")
        app.config.update({name if name == "SESSION_TYPE" else f"CHAT_MEMORY_{name}": v for name, v in values.items()})
        raised.add(message_of(lambda app=app: ChatMemory(app)))  # type: ignore[misc]

    app = flask.Flask("right")
    memory = ChatMemory(app)
    raised.add(message_of(lambda: ChatMemory(app)))
    with app.app_context():
        raised.add(message_of(memory.conversation))
        raised.add(message_of(lambda: memory.plugin_for("sales")))
        raised.add(message_of(lambda: ChatMemory().settings))
    raised.add(message_of(unready_database))
    raised.add(message_of(unready_sessions))

    assert raised == quoted


def unready_database() -> object:
    from flask_sqlalchemy import SQLAlchemy

    app = flask.Flask("unready")
    app.config.update(CHAT_MEMORY_PLUGIN="sqlalchemy", CHAT_MEMORY_OPTIONS={"engine": SQLAlchemy()})
    memory = ChatMemory(app)
    with app.app_context():
        return memory.plugin


def unready_sessions() -> object:
    app = flask.Flask("unready")
    app.config.update(CHAT_MEMORY_PLUGIN="flask_session", SESSION_TYPE="redis")
    memory = ChatMemory(app)
    with app.app_context():
        return memory.plugin


def sentences() -> set[str]:
    """Return all constant texts of the package's code."""
    found = set()
    for file in (ROOT / "flask_chat_memory").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_the_sentences_that_a_visitor_reads_are_those_of_the_code() -> None:
    page = DOCS / "troubleshooting.md"
    quoted = {row[0] for heading in ("503", "403", "400") for row in table_of(page, heading)}
    quoted |= set(re.findall(r'"([^"]+\.)"', (DOCS / "how-it-works.md").read_text(encoding="utf-8"))) - {
        "What is a turn?",
        "One exchange.",
    }
    foreign = {sentence for sentence in quoted if sentence.startswith("The CSRF token")}

    assert quoted - foreign <= sentences()
