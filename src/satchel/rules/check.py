"""What is wrong with the instruction files of a root: what never applies, repeats, contradicts, or is gone.

All of it is told conservatively: a report that cries wolf is not read. Lines are compared as they stand in the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel import outside
from satchel.errors import ContextFileError
from satchel.rules.applies import Applied, applied, of_folders, to_judge
from satchel.rules.document import CONTEXTS
from satchel.rules.folders import folders_below
from satchel.rules.gather import ActiveContext, Evaluated, Guides, JudgeAll, gather
from satchel.rules.instructions import Instruction, matching
from satchel.rules.judge import Opinion
from satchel.rules.lines import Finding, contradictions, repeats, rule_lines
from satchel.rules.mentions import missing_names
from satchel.rules.situation import Situation
from satchel.store.protocol import Store
from satchel.types import Failure, Kind


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found. `instructions` has those that apply first; `evaluated` the rules of the root's context."""

    situation: Situation
    instructions: tuple[Applied, ...]
    evaluated: tuple[Evaluated, ...]
    never: tuple[Finding, ...]
    contradictions: tuple[Finding, ...]
    repeats: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    notes: tuple[Failure, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that somebody should look at."""
        return (*self.never, *self.contradictions, *self.repeats, *self.missing)


def check(
    guides: Guides,
    situation: Situation,
    store: Store,
    root: Path,
    judge_all: JudgeAll,
    notes: Sequence[Failure],
) -> Report:
    """Look at every instruction file and the root's context; `store` knows which files and names there are."""
    folders, bounded = folders_below(root)
    found, unread = of_folders(guides.instructions, folders)
    known: dict[str, Opinion] = {}

    def judge_once(asked: Sequence[str]) -> tuple[Mapping[str, Opinion], Sequence[Failure]]:
        """What was judged for the rules of the context is not asked again for the instruction files."""
        new = [condition for condition in asked if condition not in known]
        opinions, failures = judge_all(new) if new else ({}, ())
        known.update(opinions)
        return known, failures

    gathered = gather(guides, None, situation, judge_once, 0.0)
    opinions, undecided = judge_once(to_judge(found, situation.files))
    rows = applied(found, situation.files, opinions)
    distinct = [one for one in found if not one.stands_for or all(one.stands_for != other.path for other in found)]
    paths = sorted({path for kind in (Kind.CODE, Kind.DOC) for path in store.iterate_keys(kind)})
    lines = [line for one in distinct for line in rule_lines(one)]
    return Report(
        situation=situation,
        instructions=tuple(rows),
        evaluated=gathered.evaluated,
        never=tuple(_never(found, paths)),
        contradictions=tuple(contradictions(lines)),
        repeats=tuple(repeats(lines)),
        missing=tuple(finding for one in distinct for finding in missing_names(one, root, store)),
        notes=tuple(dict.fromkeys([*notes, *bounded, *unread, *undecided, *gathered.notes])),
    )


def _never(found: Sequence[Instruction], paths: Sequence[str]) -> list[Finding]:
    """The files that no file of the root can make apply."""
    findings = []
    for one in found:
        if one.by_hand:
            reason = "it has neither globs nor a description, and alwaysApply is not true"
        elif one.globs and matching(one, paths) is None:
            reason = f"no indexed file matches {', '.join(one.globs)}"
        else:
            continue
        findings.append(Finding(one.path, 1, "", f"never applies: {reason}"))
    return findings


def everything(guides: Guides, root: Path) -> tuple[list[Applied], list[ActiveContext], list[Failure]]:
    """Every instruction file, strongest first, and every context of a root by path, with what is wrong with them."""
    folders, notes = folders_below(root)
    found, unread = of_folders(guides.instructions, folders)
    notes = [*notes, *unread]
    rows = [Applied(one, applies=True, reason=_about(one)) for one in found]
    contexts: list[ActiveContext] = []
    for folder in folders:
        if not guides.tree.exists(folder):
            continue
        try:
            context = guides.tree.load(folder)
        except ContextFileError as error:
            notes.append(Failure(CONTEXTS, str(error), "nothing of this context counts"))
            continue
        notes += context.notes
        contexts.append(ActiveContext(context, None, "", ()))
    return rows, contexts, list(dict.fromkeys(notes))


def _about(one: Instruction) -> str:
    """When a file applies, in words."""
    below = f"below {one.folder}/" if one.folder else "everywhere"
    if one.by_hand:
        return "only by hand"
    if one.description:
        return f"when this is judged true: {outside.line(one.description)}"
    return f"for {', '.join(one.globs)} {below}" if one.globs else below
