"""The cipher: keys, places, what was changed."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ConfigurationError
from flask_chat_memory import DecryptionFailed
from flask_chat_memory.encryption import Cipher
from flask_chat_memory.encryption import place_of

from .encryption import NEW
from .encryption import OLD
from .encryption import OTHER

HERE = place_of("message", "user:1", "default", "thread-1", "m-1")


@given(st.text(max_size=99), st.binary(max_size=99))
def test_what_is_encrypted_is_decrypted_at_its_place_and_at_no_other(text: str, place: bytes) -> None:
    cipher = Cipher([NEW])
    hidden = cipher.encrypt(json.dumps(text).encode(), place)
    assert hidden.isascii()
    assert json.loads(cipher.decrypt(hidden, place, "it")) == text
    with pytest.raises(DecryptionFailed, match="another place"):
        cipher.decrypt(hidden, place + b"x", "it")


def test_the_same_text_never_looks_the_same() -> None:
    cipher = Cipher([NEW])
    assert len({cipher.encrypt(b"yes", HERE)[12:] for _ in range(100)}) == 100


@pytest.mark.parametrize("length", range(6))
def test_every_change_of_a_bit_is_noticed(length: int) -> None:
    cipher = Cipher([NEW])
    hidden = cipher.encrypt(b"x" * length, HERE)
    for place in range(len(hidden)):
        for bit in range(7):
            changed = hidden[:place] + chr(ord(hidden[place]) ^ (1 << bit)) + hidden[place + 1 :]
            with pytest.raises(DecryptionFailed):
                cipher.decrypt(changed, HERE, "it")


def test_what_was_cut_off_or_added_is_noticed() -> None:
    cipher = Cipher([NEW])
    hidden = cipher.encrypt(b"text", HERE)
    added = [hidden + more for more in ("=", "\n", "A", "AAAA", hidden)]
    for changed in [*(hidden[:end] for end in range(len(hidden))), f"\n{hidden}", *added]:
        with pytest.raises(DecryptionFailed):
            cipher.decrypt(changed, HERE, "it")


@pytest.mark.parametrize("value", ["", "in clear", "Größe", "\ud800", None, 1, ["AQ=="], "AQ==", b"AQ=="])
def test_what_was_never_encrypted_is_not_taken_for_text(value: object) -> None:
    with pytest.raises(DecryptionFailed, match="is not encrypted"):
        Cipher([NEW]).decrypt(value, HERE, "it")


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    before = Cipher([OLD]).encrypt(b"before", HERE)
    both = Cipher([NEW, OLD])
    after = both.encrypt(b"after", HERE)
    assert both.decrypt(before, HERE, "it").rstrip() == b"before"
    assert Cipher([NEW]).decrypt(after, HERE, "it").rstrip() == b"after"
    with pytest.raises(DecryptionFailed, match="add the old key to the end of the option 'keys'"):
        Cipher([NEW]).decrypt(before, HERE, "it")


def test_another_key_under_the_same_id_does_not_do() -> None:
    cipher, other = Cipher([NEW]), Cipher([OTHER])
    data = base64.b64decode(cipher.encrypt(b"text", HERE))
    header = base64.b64decode(other.encrypt(b"text", HERE))[:9]
    with pytest.raises(DecryptionFailed):
        other.decrypt(base64.b64encode(header + data[9:]).decode(), HERE, "it")


@pytest.mark.parametrize(
    "key",
    [
        "",
        "short",
        NEW[:-4],
        NEW + NEW,
        "!" * 44,
        base64.b64encode(b"x" * 16).decode(),
        base64.b64encode(b"x" * 33).decode(),
    ],
)
def test_what_is_no_key_is_refused_with_the_cure_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match=r"keys\[1\] is no base64 of 32 bytes; make a key: python") as caught:
        Cipher([NEW, key])
    assert len(key) < 6 or key not in str(caught.value)


def test_no_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="keys is empty; make a key: python"):
        Cipher([])


def test_a_key_may_be_written_for_urls_and_with_a_line_break() -> None:
    raw = bytes(range(224, 256))
    hidden = Cipher([base64.b64encode(raw).decode()]).encrypt(b"text", HERE)
    assert Cipher([base64.urlsafe_b64encode(raw).decode() + "\n"]).decrypt(hidden, HERE, "it").rstrip() == b"text"


def test_the_line_that_makes_a_key_makes_one() -> None:
    code = "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"
    made = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    Cipher([run.stdout for run in made])
    assert made[0].stdout != made[1].stdout


def test_a_cipher_does_not_show_its_keys() -> None:
    assert NEW not in repr(Cipher([NEW]))
