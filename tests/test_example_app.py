"""The example app, from the page to the store, as its visitors use it."""

from __future__ import annotations

import collections.abc as cabc
import concurrent.futures
import http.server
import json
import multiprocessing
import pathlib
import re
import sys
import threading
import typing as t

import flask
import pytest
from flask.testing import FlaskClient

from example_app.accounts import DEMO_PASSWORD
from example_app.bot import Bot
from example_app.search import Knowledge
from example_app.search import read_sections
from example_app.secret_key import read_secret_key
from flask_chat_memory import Usage

from .example_site import app as app
from .example_site import ask
from .example_site import client as client
from .example_site import log_in
from .example_site import make_app as make_app
from .example_site import memory_of
from .example_site import MESSAGES
from .example_site import plain_environment as plain_environment
from .example_site import session_cookie
from .example_site import shown
from .example_site import titles

HELP_PAGES = pathlib.Path(__file__).parents[1] / "example_app" / "knowledge"


def test_conversation_survives_reload(client: FlaskClient) -> None:
    answer = ask(client, "How long does delivery take?")

    page = client.get("/")

    assert "Standard shipping takes 2 to 4 working days" in answer
    assert "How long does delivery take?</div>" in page.text
    assert "Standard shipping takes 2 to 4 working days" in page.text


def test_conversation_survives_restart(client: FlaskClient, make_app: cabc.Callable[..., flask.Flask]) -> None:
    ask(client, "My name is Ada")
    restarted = make_app().test_client()
    restarted.set_cookie("session", session_cookie(client) or "")

    assert ask(restarted, "What is my name?") == "Your name is Ada."


def test_other_visitor_sees_nothing(app: flask.Flask, client: FlaskClient) -> None:
    ask(client, "My name is Ada")
    other = app.test_client()

    assert "Ada</div>" not in other.get("/").text
    assert shown(other) == []
    assert "You have not told me yet" in ask(other, "What is my name?")


