"""Typed options of plugins and storages: checked at start-up, described for a settings page, secrets masked."""

from __future__ import annotations

import collections.abc as cabc
import functools
import types
import typing as t

import msgspec

from ..errors import ConfigurationError

DAY = 86_400
MASK = "***"
LARGEST = 2**53


AppBound = t.Literal["database url", "engine", "folder", "session store", "storage", "options"]


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What a settings page and an error text need to know of an option; stands in its annotation.

    :param minimum: smallest number allowed.
    :param editable: may be changed on a settings page.
    :param secret: masked in errors, listings and reprs.
    :param app_bound: how the value is made plain when the app is known.
    """

    label: str
    help: str = ""
    minimum: int | None = None
    editable: bool = False
    secret: bool = False
    app_bound: AppBound | None = None


class OptionDefinition(msgspec.Struct, frozen=True):
    """One option as a settings page shows it.

    :param type: the name of the value's type, as ``int``.
    :param required: there is no default.
    :param choices: the allowed values, if they are few.
    :param optional: None is allowed.
    """

    name: str
    type: str
    required: bool
    default: t.Any
    choices: tuple[t.Any, ...]
    optional: bool
    label: str
    help: str
    minimum: int | None
    editable: bool
    secret: bool
    app_bound: AppBound | None


Expiry = t.Annotated[
    int | None,
    Option(
        label="Expiry",
        help="Seconds without activity after which a conversation is gone; empty keeps it for ever.",
        minimum=1,
        editable=True,
    ),
]
MaxThreads = t.Annotated[
    int,
    Option(
        label="Conversations kept",
        help="The conversation that was idle longest goes when a visitor has more than this number.",
        minimum=1,
        editable=True,
    ),
]


class CheckedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that are checked when they are made, and never shown with their secrets."""

    @classmethod
    def make(cls, values: cabc.Mapping[str, t.Any], where: str) -> t.Self:
        """Check the values and return the options.

        :param where: the configuration key, for errors.
        :raises ConfigurationError: naming the key, the value and what is allowed.
        """
        definitions = definitions_of(cls)
        checked = {}
        for name, value in values.items():
            if name not in definitions:
                known = ", ".join(definitions) or "none"
                raise ConfigurationError(f"{where} has no option {name!r}; the options are: {known}")
            checked[name] = _checked(definitions[name], cls, value, where)
        for name, definition in definitions.items():
            if definition.required and name not in checked:
                raise ConfigurationError(f"{where} lacks the option {name!r}, which has no default")
        try:
            return cls(**checked)
        except (ConfigurationError, TypeError) as error:
            raise ConfigurationError(f"{where}: {error}") from error

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={shown_value(self, name)!r}" for name in definitions_of(type(self)))
        return f"{type(self).__qualname__}({shown})"


class PluginOptions(CheckedOptions, frozen=True, kw_only=True):
    """The options that all plugins have; a plugin adds its own in a subclass."""

    expiry: Expiry = 30 * DAY
    max_messages: t.Annotated[
        int | None,
        Option(
            label="Messages kept",
            help="Older turns of a conversation are removed beyond this number of messages; empty keeps all.",
            minimum=1,
            editable=True,
        ),
    ] = None
    threads: t.Annotated[
        t.Literal["one", "many"],
        Option(label="Conversations", help="One ongoing conversation for each visitor, or many.", editable=True),
    ] = "one"
    max_threads: MaxThreads = 100


def shown_value(options: CheckedOptions, name: str) -> t.Any:
    """Return the value of an option as it may be shown: a secret that is set is masked."""
    value = getattr(options, name)
    return MASK if value is not None and definitions_of(type(options))[name].secret else value


@functools.cache
def definitions_of(options: type[CheckedOptions]) -> dict[str, OptionDefinition]:
    """Describe the options of a class: name -> definition, in the order of declaration."""
    hints = t.get_type_hints(options, include_extras=True)
    definitions = {}
    for field in msgspec.structs.fields(options):
        annotation = hints[field.name]
        about = next((extra for extra in t.get_args(annotation)[1:] if isinstance(extra, Option)), None)
        about = about or Option(label=field.name.replace("_", " ").capitalize())
        if about.app_bound not in (None, *t.get_args(AppBound)):
            raise ConfigurationError(f"option {field.name}: app_bound {about.app_bound!r} is not known")
        kinds = _kinds(annotation)
        choices = tuple(choice for kind in kinds if t.get_origin(kind) is t.Literal for choice in t.get_args(kind))
        definitions[field.name] = OptionDefinition(
            name=field.name,
            type=" | ".join(sorted({_type_name(kind) for kind in kinds if kind is not type(None)})),
            required=field.required,
            default=None if field.required else field.default,
            choices=choices,
            optional=type(None) in kinds,
            **msgspec.structs.asdict(about),
        )
    return definitions


@functools.cache
def _types_of(options: type[CheckedOptions]) -> dict[str, t.Any]:
    return t.get_type_hints(options)


def _kinds(annotation: t.Any) -> tuple[t.Any, ...]:
    if t.get_origin(annotation) is t.Annotated:
        annotation = t.get_args(annotation)[0]
    if t.get_origin(annotation) in (t.Union, types.UnionType):
        return t.get_args(annotation)
    return (annotation,)


def _type_name(kind: t.Any) -> str:
    if t.get_origin(kind) is t.Literal:
        return "choice"
    return t.cast(str, getattr(kind, "__name__", str(kind)))


def _checked(definition: OptionDefinition, options: type[CheckedOptions], value: t.Any, where: str) -> t.Any:
    annotation = _types_of(options)[definition.name]
    shown = MASK if definition.secret else repr(value)
    if definition.choices and value not in definition.choices:
        allowed = " or ".join(repr(choice) for choice in definition.choices)
        raise ConfigurationError(f"{where}: {definition.name} is {shown}; allowed is {allowed}")
    try:
        # Not strict: numbers from environment variables arrive as text.
        checked = msgspec.convert(value, annotation, strict=isinstance(value, bool))
    except msgspec.ValidationError:
        allowed = definition.type + (" or None" if definition.optional else "")
        raise ConfigurationError(f"{where}: {definition.name} is {shown}; allowed is {allowed}") from None
    if isinstance(checked, bool) or not isinstance(checked, (int, float)):
        return checked
    if definition.minimum is not None and checked < definition.minimum:
        raise ConfigurationError(f"{where}: {definition.name} is {shown}; the smallest value is {definition.minimum}")
    if checked > LARGEST:
        raise ConfigurationError(f"{where}: {definition.name} is too large; the largest value is {LARGEST}")
    return checked
