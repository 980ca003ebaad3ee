"""Patterns of paths as in git, as people write them for rules and records: `src/**/*.py`, `{a,b}.py`, `!tests/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from satchel.system.files import translate

LONGEST_GLOB = 400
"""Length limit of a path pattern."""

MAX_EXPANSIONS = 64
"""Limit of the patterns that braces expand to: `{a,b}{c,d}` is four."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class Globs(NamedTuple):
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