def test_visitor_has_list_of_conversations_unless_the_environment_says_one(
    client: FlaskClient, make_app: cabc.Callable[..., flask.Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client, "How long does delivery take?")
    client.post("/chat-memory/support/threads")
    ask(client, "How do I pay?")

    assert titles(client) == ["How do I pay?", "How long does delivery take?"]
    assert "<chat-memory-threads" in client.get("/").text
    assert "<chat-memory-threads" not in make_app(CHAT_MEMORY_PLUGIN=None).test_client().get("/").text
    monkeypatch.setenv("CHAT_MEMORY_THREADS", "one")
    assert "<chat-memory-threads" not in make_app().test_client().get("/").text


def test_page_offers_all_that_the_widget_has(client: FlaskClient) -> None:
    page = client.get("/").text

    for part in ("threads", "temporary", "tools"):
        assert f"<chat-memory-{part}" in page


def test_reading_pages_sets_no_cookie(client: FlaskClient) -> None:
    for page in ("/", "/login"):
        assert "Set-Cookie" not in client.get(page).headers


def test_anonymous_visitor_gets_cookie_that_lasts(client: FlaskClient) -> None:
    with client.post(MESSAGES, json={"messages": [{"role": "user", "text": "Hello"}]}) as response:
        cookie = response.headers["Set-Cookie"]

    assert "Expires=" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_page_tells_who_is_logged_in(client: FlaskClient) -> None:
    assert "Not logged in" in client.get("/").text

    response = log_in(client, follow_redirects=True)

    assert response.request.path == "/"
    assert "<strong>amber</strong>" in response.text
    response = client.post("/logout", follow_redirects=True)
    assert "Not logged in" in response.text


@pytest.mark.parametrize(("name", "password"), [("amber", "wrong"), ("nobody", DEMO_PASSWORD), ("", "")])
def test_wrong_password_is_refused(client: FlaskClient, name: str, password: str) -> None:
    response = log_in(client, name, password)

    assert response.status_code == 422
    assert "There is no account with this name and password." in response.text
    assert "Not logged in" in client.get("/").text


def test_login_shows_name_as_text(client: FlaskClient) -> None:
    response = log_in(client, '"><script>x</script>')

    assert "<script>x" not in response.text


def test_every_demo_account_can_log_in(app: flask.Flask) -> None:
    page = app.test_client().get("/login").text
    names = re.findall(r"<code>(\w+)</code>", page)

    assert len(names) > 1
    for name in names:
        assert log_in(app.test_client(), name).status_code == 303


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example"])
def test_login_leads_to_no_other_site(client: FlaskClient, target: str) -> None:
    response = client.post(
        "/login", query_string={"next": target}, data={"name": "amber", "password": DEMO_PASSWORD, "next": target}
    )

    assert response.location == "/"


CROSS_SITE: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_other_site_cannot_log_visitor_in(client: FlaskClient, headers: dict[str, str]) -> None:
    assert log_in(client, headers=headers).status_code == 403
    assert "Not logged in" in client.get("/").text


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_other_site_cannot_log_visitor_out(client: FlaskClient, headers: dict[str, str]) -> None:
    log_in(client)

    assert client.post("/logout", headers=headers).status_code == 403
    assert client.get("/logout").status_code == 405
    assert "Logged in as" in client.get("/").text


def test_login_changes_session_id(app: flask.Flask, client: FlaskClient) -> None:
    ask(client, "My name is Ada")
    planted = session_cookie(client)
    log_in(client)
    attacker = app.test_client()
    attacker.set_cookie("session", planted or "")

    assert session_cookie(client) != planted
    assert "Not logged in" in attacker.get("/").text
    assert shown(attacker) == []


def test_login_adopts_anonymous_conversation(app: flask.Flask, client: FlaskClient) -> None:
    ask(client, "My name is Ada")
    log_in(client)

    assert ask(client, "What is my name?") == "Your name is Ada."
    second_device = app.test_client()
    log_in(second_device)
    assert titles(second_device) == titles(client) == ["My name is Ada"]
    assert len(shown(client)) == 4


def test_logout_leaves_nothing_for_next_visitor(client: FlaskClient) -> None:
    log_in(client)
    ask(client, "My name is Ada")
    client.post("/logout")

    assert session_cookie(client) is None
    assert shown(client) == []
    log_in(client, "basil")
    assert shown(client) == []


def test_slow_request_does_not_undo_logout(app: flask.Flask, client: FlaskClient) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        flask.session.get("anything")
        reached.set()
        assert go_on.wait(10)
        return ""

    app.add_url_rule("/slow", view_func=slow)
    log_in(client)
    cookie = session_cookie(client) or ""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        same_browser = app.test_client()
        same_browser.set_cookie("session", cookie)
        pending = pool.submit(same_browser.get, "/slow")
        assert reached.wait(10)
        client.post("/logout")
        go_on.set()
        response = pending.result(10)

    assert "Set-Cookie" not in response.headers
    again = app.test_client()
    again.set_cookie("session", cookie)
    assert "Not logged in" in again.get("/").text


@pytest.mark.parametrize("path", ["/", "/login", "/nowhere", MESSAGES])
def test_every_page_has_strict_policy_with_fresh_nonce(client: FlaskClient, path: str) -> None:
    policies = [client.get(path).headers["Content-Security-Policy"] for _ in range(2)]

    assert "default-src 'none'" in policies[0]
    assert "require-trusted-types-for 'script'" in policies[0]
    nonces = [re.findall(r"script-src 'nonce-([\w-]{20,})' 'strict-dynamic'", policy) for policy in policies]
    assert nonces[0] and nonces[1] and nonces[0] != nonces[1]


def test_scripts_carry_nonce_of_policy(client: FlaskClient) -> None:
    page = client.get("/")
    nonce = re.findall(r"'nonce-([^']+)'", page.headers["Content-Security-Policy"])
    scripts = re.findall(r"<script[^>]*>", page.text)

    assert scripts
    assert all(f'nonce="{nonce[0]}"' in script for script in scripts)


def test_bot_streams_word_by_word(client: FlaskClient) -> None:
    with client.post(MESSAGES, json={"messages": [{"role": "user", "text": "Hello"}]}) as response:
        assert response.get_data(as_text=True).count("data: {") == len("Hello! What can I do for you?".split())


@pytest.fixture(scope="module")
def bot() -> Bot:
    return Bot(Knowledge.read(HELP_PAGES))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did I ask first?", "> How do returns work?"),
        ("What was my first question?", "> How do returns work?"),
        ("what did I just ask?", "> My name is Ada Byron."),
        ("What was my last message", "> My name is Ada Byron."),
        ("What is my name?", "Your name is Ada Byron."),
        ("do you remember my name", "Your name is Ada Byron."),
    ],
)
def test_bot_remembers(bot: Bot, question: str, expected: str) -> None:
    assert bot.reply(question, ["How do returns work?", "My name is Ada Byron."]).endswith(expected)


