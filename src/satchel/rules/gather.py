"""What guides a situation: the current context, its ancestors, what its rules inject, and the instruction files.

All conditions in plain words, of rules and of instruction files, go to the judge together. The rules of injected
contexts are not evaluated: what a rule brings in brings nothing in itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from satchel import outside
from satchel.codec import DAY_SECONDS
from satchel.errors import ContextFileError, UnsafePathError
from satchel.rules.applies import Applied, applied, near, to_judge
from satchel.rules.document import CONTEXTS, file_of
from satchel.rules.instructions import Instructions
from satchel.rules.judge import Opinion, Verdict
from satchel.rules.registry import Registry
from satchel.rules.rule import InjectionRule, Target
from satchel.rules.situation import Situation
from satchel.rules.tree import ContextTree, MissingContextError, ResolvedContext
from satchel.types import Failure

FRESH_DAYS = 30.0
"""Days after which a context is no longer fresh. The first specification gave a day, but counted from loading."""

JudgeAll = Callable[[Sequence[str]], tuple[Mapping[str, Opinion], Sequence[Failure]]]


@dataclass(frozen=True, slots=True)
class Term:
    """One reason for a priority, and what it adds."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class ActiveContext:
    """A context that counts. `distance` is 0 for the current one, steps for an ancestor, None for an injected one."""

    context: ResolvedContext
    distance: int | None
    wanted_by: str
    terms: tuple[Term, ...]

    @property
    def priority(self) -> float:
        """What ranks it: the sum of its terms, 1 to 5.5."""
        return sum(term.value for term in self.terms)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A rule and whether it applies; `verdict` is undecided where the judge did not know."""

    rule: InjectionRule
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that guides a situation. `keys` are targets that are no contexts, with the rule that wants each."""

    contexts: tuple[ActiveContext, ...]
    instructions: tuple[Applied, ...]
    evaluated: tuple[Evaluated, ...]
    keys: tuple[tuple[Target, str], ...]
    notes: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Guides:
    """Where guidance comes from."""

    tree: ContextTree
    instructions: Instructions
    registry: Registry


def gather(guides: Guides, current: str | None, situation: Situation, judge_all: JudgeAll, now: float) -> Gathered:
    """What guides this situation. `current` is the folder of a context; None takes the root's, if there is one."""
    notes: list[Failure] = []
    base = _base(guides.tree, current, notes)
    found, unread = near(guides.instructions, situation.files)
    notes += unread
    rules = base.injection if base is not None else ()
    asked = [rule for rule in rules if _holds(rule, situation).verdict is Verdict.UNDECIDED]
    opinions, failures = judge_all([*(rule.condition for rule in asked), *to_judge(found, situation.files)])
    notes += failures
    evaluated = tuple(_evaluated(rule, situation, opinions) for rule in rules)
    notes += [
        Failure("judge", f"undecided: {outside.line(row.rule.condition)!r} ({row.rule.label})", "the rule is left out")
        for row in evaluated
        if row.verdict is Verdict.UNDECIDED
    ]
    active = [] if base is None else [_active(base, 0, "current", now), *_ancestors(guides.tree, base, now, notes)]
    keys: list[tuple[Target, str]] = []
    for row in evaluated:
        if row.verdict is Verdict.TRUE:
            _inject(guides, row.rule, active, keys, notes, now)
    active.sort(key=lambda one: (-one.priority, one.distance is None, one.distance or 0, one.context.path))
    return Gathered(
        tuple(active),
        tuple(applied(found, situation.files, opinions)),
        evaluated,
        tuple(keys),
        tuple(dict.fromkeys(notes)),
    )


def _base(tree: ContextTree, current: str | None, notes: list[Failure]) -> ResolvedContext | None:
    if current is None and not tree.exists(""):
        return None
    try:
        path = tree.find(current or ".")
        base = tree.load(path)
    except MissingContextError as error:
        notes.append(Failure(CONTEXTS, str(error), "name the folder of a context.yaml, as in --context client/auth"))
        return None
    except (ContextFileError, UnsafePathError) as error:
        notes.append(Failure(CONTEXTS, str(error), "nothing of this context counts"))
        return None
    notes += base.notes
    return base


def _ancestors(tree: ContextTree, base: ResolvedContext, now: float, notes: list[Failure]) -> list[ActiveContext]:
    found = []
    for path in base.chain[:-1]:
        try:
            found.append(_active(tree.load(path), base.distances[path], "extends", now))
        except ContextFileError as error:
            notes.append(Failure(CONTEXTS, str(error), "this ancestor is not shown"))
    return found


def _holds(rule: InjectionRule, situation: Situation) -> Evaluated:
    """What can be decided without a judge; undecided where words remain to be judged."""
    if rule.when is not None:
        outcome = rule.when.check(situation)
        if not outcome.holds:
            return Evaluated(rule, Verdict.FALSE, outcome.reason)
        if not rule.condition:
            return Evaluated(rule, Verdict.TRUE, outcome.reason)
    if rule.condition:
        return Evaluated(rule, Verdict.UNDECIDED, "nobody judged it")
    return Evaluated(rule, Verdict.TRUE, "it has no condition")


def _evaluated(rule: InjectionRule, situation: Situation, opinions: Mapping[str, Opinion]) -> Evaluated:
    known = _holds(rule, situation)
    if known.verdict is not Verdict.UNDECIDED or rule.condition not in opinions:
        return known
    opinion = opinions[rule.condition]
    return Evaluated(rule, opinion.verdict, f"{opinion.judge}: {opinion.reason}")


def _inject(
    guides: Guides,
    rule: InjectionRule,
    active: list[ActiveContext],
    keys: list[tuple[Target, str]],
    notes: list[Failure],
    now: float,
) -> None:
    """Add what a rule injects; what is there already is not added again."""
    for target in rule.inject:
        if guides.registry.is_key(target):
            if all(known != target for known, _ in keys):
                keys.append((target, rule.label))
            continue
        shown = outside.line(target.reference)
        try:
            is_relative = target.reference.startswith(("./", "../"))
            path = guides.tree.find(target.reference, rule.origin if is_relative else "")
            if any(one.context.path == path for one in active):
                continue
            context = guides.tree.load(path)
        except MissingContextError:
            problem = f"{rule.place}: inject {shown}: there is no {file_of(path)} and no key of that name"
            notes.append(Failure(CONTEXTS, problem, f"keys are {', '.join(guides.registry.names[:4])} and others"))
        except (ContextFileError, UnsafePathError) as error:
            notes.append(Failure(CONTEXTS, f"{rule.place}: inject {shown}: {error}", "the others are injected"))
        else:
            notes += context.notes
            active.append(_active(context, None, rule.label, now))


def _active(context: ResolvedContext, distance: int | None, wanted_by: str, now: float) -> ActiveContext:
    """A context with the terms of its priority, as the first specification sums them."""
    age_days = max(now - context.updated, 0.0) / DAY_SECONDS if context.updated else FRESH_DAYS
    terms = (
        Term("base", 1.0),
        Term("current", 2.0 if distance == 0 else 0.0),
        Term("parent", 1.0 if distance == 1 else 0.0),
        Term("rules", 0.5 if context.behavior else 0.0),
        Term("fresh", round(max(0.0, 1.0 - age_days / FRESH_DAYS), 4)),
    )
    return ActiveContext(context, distance, wanted_by, tuple(term for term in terms if term.value))
