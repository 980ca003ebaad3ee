"""Which instruction files apply to a situation, in one order, each with the reason.

The nearest folder wins, then the kind of file (`instructions.PRECEDENCE`), then the path. Of several files that stand
for one another only the strongest is taken. A file without globs at the root always applies; one in a folder applies
when the situation names a file below that folder; one with globs when they match such a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from satchel.rules.instructions import PRECEDENCE, Instruction, Instructions, matching
from satchel.rules.judge import Opinion, Verdict
from satchel.rules.paths import folders_above
from satchel.types import Failure


@dataclass(frozen=True, slots=True)
class Applied:
    """An instruction file and whether it applies, with the reason. `rank` counts from 1 among those that apply."""

    instruction: Instruction
    applies: bool
    reason: str
    rank: int = 0


def _yes(instruction: Instruction, reason: str, rank: int = 0) -> Applied:
    return Applied(instruction, applies=True, reason=reason, rank=rank)


def _no(instruction: Instruction, reason: str) -> Applied:
    return Applied(instruction, applies=False, reason=reason)


def to_judge(found: Iterable[Instruction], paths: Sequence[str]) -> list[str]:
    """The descriptions that somebody has to judge, because their files say nothing else of when they apply."""
    return [one.description for one in found if one.description and _is_near(one, paths)]


def applied(found: Iterable[Instruction], paths: Sequence[str], opinions: Mapping[str, Opinion]) -> list[Applied]:
    """Every instruction file with its verdict: those that apply first, strongest first, then the others by path.

    `opinions` are on what `to_judge` names.
    """
    instructions = sorted(found, key=_strength)
    rows: list[Applied] = []
    taken: dict[str, str] = {}
    for instruction in instructions:
        row = _judged(instruction, paths, opinions)
        target = instruction.stands_for or instruction.path
        if row.applies and target in taken:
            row = _no(instruction, f"says the same as {taken[target]}, which applies")
        elif row.applies:
            taken[target] = instruction.path
            row = _yes(instruction, row.reason, len(taken))
        rows.append(row)
    return [row for row in rows if row.applies] + sorted(
        (row for row in rows if not row.applies), key=lambda row: row.instruction.path
    )


def _strength(instruction: Instruction) -> tuple[int, int, int, str]:
    depth = instruction.folder.count("/") + 1 if instruction.folder else 0
    return -depth, PRECEDENCE.index(instruction.form), 0 if not instruction.stands_for else 1, instruction.path


def _is_near(instruction: Instruction, paths: Sequence[str]) -> bool:
    return not instruction.folder or any(instruction.relative(path) is not None for path in paths)


def _judged(instruction: Instruction, paths: Sequence[str], opinions: Mapping[str, Opinion]) -> Applied:
    if instruction.by_hand:
        return _no(instruction, "it has neither globs nor a description, and alwaysApply is not true")
    if instruction.description:
        opinion = opinions.get(instruction.description)
        if opinion is None:
            return _no(instruction, f"no file of the situation lies below {instruction.folder}/")
        holds = opinion.verdict is Verdict.TRUE
        return Applied(instruction, holds, f"its description is judged {opinion.verdict} ({opinion.reason})")
    if not instruction.globs and not instruction.folder:
        return _yes(instruction, "it is about the whole root")
    found = matching(instruction, paths)
    if found is None:
        what = f"matches {', '.join(instruction.globs)}" if instruction.globs else "lies there"
        return _no(instruction, f"no file of the situation below {instruction.folder or 'the root'} {what}")
    path, glob = found
    return _yes(instruction, f"{path} matches {glob}" if glob else f"{path} lies below {instruction.folder}/")


def near(reader: Instructions, paths: Sequence[str]) -> tuple[list[Instruction], list[Failure]]:
    """The instruction files of the root and of every folder above one of these paths."""
    folders = dict.fromkeys(["", *(folder for path in paths for folder in folders_above(path))])
    return of_folders(reader, folders)


def of_folders(reader: Instructions, folders: Iterable[str]) -> tuple[list[Instruction], list[Failure]]:
    """The instruction files of these folders, and what could not be read of them."""
    found: list[Instruction] = []
    notes: list[Failure] = []
    for folder in folders:
        instructions, failures = reader.of_folder(folder)
        found += instructions
        notes += failures
    return found, notes
