"""The rules that decide which files are left out of the index: ignore files, generated and binary names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct, field

from satchel.system.files import SkipReason
from satchel.system.globs import WILD, translate
from satchel.text import word_lists

WILDCARD_LIMIT = 5_000
"""Patterns with wildcards in one file of rules; later ones are dropped, against files made to be slow. The largest
honest file seen has 600."""

GLOB_LIMIT = 4_096
"""Characters of one pattern; longer ones are dropped, as no path is longer."""


class Rules:
    """The patterns of one file of rules, compiled once.

    `base` is the folder that the patterns are relative to, as a prefix of the paths given to `match` (`""` or
    `"src/"`); for rules of a folder above the root, `above` is the path from there to the root (`"sub/"`).
    `dropped` counts the patterns over one of the limits.
    """

    __slots__ = ("_above", "_base_length", "_for_files", "_for_folders", "_negated", "dropped")

    def __init__(self, lines: Iterable[str], *, base: str = "", above: str = "") -> None:
        self._base_length = len(base)
        self._above = above
        self._negated: list[bool] = []
        self._for_files = _Matcher()
        self._for_folders = _Matcher()
        self.dropped = 0
        wildcards = 0
        for pattern in filter(None, map(_parse_line, lines)):
            wildcards += pattern.is_wild
            if pattern.is_wild and (wildcards > WILDCARD_LIMIT or len(pattern.glob) > GLOB_LIMIT):
                self.dropped += 1
                continue
            self._for_folders.add(pattern, len(self._negated))
            if not pattern.only_folders:
                self._for_files.add(pattern, len(self._negated))
            self._negated.append(pattern.negated)

    def __len__(self) -> int:
        return len(self._negated)

    def match(self, name: str, path: str, *, is_folder: bool) -> bool | None:
        """Return True for ignored, False for re-included by a `!` pattern, None if no pattern matches.

        The last pattern that matches decides. `name` is the last step of `path`; `path` is relative to the root.
        """
        matcher = self._for_folders if is_folder else self._for_files
        index = matcher.find(name, self._above + path[self._base_length :])
        return None if index < 0 else not self._negated[index]


def parse_rules(raw: bytes, *, base: str = "", above: str = "") -> Rules:
    r"""Compile the bytes of a file of rules. A byte order mark is dropped; a line may end in `\r\n`."""
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return Rules((line.removesuffix("\r") for line in text.split("\n")), base=base, above=above)


class _Pattern(Struct, frozen=True):
    """One line: `glob` without `!`, the leading and the trailing slash."""

    glob: str
    negated: bool
    only_folders: bool
    only_name: bool
    is_wild: bool


def _parse_line(line: str) -> _Pattern | None:
    """Read one line as git does, or None for an empty line, a comment, or a pattern that can match nothing."""
    if line.startswith("#"):
        return None
    line = _strip_spaces(line.partition("\0")[0])
    negated = line.startswith("!")
    glob = line[negated:]
    only_folders = glob.endswith("/")
    glob = glob.removesuffix("/")
    only_name = "/" not in glob
    glob = glob.removeprefix("/")
    return _Pattern(glob, negated, only_folders, only_name, WILD.search(glob) is not None) if glob else None


def _strip_spaces(line: str) -> str:
    """Drop the blanks at the end, except an escaped one."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and kept != line else kept


