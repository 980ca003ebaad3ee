"""The user's secret key, and the short marks that are derived with and without it.

The key makes content hashes useless for guessing contents, and nonces impossible to foresee for whoever wrote the
content that they enclose.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from satchel import logs
from satchel.errors import ConfigError

KEY_BYTES = 32
KEY_VARIABLE = "SATCHEL_KEY"
"""Environment variable with a key of 64 hexadecimal digits, for tests that need the same marks in every run."""

NONCE_DIGITS = 9
"""Decimal digits of a nonce: 30 bits that nobody without the key can foresee, three tokens in o200k.

Letters would cost twice the tokens for the same bits. The fence is longer than any run inside anyway: the nonce only
tells our block from one that the text imitates."""

HANDLE_BYTES = 5
"""Five bytes are exactly eight base32 characters; among 100,000 items one pair collides with a chance of 0.5 %."""


def load_key(state_folder: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the user's key of 32 bytes from `state_folder`/key; the first call ever makes it.

    Two processes that start at once get the same key. Where the folder cannot be written, the key lives as long as
    the process, and a line in the log says so: answers are complete, but their marks change from run to run. Raises
    ConfigError if `SATCHEL_KEY` is set to something that is no key.
    """
    if given := environ.get(KEY_VARIABLE):
        return _parsed(given)
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
    """The key in the file, None where there is no file or it does not hold a key. Raises OSError."""
    try:
        # Not blocking, so that a FIFO in its place does not hang; no link, so that nobody chooses the key for us.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.fchmod(descriptor, 0o600)
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    return key if len(key) == KEY_BYTES else None


def _make(path: Path) -> bytes:
    """Write a new key, unless another process was faster. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path.parent):
        if (key := _read(path)) is not None:
            return key
        key = os.urandom(KEY_BYTES)
        unfinished = path.with_name(f"key.{os.getpid()}")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                os.write(descriptor, key)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return key


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; it goes with the process, however that ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Some network file systems have no locks. Two first runs at once may then differ in their key, that once.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@cache
def _process_key(path: str, reason: str) -> bytes:
    logs.warning("key not stored, marks will differ from run to run", path=path, reason=reason)
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
