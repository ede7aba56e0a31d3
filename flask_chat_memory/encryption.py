"""Hides text by AES-256-GCM, under the first of several keys."""

from __future__ import annotations

import base64
import binascii
import collections.abc as cabc
import hashlib
import os
import typing as t

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import ConfigurationError
from .errors import DecryptionFailed

KEY_BYTES = 32
MAKE_A_KEY = 'python -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"'

_convert = msgspec.convert
_VERSION = b"\x01"
_LATER = 9
"""What may be the version of a later release; no text begins with such a byte."""
_KEY_ID_BYTES = 8
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEADER = slice(len(_VERSION) + _KEY_ID_BYTES)
_NONCE = slice(_HEADER.stop, _HEADER.stop + _NONCE_BYTES)
_HIDDEN = slice(_NONCE.stop, None)
_BESIDE = _NONCE.stop + _TAG_BYTES
"""Bytes that come to what is encrypted."""
_FROM_URL = str.maketrans("-_", "+/")


class Cipher:
    """Encrypts with the first key, decrypts with all.

    What it gives is base64 of a version, the id of the key, a random nonce, and the cipher text with its tag.

    :param keys: base64 of 32 random bytes each.
    :raises ConfigurationError: naming the place of a key that is none, never the key.
    """

    def __init__(self, keys: cabc.Sequence[str]) -> None:
        if not keys:
            raise ConfigurationError(f"keys is empty; make a key: {MAKE_A_KEY}")
        self._headers = [_VERSION + _key_id(_key(text, place)) for place, text in enumerate(keys)]
        self._ciphers = {
            header: AESGCM(_key(text, place))
            for place, (header, text) in enumerate(zip(self._headers, keys, strict=True))
        }

    def encrypt(self, data: bytes, place: bytes) -> str:
        """Return JSON text as text that can be read at this place alone.

        :param place: what tells the place of the value from that of every other; see :func:`place_of`.
        """
        # Spaces after it say nothing, and base64 is left without unused bits, whose change nobody would notice.
        data = data.ljust(len(data) + -(_BESIDE + len(data)) % 3)
        header, nonce = self._headers[0], os.urandom(_NONCE_BYTES)
        hidden = self._ciphers[header].encrypt(nonce, data, place)
        return t.cast(str, msgspec.to_builtins(header + nonce + hidden))

    def is_current(self, text: str) -> bool:
        """Tell whether what ``encrypt`` gave is of the first key."""
        return text.startswith(base64.b64encode(self._headers[0]).decode())

    def decrypt(self, text: object, place: bytes, name: str) -> bytes:
        """Return the JSON text that was encrypted, maybe with spaces after it.

        :param name: names the value in the error.
        :raises DecryptionFailed: if it was not encrypted, its key is not there, or text or place are other ones.
        """
        [data] = self.decrypt_all([text], [place], lambda _place: name)
        return data

    def decrypt_all(
        self, texts: cabc.Sequence[object], places: cabc.Iterable[bytes], name: cabc.Callable[[int], str]
    ) -> list[bytes]:
        """Do with many values what :meth:`decrypt` does with one.

        :param name: gives the name of the value that stands there.
        """
        opened: list[bytes] = []
        for data, place in zip(_decoded(texts), places, strict=True):
            try:
                opened.append(self._ciphers[data[_HEADER]].decrypt(data[_NONCE], data[_HIDDEN], place))
            except (KeyError, InvalidTag, ValueError) as error:
                reason = self._reason(data[_HEADER])
                raise DecryptionFailed(f"{name(len(opened))} cannot be read: {reason}") from error
        return opened

    def _reason(self, header: bytes) -> str:
        if header in self._ciphers:
            return "it was changed, or belongs to another place"
        if len(header) < _HEADER.stop or header[0] > _LATER:
            return "it is not encrypted, or was changed"
        if not header.startswith(_VERSION):
            return (
                f"it was encrypted in format {header[0]}, and this release of Flask-Chat-Memory reads none after "
                f"{_VERSION[0]}: install a newer release; or it is not encrypted, or was changed"
            )
        key = header.removeprefix(_VERSION).hex()
        return (
            f"it was encrypted with the key {key}, which is not among the keys, or was changed; "
            "add the old key to the end of the option 'keys'"
        )

    def __repr__(self) -> str:
        return f"<Cipher with {len(self._headers)} keys>"


def place_of(kind: t.Literal["message", "title", "comment", "live", "document"], *names: str) -> bytes:
    """Return the place of a value in this version of the format; the names hold no NUL."""
    return _VERSION + "\0".join((kind, *names)).encode()


def _key(text: object, place: int) -> bytes:
    try:
        key = base64.b64decode(t.cast(str, text).strip().translate(_FROM_URL), validate=True)
    except (AttributeError, ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(f"keys[{place}] is no base64 of {KEY_BYTES} bytes; make a key: {MAKE_A_KEY}")
    return key


def _key_id(key: bytes) -> bytes:
    return hashlib.blake2b(b"flask-chat-memory key id", key=key, digest_size=_KEY_ID_BYTES).digest()


def _decoded(texts: cabc.Sequence[object]) -> list[bytes]:
    """Return the bytes of texts in base64, all at once, which takes half the time; none of what is no such text."""
    try:
        return _convert(texts, list[bytes])
    except (msgspec.ValidationError, UnicodeEncodeError):
        return [_decoded([text])[0] for text in texts] if len(texts) > 1 else [b""]
