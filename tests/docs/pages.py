"""What a page of the documentation tells its reader to run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATED = frozenset({"cli.md", "configuration.md"})
"""Pages that `make docs` writes from the program itself."""


@dataclass(frozen=True)
class Command:
    """A line behind a prompt, with what the page says it prints."""

    place: str
    line: str
    shown: str


@dataclass(frozen=True)
class Example:
    """A block of Python."""

    place: str
    code: str


@dataclass(frozen=True)
class Text:
    """A block that is read by a program: its language is the name behind the fence."""

    place: str
    language: str
    content: str


def pages() -> list[Path]:
    """README and every page of docs, without the decisions."""
    return [
        REPOSITORY / "README.md",
        *sorted(path for path in (REPOSITORY / "docs").rglob("*.md") if "decisions" not in path.parts),
    ]


def steps(page: Path) -> Iterator[Command | Example]:
    """Commands and examples of a page, in order."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type != "fence" or token.map is None:
            continue
        place = f"{page.relative_to(REPOSITORY)}:{token.map[0] + 1}"
        if token.info.strip() == "console":
            yield from _commands(token.content, place)
        elif token.info.strip() == "python":
            yield Example(place, token.content)


def texts(page: Path) -> Iterator[Text]:
    """Blocks of a page in languages that are neither commands nor Python."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        language = token.info.strip()
        if token.type == "fence" and token.map is not None and language not in ("console", "python", "text"):
            yield Text(f"{page.relative_to(REPOSITORY)}:{token.map[0] + 1}", language, token.content)


def _commands(block: str, place: str) -> Iterator[Command]:
    joined = re.sub(r"\\\n\s*", "", block)
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Command(place, re.sub(r"\s{2,}#.*$", "", line).strip(), shown)
