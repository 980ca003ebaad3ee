"""What patterns of paths and names mean. Nothing else in satchel compares a text with a glob.

Ignore files, rules and records have the globs of git, as regular expressions that take linear time: `*` and `?` stop at
a slash, `**` between slashes means any number of folders, brackets allow ranges, negation and the POSIX classes. Two
things differ from git on purpose: `?` and brackets match one character, not one byte of it, and matching is always
case-sensitive. `Globs` adds braces and exclusions: `src/**/*.py`, `{a,b}.py`, `!tests/`.

Options of a question and names of tools have those of a shell, whose star crosses folders: `is_among`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from satchel.text import pattern

LONGEST_GLOB = 400
"""Length limit of a path pattern."""

MAX_EXPANSIONS = 64
"""Limit of the patterns that braces expand to: `{a,b}{c,d}` is four."""

_BRACES = pattern(r"\{([^{}]*,[^{}]*)\}")


class Globs(Struct, frozen=True):
    """Patterns of paths as in git: without a slash they match a name at any depth.

    A pattern that ends with a slash matches everything below; braces expand to each of their parts; a pattern that
    begins with `!` excludes paths that an earlier one included.
    """

    texts: tuple[str, ...]

    def matching(self, path: str) -> str:
        """Return the last pattern that includes the path, empty if none does."""
        last = ""
        for text in self.texts:
            if any(expression.fullmatch(path) for expression in _expressions(text.removeprefix("!"))):
                last = "" if text.startswith("!") else text
        return last

    def first(self, paths: Iterable[str]) -> tuple[str, str] | None:
        """Return the first path that is included, and its pattern."""
        return next(((path, text) for path in paths if (text := self.matching(path))), None)


def problem_of(glob: str) -> str:
    """Return the problem with a pattern, empty where there is none."""
    if not glob.strip("!/ "):
        return "is empty: write a pattern such as src/**/*.py"
    if len(glob) > LONGEST_GLOB:
        return f"has {len(glob)} characters: at most {LONGEST_GLOB}"
    if glob.startswith("/") or ".." in glob.split("/"):
        return "leads outside its folder: write it relative to the folder"
    if len(_expanded(glob)) > MAX_EXPANSIONS:
        return f"stands for more than {MAX_EXPANSIONS} patterns: use fewer braces"
    return ""


def is_among(text: str, globs: Iterable[str]) -> bool:
    """Return whether one of the globs matches a path or a name: a star crosses folders, and a folder is all within it.

    `**/` may also be no folder; the stars of a glob with it stop at a slash, as in git.
    """
    return any(
        _shell_expression(glob).fullmatch(text)
        if _SHELL_WILD.search(glob)
        else f"{text}/".startswith(f"{glob.rstrip('/')}/")
        for glob in (glob.removeprefix("./") for glob in globs)
    )


_SHELL_WILD = pattern(r"[*?\[]")


@lru_cache
def _shell_expression(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob) if "**/" in glob else fnmatch.translate(glob), re.DOTALL)


@lru_cache(maxsize=2_000)
def _expressions(glob: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(translate(_anchored(pattern)), re.DOTALL) for pattern in _expanded(glob)[:MAX_EXPANSIONS]]


def _anchored(glob: str) -> str:
    glob = glob.strip().removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    return glob if "/" in glob else f"**/{glob}"


def _expanded(glob: str) -> list[str]:
    """Return the patterns that braces expand to, at most a few more than allowed."""
    waiting: list[str] = [glob]
    done: list[str] = []
    while waiting and len(done) + len(waiting) <= 2 * MAX_EXPANSIONS:
        text = waiting.pop()
        braces = _BRACES.search(text)
        if braces is None:
            done.append(text)
        else:
            waiting += [text[: braces.start()] + part.strip() + text[braces.end() :] for part in braces[1].split(",")]
    return sorted(done) + waiting


WILD = pattern(r"[*?\[\\]")
"""The characters with a special meaning in a glob."""

_NEVER = "(?!)"  # a pattern that git calls malformed matches nothing
_STAR, _FOLDERS, _EVERYTHING = "*", "**/", "**"
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-\/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def translate(glob: str) -> str:
    """Turn a glob into an expression for `fullmatch`.

    A star that is not the last of its folder matches the shortest text before a match of the tokens up to the next
    star, without backtracking: these have a fixed length, so a longer match could not help. `**/` does the same with
    complete folders. So nothing is tried twice: `a*b*c` becomes `a(?>[^/]*?b)[^/]*c`.
    """
    tokens = _tokens(glob)
    if _NEVER in tokens:
        return _NEVER
    everything = tokens[-1:] == [_EVERYTHING]
    first, *groups = _split(tokens[: -1 if everything else None], _FOLDERS)
    expression = [_steps(first)]
    for number, group in enumerate(groups, 1):
        is_last = number == len(groups) and not everything
        expression.append(f"(?:[^/]*/)*{_steps(group)}" if is_last else f"(?>(?:[^/]*/)*?{_steps(group)})")
    return "".join(expression) + (".*" if everything else "")


def _tokens(glob: str) -> list[str]:
    """Cut a glob into stars and expressions of one character each."""
    tokens: list[str] = []
    position = 0
    while position < len(glob):
        character = glob[position]
        if character == "*":
            token, position = _star(glob, position)
        elif character == "[":
            token, position = _bracket(glob, position + 1)
        elif character == "\\":
            token, position = re.escape(glob[position + 1 : position + 2]) or _NEVER, position + 2
        else:
            token, position = "[^/]" if character == "?" else re.escape(character), position + 1
        tokens.append(token)
    return tokens


def _star(glob: str, position: int) -> tuple[str, int]:
    """Return the token for the stars at `position`, and the position after them."""
    end = position
    while glob.startswith("*", end):
        end += 1
    wild = WILD.search(glob)
    # git compares the plain beginning of a pattern apart from the rest, so `lib**/x` counts as `lib` and `**/x`.
    begins_step = position == 0 or glob[position - 1] == "/" or (wild is not None and wild.start() == position)
    if end - position > 1 and begins_step:
        if end == len(glob):
            return _EVERYTHING, end
        for slash in ("/", "\\/"):
            if glob.startswith(slash, end):
                return _FOLDERS, end + len(slash)
    return _STAR, end


_CLASS = pattern(r"\[:([^\]]*):\]")
_RANGE_END = pattern(r"-(?:\\(.)|([^\]\\]))", re.DOTALL)
_MEMBER = pattern(r"\\(.)|([^\\])", re.DOTALL)


def _bracket(glob: str, position: int) -> tuple[str, int]:
    """Return the token for the bracket whose inside begins at `position`, and the position after it."""
    negated = glob.startswith(("!", "^"), position)
    start = position = position + negated
    members: list[str] = []
    previous = ""  # what a following `-` makes a range of
    while position == start or not glob.startswith("]", position):
        if match := _CLASS.match(glob, position):
            if match[1] not in _CLASSES:
                return _NEVER, len(glob)
            members.append(_CLASSES[match[1]])
            previous = ""
        elif previous and (match := _RANGE_END.match(glob, position)):
            last = match[1] or match[2]
            if previous <= last:
                members.append(f"{re.escape(previous)}-{re.escape(last)}")
            previous = ""
        elif match := _MEMBER.match(glob, position):
            previous = match[1] or match[2]
            members.append(re.escape(previous))
        else:
            return _NEVER, len(glob)
        position = match.end()
    inside = "".join(members)
    return f"[^/{inside}]" if negated else f"(?!/)[{inside}]", position + 1


def _steps(tokens: list[str]) -> str:
    """Return the expression for tokens without `**/`."""
    return "/".join(_step(step) for step in _split(tokens, "/"))


def _step(tokens: list[str]) -> str:
    """Return the expression for one step of a path."""
    first, *pieces = ("".join(piece) for piece in _split(tokens, _STAR))
    if not pieces:
        return first
    return first + "".join(f"(?>[^/]*?{piece})" for piece in pieces[:-1]) + f"[^/]*{pieces[-1]}"


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
