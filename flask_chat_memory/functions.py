"""The functions that a site registers for its chatbots."""

from __future__ import annotations

import abc
import collections.abc as cabc
import inspect
import typing as t

from .condensing import FactExtractor
from .condensing import Summarizer
from .errors import ConfigurationError
from .provider import check_function
from .provider import Provider
from .settings import Settings
from .titles import TitleFunction
from .turns import BeforeTurn

F = t.TypeVar("F", bound=cabc.Callable[..., t.Any])
P = t.TypeVar("P", bound=Provider)
T = t.TypeVar("T", bound=TitleFunction)
S = t.TypeVar("S", bound=Summarizer)
E = t.TypeVar("E", bound=FactExtractor)
B = t.TypeVar("B", bound=BeforeTurn)


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


class SiteFunctions(abc.ABC):
    """The functions of a site, registered as decorators."""

    def __init__(self) -> None:
        super().__init__()
        self._providers = ChatbotFunctions("provider")
        self._title_functions = ChatbotFunctions("title function")
        self._summarizers = ChatbotFunctions("summarizer")
        self._fact_extractors = ChatbotFunctions("fact extractor")
        self._admission: tuple[BeforeTurn, ...] = ()

    @t.overload
    def provider(self, chatbot: P) -> P: ...

    @t.overload
    def provider(self, chatbot: str | None = None) -> cabc.Callable[[P], P]: ...

    def provider(self, chatbot: t.Any = None) -> t.Any:
        """Register the function that calls the model of a chatbot, of the default one if none is named.

        :raises ConfigurationError: for a second one, an unknown chatbot, an async generator.
        """
        return self._providers.register(chatbot, self._settings_of_apps())

    @t.overload
    def title(self, chatbot: T) -> T: ...

    @t.overload
    def title(self, chatbot: str | None = None) -> cabc.Callable[[T], T]: ...

    def title(self, chatbot: t.Any = None) -> t.Any:
        """Register a function that makes titles for the threads of a chatbot, of the default one if none is named.

        It is called with the first turn of a thread when that is answered, in the background and with an app
        context, and returns a title or None. What it raises is logged. A title that a person gave stays.

        :raises ConfigurationError: for a second one, an unknown chatbot, an async generator.
        """
        return self._title_functions.register(chatbot, self._settings_of_apps())

    @t.overload
    def summarizer(self, chatbot: S) -> S: ...

    @t.overload
    def summarizer(self, chatbot: str | None = None) -> cabc.Callable[[S], S]: ...

    def summarizer(self, chatbot: t.Any = None) -> t.Any:
        """Register the function that summarises the threads of a chatbot, of the default one if none is named.

        It is called in the background, with an app context, the summary so far or None, and the messages that are to
        be covered besides: dicts of the OpenAI kind, redacted. It returns the text that stands for both, or an
        iterable of its pieces. What is blank, no shorter than what it stands for, or raised, changes nothing.

        :raises ConfigurationError: for a second one, an unknown chatbot, an async generator.
        """
        return self._summarizers.register(chatbot, self._settings_of_apps())

    @t.overload
    def fact_extractor(self, chatbot: E) -> E: ...

    @t.overload
    def fact_extractor(self, chatbot: str | None = None) -> cabc.Callable[[E], E]: ...

    def fact_extractor(self, chatbot: t.Any = None) -> t.Any:
        """Register the function that finds key facts in the threads of a chatbot, of the default one if none is named.

        It is called like a summarizer, with the facts so far and the messages, and returns the facts that are in the
        messages. They are added to those so far; the newest 50 are kept.

        :raises ConfigurationError: for a second one, an unknown chatbot, an async generator.
        """
        return self._fact_extractors.register(chatbot, self._settings_of_apps())

    def before_turn(self, function: B) -> B:
        """Register a function that may refuse a turn before anything is stored or sent.

        It is given the :class:`Conversation`, of every chatbot and in every mode, and returns None, or a sentence for
        the visitor: the turn is refused with 403.

        :raises ConfigurationError: for what is no plain function.
        """
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise ConfigurationError("before_turn takes a plain function that is given the conversation")
        self._admission = (*self._admission, function)
        return function

    @abc.abstractmethod
    def _settings_of_apps(self) -> list[Settings]:
        """Return the settings of all apps that are known by now."""

    def _check_functions(self, settings: Settings) -> None:
        for functions in (self._providers, self._title_functions, self._summarizers, self._fact_extractors):
            functions.check(settings)
