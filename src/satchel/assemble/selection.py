"""Limiting an answer to its best entities, over all types."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.section import Section


def best_entities(sections: Sequence[Section], most: int) -> list[Section]:
    """The sections with the candidates of the `most` most relevant documents; a section without any is left out.

    Of equal relevance the first of their sections come first, then the order of the sections counts.
    """
    ranked: dict[str, tuple[float, int, int, str]] = {}
    for position, section in enumerate(sections):
        for rank, candidate in enumerate(section.candidates):
            document = candidate.document.id
            row = (-candidate.hit.relevance, rank, position, document)
            ranked[document] = min(row, ranked.get(document, row))
    kept = {document for *_, document in sorted(ranked.values())[:most]}
    for section in sections:
        section.candidates = [candidate for candidate in section.candidates if candidate.document.id in kept]
    return [section for section in sections if section.candidates]
