"""The bot with a real model behind it: any server that speaks the chat completions API."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from flask_chat_memory import Turn

if t.TYPE_CHECKING:
    import openai

DEFAULT_MODEL = "gpt-4o-mini"


def is_wanted(environ: cabc.Mapping[str, str]) -> bool:
    """Tell whether the environment names a server, or a key for one."""
    return bool(environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_KEY"))


class Model:
    """Answers with the words of a model."""

    def __init__(self, client: openai.OpenAI, name: str) -> None:
        self._client = client
        self._name = name

    @classmethod
    def from_environment(cls, environ: cabc.Mapping[str, str]) -> Model:
        """Make the client from ``OPENAI_BASE_URL``, ``OPENAI_API_KEY`` and ``OPENAI_MODEL``.

        :raises RuntimeError: if the client is not installed.
        """
        try:
            import openai
        except ImportError as error:
            raise RuntimeError(
                "OPENAI_BASE_URL or OPENAI_API_KEY is set, so the openai client is needed: "
                "pip install flask-chat-memory[openai]; unset both for the bot that works offline"
            ) from error
        client = openai.OpenAI(
            # A server of one's own often wants no key; the client insists on one.
            api_key=environ.get("OPENAI_API_KEY") or "none",
            base_url=environ.get("OPENAI_BASE_URL") or None,
        )
        return cls(client, environ.get("OPENAI_MODEL") or DEFAULT_MODEL)

    def answer(self, turn: Turn) -> cabc.Iterator[str]:
        """Yield the answer in the pieces in which it comes."""
        # Leaving the block closes the connection, so a visitor who stops the answer stops the model, too.
        with self._client.chat.completions.create(
            model=self._name,
            messages=t.cast("list[openai.types.chat.ChatCompletionMessageParam]", turn.messages),
            stream=True,
            stream_options={"include_usage": True},
        ) as chunks:
            for chunk in chunks:
                turn.model = chunk.model
                turn.usage = chunk.usage or turn.usage
                for choice in chunk.choices:
                    if choice.delta.content:
                        yield choice.delta.content
