"""Judging conditions that are written in plain words, such as "the change touches the database".

The judge that needs nothing compares words: which share of the condition's meaning is also said by the situation. A
term counts when the situation has the same stem, and nearly as much when it has another word of the same topic
(`migration` for `database`). Above one threshold it holds, below another it does not, and between them the judge says
that it does not know. Both were chosen on labelled pairs (benchmarks/results/judge.json).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Protocol

from satchel.errors import JudgeError, MissingExtraError
from satchel.rules.situation import Situation
from satchel.text import EXACT_MARK, STOP_WORDS, count_terms, words
from satchel.types import Failure

HOLDS_FROM = 0.6
"""Share of a condition's meaning from which it holds: chosen on the development half of the labelled pairs."""

FAILS_BELOW = 0.3
"""Share below which it does not hold. Between the two nobody is told anything but that it is undecided."""

TOPIC_SHARE = 0.85
"""What another word of the same topic counts: nearly as much, so that the very word wins where both are there."""

FRAME_WEIGHT = 0.15
"""What words count that most conditions have: they say that something is done, not what."""

LONGEST_CONDITION = 500
"""Characters of a condition that are judged."""

_NEGATION = re.compile(
    r"\b(?:not|no|never|without|unless|except|neither|nor|isn't|doesn't|don't|aren't)\b", re.IGNORECASE
)

_FRAME = """
    task user situation work working involve involves involved touch touches change changes changed changing edit edits
    editing modify modifies about related relate code file files agent need needs require requires required new add
    adding added write writing want asks ask asked project thing things part something anything someone current
    currently run running use using used create creating created update updating fix fixing kind type
"""

_TOPICS: Sequence[str] = (
    (
        "database db sql postgres postgresql mysql sqlite query queries schema table tables migration migrations "
        "orm index column rows transaction"
    ),
    (
        "test tests testing pytest unittest unit spec specs assertion assert coverage fixture fixtures flaky "
        "tested jest vitest"
    ),
    "documentation docs doc readme docstring markdown guide manual changelog tutorial md rst",
    (
        "security secure auth authentication authorization login password token tokens credential credentials "
        "oauth session permission permissions csrf xss encryption secret secrets vulnerability"
    ),
    "performance slow fast speed latency profiling optimise optimize optimization benchmark memory cache throughput",
    (
        "frontend ui interface screen screens css html component components "
        "react button page layout style styles styling tsx jsx vue"
        "svelte browser scss"
    ),
    "backend server endpoint endpoints api apis rest http handler route routes request requests controller graphql",
    (
        "deployment deploy deploys deploying release releases production rollout ci cd pipeline docker kubernetes "
        "helm terraform infrastructure workflow"
    ),
    (
        "error errors exception exceptions traceback crash crashes failure failing fail fails failed bug bugs "
        "debug debugging broken"
    ),
    "payment payments billing invoice invoices checkout stripe refund refunds charge price prices order orders",
    "refactor refactoring rename restructure cleanup simplify extract duplicate duplication",
    "concurrency async await thread threads lock locks race deadlock parallel concurrent mutex",
    "dependency dependencies package packages upgrade version versions lockfile requirements library libraries bump",
    "logging log logs logger monitoring metrics tracing observability alert alerts",
    "configuration config settings setting environment env yaml toml option options",
    "network timeout timeouts connection socket retry retries dns proxy offline",
    "design architecture complex complexity distributed scalable microservice microservices system systems",
    "translation translations i18n locale localization language languages",
    "mobile ios android swift kotlin app",
    "data csv dataset etl pipeline pandas import export",
    "review reviewing reviewer pull merge approve",
    "git commit commits branch rebase history",
    "python py pip pyproject packaging wheel wheels",
    "javascript js typescript ts node npm",
    "rust cargo rs crate",
)
"""One topic an entry. Short on purpose: what is meant by more than one trade (`state`, `model`) stands in none."""


