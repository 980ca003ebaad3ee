"""The front matter of a note: YAML between two lines of `---`, read without what could hurt.

Only plain values are made; an anchor is refused where it is used, so that ten lines cannot become a billion values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_CHARACTERS = 64_000
"""Of front matter; what a person writes has a thousand."""

MOST_DEPTH = 8

_FENCE = "---"
_ENDS = frozenset({"---", "..."})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands above a note: its values by key, the lines it takes, and what is wrong with it, if anything is."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: int = 0
    problem: str = ""


def front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter at the top of a text; none where the first line does not begin it."""
    if not lines or lines[0].rstrip() != _FENCE:
        return FrontMatter()
    end = next((row for row in range(1, len(lines)) if lines[row].rstrip() in _ENDS), 0)
    if not end:
        return FrontMatter()
    text = "\n".join(lines[1:end])
    if len(text) > MOST_CHARACTERS:
        problem = f"front matter has {len(text):,} characters: at most {MOST_CHARACTERS:,} are read"
        return FrontMatter(lines=end + 1, problem=problem)
    try:
        values = _load(text)
    except _problems() as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        said = getattr(error, "problem", None) or str(error) or type(error).__name__
        return FrontMatter(lines=end + 1, problem=f"front matter{where}: {said}")
    if values is not None and not isinstance(values, dict):
        return FrontMatter(lines=end + 1, problem="front matter is no list of keys with values")
    plain = {str(key): _plain(value) for key, value in (values or {}).items()}
    return FrontMatter(plain, end + 1)


def _problems() -> tuple[type[Exception], ...]:
    """What reading YAML raises: its own errors, and those of values that only look like a date or a number."""
    import yaml

    return yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError


def _load(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.composer.ComposerError(None, None, "an alias (*) is not read", event.start_mark)
            return super().compose_node(parent, index)

    loader = Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _plain(value: Any, depth: int = MOST_DEPTH) -> Any:
    """A value of YAML as one of JSON: a date is `2026-05-01`; what is nested too deep is text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and depth:
        return {str(key): _plain(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_plain(inner, depth - 1) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
