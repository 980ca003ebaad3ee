"""Candidates, sections and packings to test the stages of an answer with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from satchel.answer.candidates import Candidate
from satchel.answer.file_candidates import file_candidates
from satchel.answer.packing import Inputs, Packing, TextFrame
from satchel.answer.record_candidates import record_candidate
from satchel.answer.sections import Section
from satchel.answer.source_lines import Lines
from satchel.answer.text_lines import TextLines
from satchel.tokens import counter
from satchel.types import Chunk, Hit, Kind, Location, Role, ScoredSpan

COUNTER = counter("o200k_base")


def packed(room: int, *sections: Section, **options: Any) -> Packing:
    """What is packed into so many tokens."""
    return Packing(Inputs(sections, COUNTER, TextFrame(), **options), room).fit()


def section(kind: Kind, *candidates: Candidate, lines: Mapping[str, Lines] | None = None) -> Section:
    """A section of these candidates."""
    return Section(kind, 1.0, candidates, lines or {}, 100)


def record(identity: str, text: str, kind: Kind = Kind.MEMORY, **fields: float) -> Candidate:
    """A record with this text."""
    made = record_candidate(Hit(Chunk(identity, kind, identity, ""), 0.5, 1.0), text, fields.get("cap", 400))
    return replace(made, body=text)


def of_file(path: str, text: str, kind: Kind = Kind.DOC, name: str = "", *spans: ScoredSpan) -> tuple[Candidate, Lines]:
    """A file with this text, offered as a whole or as these spans."""
    lines = Lines(path, TextLines(text))
    location = Location(path, 1, len(lines.lines))
    chunk = Chunk(f"{kind}:{path}{name}", kind, path, "", location=location, role=Role.FUNCTION)
    (made,) = file_candidates(Hit(chunk, 0.5, 1.0, spans), lines, 0 if spans else 10_000)
    return made, lines
