"""Notes that share a rare name with a note, though no link joins them: what people write about is often not linked.

A name is a run of capitalised words in a text (`Lake Geneva`, `House of Orange`), or the title of the note. The fewer
notes contain it, the more it says: its share is log(n / holders) / log(n) of `n` notes, 1 for a name that one note has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from satchel import text as words
from satchel.search import bm25
from satchel.search.query import QueryTerm
from satchel.store.protocol import Store
from satchel.types import Kind

_NAME = re.compile(r"[A-Z][\w'-]*(?:\s+(?:(?:of|the|de|van|von)\s+)?[A-Z][\w'-]*)*")


def names_in(title: str, text: str) -> list[str]:
    """Return the names in a note, its title first, each once."""
    return list(dict.fromkeys((title, *(match[0] for match in _NAME.finditer(text)))))


def sharing(store: Store, rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """Yield each of these notes with every other that shares a rare name with it, and the share of their rarest one."""
    lexicon = store.lexicon(Kind.NOTE)
    if lexicon.chunk_count < 2:
        return
    scale = math.log(lexicon.chunk_count)
    parts = store.chunks(rows)
    documents = store.documents({part.document for part in parts.values()})
    texts = store.texts(documents)
    for row, part in sorted(parts.items()):
        body = "\n".join(texts[part.document].split("\n")[part.start - 1 : part.end])
        named = [_terms(name) for name in names_in(part.name or documents[part.document].title, body)]
        terms = sorted({term for name in named for term in name})
        found = bm25.holders(lexicon, [QueryTerm(term, 1.0, 0.0) for term in terms])
        holders = {term: units for term, (_, units) in zip(terms, found, strict=True)}
        best: dict[int, float] = {}
        for name in filter(None, named):
            shared = reduce(np.intersect1d, [holders[term] for term in name])
            share = math.log(lexicon.chunk_count / max(len(shared), 1)) / scale
            # A name in more notes than this is a topic of the whole workspace and joins nothing.
            # Least share of a name: in a small workspace a name in more than the root of the number of notes joins
            # nothing.
            if 1 < len(shared) <= 30 and share >= 0.5:
                for other in lexicon.columns.chunk_row[shared].tolist():
                    best[other] = max(best.get(other, 0.0), share)
        yield from ((row, other, share) for other, share in best.items() if other != row)


def _terms(name: str) -> list[str]:
    """Return the search terms of a name without those of the compound as a whole; none for a stop word."""
    found = [term for word in words.words(name) if words.is_meaningful(word) for term in words.terms_of(word)]
    return list(dict.fromkeys(term for term in found if not term.startswith(words.EXACT_MARK)))
