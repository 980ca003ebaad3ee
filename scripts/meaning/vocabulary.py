"""The entries of the table: pieces of the teacher's vocabulary and words that the sentences use."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from satchel.embed.static import CELL_BYTES, PIECE_MARK, words

MAX_ENTRIES = 30_000

_ENTRY = re.compile(r"(##)?([a-z]+|[0-9]+)")
"""What the reader can ask for: letters and digits are never in one word."""


def entries(texts: Sequence[str], teacher_vocabulary: Path) -> list[str]:
    """Return the entries in ascending order.

    The teacher's pieces are listed by how often they occur in its own corpus, so the place of one stands for a count,
    as Zipf's law has it. Half of the weight of a word is that, half its count in these sentences.
    """
    pieces = teacher_vocabulary.read_text(encoding="utf-8").splitlines()
    kept = {piece: place for place, piece in enumerate(pieces) if _ENTRY.fullmatch(piece) and _fits(piece)}
    counts = Counter(word.lower() for text in texts for word in words(text))
    weights: dict[str, float] = defaultdict(float)
    harmonic = sum(1 / (1 + place) for place in kept.values())
    for piece, place in kept.items():
        weights[piece] = 1 / (1 + place) / harmonic
    for word, count in counts.items():
        if _fits(word) and (word in kept or (count >= 5 and word.isalpha() and len(word) > 2)):
            weights[word] += count / counts.total()
    # Letters and digits alone, so that any word has pieces.
    alone = [mark + sign for mark in ("", PIECE_MARK) for sign in "abcdefghijklmnopqrstuvwxyz0123456789"]
    ordered = sorted(weights, key=lambda entry: (-weights[entry], entry))
    return sorted([*dict.fromkeys([*alone, *ordered])][:MAX_ENTRIES], key=str.encode)


def _fits(entry: str) -> bool:
    return len(entry.encode()) <= CELL_BYTES
