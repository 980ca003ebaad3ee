"""Front matter: fields between lines of dashes at the top of a document, a note or a rule of an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from satchel.text import pattern
from satchel.types import Data

MAX_CHARACTERS = 64_000
"""Maximum characters of front matter; a written one has a thousand."""

_FENCE = "---"
_ENDS = {"---": frozenset({"---", "..."}), "+++": frozenset({"+++"})}
"""The line that begins front matter -> those that end it."""
_FIELD = pattern(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")


class FrontMatter(Struct, frozen=True):
    """The front matter of a note: its values by key, its number of lines, and an error message, empty if valid."""

    values: Data = field(default_factory=dict)
    lines: int = 0
    problem: str = ""


def front_matter_lines(lines: Sequence[str]) -> int:
    """Return the number of lines of front matter at the top of a text, `---` to `---` or `+++` to `+++`; 0 for none."""
    ends = _ENDS.get(lines[0].rstrip(), frozenset()) if lines else frozenset()
    return next((row + 1 for row in range(1, len(lines)) if lines[row].rstrip() in ends), 0)


def yaml_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Return the values of front matter in YAML; none where the first line is not `---`."""
    end = front_matter_lines(lines) if lines and lines[0].rstrip() == _FENCE else 0
    if not end:
        return FrontMatter()
    text = "\n".join(lines[1 : end - 1])
    if len(text) > MAX_CHARACTERS:
        problem = f"front matter has {len(text):,} characters: at most {MAX_CHARACTERS:,} are read"
        return FrontMatter(lines=end, problem=problem)
    try:
        values = _load(text)
    except _problems() as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error) or type(error).__name__
        return FrontMatter(lines=end, problem=f"front matter{where}: {reason}")
    if values is not None and not isinstance(values, dict):
        return FrontMatter(lines=end, problem="front matter is not a list of keys with values")
    plain = {str(key): _plain(value) for key, value in (values or {}).items()}
    return FrontMatter(plain, end)


def _problems() -> tuple[type[Exception], ...]:
    """Return the errors of YAML, and of values that only look like a date or a number."""
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


def _plain(value: Any, depth: int = 8) -> Any:
    """Return a value of YAML as one of JSON: a date is `2026-05-01`; a value nested too deep is text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and depth:
        return {str(key): _plain(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_plain(inner, depth - 1) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def rule_fields(text: str) -> tuple[dict[str, list[str]], str, int]:
    """Return the fields of a rule file, not parsed as YAML (`globs: *.ts` is no alias), the text below and its line."""
    lines = text.split("\n")
    end = front_matter_lines(lines) if lines[0].rstrip() == _FENCE else 0
    if not end:
        return {}, text, 1
    fields: dict[str, list[str]] = {}
    name = ""
    for line in lines[1 : end - 1]:
        entry = line.strip()
        if entry.startswith("- ") and name:
            fields[name] += _entries(entry[2:])
        elif (match := _FIELD.fullmatch(entry)) is not None and not line.startswith((" ", "\t")):
            name, value = match[1], match[2].strip()
            fields[name] = [value] if name == "description" else _entries(value)
    fields = {key: [*filter(None, map(_unquoted, entries))] for key, entries in fields.items()}
    return fields, "\n".join(lines[end:]), end + 1


def _entries(text: str) -> list[str]:
    """Return the entries of `a, b`, `"a, b"`, `[a, b]` or `a`; commas within braces do not separate."""
    text, parts, depth = text.strip(), [""], 0
    if text[:1] in "\"'" and text.find(text[:1], 1) == len(text) - 1:
        text = text[1:-1]
    for character in text.removeprefix("[").removesuffix("]"):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [_unquoted(part) for part in parts]


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
