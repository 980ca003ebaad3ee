"""The user's secret key, and the nonces and handles of items.

With the key, content hashes are useless for guessing contents, and the author of a content cannot predict its nonce.
"""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from satchel.errors import ConfigError
from satchel.system import state_files, telemetry

KEY_BYTES = 32
KEY_VARIABLE = "SATCHEL_KEY"
"""Environment variable with a key of 64 hexadecimal digits, for tests that need the same marks in every run."""

NONCE_DIGITS = 9
"""Decimal digits of a nonce: 30 bits that nobody without the key can predict, three tokens in o200k.

Letters would cost twice the tokens for the same bits. The fence is longer than any run inside anyway: the nonce only
tells our block from one that the text imitates."""

HANDLE_BYTES = 5
"""Five bytes are exactly eight base32 characters; among 100,000 items one pair collides with a chance of 0.5 %."""


def load_key(state_folder: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the user's key of 32 bytes from `state_folder`/key; the first call creates it.

    Two processes that start at once get the same key. If the folder cannot be written, the key lasts as long as
    the process, with a warning in the log: answers are complete, but their marks change from run to run. Raises
    ConfigError if `SATCHEL_KEY` is set to something that is not a key.
    """
    if text := environ.get(KEY_VARIABLE):
        return _parsed(text)
    path = state_folder / "key"
    try:
        return _read(path) or _make(path)
    except OSError as error:
        return _process_key(str(path), error.strerror or type(error).__name__)


def _parsed(text: str) -> bytes:
    with contextlib.suppress(ValueError):
        key = bytes.fromhex(text)
        if len(key) == KEY_BYTES:
            return key
    raise ConfigError(f"{KEY_VARIABLE} must be {2 * KEY_BYTES} hexadecimal digits; unset it to use your own key")


def _read(path: Path) -> bytes | None:
    """Return the key in the file, or None if the file contains no key or does not exist. Raises OSError."""
    # A link is an error, so that nobody chooses the key for us.
    with contextlib.suppress(state_files.UnusableFileError):
        key = state_files.read(path, KEY_BYTES)
        if key is not None and len(key) == KEY_BYTES:
            if path.lstat().st_mode & 0o077:
                path.chmod(0o600)
            return key
    return None


def _make(path: Path) -> bytes:
    """Write a new key, unless another process was faster. Raises OSError."""
    state_files.make_folder(path.parent)
    with state_files.locked(path.parent):
        if (key := _read(path)) is not None:
            return key
        key = os.urandom(KEY_BYTES)
        state_files.replace(path, key, durable=True)
        return key


@cache
def _process_key(path: str, reason: str) -> bytes:
    telemetry.warning("key not stored, marks will differ from run to run", path=path, reason=reason)
    return os.urandom(KEY_BYTES)


def nonce(key: bytes, item_id: str, content: str) -> str:
    """Return the mark of an item's block: `NONCE_DIGITS` decimal digits that do not occur in `content`.

    The same key, id and content give the same nonce, so an unchanged item keeps its bytes.
    """
    content_hash = blake2b(_bytes(content), digest_size=32).digest()
    attempt = 0
    while True:
        drawn = blake2b(
            b"%b\0%b\0%d" % (_bytes(item_id), content_hash, attempt), key=key, digest_size=16, person=b"satchel nonce"
        )
        digits = f"{int.from_bytes(drawn.digest()) % 10**NONCE_DIGITS:0{NONCE_DIGITS}d}"
        if digits not in content:
            return digits
        attempt += 1


def handle(item_id: str, content_hash: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the name under which an item can be asked for again: 8 lower-case base32 characters.

    It needs no key: the same item, content and lines have the same handle for every user.
    """
    lines = ",".join(f"{start}-{end}" for start, end in spans)
    parts = b"\0".join(map(_bytes, (item_id, content_hash, lines)))
    digest = blake2b(parts, digest_size=HANDLE_BYTES, person=b"satchel handle").digest()
    return base64.b32encode(digest).decode("ascii").lower()


def _bytes(text: str) -> bytes:
    # An id may hold a path that is not UTF-8, which Python keeps as lone surrogates.
    return text.encode("utf-8", "surrogatepass")
