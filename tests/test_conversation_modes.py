from __future__ import annotations

import logging
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import RequestRefused
from flask_chat_memory import StorageError
from flask_chat_memory import Turn

from .conversations import ask
from .conversations import body
from .conversations import BUILT_IN
from .conversations import events
from .conversations import FragilePlugin
from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


def test_without_a_plugin_there_is_nothing_for_a_worker(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, None, CHATBOTS={"default": {}, "silent": {"plugin": "in_memory", "history": False}})
    for chatbot in ("default", "silent"):
        with site.app.app_context():
            with pytest.raises(ConfigurationError, match=f"'{chatbot}'.*choose a plugin"):
                site.memory.start_conversation(OWNER, chatbot)
            with pytest.raises(ConfigurationError, match="choose a plugin"):
                site.memory.open_conversation(OWNER, "t", chatbot)


def test_an_unknown_chatbot_is_named_with_those_that_there_are(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"sales": {}, "support": {}})
    with site.app.app_context():
        with pytest.raises(ConfigurationError, match="'suport'.*sales, support"):
            site.memory.start_conversation(OWNER, "suport")
        with pytest.raises(ConfigurationError, match="sales, support"):
            site.memory.start_conversation(OWNER)
    assert site.app.test_client().get("/chat-memory/suport/history").status_code == 404


def test_chatbots_keep_to_themselves(tmp_path: pathlib.Path) -> None:
    site = Site(
        tmp_path,
        "in_memory",
        CHATBOTS={
            "shared": {},
            "also": {"system_prompt": "Be brief."},
            "file": {"plugin": "sqlalchemy"},
            "browser": {"plugin": None},
            "silent": {"history": False, "system_prompt": "Hush."},
        },
    )
    seen: dict[str, list[t.Any]] = {}
    for chatbot in ("shared", "also", "file", "browser", "silent"):

        @site.memory.provider(chatbot)
        def answer(turn: Turn) -> str:
            seen[turn.chatbot] = turn.messages
            return f"{turn.chatbot}, {turn.owner}"

    client = site.app.test_client()
    for chatbot in ("shared", "also", "file", "browser", "silent"):
        for text in ("one", "two"):
            response = client.post(
                f"/chat-memory/{chatbot}/messages", json=body(text), headers={"Accept": "application/json"}
            )
            assert response.status_code == 200
    history = [("user", "one"), ("assistant", "{}, user:1"), ("user", "two")]
    for chatbot, prompt in (("shared", []), ("also", ["Be brief."]), ("file", [])):
        sent = [(message["role"], message["content"]) for message in seen[chatbot]]
        assert sent == [("system", text) for text in prompt] + [(role, text.format(chatbot)) for role, text in history]
    assert seen["browser"] == [{"role": "user", "content": "two"}]
    assert seen["silent"] == [{"role": "system", "content": "Hush."}, {"role": "user", "content": "two"}]
    modes = {
        chatbot: t.cast("dict[str, t.Any]", client.get(f"/chat-memory/{chatbot}/history").json)["mode"]
        for chatbot in ("shared", "also", "file", "browser", "silent")
    }
    assert modes == {"shared": "server", "also": "server", "file": "server", "browser": "client", "silent": "none"}
    with site.app.app_context():
        assert site.memory.plugin_for("shared") is site.memory.plugin_for("also")
        assert site.memory.plugin_for("silent") is None
        assert len(site.memory.start_conversation(OWNER, "file").history()) == 4


def test_in_client_mode_the_browser_brings_the_history(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, None, CHATBOTS={"default": {"system_prompt": "Be kind."}})
    with site.app.test_request_context():
        conversation = site.memory.conversation()
        assert conversation.mode == "client"
        turn = conversation.turn(
            {
                "messages": [
                    {"role": "user", "text": "a"},
                    {"role": "ai", "text": "b"},
                    {"role": "user", "text": "c"},
                ],
                "key": "k",
            }
        )
        assert [message["content"] for message in turn.messages] == ["Be kind.", "a", "b", "c"]
        assert turn.thread_id is None
        assert turn.finish("d").status == "complete"
        assert conversation.history() == []
        assert conversation.reset() is None
        assert conversation.new_chat() is None
        conversation.clear()
        assert not conversation.open("t")
        assert conversation.page(10).messages == ()
    assert list(tmp_path.iterdir()) == []


def test_the_window_holds_for_the_browsers_history_too(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, None, SHORT_TERM=[{"type": "window", "turns": 1}])
    messages = [{"role": role, "text": f"{role}{n}"} for n in range(3) for role in ("user", "ai")]
    with site.app.test_request_context():
        turn = site.memory.conversation().turn({"messages": [*messages, {"role": "user", "text": "now"}]})
    assert [message["content"] for message in turn.messages] == ["user2", "ai2", "now"]