@pytest.mark.parametrize("question", ["what did I ask first?", "what did I just ask?", "what is my name?"])
def test_bot_invents_no_memory(bot: Bot, question: str) -> None:
    assert re.search("Nothing yet|not told me yet", bot.reply(question))


def test_newest_name_counts(bot: Bot) -> None:
    assert bot.reply("What is my name?", ["My name is Ada", "My name is Zoë-Marie, sorry"]) == "Your name is Zoë-Marie."


def test_name_and_question_in_one_message(bot: Bot) -> None:
    answer = bot.reply("Hi, my name is Ada and I forgot my password")

    assert "Nice to meet you, Ada." in answer
    assert "We send a link to reset the password" in answer


def test_mention_of_name_is_no_introduction(bot: Bot) -> None:
    assert "Nice to meet you" not in bot.reply("my name is on the parcel, but spelled wrong")


def test_bot_quotes_long_question_in_one_line(bot: Bot) -> None:
    quote = bot.reply("what did I ask first?", ["# many\n\n" + "words " * 1000])

    assert len(quote) < 300
    assert quote.count("\n") == 2


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long does delivery take?", "2 to 4 working days"),
        ("Can I still cancel my order?", "until it is packed"),
        ("I want to return a notebook", "within **30 days**"),
        ("when do I get my refund", "within 5 working days"),
        ("how can I pay?", "bank transfer"),
        ("I forgot my password", "link to reset"),
        ("Who can read my chat?", "Only you"),
        ("Can I talk to a person?", "help@quillmoss.example"),
        ("which refill fits my pen?", "| Moss ballpoint |"),
    ],
)
def test_search_answers(bot: Bot, question: str, expected: str) -> None:
    assert expected in bot.reply(question)


@pytest.mark.parametrize(
    "question", ["What is the capital of France?", "Tell me a joke", "Do you sell bicycles?", "¿Qué?", "???", "日本語"]
)
def test_bot_says_that_it_does_not_know(bot: Bot, question: str) -> None:
    assert bot.reply(question).startswith("I don't know.")


def test_sections_end_at_headings_and_not_in_code() -> None:
    text = "# Page\n\nLead\n\n## One\n\n```sh\n# no heading\n```\n\n## Empty\n\n## Two ##\nText"

    sections = [(section.page, section.title, section.text) for section in read_sections(text, "file")]

    assert sections == [
        ("Page", "Page", "Lead"),
        ("Page", "One", "```sh\n# no heading\n```"),
        ("Page", "Two", "Text"),
    ]


def test_lead_before_first_heading_belongs_to_page() -> None:
    sections = [(section.page, section.title) for section in read_sections("Lead\n\n# Page\n\nText", "file")]

    assert sections == [("Page", "file"), ("Page", "Page")]


def test_section_without_heading_has_name_of_file() -> None:
    assert [(section.page, section.title) for section in read_sections("Text", "file")] == [("file", "file")]


def test_last_section_is_kept_where_code_is_not_closed() -> None:
    assert [section.text for section in read_sections("# Page\n\n```\ncode", "file")] == ["```\ncode"]


