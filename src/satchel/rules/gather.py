"""Gather the guidance for a situation: the current context, its ancestors, injected ones, and the instruction files.

All conditions in plain words, of rules and of instruction files, are judged together. The rules of injected contexts
are not evaluated: what a rule injects injects nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from satchel import outside
from satchel.errors import ContextFileError, UnsafePathError
from satchel.rules.context_files import CONTEXTS, InjectionRule, Target, file_of
from satchel.rules.inheritance import ContextTree, MissingContextError, ResolvedContext
from satchel.rules.injection import Registry
from satchel.rules.instructions import Applied, Instructions, applied, to_judge
from satchel.rules.judge import Opinion, Verdict
from satchel.rules.situation import Situation
from satchel.types import Failure, Signal

FRESH_DAYS = 30.0
"""Days after which a context is no longer fresh. The first specification gave a day, but counted from loading."""

JudgeAll = Callable[[Sequence[str]], tuple[Mapping[str, Opinion], Sequence[Failure]]]


@dataclass(frozen=True, slots=True)
class ActiveContext:
    """A context that counts. `distance` is 0 for the current one, steps for an ancestor, None for an injected one."""

    context: ResolvedContext
    distance: int | None
    wanted_by: str
    terms: tuple[Signal, ...]

    @property
    def priority(self) -> float:
        """The sum of its terms, 1 to 5.5."""
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
    """The sources of guidance."""

    tree: ContextTree
    instructions: Instructions
    registry: Registry


def gather(guides: Guides, current: str | None, situation: Situation, judge_all: JudgeAll, now: float) -> Gathered:
    """The guidance for a situation. `current` is the folder of a context; None means the root's, if there is one."""
    notes: list[Failure] = []
    base = _base(guides.tree, current, notes)
    instructions, unread = guides.instructions.near(situation.files)
    notes += unread
    rules = base.injection if base is not None else ()
    open_ones = [rule for rule in rules if _evaluated(rule, situation, {}).verdict is Verdict.UNDECIDED]
    conditions = [*(rule.condition for rule in open_ones), *to_judge(instructions, situation.files)]
    opinions, failures = judge_all(conditions)
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
    rows = applied(instructions, situation.files, opinions)
    return Gathered(tuple(active), tuple(rows), evaluated, tuple(keys), tuple(dict.fromkeys(notes)))


def _base(tree: ContextTree, current: str | None, notes: list[Failure]) -> ResolvedContext | None:
    if current is None and not tree.exists(""):
        return None
    try:
        base = tree.load(tree.find(current or "."))
    except MissingContextError as error:
        notes.append(Failure(CONTEXTS, str(error), "name the folder of a context.yaml, as in --context client/auth"))
        return None
    except (ContextFileError, UnsafePathError) as error:
        notes.append(Failure(CONTEXTS, str(error), "nothing of this context counts"))
        return None
    notes += base.notes
    return base


def _ancestors(tree: ContextTree, base: ResolvedContext, now: float, notes: list[Failure]) -> list[ActiveContext]:
    ancestors = []
    for path in base.chain[:-1]:
        try:
            ancestors.append(_active(tree.load(path), base.distances[path], "extends", now))
        except ContextFileError as error:
            notes.append(Failure(CONTEXTS, str(error), "this ancestor is not shown"))
    return ancestors


def _evaluated(rule: InjectionRule, situation: Situation, opinions: Mapping[str, Opinion]) -> Evaluated:
    """Evaluate a rule: `when` first, then the opinion on its condition; undecided without one."""
    reason = "it has no condition"
    if rule.when is not None:
        outcome = rule.when.check(situation)
        reason = outcome.reason
        if not outcome.holds:
            return Evaluated(rule, Verdict.FALSE, reason)
    if not rule.condition:
        return Evaluated(rule, Verdict.TRUE, reason)
    opinion = opinions.get(rule.condition)
    if opinion is None:
        return Evaluated(rule, Verdict.UNDECIDED, "nobody judged it")
    return Evaluated(rule, opinion.verdict, f"{opinion.judge}: {opinion.reason}")


def _inject(
    guides: Guides,
    rule: InjectionRule,
    active: list[ActiveContext],
    keys: list[tuple[Target, str]],
    notes: list[Failure],
    now: float,
) -> None:
    """Add the contexts and keys that a rule injects, each once."""
    for target in rule.inject:
        if guides.registry.is_key(target):
            if all(target != earlier for earlier, _ in keys):
                keys.append((target, rule.label))
            continue
        inject = f"{rule.place}: inject {outside.line(target.reference)}"
        try:
            path = guides.tree.find(target.reference, rule.origin if target.is_relative else "")
            if any(one.context.path == path for one in active):
                continue
            context = guides.tree.load(path)
        except MissingContextError:
            problem = f"{inject}: there is no {file_of(path)} and no key of that name"
            notes.append(Failure(CONTEXTS, problem, f"keys are {', '.join(guides.registry.names[:4])} and others"))
        except (ContextFileError, UnsafePathError) as error:
            notes.append(Failure(CONTEXTS, f"{inject}: {error}", "the others are injected"))
        else:
            notes += context.notes
            active.append(_active(context, None, rule.label, now))


def _active(context: ResolvedContext, distance: int | None, wanted_by: str, now: float) -> ActiveContext:
    """A context with the terms of its priority, as the first specification sums them."""
    age_days = max(now - context.updated, 0.0) / 86_400 if context.updated else FRESH_DAYS
    terms = {
        "base": 1.0,
        "current": 2.0 if distance == 0 else 0.0,
        "parent": 1.0 if distance == 1 else 0.0,
        "rules": 0.5 if context.behavior else 0.0,
        "fresh": round(max(0.0, 1.0 - age_days / FRESH_DAYS), 4),
    }
    signals = tuple(Signal(name, value, 1.0) for name, value in terms.items() if value)
    return ActiveContext(context, distance, wanted_by, signals)