@pytest.mark.scenario("D41")
def test_without_history_nothing_is_kept_or_asked(tmp_path: pathlib.Path) -> None:
    def no_owner() -> str:
        raise AssertionError("nobody is to be asked who it is")

    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config["CHAT_MEMORY_CHATBOTS"] = {"default": {"plugin": "sqlalchemy", "history": False}}
    memory = ChatMemory(app, owner_loader=no_owner)
    memory.provider(lambda turn: f"{len(turn.messages)} {turn.owner} {turn.thread_id}")
    client = app.test_client()
    for _ in range(2):
        response = client.post("/chat-memory/default/messages", json=body("hi", key="same", thread_id="t"))
        assert events(response) == [{"text": "1 None None"}, "[DONE]"]
        assert "Set-Cookie" not in response.headers
        assert "Chat-Memory-Thread" not in response.headers
    reset = client.post("/chat-memory/default/reset").json
    assert reset == {"thread_id": None}
    assert list(tmp_path.iterdir()) == []


def test_a_chatbot_that_is_switched_off_refuses(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"default": {"enabled": False}})
    conversation = site.start()
    with pytest.raises(RequestRefused) as caught:
        conversation.turn("hi")
    assert caught.value.code == 403
    assert conversation.history() == []


@pytest.mark.parametrize("plugin", [*BUILT_IN, FiveMethodsPlugin])
def test_a_refused_question_stores_nothing(plugin: t.Any, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin, MAX_MESSAGE_CHARS=10)
    site.memory.provider(lambda turn: "never")
    client = site.app.test_client()
    for posted, code in (
        ({"json": body("x" * 11)}, 413),
        ({"json": body("\x00\x00\x00")}, 400),
        ({"json": {"messages": []}}, 400),
        ({"json": [1]}, 400),
        ({"data": b"{{", "content_type": "application/json"}, 400),
        ({"data": b"hi"}, 400),
    ):
        response = client.post("/chat-memory/default/messages", **posted)
        assert response.status_code == code
        assert response.json is not None
        assert set(response.json) == {"error"}
    assert site.start().history() == []


def test_when_the_store_is_down_the_visitor_is_refused(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, FragilePlugin)
    called: list[Turn] = []

    @site.memory.provider
    def answer(turn: Turn) -> str:
        called.append(turn)
        return "fine"

    site.plugin.down = True
    with caplog.at_level(logging.CRITICAL):
        response = site.post("hi")
    assert response.status_code == 503
    assert "password" not in response.get_data(as_text=True)
    assert response.json is not None
    assert set(response.json) == {"error"}
    assert called == []
    assert site.app.test_client().get("/chat-memory/default/history").status_code == 503
    site.plugin.down = False
    assert events(site.post("hi")) == [{"text": "fine"}, "[DONE]"]


def test_when_the_store_is_down_a_site_may_answer_without_it(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin, ON_UNAVAILABLE="answer", CHATBOTS={"default": {"system_prompt": "Be kind."}})
    sent: list[t.Any] = []

    @site.memory.provider
    def answer(turn: Turn) -> str:
        sent.append(turn.messages)
        return "fine"

    site.post("before").get_data()
    site.plugin.down = True
    response = site.post("hi")
    assert events(response) == [{"text": "fine"}, "[DONE]"]
    assert response.headers["Chat-Memory-Notice"] == "not-stored"
    assert "Chat-Memory-Thread" not in response.headers
    assert [message["content"] for message in sent[-1]] == ["Be kind.", "hi"]
    site.plugin.down = False
    again = site.post("after")
    assert "Chat-Memory-Notice" not in again.headers
    assert [message["content"] for message in sent[-1]] == ["Be kind.", "before", "fine", "after"]


def test_a_worker_learns_that_the_store_is_down(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin)
    site.memory.provider(lambda turn: "fine")
    conversation = site.start()
    site.plugin.down = True
    with pytest.raises(StorageError):
        conversation.send("hi")


def test_a_corrupt_message_is_reported_and_survives_the_next_turn(tmp_path: pathlib.Path) -> None:
    import sqlalchemy as sa

    site = Site(tmp_path, "sqlalchemy")
    conversation = site.start()
    ask(conversation, "hi")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/chat-memory.sqlite3")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE chat_memory_message SET body = '{{' WHERE sequence = 2")
    with pytest.raises(StorageError):
        conversation.history()
    with pytest.raises(StorageError):
        conversation.turn("next")
    with engine.connect() as connection:
        bodies = connection.exec_driver_sql("SELECT body FROM chat_memory_message WHERE sequence = 2").scalars().all()
    assert bodies == ["{{"]
    engine.dispose()
