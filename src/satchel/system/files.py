"""Safe reading of workspace files, and what their names say.

Nothing else in satchel opens a file of a workspace. A path is opened one folder at a time from the root, and each step
refuses symbolic links, so no byte from outside the root is ever read, not even if a folder is replaced by a link
between two steps. Only regular files are read, without blocking, and never more than `limit` + 1 bytes.

On systems without the needed calls (Windows) the path is resolved and checked instead: a swap exactly between the
check and the open is then not noticed.

This module imports nothing of satchel but `text`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from satchel.text import pattern


class SkipReason(StrEnum):
    """Why a file or a folder was left out, or read in part. The value is the word in reports and counts."""

    BINARY = "binary"
    EXCLUDED = "excluded"
    GENERATED = "generated"
    HIDDEN = "hidden"
    IGNORED = "ignored"
    IN_PART = "read-in-part"
    LFS_POINTER = "lfs-pointer"
    MINIFIED = "minified"
    NESTED_REPOSITORY = "nested-repository"
    NOT_CHECKED_OUT = "not-checked-out"
    ODD_NAME = "odd-name"
    OTHER_FILE_SYSTEM = "other-file-system"
    OUTSIDE_ROOT = "outside-root"
    RULED_OUT = "ignored-tracked"
    SAVED_ANSWER = "saved-answer"
    SECRET_FILE = "secret-file"  # noqa: S105 - a reason, not a password
    SPECIAL_FILE = "special-file"
    STORE = "store"
    SUBMODULE = "submodule"
    SYMLINK = "symlink"
    TOO_DEEP = "too-deep"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"
    TRANSLATION = "translation"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    VENDORED = "vendored"
    VENDORED_TRACKED = "vendored-tracked"

    @property
    def is_error(self) -> bool:
        """True where something went wrong, false where leaving it out was the intention."""
        return self is SkipReason.UNREADABLE


class Skipped(Exception):  # noqa: N818 - an outcome that every caller counts, not a fault
    """A file that was not read, with the reason; the message includes that of the system, if any."""

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason

    @property
    def is_error(self) -> bool:
        """True where something went wrong, false where leaving the file out was the intention."""
        return self.reason.is_error


class FileBytes(Struct, frozen=True):
    """The bytes of one file; `size` is that of the file, larger where only its head was read.

    Its times in nanoseconds were taken before reading, so a change meanwhile shows as a newer time: `mtime_ns`, which
    any program may set back, and `changed_ns` (of the inode), which only the system sets.
    """

    raw: bytes
    mtime_ns: int
    changed_ns: int
    size: int


class FileText(Struct, frozen=True):
    r"""The text of one file, or with `is_part` of its head.

    `text` has no byte order mark and only `\n` as line end: line n is `text.split("\n")[n - 1]` (never
    `splitlines`, which also breaks at form feeds and other separators). `content_hash` is keyed and taken on the raw
    bytes that gave this text; `size` is that of the whole file. `lossy` means that some bytes were not valid in
    `encoding` and are replaced by U+FFFD.
    """

    text: str
    content_hash: str
    size: int
    mtime_ns: int
    changed_ns: int
    encoding: str
    lossy: bool
    is_part: bool = False


_BYTE_ORDER_MARKS = (
    (BOM_UTF8, "utf-8-sig"),
    # UTF-32 first: its little-endian mark starts with the one of UTF-16.
    (BOM_UTF32_LE, "utf-32"),
    (BOM_UTF32_BE, "utf-32"),
    (BOM_UTF16_LE, "utf-16"),
    (BOM_UTF16_BE, "utf-16"),
)


def read_text(root: Path, relative: str, *, key: bytes, limit: int, head: int = 0) -> FileText:
    """Read and decode one file below `root`. Raises Skipped, and no other error of the disk.

    `relative` uses forward slashes; `limit` and `head` are as in `read_bytes`; with `key` (up to 64 bytes) the hash is
    useless for guessing contents.
    """
    file = read_bytes(root, relative, limit=limit, head=head)
    decoded = decode(file.raw)
    if decoded is None:
        raise Skipped(SkipReason.BINARY)
    text, encoding, lossy = decoded
    hashed = content_hash(file.raw, key)
    is_part = len(file.raw) < file.size
    return FileText(text, hashed, file.size, file.mtime_ns, file.changed_ns, encoding, lossy, is_part)


def read_bytes(root: Path, relative: str, *, limit: int, head: int = 0) -> FileBytes:
    """Read the bytes of one regular file below `root`, at most `limit` of them. Raises Skipped.

    Of a larger file the lines in its first `head` bytes are read; without a `head` it is skipped.
    """
    parts = _parts(relative)
    try:
        descriptor = _open_beneath(root, parts) if _CAN_WALK else _open_resolved(root, parts)
    except OSError as error:
        raise _skipped(error, root, parts) from error
    try:
        return _read_regular(descriptor, limit, head)
    except OSError as error:
        raise Skipped(SkipReason.UNREADABLE, error.strerror or "") from error
    finally:
        os.close(descriptor)


def stamp(root: Path, relative: str) -> tuple[int, int, int] | None:
    """Return (size in bytes, mtime_ns, changed_ns), or None if there is no regular file. Opens nothing."""
    try:
        status = os.lstat(os.path.join(root, *_parts(relative)))  # noqa: PTH118 - a third of the time of a Path
    except (OSError, Skipped):
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns) if stat.S_ISREG(status.st_mode) else None


def decode(raw: bytes) -> tuple[str, str, bool] | None:
    r"""Turn bytes into (text, encoding, lossy), or None if they are not text.

    A byte order mark decides between UTF-8, UTF-16 and UTF-32; without one it is UTF-8. What is not has the encoding
    that its first two lines declare (`coding: latin-1`), else Windows-1252 if few characters are outside of ASCII and
    none of these is UTF-8; else it is lossy. A NUL makes it binary, except a few in a text that has no other control
    characters (they become U+FFFD), and those of UTF-16. `\r\n` and a lone `\r` become `\n`, one for one, so line
    numbers stay those of an editor.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if raw.startswith(mark)), "utf-8")
    lossy = False
    if b"\0" in raw and encoding in ("utf-8", "utf-8-sig"):
        encoding = _despite_nul(raw, encoding)
        if not encoding:
            return None
        if not encoding.startswith("utf-16"):
            raw, lossy = raw.replace(b"\0", "\ufffd".encode()), True
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text, encoding, lossy = _otherwise(raw, encoding)
    if "\0" in text:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding, lossy


