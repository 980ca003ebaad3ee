"""The user's secret key, the marks of items that it makes, the workspaces that the user trusts, and trust levels.

With the key, content hashes are useless for guessing contents, and the author of a content cannot predict its nonce.

The level *satchel* is our own frame, *guidance* is an instruction file of a trusted workspace, *data* is everything
else. Trust is a file in the state folder of the user, one for each workspace, so that nothing inside a workspace can
grant it, and no text can raise its own level.

A mark is valid for one folder and, if that is a git work tree, for the path of its repository. Another work tree of
the same repository is not trusted, because its branch may hold other files; a folder that becomes part of another
repository is no longer trusted. The files of a folder are not examined: they may change after it was trusted.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import stat
import time
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from satchel.errors import ConfigError, UsageError
from satchel.system import git, state_files, telemetry
from satchel.system.files import Skipped, escape_name, read_bytes
from satchel.types import Kind, Trust

KEY_BYTES = 32
KEY_VARIABLE = "SATCHEL_KEY"
"""Environment variable with a key of 64 hexadecimal digits, for tests that need the same marks in every run."""

NONCE_DIGITS = 9
"""Decimal digits of a nonce: 30 bits that nobody without the key can predict, three tokens in o200k.

Letters would cost twice the tokens for the same bits. The fence is longer than any run inside anyway: the nonce only
tells our block from one that the text imitates."""


def load_key(state_folder: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the user's key of 32 bytes from `state_folder`/key; the first call creates it.

    Two processes that start at once get the same key. If the folder cannot be written, the key lasts as long as
    the process, with a warning in the log: answers are complete, but their marks change from run to run. Raises
    ConfigError if `SATCHEL_KEY` is set to something that is not a key.
    """
    if text := environ.get(KEY_VARIABLE):
        return _parsed_key(text)
    path = state_folder / "key"
    try:
        return _read_key(path) or _make_key(path)
    except OSError as error:
        return _process_key(str(path), error.strerror or type(error).__name__)


def _parsed_key(text: str) -> bytes:
    with contextlib.suppress(ValueError):
        key = bytes.fromhex(text)
        if len(key) == KEY_BYTES:
            return key
    raise ConfigError(f"{KEY_VARIABLE} must be {2 * KEY_BYTES} hexadecimal digits; unset it to use your own key")


def _read_key(path: Path) -> bytes | None:
    """Return the key in the file, or None if the file contains no key or does not exist. Raises OSError."""
    # A link is an error, so that nobody chooses the key for us.
    with contextlib.suppress(state_files.UnusableFileError):
        key = state_files.read(path, KEY_BYTES)
        if key is not None and len(key) == KEY_BYTES:
            if path.lstat().st_mode & 0o077:
                path.chmod(0o600)
            return key
    return None


def _make_key(path: Path) -> bytes:
    """Write a new key, unless another process was faster. Raises OSError."""
    state_files.make_folder(path.parent)
    with state_files.locked(path.parent):
        if (key := _read_key(path)) is not None:
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
    # Five bytes are exactly eight base32 characters; among 100,000 items one pair collides with a chance of 0.5 %.
    digest = blake2b(parts, digest_size=5, person=b"satchel handle").digest()
    return base64.b32encode(digest).decode("ascii").lower()


def _bytes(text: str) -> bytes:
    # An id may hold a path that is not UTF-8, which Python keeps as lone surrogates.
    return text.encode("utf-8", "surrogatepass")


FOLDER = "trusted"

_DIGEST_BYTES = 16

MEANING = (
    "Instruction files of this folder (AGENTS.md, CLAUDE.md and the like) are then shown to agents as guidance to "
    "follow. All other text stays data. Trust a folder only if you would run its build scripts."
)
"""An explanation of trust, shown before a folder is trusted."""

GUIDANCE_ORIGIN = "instructions"
"""The origin of chunks that were read from instruction files of the workspace itself."""


class TrustMark(Struct, frozen=True):
    """A workspace that is trusted: its root, the path of its repository (empty without git), and the time (seconds)."""

    root: str
    repository: str
    since: float


