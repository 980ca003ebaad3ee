"""Paths of contexts: relative to a folder below the root, never outside it; and globs for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from satchel.errors import UnsafePathError
from satchel.globs import translate

LONGEST_GLOB = 400
"""Characters: longer than any path pattern that people write."""

MOST_EXPANSIONS = 64
"""Globs that the braces of one stand for: `{a,b}{c,d}` is four."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def resolved(reference: str, folder: str) -> str:
    """The path below the root that `reference` names in `folder` ("" is the root), as in `base/auth`.

    Raises UnsafePathError for what leads outside: absolute, with a drive, or with more `..` than there are folders.
    """
    reference = reference.strip().replace("\\", "/")
    if reference.startswith(("/", "~")) or re.match(r"[A-Za-z]:", reference) or "\0" in reference:
        raise UnsafePathError(f"{reference!r} leads outside the root: write it relative to a folder of the workspace")
    steps = [step for step in folder.split("/") if step]
    for step in reference.split("/"):
        if step == "..":
            if not steps:
                raise UnsafePathError(f"{reference!r} leads outside the root: it climbs above the topmost folder")
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


def parent_of(path: str) -> str:
    """The folder of a path, empty at the root."""
    return path.rpartition("/")[0]


def folders_above(path: str) -> list[str]:
    """The folders above a path, the root ("") first."""
    steps = path.split("/")[:-1]
    return ["/".join(steps[:count]) for count in range(len(steps) + 1)]


@dataclass(frozen=True, slots=True)
class Globs:
    """Patterns of paths with the meaning that git gives them: without a slash they match a name at any depth.

    A pattern that ends with a slash means everything below; braces stand for each of their parts; a pattern that
    begins with `!` excludes what an earlier one included.
    """

    texts: tuple[str, ...]

    def matching(self, path: str) -> str:
        """The last pattern that lets the path in, empty where none does."""
        last = ""
        for text in self.texts:
            if any(expression.fullmatch(path) for expression in _expressions(text.removeprefix("!"))):
                last = "" if text.startswith("!") else text
        return last

    def first(self, paths: Iterable[str]) -> tuple[str, str] | None:
        """(path, pattern) of the first path that is let in."""
        return next(((path, text) for path in paths if (text := self.matching(path))), None)


def problem_of(glob: str) -> str:
    """The problem with a pattern, empty where there is none."""
    if not glob.strip("!/ "):
        return "is empty: write a pattern such as src/**/*.py"
    if len(glob) > LONGEST_GLOB:
        return f"has {len(glob)} characters: at most {LONGEST_GLOB}"
    if glob.startswith("/") or ".." in glob.split("/"):
        return "leads outside its folder: write it relative to the folder"
    if len(_expanded(glob)) > MOST_EXPANSIONS:
        return f"stands for more than {MOST_EXPANSIONS} patterns: use fewer braces"
    return ""


@lru_cache(maxsize=2_000)
def _expressions(glob: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(translate(_anchored(one)), re.DOTALL) for one in _expanded(glob)[:MOST_EXPANSIONS]]


def _anchored(glob: str) -> str:
    glob = glob.strip().removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    return glob if "/" in glob else f"**/{glob}"


def _expanded(glob: str) -> list[str]:
    """The patterns that braces stand for, a few more than allowed at most."""
    waiting: list[str] = [glob]
    done: list[str] = []
    while waiting and len(done) + len(waiting) <= 2 * MOST_EXPANSIONS:
        text = waiting.pop()
        braces = _BRACES.search(text)
        if braces is None:
            done.append(text)
        else:
            waiting += [text[: braces.start()] + part.strip() + text[braces.end() :] for part in braces[1].split(",")]
    return sorted(done) + waiting
