"""Limiting an answer to its best entities, over all types."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.section import Section


def best_entities(sections: Sequence[Section], most: int) -> list[Section]:
    """The sections with the candidates of the `most` best documents; a section without any is left out.

    Scores of different types cannot be compared, so documents are taken in turns: by rank within their section over the
    weight of the section, ties in the order of the sections.
    """
    ranked: list[tuple[float, int, str]] = []
    for position, section in enumerate(sections):
        documents = dict.fromkeys(candidate.document.id for candidate in section.candidates)
        ranked += [((rank + 1) / section.weight, position, document) for rank, document in enumerate(documents)]
    kept = {document for _, _, document in sorted(ranked)[:most]}
    for section in sections:
        section.candidates = [candidate for candidate in section.candidates if candidate.document.id in kept]
    return [section for section in sections if section.candidates]
