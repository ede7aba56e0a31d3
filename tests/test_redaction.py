"""What is taken out of text before a model summarises it, or it becomes a fact or a memory."""

from __future__ import annotations

import collections
import sys
import time
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory.redaction import Redaction

REMOVED = [
    ("write to ada.lovelace+x@mail.example.co.uk.", "write to [e-mail].", "e-mail"),
    ("Schreib an jörg@bücher.example!", "Schreib an [e-mail]!", "e-mail"),
    ("<ada@example.com>, or", "<[e-mail]>, or", "e-mail"),
    ("call +49 170 1234567 today", "call [phone number] today", "phone number"),
    ("call +1 (201) 555-0123", "call [phone number]", "phone number"),
    ("tel:+442079460018.", "tel:[phone number].", "phone number"),
    ("card 4111 1111 1111 1111, thanks", "card [card number], thanks", "card number"),
    ("4111-1111-1111-1111", "[card number]", "card number"),
    ("378282246310005 is it", "[card number] is it", "card number"),
    ("key sk-proj-abcdefghijklmnop1234 leaked", "key [secret] leaked", "secret"),
    ("AKIAIOSFODNN7EXAMPLE", "[secret]", "secret"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[secret]", "secret"),
    ("xoxb-123456789012-abcdefghijkl", "[secret]", "secret"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret]", "secret"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl ok", "[secret] ok", "secret"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nok", "[secret]\nok", "secret"),
    ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[secret]", "secret"),
    ("postgresql://ann:pa55-word@db.example.com/x", "postgresql://ann:[secret]@db.example.com/x", "secret"),
    ("redis://:hunter2@localhost/0", "redis://:[secret]@localhost/0", "secret"),
    ("my password is hunter22x", "my password is [secret]", "secret"),
    ('{"api_key": "abcd1234efgh"}', '{"api_key": "[secret]"}', "secret"),
    ("Passwort: geheim123", "Passwort: [secret]", "secret"),
    ("DB_PASSWORD=hunter22", "DB_PASSWORD=[secret]", "secret"),
    ("Authorization: Bearer abc123def456", "Authorization: Bearer [secret]", "secret"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "Authorization: Basic [secret]", "secret"),
    ("password=correcthorse", "password=[secret]", "secret"),
    ("api_key => 12345678", "api_key => [secret]", "secret"),
    ('{"password": "my horse and I"}', '{"password": "[secret]"}', "secret"),
    ("contraseña: secreta", "contraseña: [secret]", "secret"),
    ("我的密码：abcdefgh", "我的密码：[secret]", "secret"),
    ("ann＠example.org", "[e-mail]", "e-mail"),
    ("4111\u00a01111\u20131111\u20111111", "[card number]", "card number"),
    ("３７８２８２２４６３１０００５", "[card number]", "card number"),
]
KEPT = [
    "token: 12345678",
    "order 1234567890, customer 2015550123",
    "call (201) 555-0123 or 0170 1234567",
    "1800000000 and 1777543200000",
    "4111 1111 1111 1112 has a wrong check digit",
    "9999999999999995 is of no card",
    "2026-04-30 10:20:30, 192.168.100.200, v1.2.3",
    "3.14159265358979323846",
    "The password is wrong. The secret: patience.",
    "token: session, password=short",
    "the tokens of the model: 150000",
    "ann@home, @ann, a @ b",
    "https://example.com/orders/1234567890?x=1",
    "http://localhost:8080/a@b",
    "sk-short, eyJ.a.b, 住在東京",
    "",
]


@pytest.fixture(scope="module")
def redact() -> Redaction:
    return Redaction()


@pytest.mark.parametrize(("text", "expected", "kind"), REMOVED, ids=range(len(REMOVED)))
def test_what_is_taken_out_is_marked_and_counted(redact: Redaction, text: str, expected: str, kind: str) -> None:
    assert redact(text) == (expected, {kind: 1})


@pytest.mark.scenario("H17")
@pytest.mark.parametrize("text", KEPT, ids=range(len(KEPT)))
def test_ordinary_text_and_numbers_stay(redact: Redaction, text: str) -> None:
    assert redact(text) == (text, {})


def test_several_are_counted_and_what_is_redacted_stays_so(redact: Redaction) -> None:
    text = "\n".join(text for text, _, _ in REMOVED if not text.endswith("cut off"))
    redacted, counts = redact(text)
    assert counts == {"e-mail": 4, "phone number": 3, "card number": 5, "secret": 20}
    assert redact(redacted) == (redacted, {})


def test_numbers_of_a_region_are_found_without_a_plus() -> None:
    text = "call (201) 555-0123 or 0170 1234567, order 2015550123, 030-123456"
    assert Redaction(["US"])(text).text == "call [phone number] or 0170 1234567, order 2015550123, 030-123456"
    redacted, counts = Redaction(["US", "DE"])(text)
    assert redacted == "call [phone number] or [phone number], order 2015550123, [phone number]"
    assert counts == {"phone number": 3}


def test_an_unkind_text_takes_no_endless_time(redact: Redaction) -> None:
    for text in ("a" * 50_000, "a@" * 25_000, "4" * 50_000, "password " * 5_000, "eyJ" + "a" * 50_000, "a:" * 25_000):
        began = time.perf_counter()
        redact(text)
        assert time.perf_counter() - began < 5


def make_memory(**config: t.Any) -> tuple[flask.Flask, ChatMemory]:
    app = flask.Flask("site")
    app.config.update({f"CHAT_MEMORY_{name}": value for name, value in config.items()})
    return app, ChatMemory(app)


def redacted(app: flask.Flask, memory: ChatMemory, text: str) -> tuple[str, dict[str, int]]:
    with app.app_context():
        return memory.redact(text)


def test_it_is_on_unless_the_configuration_says_otherwise() -> None:
    text = "ada@example.com, (201) 555-0123"
    assert redacted(*make_memory(), text) == ("[e-mail], (201) 555-0123", {"e-mail": 1})
    assert redacted(*make_memory(REDACTION=False), text) == (text, {})
    both = {"e-mail": 1, "phone number": 1}
    assert redacted(*make_memory(REDACTION={"regions": ["US"]}), text) == ("[e-mail], [phone number]", both)


def test_the_site_may_have_its_own() -> None:
    for config, expected in (({}, ("*** at [shop]", {"shop": 1})), ({"REDACTION": False}, ("ada at Quillmoss", {}))):
        app, memory = make_memory(**config)

        @memory.redaction
        def redact(text: str) -> tuple[str, dict[str, int]]:
            return text.replace("ada", "***").replace("Quillmoss", "[shop]"), {"shop": 1}

        found = redacted(app, memory, "ada at Quillmoss")
        assert found == expected
        with app.app_context():
            assert isinstance(memory.redact("").counts, collections.Counter)
        with pytest.raises(ConfigurationError, match="redaction already"):
            memory.redaction(redact)


def test_no_function_is_no_redaction() -> None:
    async def redact(text: str) -> tuple[str, dict[str, int]]:
        return text, {}

    _, memory = make_memory()
    for wrong in (None, "on", redact):
        with pytest.raises(ConfigurationError, match="redaction takes a plain function"):
            memory.redaction(t.cast(t.Any, wrong))


@pytest.mark.parametrize("value", ["on", "True", None, 1, [], {}, {"regions": "US"}, {"regions": [1]}, {"region": []}])
def test_a_wrong_value_is_refused_at_start_up(value: t.Any) -> None:
    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_REDACTION is .*; allowed is True, False or"):
        make_memory(REDACTION=value)


def test_an_unknown_region_is_refused_at_start_up() -> None:
    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_REDACTION: there is no region 'Germany'"):
        make_memory(REDACTION={"regions": ["US", "Germany"]})


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from flask_chat_memory import remembering

    remembering._built_in.cache_clear()
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    app, memory = make_memory(PLUGIN="in_memory")
    with app.app_context():
        for call in (lambda: memory.redact("a"), lambda: memory.remember_tool("user:1")):
            with pytest.raises(ConfigurationError, match=r"install flask-chat-memory\[redaction\], set CHAT_MEMORY"):
                t.cast(t.Any, call)()
    assert redacted(*make_memory(REDACTION=False), "a") == ("a", {})


def test_summaries_without_the_package_are_refused_at_start_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    config = {"PLUGIN": "in_memory", "STORAGE": "in_memory", "SHORT_TERM": [{"type": "hierarchical"}]}
    with pytest.raises(ConfigurationError, match=r"install flask-chat-memory\[redaction\].*before init_app"):
        make_memory(**config)
    # Nothing is summarised where the history is in the browser, or nowhere.
    make_memory(**config | {"PLUGIN": None})
    make_memory(**config, CHATBOTS={"default": {"history": False}})
    make_memory(**config, REDACTION=False)
    app = flask.Flask("site")
    app.config.update({f"CHAT_MEMORY_{key}": value for key, value in config.items()}, SECRET_KEY="secret")
    chosen = ChatMemory(settings_loader=lambda chatbot: {"plugin": "in_memory", "options": {}})
    with pytest.raises(ConfigurationError, match="redaction"):
        chosen.init_app(app)
    memory = ChatMemory()
    memory.redaction(lambda text: (text, {}))
    memory.init_app(app)
