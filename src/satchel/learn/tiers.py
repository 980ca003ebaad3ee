"""How far an experience can be relied on.

gold       the outcome was captured from a command that was run, not told
silver     somebody said how it ended
bronze     somebody said how it ended, and the hypothesis was a poor one
abandoned  it has no end

A hypothesis is poor when it does not say what is wrong and where: when it has fewer than two words that are neither
everyday words, nor words which fit any problem (`bug`, `work`, `wrong`), nor words of the goal. "It will work now" and
"There is a bug in the code" are poor, "The fixture closes the session twice" is not. The rule is deterministic and
knows no language but English; it errs towards silver.
"""

from __future__ import annotations

from satchel import text as words
from satchel.vocabulary import MISSING_TIER_WEIGHT, TIER_WEIGHTS, ConfidenceTier, OutcomeStatus

FEWEST_TELLING_WORDS = 2
"""One for what is wrong and one for where. Three would make a good short one ("the timeout is too short") poor."""

_VAGUE_WORDS = """
    able approach bad better break broken bug bugs case cause causes change changes code correct correctly easy error
    errors expect expected expects fail failed failing fails failure fine fix fixed fixes fixing good happen happens
    help helps implement implementation incorrect issue issues maybe need needed needs ok okay pass passes perhaps
    possibly probably problem problems proper properly quick result results right solution solve something somehow
    somewhere stuff successfully test tests thing things think try using well will without work worked working works
    wrong
"""

VAGUE_STEMS = frozenset(words.stem(word) for word in _VAGUE_WORDS.split())
"""Stems of words that fit any problem, and so say nothing about this one."""


def tier_of(status: OutcomeStatus, hypothesis: str, goal: str, *, auto_captured: bool) -> ConfidenceTier:
    """The tier of an experience that ended."""
    if status is OutcomeStatus.ABANDONED:
        return ConfidenceTier.ABANDONED
    if auto_captured:
        return ConfidenceTier.GOLD
    return ConfidenceTier.BRONZE if is_poor(hypothesis, goal) else ConfidenceTier.SILVER


def is_poor(hypothesis: str, goal: str) -> bool:
    """Whether a hypothesis says too little to learn from."""
    return len(telling_words(hypothesis, goal)) < FEWEST_TELLING_WORDS


def telling_words(hypothesis: str, goal: str) -> list[str]:
    """The words of a hypothesis that say something about this very problem, each once, in order."""
    known = VAGUE_STEMS | {words.stem(word.lower()) for word in words.words(goal)}
    found = (word for word in words.words(hypothesis) if words.is_meaningful(word))
    return list(dict.fromkeys(word.lower() for word in found if words.stem(word.lower()) not in known))


def tier_weight(tier: str | None) -> float:
    """How much an experience counts where several are summed up, 0 to 1; of a missing or unknown tier as of bronze."""
    return {str(known): weight for known, weight in TIER_WEIGHTS.items()}.get(str(tier), MISSING_TIER_WEIGHT)
