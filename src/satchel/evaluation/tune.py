"""Weights for the signals of files, fitted to a history, with their gain on unseen fixes.

The weights are applied to the files of the search of each fix, so no question is asked again. They are fitted on four
fifths of the time and measured on the other fifth, for each fifth: the reported gain is that on fixes that the weights
had not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.evaluation.fixes import Estimate, estimate
from satchel.evaluation.run import FILE_SIGNALS, FixAnswer
from satchel.search.rank_files import FILE_WEIGHTS, SECONDARY_FACTOR

FOLDS = 5

FEWEST_FIXES = 20
"""Fixes that tuning needs: with fewer, a fold has three, and any gain is chance."""

STEPS = (0.0, 0.5, 0.7, 1.4, 2.0)
"""Factors that are tried on one weight after the other; a weight of 0 is replaced by 0.25."""

LEAST_GAIN = 0.002
"""Minimal gain of a step on the fixes that it is fitted on; smaller gains are chance."""

ROUNDS = 3

_FROM_ZERO = 0.25

_DEEPEST = 10
"""Rank below which the reciprocal rank of the first changed file counts as 0."""

SIGNALS = tuple(name for name in FILE_WEIGHTS if name in FILE_SIGNALS)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Weights fitted on all fixes, where they differ from those in force, and what such a fit gains on unseen fixes.

    `before` and `after` are mean reciprocal ranks on unseen fixes, `gain` their difference.
    """

    weights: dict[str, float]
    before: float
    after: float
    gain: Estimate
    fixes: int

    @property
    def is_offered(self) -> bool:
        """True if the weights differ, and have a gain on unseen fixes."""
        return bool(self.weights) and self.gain.mean > 0

    @property
    def is_sure(self) -> bool:
        """True if the interval of the gain is above 0."""
        return self.gain.low > 0


@dataclass(frozen=True, slots=True)
class _Case:
    """One fix: a row of signals for each file of the search, best first, and which of the files it changed."""

    signals: Floats
    factor: Floats
    is_gold: npt.NDArray[np.bool_]


def propose(answers: Sequence[FixAnswer], current: dict[str, float]) -> Proposal | None:
    """Fit weights to these answers (oldest first); None for too few of them."""
    cases = [_case(answer) for answer in answers if answer.files]
    if len(cases) < FEWEST_FIXES:
        return None
    start = np.array([current[name] for name in SIGNALS])
    before, after = _scores(cases, start), np.zeros(len(cases))
    for part in np.array_split(np.arange(len(cases)), FOLDS):
        fold = set(part.tolist())
        fitted = _fit([case for at, case in enumerate(cases) if at not in fold], start)
        after[part] = _scores([cases[at] for at in part.tolist()], fitted)
    best = _fit(cases, start)
    weights = {name: round(float(weight), 4) for name, weight in zip(SIGNALS, best, strict=True)}
    changed = {name: weight for name, weight in weights.items() if weight != current[name]}
    return Proposal(changed, float(before.mean()), float(after.mean()), estimate((after - before).tolist()), len(cases))


def _case(answer: FixAnswer) -> _Case:
    return _Case(
        signals=np.array([[file.signals.get(name, 0.0) for name in SIGNALS] for file in answer.files]),
        factor=np.array([SECONDARY_FACTOR if file.is_demoted else 1.0 for file in answer.files]),
        is_gold=np.array([file.is_gold for file in answer.files]),
    )


def _fit(cases: Sequence[_Case], start: Floats) -> Floats:
    """Improve one weight after the other as long as that gains, from the weights in force, to stay near them."""
    best, score = start, float(_scores(cases, start).mean())
    for _ in range(ROUNDS):
        before = score
        for position in range(len(start)):
            trials = np.tile(best, (len(STEPS), 1))
            trials[:, position] = best[position] * np.array(STEPS) if best[position] else _FROM_ZERO
            scores = [float(_scores(cases, weights).mean()) for weights in trials]
            at = int(np.argmax(scores))
            if scores[at] >= score + LEAST_GAIN:
                best, score = trials[at], scores[at]
        if score == before:
            break
    return best


def _scores(cases: Sequence[_Case], weights: Floats) -> Floats:
    """Return one over the rank of the first changed file, for each fix; equal scores keep the order of the search."""
    ranks = np.zeros(len(cases))
    for at, case in enumerate(cases):
        score = (case.signals @ weights) * case.factor
        gold = np.flatnonzero(case.is_gold)
        if len(gold):
            best = gold[np.argmax(score[gold])]
            rank = 1 + int(np.count_nonzero(score > score[best])) + int(np.count_nonzero(score[:best] == score[best]))
            ranks[at] = 1.0 / rank if rank <= _DEEPEST else 0.0
    return ranks
