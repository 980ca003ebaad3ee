"""The weights of the signals of a file, apart from the arithmetic with them: a request is checked without numpy."""

from __future__ import annotations

FILE_WEIGHTS = {
    "best part": 1.0,
    "top three parts": 0.5,
    "history": 1.0,
    "whole file": 0.5,
    "name": 0.5,
    "path mention": 0.5,
    "symbol mention": 0.5,
    "trace": 1.0,
    "vectors": 1.0,
}
"""Weight of each normalised signal in F. Vectors are of prose only: r@5 rises from .66 to .69 on encyclopedia passages,
from .69 to .78 and .75 to .79 on headings of two documentations, from .60 to .77 and .65 to .74 on questions in other
words than theirs; half or twice the weights change that by a few points (benchmarks/results/prose.json)."""

FileWeights = tuple[tuple[str, float], ...]
"""Weights that replace those of `FILE_WEIGHTS`, by signal; `satchel eval --tune` finds them."""
