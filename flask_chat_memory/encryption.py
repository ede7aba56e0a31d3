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
_HEADER_END = len(_VERSION) + _KEY_ID_BYTES
_NONCE_END = _HEADER_END + 12
_LAST = {1: "AEIMQUYcgkosw048", 2: "AQgw"}
"""What can stand before so many signs of padding: the unused bits are zero."""
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
        """Return the data as text that can be read at this place alone.

        :param place: what tells the place of the value from that of every other.
        """
        header, nonce = self._headers[0], os.urandom(_NONCE_END - _HEADER_END)
        hidden = self._ciphers[header].encrypt(nonce, data, header + place)
        return base64.b64encode(header + nonce + hidden).decode()

    def is_current(self, text: str) -> bool:
        """Tell whether what ``encrypt`` gave is of the first key."""
        return text.startswith(base64.b64encode(self._headers[0]).decode())

    def decrypt(self, text: object, place: bytes) -> bytes:
        """Return what was encrypted.

        :raises DecryptionFailed: if it was not encrypted, its key is not there, or text or place are other ones.
        """
        try:
            data = _convert(text, bytes) if type(text) is str else b""
        except (msgspec.ValidationError, UnicodeEncodeError):
            data = b""
        header = data[:_HEADER_END]
        cipher = self._ciphers.get(header)
        if cipher is None or not _is_whole(t.cast(str, text)):
            raise _unreadable(data)
        try:
            return cipher.decrypt(data[_HEADER_END:_NONCE_END], data[_NONCE_END:], header + place)
        except (InvalidTag, ValueError) as error:
            raise DecryptionFailed("it was changed, or belongs to another place") from error

    def __repr__(self) -> str:
        return f"<Cipher with {len(self._headers)} keys>"


def place_of(kind: t.Literal["message", "title", "comment", "live", "document"], *names: str) -> bytes:
    """Return the place of a value; the names hold no NUL."""
    return "\0".join((kind, *names)).encode()


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


def _is_whole(text: str) -> bool:
    """Tell whether base64 is as it was written: the unused bits at its end are zero."""
    return text[-1] != "=" or text.rstrip("=")[-1] in _LAST[text.count("=", -2)]


def _unreadable(data: bytes) -> DecryptionFailed:
    if len(data) < _NONCE_END or not data.startswith(_VERSION):
        if len(data) >= _NONCE_END and data[0] <= _LATER:
            return DecryptionFailed(
                f"it was encrypted in format {data[0]}, and this release of Flask-Chat-Memory reads none after "
                f"{_VERSION[0]}: install a newer release; or it is not encrypted, or was changed"
            )
        return DecryptionFailed("it is not encrypted, or was changed")
    key = data[len(_VERSION) : _HEADER_END].hex()
    return DecryptionFailed(
        f"it was encrypted with the key {key}, which is not among the keys, or was changed; "
        "add the old key to the end of the option 'keys'"
    )
