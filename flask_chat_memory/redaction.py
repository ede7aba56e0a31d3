"""Takes secrets and addresses out of text before a model summarises it, or it becomes a fact or a memory."""

from __future__ import annotations

import collections
import collections.abc as cabc
import importlib.util
import re
import typing as t

from .errors import ConfigurationError

MISSING = (
    "redaction finds phone numbers with the package phonenumbers: install flask-chat-memory[redaction], "
    "set CHAT_MEMORY_REDACTION to False, or register your own function with @memory.redaction, before init_app(app)"
)


class Redacted(t.NamedTuple):
    """A text in which markers such as ``[e-mail]`` stand for what was taken out.

    :param counts: kind -> how often: ``secret``, ``e-mail``, ``phone number``, ``card number``, or the site's own.
    """

    text: str
    counts: collections.Counter[str]


RedactionFunction = cabc.Callable[[str], tuple[str, cabc.Mapping[str, int]]]
"""Takes a text; returns it without what must not be kept, and what was taken out: kind -> how often."""

# As text, for most sites never need them: they are compiled when they are first looked for.
_SECRETS = "|".join(
    (
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [^-\n]{1,50}-----|\Z)",
        # JSON Web Tokens.
        r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
        # Keys that begin as those of OpenAI, Anthropic, AWS, GitHub, GitLab, Slack, Google, Stripe and others do.
        r"\b(?:sk|rk|pk)[-_](?:[\w-]{20,})",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\b(?:gh[opsur]|github_pat|glpat|xox[abeprs]|xapp|hf|npm|pypi|dop_v1|shpat|whsec)[-_][\w-]{16,}",
        r"\bAIza[\w-]{30,}",
        r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    )
)
_PASSWORD = (
    r"\b(?:\w{0,20}[-_ ])?(?:password|passwd|pwd|passphrase|api[-_ ]?key|access[-_ ]?key|passwort|kennwort|"
    r"mot de passe|contrase(?:ñ|n)a|senha|wachtwoord|пароль)\b|密码|密碼|パスワード|비밀번호"
)
_TOKEN = r"\b(?:\w{0,20}[-_ ])?(?:token|secret)\b"
_NAMED_SECRET = (
    # What is assigned to the name of a password is one; what is said of it, or of a token, may be a word or a number.
    rf"(?i)(?P<name>(?:(?P<sure>(?:{_PASSWORD})[\"']?\s{{0,3}}(?:[:=：]|=>))|"
    rf"(?:{_PASSWORD}|{_TOKEN})[\"']?\s{{0,3}}(?:[:=：]|=>|\bis\b))\s{{0,3}}[\"']?|"
    r"\bbearer\s+|\bauthorization:\s{0,3}basic\s+)"
    r"(?P<secret>(?<=[\"'])[^\"'\n]{6,200}(?=[\"'])|[^\s\"'<>,;]{6,})"
)
_URL_PASSWORD = r"(?i)(?P<before>\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@]{0,100}:)(?!\[secret\]@)[^\s/@]{1,200}@"
_E_MAIL = r"(?<![\w.+%-])[\w.+%-]{1,64}[@＠](?:[\w-]{1,63}\.)+[^\W\d_]{2,24}\b"
_CARD = r"(?<![\w.])[2-6２-６](?:[ \u00a0\u2009\u202f\u2010-\u2013-]?\d){12,18}(?![\w]|\.\d)"


class Redaction:
    """Finds secrets, e-mail addresses, phone numbers and card numbers.

    :param regions: countries whose phone numbers are found without ``+``, as ``"US"``.
    :raises ConfigurationError: without the package phonenumbers, and for an unknown region.
    """

    def __init__(self, regions: cabc.Iterable[str] = ()) -> None:
        try:
            import phonenumbers
        except ImportError as error:
            raise ConfigurationError(MISSING) from error
        self._library = phonenumbers
        self._regions = tuple(regions)
        unknown = [region for region in self._regions if region not in phonenumbers.SUPPORTED_REGIONS]
        if unknown:
            raise ConfigurationError(f"CHAT_MEMORY_REDACTION: there is no region {unknown[0]!r}; an example is 'US'")

    def __call__(self, text: str) -> Redacted:
        """Return the text without them."""
        counts: collections.Counter[str] = collections.Counter()

        def marker(kind: str) -> str:
            counts[kind] += 1
            return f"[{kind}]"

        text = re.sub(_SECRETS, lambda _: marker("secret"), text)
        text = re.sub(_URL_PASSWORD, lambda found: f"{found['before']}{marker('secret')}@", text)
        text = re.sub(
            _NAMED_SECRET,
            lambda found: found["name"] + marker("secret") if _is_secret(found) else found[0],
            text,
        )
        text = re.sub(_E_MAIL, lambda _: marker("e-mail"), text)
        text = re.sub(_CARD, lambda found: marker("card number") if _is_card(found[0]) else found[0], text)
        for region in (None, *self._regions):
            for match in reversed([*self._library.PhoneNumberMatcher(text, region, max_tries=len(text) + 1)]):
                # Digits in one piece are more often an order or a customer than a phone.
                if not match.raw_string.isdecimal():
                    text = f"{text[: match.start]}{marker('phone number')}{text[match.end :]}"
        return Redacted(text, counts)


def _is_secret(found: re.Match[str]) -> bool:
    """Tell whether what stands after ``token:`` looks like one: letters and digits, not a word or a number."""
    value = found["secret"]
    looks_so = any(map(str.isalpha, value)) and any(map(str.isdigit, value))
    return (looks_so or found["sure"] is not None) and "[secret]" not in value


def _is_card(number: str) -> bool:
    """Tell whether the last digit is the check digit of the others (Luhn)."""
    digits = [int(digit) for digit in reversed(number) if digit.isdigit()]
    doubled = (2 * digit - 9 * (digit > 4) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def check_installed() -> None:
    """Make sure, without loading it, that what redaction needs is there.

    :raises ConfigurationError: naming the extra to install.
    """
    if importlib.util.find_spec("phonenumbers") is None:
        raise ConfigurationError(MISSING)


def read_redaction(value: object) -> tuple[str, ...] | None:
    """Return the regions of ``CHAT_MEMORY_REDACTION``; None if nothing is redacted.

    :raises ConfigurationError: naming the value and what is allowed.
    """
    if value is True or value is False:
        return () if value else None
    regions = value.get("regions") if isinstance(value, cabc.Mapping) and set(value) == {"regions"} else None
    if not isinstance(regions, list | tuple) or not all(isinstance(region, str) for region in regions):
        raise ConfigurationError(
            f"CHAT_MEMORY_REDACTION is {value!r}; allowed is True, False or {{'regions': ['US', ...]}}"
        )
    Redaction(regions)
    return tuple(regions)