_NO_TEXT = pattern(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Control characters that no text has, NUL apart."""

_MAX_NULS = 1 / 20
"""Largest share of NUL bytes in a text with an accident: a test of a parser, a line of a broken editor."""


def _despite_nul(raw: bytes, encoding: str) -> str:
    """Return the encoding of a text with NUL bytes, empty for what is not a text."""
    nuls = raw.count(0)
    if nuls <= len(raw) * _MAX_NULS:
        with contextlib.suppress(UnicodeDecodeError):
            raw.decode(encoding)
            return "" if _NO_TEXT.search(raw) else encoding
    # UTF-16 without a mark: of Western text nearly each second byte is NUL, on one side alone.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        high, low = raw[start::2], raw[1 - start :: 2]
        if len(high) == len(low) and high.count(0) > len(high) * 0.8 and not low.count(0) and not _NO_TEXT.search(low):
            with contextlib.suppress(UnicodeDecodeError):
                raw.decode(name)
                return name
    return ""


_DECLARED = pattern(
    rb"coding[:=]\s*(iso[-_]?8859[-_]\d+|latin[-_]?\d+|(?:cp|windows-)\d{3,4}|koi8[-_][ru]|shift[-_]jis|euc[-_](?:jp|kr)"
    rb"|gbk|gb2312|gb18030|big5)",
    re.IGNORECASE,
)
"""Declared encodings that are tried: those that keep the lines of a file as they are (`unicode_escape` does not)."""


def _otherwise(raw: bytes, encoding: str) -> tuple[str, str, bool]:
    """Return bytes that are not of this encoding as text, with their encoding, and whether characters were lost."""
    replaced = raw.decode(encoding, "replace")
    declared = _DECLARED.search(b"\n".join(raw.split(b"\n", 2)[:2])) if encoding == "utf-8" else None
    guesses = [declared[1].decode()] if declared is not None else []
    letters = replaced.replace("\ufffd", "")
    # Western texts have few accents; others have more characters outside of ASCII than inside.
    if encoding == "utf-8" and letters.isascii() and (len(replaced) - len(letters)) * 4 <= len(letters):
        guesses.append("cp1252")
    for guess in guesses:
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            return raw.decode(guess), guess, False
    return replaced, encoding, True


def content_hash(raw: bytes, key: bytes) -> str:
    """Return the keyed hash of the bytes of a file, 32 hexadecimal digits."""
    return blake2b(raw, key=key, digest_size=16).hexdigest()


_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ_FILE = _READ | getattr(os, "O_NOFOLLOW", 0)
# O_PATH asks only for the right to pass through a folder, not for the right to list it.
_ENTER_ROOT = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_ENTER = _ENTER_ROOT | getattr(os, "O_NOFOLLOW", 0)
_CAN_WALK = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")


def _parts(relative: str) -> list[str]:
    """Return the steps of a relative path. Raises Skipped if it could lead out of the root."""
    parts = relative.split("/")
    strange = os.name == "nt" and any("\\" in part or ":" in part for part in parts)
    if strange or "\0" in relative or any(part in ("", ".", "..") for part in parts):
        raise Skipped(SkipReason.OUTSIDE_ROOT)
    return parts


def _open_beneath(root: Path, parts: list[str]) -> int:
    """Open a file step by step from the root; no step follows a link. Raises OSError."""
    folder = os.open(root, _ENTER_ROOT)
    try:
        for part in parts[:-1]:
            deeper = os.open(part, _ENTER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return os.open(parts[-1], _READ_FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _open_resolved(root: Path, parts: list[str]) -> int:
    """Open a file after resolving its folder, for systems without `openat`. Raises OSError."""
    try:
        parent, top = Path(root, *parts[:-1]).resolve(strict=True), root.resolve(strict=True)
    except RuntimeError as error:  # Python 3.11 and 3.12 say this of a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
    expected = top.joinpath(*parts[:-1])
    if os.path.normcase(parent) != os.path.normcase(expected):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    path = parent / parts[-1]
    before = path.lstat()
    if stat.S_ISLNK(before.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(before.st_mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    descriptor = os.open(path, _READ_FILE)
    after = os.fstat(descriptor)
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor


def _read_regular(descriptor: int, limit: int, head: int) -> FileBytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Skipped(SkipReason.SPECIAL_FILE)
    if status.st_size > limit:
        if not head:
            raise Skipped(SkipReason.TOO_LARGE)
        raw = _head(os.read(descriptor, head))
        return FileBytes(raw, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    # One byte more than the size: a short answer proves the end of the file without a second call.
    raw = os.read(descriptor, status.st_size + 1)
    if len(raw) != status.st_size:  # it changes
        pieces, total = [raw], len(raw)
        while total <= limit and (piece := os.read(descriptor, min(1 << 20, limit + 1 - total))):
            pieces.append(piece)
            total += len(piece)
        raw = b"".join(pieces)
    if len(raw) > limit:
        raise Skipped(SkipReason.TOO_LARGE)
    return FileBytes(raw, status.st_mtime_ns, status.st_ctime_ns, len(raw))


def _head(raw: bytes) -> bytes:
    """Return the whole lines at the start of a file. Raises Skipped if there is none."""
    end = raw.rfind(b"\n") + 1
    if not end:
        raise Skipped(SkipReason.TOO_LARGE)
    return raw[:end]


def _skipped(error: OSError, root: Path, parts: list[str]) -> Skipped:
    """Return the reason of a failed open. Linux reports ENOTDIR for a link in place of a folder, so check for links."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        steps = (Path(root, *parts[:end]) for end in range(1, len(parts) + 1))
        is_link = error.errno == errno.ELOOP or any(step.is_symlink() for step in steps)
        return Skipped(SkipReason.SYMLINK if is_link else SkipReason.VANISHED)
    if error.errno == errno.ENOENT:
        return Skipped(SkipReason.VANISHED)
    if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):
        return Skipped(SkipReason.SPECIAL_FILE)
    return Skipped(SkipReason.UNREADABLE, error.strerror or "")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET_NAMES = _words("""
    .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials .dockercfg .s3cfg
    .boto .vault-token .terraformrc terraform.rc .envrc kubeconfig .kubeconfig id_rsa id_dsa id_ecdsa id_ed25519
    id_ecdsa_sk id_ed25519_sk application_default_credentials.json credentials.tfrc.json master.key
""")
_SECRET_SUFFIXES = tuple(
    _words(".pem .key .p12 .pfx .jks .keystore .kdb .kdbx .ppk .ovpn .pkcs12 .tfstate .tfstate.backup .kubeconfig")
)
# The last two steps of a path.
_SECRET_PATHS = _words("""
    .aws/credentials .aws/config .kube/config .docker/config.json .cargo/credentials .cargo/credentials.toml
    .gem/credentials .composer/auth.json .m2/settings.xml .azure/accesstokens.json gh/hosts.yml
""")
_SECRET_FOLDERS = frozenset((".ssh", ".gnupg"))
_CLIENT_SECRET = pattern(r"(?:client_secret|service[-_]?account)[^/]*\.json")
_SAMPLE = pattern(r"(?:^|[._-])(?:example|sample|template|tmpl|dist|defaults?|schema)(?:$|[._-])")