class _Matcher(Struct):
    """Finds the last pattern that matches. Patterns are sorted by shape; their indexes ascend with the lines."""

    names: dict[str, int] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    endings: dict[str, int] = field(default_factory=dict)
    beginnings: dict[str, int] = field(default_factory=dict)
    name_globs: list[tuple[str, int]] = field(default_factory=list)
    path_globs: list[tuple[str, int]] = field(default_factory=list)
    all_endings: tuple[str, ...] = ()
    all_beginnings: tuple[str, ...] = ()
    name_expression: re.Pattern[str] | None = None
    path_expression: re.Pattern[str] | None = None
    is_compiled: bool = False

    def add(self, pattern: _Pattern, index: int) -> None:
        """Add a pattern; its index is greater than all before."""
        glob = pattern.glob
        if not pattern.is_wild:
            (self.names if pattern.only_name else self.paths)[glob] = index
        elif not pattern.only_name:
            self.path_globs.append((glob, index))
        elif glob[0] == "*" and not WILD.search(glob, 1):
            self.endings[glob[1:]] = index
        elif glob[-1] == "*" and not WILD.search(glob[:-1]):
            self.beginnings[glob[:-1]] = index
        else:
            self.name_globs.append((glob, index))

    def find(self, name: str, path: str) -> int:
        """Return the index of the last pattern that matches, or -1."""
        if not self.is_compiled:
            self._compile()
        last = self.names.get(name, -1)
        if self.all_endings and name.endswith(self.all_endings):
            last = max(last, *(index for ending, index in self.endings.items() if name.endswith(ending)))
        if self.all_beginnings and name.startswith(self.all_beginnings):
            last = max(last, *(index for start, index in self.beginnings.items() if name.startswith(start)))
        if self.name_expression is not None:
            last = max(last, _last_match(self.name_expression, name, self.name_globs))
        if self.paths:
            last = max(last, self.paths.get(path, -1))
        if self.path_expression is not None:
            last = max(last, _last_match(self.path_expression, path, self.path_globs))
        return last

    def _compile(self) -> None:
        """Compile at the first match: many files of rules are read for folders without files."""
        self.all_endings, self.all_beginnings = tuple(self.endings), tuple(self.beginnings)
        self.name_expression = _alternatives(self.name_globs)
        self.path_expression = _alternatives(self.path_globs)
        self.is_compiled = True


def _alternatives(globs: list[tuple[str, int]]) -> re.Pattern[str] | None:
    """Return an expression whose n-th group is the n-th pattern from the end: the last pattern is tried first."""
    if not globs:
        return None
    return re.compile("|".join(f"({translate(glob)})" for glob, _ in reversed(globs)), re.DOTALL)


def _last_match(expression: re.Pattern[str], text: str, globs: list[tuple[str, int]]) -> int:
    match = expression.fullmatch(text)
    return -1 if match is None or match.lastindex is None else globs[-match.lastindex][1]


_NAMES = word_lists("file_names.txt")
_VISIBLE_FOLDERS, _VISIBLE_FILES, _VENDOR_FOLDERS, _GENERATED_NAMES = (
    frozenset(_NAMES[heading]) for heading in ("visible folders", "visible files", "vendor folders", "generated names")
)
_GENERATED_ENDINGS, _MINIFIED_ENDINGS = tuple(_NAMES["generated endings"]), tuple(_NAMES["minified endings"])


# One table from the ending to the reason; most names are decided by one or two look-ups of the text after a dot.
_BY_ENDING = {
    **dict.fromkeys(_NAMES["binary"], SkipReason.BINARY),
    **{ending: SkipReason.GENERATED for ending in _GENERATED_ENDINGS if ending.startswith(".")},
    **{ending: SkipReason.MINIFIED for ending in _MINIFIED_ENDINGS if ending.startswith(".")},
    **dict.fromkeys(_NAMES["translation endings"], SkipReason.TRANSLATION),
}
_UNDOTTED = tuple(ending for ending in (*_GENERATED_ENDINGS, *_MINIFIED_ENDINGS) if not ending.startswith("."))
_SHARED_LIBRARY = re.compile(r".*\.so(?:\.\d+)+")


@lru_cache(maxsize=16_384)  # names: in a process that stays, each question walks the tree
def reason_of_name(name: str) -> SkipReason | None:
    """Return why a file of this name (binary, drawing, generated, minified, translation) is left out, or None."""
    lower = name.lower()
    if lower in _GENERATED_NAMES:
        return SkipReason.GENERATED
    stem, dot, ending = lower.rpartition(".")
    if not dot or not stem:
        return None
    reason = _BY_ENDING.get(f".{ending}")
    if reason is None and "." in stem:
        reason = _BY_ENDING.get(f".{stem.rpartition('.')[2]}.{ending}")
    if reason is None and lower.endswith(_UNDOTTED):
        return SkipReason.MINIFIED if lower.endswith(_MINIFIED_ENDINGS) else SkipReason.GENERATED
    if reason is None and ending.isdigit() and _SHARED_LIBRARY.fullmatch(lower):
        return SkipReason.BINARY
    return reason


def is_hidden(name: str, *, is_folder: bool) -> bool:
    """Return whether a name begins with a dot and is not one of the few worth reading."""
    return name.startswith(".") and name not in (_VISIBLE_FOLDERS if is_folder else _VISIBLE_FILES)


def is_vendored(folder: str) -> bool:
    """Return whether a folder of this name belongs to a tool: packages of others, or a cache."""
    return folder in _VENDOR_FOLDERS
