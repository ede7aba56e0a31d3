"""The functions that a site registers for its chatbots."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from .config import Settings
from .errors import ConfigurationError
from .provider import check_function

F = t.TypeVar("F", bound=cabc.Callable[..., t.Any])


class ChatbotFunctions:
    """The functions of one kind, by the chatbot they are for; None is the default one.

    :param kind: what they are called in errors.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._functions: dict[str | None, cabc.Callable[..., t.Any]] = {}

    def register(self, chatbot: t.Any, settings: cabc.Iterable[Settings]) -> t.Any:
        """Register a function, as a decorator with or without the name of a chatbot.

        :param settings: of all apps that are known by now.
        :raises ConfigurationError: for a second one, an unknown chatbot, what is no function.
        """
        if callable(chatbot):
            return self._add(None, chatbot, settings)
        return lambda function: self._add(chatbot, function, settings)

    def _add(self, chatbot: str | None, function: F, settings: cabc.Iterable[Settings]) -> F:
        check_function(function, self._kind)
        if chatbot in self._functions:
            raise ConfigurationError(f"chatbot {chatbot or 'default'!r} has a {self._kind} already")
        functions: dict[str | None, cabc.Callable[..., t.Any]] = {**self._functions, chatbot: function}
        for known in settings:
            self._check_names(functions, known)
        self._functions = functions
        return function

    def check(self, settings: Settings) -> None:
        """Refuse functions for chatbots that an app does not have.

        :raises ConfigurationError: naming the chatbot.
        """
        self._check_names(self._functions, settings)

    def of_chatbot(self, name: str, settings: Settings) -> cabc.Callable[..., t.Any] | None:
        """Return the function of a chatbot."""
        function = self._functions.get(name)
        return self._functions.get(None) if function is None and name == settings.default_chatbot else function

    def _check_names(self, functions: cabc.Iterable[str | None], settings: Settings) -> None:
        names = set(functions)
        for name in names - {None}:
            settings.chatbot(name)
        if None in names and settings.default_chatbot in names:
            raise ConfigurationError(
                f"chatbot {settings.default_chatbot!r} has two {self._kind}s, one of them without a name"
            )