@lru_cache(maxsize=16_384)  # paths, as each question walks the tree
def is_secret_file(path: str) -> bool:
    """Return whether a file is by its path for secrets, and never read. Samples and public keys are not."""
    steps = path.lower().rsplit("/", 2)[-2:]
    name = steps[-1]
    if steps[0] in _SECRET_FOLDERS and len(steps) == 2:
        return not name.endswith(".pub")
    environment = name.startswith(".env") and name[4:5] in ("", ".", "-", "_")
    if environment or name.endswith(".env"):
        return not _SAMPLE.search(name)
    return (
        name in _SECRET_NAMES
        or name.endswith(_SECRET_SUFFIXES)
        or "/".join(steps) in _SECRET_PATHS
        or (name.endswith(".json") and _CLIENT_SECRET.fullmatch(name) is not None)
    )


_UNPRINTABLE = pattern("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def is_odd_name(name: str) -> bool:
    """Return whether a name is not valid UTF-8 or contains control characters or line separators."""
    return not (name.isascii() and name.isprintable()) and _UNPRINTABLE.search(name) is not None


def escape_name(name: str) -> str:
    r"""Return a file name as text that is valid in every terminal, database and JSON writer: `bad\xff.py`."""
    return _UNPRINTABLE.sub(_escape_character, name) if is_odd_name(name) else name


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    # Python keeps a byte that is not UTF-8 as a surrogate from U+DC80 up.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else ascii(match[0])[1:-1]