class Verdict(StrEnum):
    """What a judge says of a condition."""

    TRUE = "true"
    FALSE = "false"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict with its reason. `score` is 0 to 1 where the judge measures something; `judge` names who said it."""

    verdict: Verdict
    reason: str
    judge: str
    score: float | None = None


class Judge(Protocol):
    """Says of each condition whether it holds, for one situation."""

    @property
    def id(self) -> str:
        """What judges, with everything that its verdicts depend on: verdicts are remembered under it."""

    def judge(self, conditions: Sequence[str], situation: Situation) -> Sequence[Opinion]:
        """One opinion a condition, in their order. Raises JudgeError where it cannot answer at all."""


class WordJudge:
    """Compares the words of conditions and situation. Needs nothing and never fails."""

    id = "words@1"

    def judge(self, conditions: Sequence[str], situation: Situation) -> Sequence[Opinion]:
        """One opinion a condition, in their order."""
        said = _terms(_said(situation))
        return [self._opinion(condition[:LONGEST_CONDITION], said) for condition in conditions]

    def _opinion(self, condition: str, said: frozenset[str]) -> Opinion:
        share, found = likeness(condition, said)
        score = round(share, 3)
        reason = f"{share:.0%} of it is said" + (f": {', '.join(found)}" if found else "")
        if _NEGATION.search(condition):
            return Opinion(
                Verdict.UNDECIDED, f"it says what must not be, which words cannot tell ({reason})", self.id, score
            )
        if share >= HOLDS_FROM:
            return Opinion(Verdict.TRUE, reason, self.id, score)
        return Opinion(Verdict.FALSE if share < FAILS_BELOW else Verdict.UNDECIDED, reason, self.id, score)


def likeness(condition: str, said: frozenset[str]) -> tuple[float, list[str]]:
    """Which share of a condition's meaning these terms say, 0 to 1, and by which words; 0 where it means nothing."""
    total = have = 0.0
    found: list[str] = []
    topics = {topic for term in said for topic in _topics().get(term, ())}
    for word in dict.fromkeys(words(condition.casefold())):
        if word in STOP_WORDS:
            continue
        terms = _terms(word)
        weight = FRAME_WEIGHT if word in _frame() else 1.0
        total += weight
        if terms & said:
            have += weight
        elif any(topic in topics for term in terms for topic in _topics().get(term, ())):
            have += weight * TOPIC_SHARE
        else:
            continue
        if weight == 1.0:
            found.append(word)
    return (have / total if total else 0.0), found


def _said(situation: Situation) -> str:
    parameters = " ".join(str(value) for value in situation.params.values() if isinstance(value, str | int | float))
    return "\n".join(
        (situation.question, situation.tool, *situation.languages, *situation.tags, situation.agent, parameters)
    )


def _terms(text: str) -> frozenset[str]:
    return frozenset(term for term in count_terms(words(text)) if not term.startswith(EXACT_MARK))


@cache
def _frame() -> frozenset[str]:
    return frozenset(_FRAME.split())


@cache
def _topics() -> Mapping[str, frozenset[int]]:
    """Term -> the topics that it belongs to."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_TOPICS):
        for term in _terms(line):
            found.setdefault(term, set()).add(number)
    return {term: frozenset(numbers) for term, numbers in found.items()}


class VerdictMemory(Protocol):
    """Remembers verdicts of a judge that costs something."""

    def recall(self, judge: str, situation: Situation, conditions: Sequence[str]) -> Mapping[str, bool]:
        """What this judge said of these conditions in this situation, as far as it is remembered."""

    def keep(self, judge: str, situation: Situation, verdicts: Mapping[str, bool]) -> None:
        """Remember verdicts, by condition."""


def judged(
    conditions: Sequence[str], situation: Situation, judge: Judge | None, memory: VerdictMemory | None
) -> tuple[dict[str, Opinion], list[Failure]]:
    """An opinion on each condition, and what has to be noted.

    Without a `judge`, or where it fails or leaves one out, words decide. It is asked once, for all conditions whose
    verdict in this situation is not remembered.
    """
    wanted = list(dict.fromkeys(conditions))
    found: dict[str, Opinion] = {}
    notes: list[Failure] = []
    if judge is not None and wanted:
        known: Mapping[str, bool] = memory.recall(judge.id, situation, wanted) if memory is not None else {}
        for condition in wanted:
            if condition in known:
                verdict = Verdict.TRUE if known[condition] else Verdict.FALSE
                found[condition] = Opinion(verdict, "said before", judge.id)
        open_ones = [condition for condition in wanted if condition not in found]
        try:
            opinions = judge.judge(open_ones, situation) if open_ones else ()
            if len(opinions) != len(open_ones):
                raise JudgeError(f"{judge.id} gave {len(opinions)} opinions on {len(open_ones)} conditions")
        except (JudgeError, MissingExtraError) as error:
            notes.append(Failure("judge", str(error), "words decided instead"))
        else:
            decided = {c: o for c, o in zip(open_ones, opinions, strict=True) if o.verdict is not Verdict.UNDECIDED}
            found |= decided
            left = len(open_ones) - len(decided)
            if left:
                notes.append(Failure("judge", f"{judge.id} did not decide {left} conditions", "words decided instead"))
            if memory is not None and decided:
                memory.keep(judge.id, situation, {c: o.verdict is Verdict.TRUE for c, o in decided.items()})
    rest = [condition for condition in wanted if condition not in found]
    found |= dict(zip(rest, WordJudge().judge(rest, situation), strict=True))
    return found, notes
