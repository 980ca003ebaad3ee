"""The text of a document as it is embedded: one rule for whoever fills vectors and whoever compares with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.store.protocol import Store
from satchel.types import Role

CHARACTERS_A_TOKEN = 8
"""A text is cut at so many characters a token of the embedder: what is longer has no influence anyway."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document by its row number, and its text."""

    row: int
    text: str


def document_texts(store: Store, rows: Sequence[int], max_tokens: int) -> list[DocumentText]:
    """The name of a section and its lines, or the lines of a record; rows that are gone are left out.

    A change of this rule changes vectors: `satchel.embed.protocol.TEXT_RECIPE` has to change with it.
    """
    parts = store.parts(rows)
    bundles = store.bundles({part.bundle for part in parts.values()})
    lines = {identity: store.text(identity).split("\n") for identity in bundles}
    texts = []
    for row in rows:
        part = parts.get(row)
        if part is None or part.bundle not in lines:
            continue
        body = "\n".join(lines[part.bundle][part.start - 1 : part.end])
        # The name of a record's part is ours ("full", "strategy"); that of a section is a heading of the author's.
        named = part.name if part.role != Role.RECORD and part.name not in body else ""
        text = f"{named}\n{body}".strip()[: max_tokens * CHARACTERS_A_TOKEN]
        texts.append(DocumentText(row, text or bundles[part.bundle].title))
    return texts
