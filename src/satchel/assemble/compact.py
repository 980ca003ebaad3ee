"""What a change itself touches is known to whoever asks about it: its definitions are shown by signature alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step, declaration_steps
from satchel.assemble.read import Lines

if TYPE_CHECKING:
    from satchel.sources.change import Change

SIGNATURE_CHARACTERS = 80
"""Of a signature with its frame, for ordering only."""


def compacted(candidates: Sequence[Candidate], change: Change, lines: Lines) -> list[Candidate]:
    """The candidates; those that the change touches as one signature a definition, without one not at all."""
    from satchel.search.change_impact import is_changed  # here, because few questions are about a change

    kept: list[Candidate] = []
    signed: set[str] = set()
    for candidate in candidates:
        ranges = candidate.steps[0].ranges
        if not ranges or not is_changed(change, candidate.hit, *ranges[-1]):
            kept.append(candidate)
            continue
        declared = declaration_steps(candidate.document, lines)
        if declared and candidate.document.id not in signed:
            signed.add(candidate.document.id)
            kept.append(_signature(candidate, declared[0]))
    return kept


def _signature(candidate: Candidate, step: Step) -> Candidate:
    size = SIGNATURE_CHARACTERS / CHARACTERS_PER_TOKEN
    made = Candidate(candidate.hit, candidate.value, size, step.ranges[0][0], lambda: (step,))
    made.group = candidate.group
    return made