def test_knowledge_folder_can_be_chosen(
    make_app: cabc.Callable[..., flask.Flask], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "deeper").mkdir(parents=True)
    (tmp_path / "own" / "deeper" / "bees.md").write_text("# Bees\n\nBees sleep at night.", "utf-8")
    monkeypatch.setenv("KNOWLEDGE_FOLDER", str(tmp_path / "own"))

    assert "Bees sleep at night." in ask(make_app().test_client(), "When do bees sleep?")


def test_empty_knowledge_folder_is_refused(make_app: cabc.Callable[..., flask.Flask], tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="KNOWLEDGE_FOLDER"):
        make_app(KNOWLEDGE_FOLDER=str(tmp_path))


@pytest.mark.parametrize("value", ["client", ""])
def test_environment_switches_to_history_in_browser(
    make_app: cabc.Callable[..., flask.Flask], monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CHAT_MEMORY_PLUGIN", value)
    app = make_app()
    client = app.test_client()

    assert 'data-mode="client"' in client.get("/").text
    assert "In this browser." in client.get("/").text
    assert ask(client, "My name is Ada", "Hello Ada", "What is my name?") == "Your name is Ada."
    assert shown(client) == []
    assert session_cookie(client) is None
    assert not list(pathlib.Path(app.instance_path).glob("*.sqlite*"))


def test_environment_keeps_history_on_server_by_default(client: FlaskClient) -> None:
    assert 'data-mode="server"' in client.get("/").text


def test_environment_names_any_plugin(
    make_app: cabc.Callable[..., flask.Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_MEMORY_PLUGIN", "in_memory")

    assert make_app().config["CHAT_MEMORY_PLUGIN"] == "in_memory"


def test_secret_key_is_private_and_stable(make_app: cabc.Callable[..., flask.Flask], tmp_path: pathlib.Path) -> None:
    key = make_app().config["SECRET_KEY"]

    assert len(key) >= 32
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
    assert make_app().config["SECRET_KEY"] == key


def test_secret_key_of_environment_wins(
    make_app: cabc.Callable[..., flask.Flask], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "from the environment")

    assert make_app().config["SECRET_KEY"] == "from the environment"
    assert not (tmp_path / "secret_key").exists()


def test_workers_that_start_together_agree_on_secret_key(tmp_path: pathlib.Path) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(4, context) as pool:
        keys = set(pool.map(read_secret_key, [tmp_path / "instance" / "secret_key"] * 16))

    assert len(keys) == 1
    assert [file.name for file in (tmp_path / "instance").iterdir()] == ["secret_key"]


def test_key_that_another_worker_made_first_counts(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret_key"
    file.write_text("k" * 43)
    # As it was when this worker looked: not there yet.
    monkeypatch.setattr(pathlib.Path, "exists", lambda path, **options: False)

    assert read_secret_key(file) == "k" * 43


def test_empty_secret_key_file_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret_key").touch()

    with pytest.raises(RuntimeError, match="secret_key holds no secret key"):
        read_secret_key(tmp_path / "secret_key")


class ModelServer(http.server.ThreadingHTTPServer):
    """Speaks the chat completions API, and refuses what a strict provider refuses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ModelHandler)
        self.bodies: list[dict[str, t.Any]] = []
        self.refused: list[str] = []
        self.left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class ModelHandler(http.server.BaseHTTPRequestHandler):
    server: ModelServer
    wanted: t.ClassVar = {"model", "messages", "stream", "stream_options"}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        fault = self._fault(body)
        if fault:
            self.server.refused.append(fault)
            self._send(400, "application/json", json.dumps({"error": {"message": fault, "type": "invalid"}}))
            return
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "small-1.5"}
        if body["messages"][-1]["content"] == "Do not stop":
            self._send_until_left({**chunk, "choices": [{"index": 0, "delta": {"content": "on "}}]})
            return
        pieces: list[dict[str, t.Any]] = [{"role": "assistant", "content": ""}]
        pieces += [{"content": f"{number} "} for number in range(3)]
        chunks = [{**chunk, "choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces]
        chunks.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        chunks.append({**chunk, "choices": [], "usage": usage})
        events = "".join(f"data: {json.dumps(event)}\n\n" for event in chunks)
        self._send(200, "text/event-stream", f"{events}data: [DONE]\n\n")

    def _fault(self, body: dict[str, t.Any]) -> str | None:
        if self.path != "/v1/chat/completions":
            return f"no such path {self.path}"
        if body.keys() != self.wanted or body["stream"] is not True:
            return f"keys {sorted(body)}"
        if body["stream_options"] != {"include_usage": True}:
            return "stream_options"
        if not body["messages"] or body["messages"][-1]["role"] != "user":
            return "messages end with a question"
        roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
        if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
            return f"roles {roles}"
        for message in body["messages"]:
            content = message.get("content")
            if message.keys() != {"role", "content"} or not isinstance(content, str) or not content:
                return f"message {message}"
        return None

    def _send_until_left(self, chunk: dict[str, t.Any]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            while True:
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        except OSError:
            self.server.left.set()

    def _send(self, status: int, content_type: str, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: t.Any) -> None:
        pass


@pytest.fixture
def model_server() -> cabc.Iterator[ModelServer]:
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def test_model_gets_conversation_and_its_usage_is_stored(
    make_app: cabc.Callable[..., flask.Flask], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    monkeypatch.setenv("OPENAI_MODEL", "small")
    app = make_app()
    client = app.test_client()
    log_in(client)

    answers = [ask(client, text) for text in ("One", "Two")]

    assert model_server.refused == []
    assert answers == ["0 1 2 ", "0 1 2 "]
    system, *conversation = model_server.bodies[1]["messages"]
    assert system["role"] == "system" and "Quillmoss" in system["content"]
    assert conversation == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "0 1 2 "},
        {"role": "user", "content": "Two"},
    ]
    assert model_server.bodies[1]["model"] == "small"
    with app.app_context():
        [thread] = memory_of(app).start_conversation("user:amber", "support").list_threads().threads
        answer = memory_of(app).open_conversation("user:amber", thread.id, "support").history()[-1]
    assert answer.usage == Usage(input=11, output=3, total=14)
    assert answer.model == "small-1.5"
    assert answer.status == "complete"


def test_visitor_who_leaves_stops_the_model(
    make_app: cabc.Callable[..., flask.Flask], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    client = make_app().test_client()

    response = client.post(MESSAGES, json={"messages": [{"role": "user", "text": "Do not stop"}]})
    chunks = response.iter_encoded()
    _sign, first = next(chunks), next(chunks)
    response.close()

    assert b"on " in first
    assert model_server.left.wait(10)
    assert shown(client) == ["Do not stop", "on "]


def test_failure_of_model_is_no_answer(
    make_app: cabc.Callable[..., flask.Flask], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    monkeypatch.setattr(ModelHandler, "wanted", set())
    client = make_app().test_client()

    with client.post(MESSAGES, json={"messages": [{"role": "user", "text": "One"}]}) as response:
        events = response.get_data(as_text=True)

    assert "The answer could not be completed" in events
    assert "keys" not in events
    assert shown(client) == ["One", ""]
    monkeypatch.undo()
    assert ask(client, "Two") == "0 1 2 "
    assert model_server.bodies[-1]["messages"][-1]["content"] == "One\n\nTwo"


def test_key_alone_chooses_the_model(
    make_app: cabc.Callable[..., flask.Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = pytest.importorskip("openai")
    made = []
    monkeypatch.setattr(openai, "OpenAI", lambda **options: made.append(options))
    monkeypatch.setenv("OPENAI_API_KEY", "a key")

    make_app()

    assert made == [{"api_key": "a key", "base_url": None}]


def test_missing_client_is_explained(
    make_app: cabc.Callable[..., flask.Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")

    with pytest.raises(RuntimeError, match=r"pip install flask-chat-memory\[openai\]"):
        make_app()
