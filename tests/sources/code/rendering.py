"""An outline as text that a person can check against the sample beside it.

python -m tests.sources.code.rendering LANGUAGE     # write the outline of its sample
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from satchel.sources.code.outline import outline
from satchel.types import EdgeType, Outline, Part

SAMPLES = Path(__file__).parent / "samples"


def sample(language: str) -> str:
    """The text of the sample of a language."""
    return (SAMPLES / f"{language}.txt").read_text(encoding="utf-8")


def rendered(found: Outline) -> str:
    """One line for each thing that was found."""
    lines = [line for part in found.parts for line in _part(part)]
    lines += [
        f"import {_span(one.start, one.end)} {one.target} -> {' '.join(one.names) or '-'}" for one in found.imports
    ]
    lines.append(f"comments {' '.join(_span(start, end) for start, end in found.comment_lines) or '-'}")
    return "\n".join(lines) + "\n"


def _part(part: Part) -> Iterator[str]:
    yield f"{_span(part.start, part.end)} {part.role} {part.name}".rstrip()
    if part.signature:
        yield from (f"    | {line}".rstrip() for line in part.signature.split("\n"))
    if part.summary:
        yield f"    says {part.summary}"
    if part.definitions:
        names = (f"{one.owner}.{one.name}" if one.owner else one.name for one in part.definitions)
        yield "    defines " + ", ".join(
            f"{name}:{one.line}" for name, one in zip(names, part.definitions, strict=True)
        )
    for kind in (EdgeType.CALLS, EdgeType.INHERITS):
        targets = [one.target for one in part.references if one.type == kind]
        if targets:
            yield f"    {kind} {' '.join(targets)}"


def _span(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def assert_tiles(found: Outline, text: str) -> None:
    """The parts of an outline cover every line of its text once, in order."""
    position = 0
    for part in found.parts:
        assert part.start == position + 1, part
        assert part.end >= part.start, part
        position = part.end
    lines = text.split("\n")
    assert position == (len(lines) if lines[-1] else len(lines) - 1)


if __name__ == "__main__":
    for language in sys.argv[1:]:
        (SAMPLES / f"{language}.golden").write_text(rendered(outline(sample(language), language)), encoding="utf-8")
