"""How well a question is answered, on an absolute scale: real questions are above a floor, foreign ones below.

The scale is a logistic regression over three signals of one kind of files and the length of the question, fitted on 296
issues and 109 short questions of 14 repositories, against issues and short questions about other projects. With one
repository left out at a time the area under the curve is .944 (.826 for the matched share of the best file); the search
itself reaches .937 (benchmarks/results/strength.json). Each of forty other measures adds less than .003.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from satchel.search.bm25 import K1, FloatArray
from satchel.types import Kind

WEAK_FLOOR = 0.095
"""Below it the best answer is a weak match: 1 % of the real questions, 71 % of the short questions about other worlds,
and 31 to 43 % of the issues of other projects, whose words are those of every project."""

TITLE, WINDOWS, NAMED, LENGTH, BIAS = 5.7, 20.0, 2.6, 1.25, -10.6

BEST_WINDOWS = 5
WINDOWS_FOR_EACH = 20
"""What a project is about stands in several windows. A small corpus has fewer: one of each twenty is looked at."""

LARGEST_MENTION = 4.0

RELEVANCE_EXPONENT = 0.5
"""Of the value of a part over that of the best: right files are told from others with an area under the curve of .80
in place of .71 (the matched share of the file), right parts with .72 in place of .54."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the answer of one kind, each 0 to 1, and the number of search terms.

    `title` is the best match of a part with the first line, as a share of what is possible; `windows` the share of the
    question's idf mass in its best windows; `named` how plainly the question names a definition.
    """

    title: float
    windows: float
    named: float
    terms: int

    @property
    def strength(self) -> float:
        """0 to 1; 0 where nothing matches."""
        if self.windows <= 0 and self.named <= 0:
            return 0.0
        log_odds = (
            TITLE * self.title + WINDOWS * self.windows + NAMED * self.named + LENGTH * math.log1p(self.terms) + BIAS
        )
        return 1 / (1 + math.exp(-log_odds))


def windows_share(matched: FloatArray) -> float:
    """The mean matched share of the best windows of a corpus, one value a live window."""
    count = min(max(len(matched) // WINDOWS_FOR_EACH, 1), BEST_WINDOWS, len(matched))
    return float(np.partition(matched, -count)[-count:].mean()) if count else 0.0


def title_share(scores: FloatArray, possible: float) -> float:
    """The best BM25 score of the first line, as a share of the largest that its terms allow."""
    return float(scores.max(initial=0.0)) / (possible * (K1 + 1)) if possible > 0 else 0.0


def answer_strength(strengths: Mapping[Kind, float]) -> float:
    """How well a question is answered by all kinds together, 0 to 1.

    Commits count only alone: one that shares the words of a question does not say that the code is here.
    """
    counted = {kind: value for kind, value in strengths.items() if kind is not Kind.COMMIT} or strengths
    return max(counted.values(), default=0.0)