def is_trusted(root: Path, state_folder: Path) -> bool:
    """Return whether the user trusts this root as it is now; false if the mark cannot be read."""
    if not root.is_dir():
        return False  # the root is an export of notes, which gives no instructions
    identity = _identity(root)
    mark = _read_mark(state_folder, _name(*identity))
    return mark is not None and (mark.root, mark.repository) == identity


def trust(root: Path, state_folder: Path, now: float | None = None) -> TrustMark:
    """Trust a root. One that is trusted already keeps its mark. Raises UsageError, OSError."""
    identity = _identity(root)
    earlier = _read_mark(state_folder, _name(*identity))
    if earlier is not None and (earlier.root, earlier.repository) == identity:
        return earlier
    mark = TrustMark(*identity, time.time() if now is None else now)
    path = state_folder / FOLDER / _name(*identity)
    state_files.make_folder(path.parent)
    state_files.replace(path, json.dumps(asdict(mark)).encode("ascii"), durable=True)
    return mark


def distrust(root: Path, state_folder: Path) -> list[TrustMark]:
    """Remove every mark of this folder, also those of former repositories in it. Raises OSError."""
    resolved = _text_of(root)
    gone = [mark for mark in trusted_roots(state_folder) if mark.root == resolved]
    for mark in gone:
        (state_folder / FOLDER / _name(mark.root, mark.repository)).unlink(missing_ok=True)
    return gone


def trusted_roots(state_folder: Path) -> list[TrustMark]:
    """Return all marks by root, whether their folders still exist or not."""
    try:
        names = sorted(path.name for path in (state_folder / FOLDER).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    marks = [mark for name in names if (mark := _read_mark(state_folder, name)) is not None]
    # A mark counts only under its own name: a copy under another one would outlive its removal.
    by_identity = {(mark.root, mark.repository): mark for mark in marks if _name(mark.root, mark.repository) in names}
    return [by_identity[identity] for identity in sorted(by_identity)]


def trust_of(kind: Kind, origin: str, *, trusted: bool) -> Trust:
    """Return the level of an item by its kind, its origin, and whether its workspace is trusted.

    Only an instruction file of the workspace is ever guidance, never a memory, commit or document.
    """
    is_guidance = kind is Kind.CONTEXT and origin == GUIDANCE_ORIGIN and trusted
    return Trust.GUIDANCE if is_guidance else Trust.DATA


def _identity(root: Path) -> tuple[str, str]:
    """Return the root and the common directory of its repository, both resolved. Raises UsageError for no folder."""
    resolved = root.resolve()
    if not resolved.is_dir():
        raise UsageError(f"{escape_name(str(root))} is not a folder: name the root of a workspace")
    repository = git.find_repository(resolved)
    return _text_of(resolved), str(repository.common_dir.resolve()) if repository is not None else ""


def _text_of(path: Path) -> str:
    return str(path.resolve())


def _name(root: str, repository: str) -> str:
    """Return the file name of a mark; paths that are not UTF-8 have one as well."""
    identity = b"\0".join(os.fsencode(part) for part in (root, repository))
    return f"{blake2b(identity, digest_size=_DIGEST_BYTES).hexdigest()}.json"


def _read_mark(state_folder: Path, name: str) -> TrustMark | None:
    """Return the mark of this name, None unless it is sound and belongs to the user."""
    folder = state_folder / FOLDER
    try:
        status = folder.lstat()
        # Maximum size of a mark: two paths of at most 4,096 bytes each; a byte is at most six in JSON.
        raw = read_bytes(folder, name, limit=32_000).raw
        data = json.loads(raw)
        if not stat.S_ISDIR(status.st_mode) or not _is_own(status) or not _is_own((folder / name).lstat()):
            return None
        return TrustMark(str(data["root"]), str(data["repository"]), float(data["since"]))
    except (OSError, Skipped, ValueError, KeyError, TypeError):
        return None


def _is_own(status: os.stat_result) -> bool:
    """Return whether only this user could have written it; true on systems without user ids."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
