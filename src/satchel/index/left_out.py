"""What the index lacks: before something counts as not found, the files that were left out are looked at.

Only texts are opened that were left out for what they are (generated, minified, too large ...). Files that somebody
wants to keep from satchel (ignored, excluded, secret) are named by a question that names them, and never opened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from satchel.index.walk import WalkOptions, walk
from satchel.safety import sanitize
from satchel.safety.sanitize import plain_name
from satchel.store.protocol import Store
from satchel.system.files import Skipped, SkipReason, decode, read_bytes
from satchel.types import LeftOut, ShouldStop, never

MAX_BYTES, MAX_OPENED, LARGEST = 64_000_000, 500, 32_000_000
"""Bytes and files that one question opens, and bytes of one file: 64 MB are searched in about half a second."""

SEARCHED = (
    SkipReason.IN_PART, SkipReason.GENERATED, SkipReason.MINIFIED, SkipReason.TRANSLATION, SkipReason.TOO_LARGE,
    SkipReason.TOO_MANY,
)  # fmt: skip
"""Reasons of texts that a question may open, those that most likely have an answer first."""

TOLD = (*SEARCHED, *(
    SkipReason.RULED_OUT, SkipReason.EXCLUDED, SkipReason.SUBMODULE, SkipReason.NESTED_REPOSITORY,
    SkipReason.NOT_CHECKED_OUT, SkipReason.LFS_POINTER, SkipReason.ODD_NAME, SkipReason.OTHER_FILE_SYSTEM,
    SkipReason.SAVED_ANSWER, SkipReason.TOO_DEEP, SkipReason.UNREADABLE,
    SkipReason.VENDORED_TRACKED,
))  # fmt: skip
"""Reasons that an answer tells where it found nothing. Binary files and what git ignores are not expected in it."""

Find = Callable[[str], int]
"""Return the position of what is looked for in a text, -1 if it is not there."""


class Skips(NamedTuple):
    """What is left out, by reason: paths as printable text, in the order of the walk."""

    paths: Mapping[str, Sequence[str]]

    @property
    def rows(self) -> Iterator[tuple[str, str]]:
        """Each path with its reason."""
        return ((path, reason) for reason, paths in self.paths.items() for path in paths)


def skips(store: Store, root: Path, options: WalkOptions, should_stop: ShouldStop = never) -> Skips:
    """Return what a walk of the tree leaves out, and what reading the files left out."""
    return with_skipped(store, skipped_in(root, options, should_stop))


def skipped_in(root: Path, options: WalkOptions, should_stop: ShouldStop = never) -> Mapping[str, Sequence[str]]:
    """Return what a walk of the tree leaves out, by reason."""
    return walk(root, options, should_stop=should_stop).skipped_paths if root.is_dir() else {}


def with_skipped(store: Store, skipped: Mapping[str, Sequence[str]]) -> Skips:
    """Return what a walk `skipped`, and what reading the files left out."""
    paths = {reason: [*found] for reason, found in skipped.items()}
    for path, reason in store.skipped_files():
        paths.setdefault(reason, []).append(path)
    return Skips(paths)


def look_for(
    words: Sequence[str], left: Skips, root: Path, should_stop: ShouldStop = never, *, find: Find | None = None
) -> LeftOut:
    """Return which of these words (names, paths) a left-out file has or is called, and how many were not searched.

    With `find` the words only name what is looked for: the first text where it finds something has all of them.
    """
    places = {} if find is not None else _by_name(words, left)
    lacking = [word for word in words if word not in places]
    unread = Counter({reason: len(left.paths.get(reason, ())) for reason in TOLD})
    remaining = MAX_BYTES
    texts = ((path, reason) for reason in SEARCHED for path in left.paths.get(reason, ()))
    for opened, (path, reason) in enumerate(texts):
        if not lacking or opened >= MAX_OPENED or remaining <= 0 or should_stop():
            break
        try:
            raw = read_bytes(root, path, limit=min(LARGEST, remaining)).raw
        except Skipped:
            continue  # it stays among those that were not searched
        remaining -= len(raw)
        unread[reason] -= 1
        lines = _plain_lines(raw, lacking) if find is None else None
        for word, line in (_lines(raw, lacking, find) if lines is None else lines).items():
            places[word] = f"{_shown(path)}:{line} ({reason})"
        lacking = [word for word in lacking if word not in places]
    return LeftOut(places, {reason: count for reason, count in unread.items() if count} if lacking else {})


_LIKE_ASCII = "\u017f\u212a"
"""Letters that an expression which ignores case takes for `s` and `k`."""


def _plain_lines(raw: bytes, words: Sequence[str]) -> dict[str, int] | None:
    """As `_lines`, five times as fast, for words in ASCII and a text in UTF-8 with plain line ends; None for others."""
    if b"\0" in raw or not all(map(str.isascii, words)):
        return None
    text = raw.lower()
    # Most texts have none of the words, in whatever encoding: the others are checked to be in UTF-8.
    needles = [(needle, word) for word in words if (needle := word.lower().encode()) in text]
    if not needles:
        return {}
    if b"\r" in raw:
        return None
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        return None
    if any(letter in decoded for letter in _LIKE_ASCII):
        return None
    places = {}
    for needle, word in needles:
        form = re.escape(needle)
        if re.search(rb"%b(?:(?<=[\x80-\xff]%b)|(?=[\x80-\xff]))" % (form, form), text) is not None:
            return None  # perhaps a part of a longer word
        # The word comes first, because the engine skips to plain characters.
        if (match := re.search(rb"%b(?<!\w%b)(?!\w)" % (form, form), text)) is not None:
            places[word] = text.count(b"\n", 0, match.start()) + 1
    return places


def _lines(raw: bytes, words: Sequence[str], find: Find | None) -> dict[str, int]:
    """Return the line of the first occurrence of each word that a file has."""
    decoded = decode(raw)
    if decoded is None:
        return {}
    text = decoded[0]
    # Most texts lack the word, and a pattern that ignores case takes longer to say so than a search of bytes. Empty,
    # which every text has, for a word that bytes cannot compare.
    needles = {word: word.lower().encode() if find is None and word.isascii() else b"" for word in words}
    lowered = text.encode("utf-8", "replace").lower() if any(needles.values()) else b""
    found = {word: (find or _finder(word))(text) if needles[word] in lowered else -1 for word in words}
    return {word: text.count("\n", 0, at) + 1 for word, at in found.items() if at >= 0}


def _by_name(words: Sequence[str], left: Skips) -> dict[str, str]:
    """Return the left-out file or folder that a word with a dot or slash names, or that it is in."""
    wanted = {word: re.sub(r":\d+\Z", "", word).strip("/") for word in words if "/" in word or "." in word}
    places: dict[str, str] = {}
    for path, reason in left.rows if wanted else ():
        # A file that was read in part is in the index.
        for word, name in wanted.items() if reason != SkipReason.IN_PART else ():
            if word not in places and (f"/{path}".endswith(f"/{name}") or name.startswith(f"{path}/")):
                places[word] = f"{_shown(path)} ({reason})"
    return places


def _finder(word: str) -> Find:
    form = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)

    def find(text: str) -> int:
        match = form.search(text)
        return match.start() if match is not None else -1

    return find


def _shown(path: str) -> str:
    """Return a path as a field of a text; one with a secret is not shown."""
    return plain_name(path) if sanitize.unfit_path(path) is None else "a file whose name is not shown"
