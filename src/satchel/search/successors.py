"""What replaced a record: it inherits what speaks for the one that nobody sees any more.

"Releases are uploaded by hand" was replaced by "The signed tag starts publishing", which shares no word with
"upload release 2". The words of hidden records stay in the index, so nothing but their links has to be read.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel import lazy_numpy as np
from satchel.search.bm25 import FloatArray
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.store.segments import IntArray, Lexicon
from satchel.types import Kind

MAX_HIDDEN = 100
"""Hidden records whose successor is looked up for one request, those with the most evidence."""

MAX_STEPS = 20
"""Length limit of a chain of replacements."""


def successors(store: Store, lexicon: Lexicon, kind: Kind, evidence: FloatArray) -> dict[int, int]:
    """Return the first chunk of the visible record that replaced each hidden chunk with evidence, by position."""
    hidden = np.flatnonzero((evidence > 0) & ~lexicon.live_chunk)
    if kind is not Kind.MEMORY or not len(hidden):
        return {}
    chosen = hidden[np.argsort(-evidence[hidden], kind="stable")][:MAX_HIDDEN]
    owners = lexicon.columns.document_id[lexicon.columns.chunk_document[chosen]].tolist()
    # Deleted records and earlier states of changed ones are dead, too, and have no document.
    heirs = _heirs(store, lexicon, kind, store.documents(owners))
    return {
        chunk: int(lexicon.document_first_chunk[heirs[owner]])
        for chunk, owner in zip(chosen.tolist(), owners, strict=True)
        if owner in heirs
    }


def _heirs(store: Store, lexicon: Lexicon, kind: Kind, documents: Mapping[int, Document]) -> dict[int, int]:
    """Return the position of the visible document at the end of the chain of each hidden one, by its id."""
    heirs: dict[int, int] = {}
    waiting = {identity: str(document.fields.get("superseded_by") or "") for identity, document in documents.items()}
    for _ in range(MAX_STEPS):
        ids = store.document_ids(kind, {*filter(None, waiting.values())})
        newer = store.documents(ids.values())
        places: IntArray = lexicon.document_positions(ids.values())
        place_of = dict(zip(ids, places.tolist(), strict=True))
        following: dict[int, str] = {}
        for identity, key in waiting.items():
            index = place_of.get(key, -1)
            if index >= 0 and lexicon.live_document[index]:
                heirs[identity] = index
            elif key in ids and ids[key] in newer:
                following[identity] = str(newer[ids[key]].fields.get("superseded_by") or "")
        if not following:
            break
        waiting = following
    return heirs
