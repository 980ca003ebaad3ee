"""An answer in the making: what is shown so far, with every decision to take back and every state to come back to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.section import Choice, Section
from satchel.assemble.shown import Group


class Twins(Protocol):
    """Knows what says the same as something shown."""

    def is_duplicate(self, section: Section, candidate: Candidate) -> bool:
        """Whether something shown says the same, which is then named as another origin of it."""
        ...

    def forget(self, candidate: Candidate) -> None:
        """Name it no more."""
        ...


@dataclass(frozen=True, slots=True)
class Admission:
    """One decision that can be taken back."""

    section: Section
    index: int
    group: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A state of a draft."""

    choices: tuple[Choice, ...]
    log: tuple[Admission, ...]
    twins: Mapping[Candidate, tuple[Candidate, ...]]


class Draft:
    """The sections of one request, and how they came to show what they show."""

    def __init__(self, sections: Sequence[Section], twins: Twins) -> None:
        self.sections = sections
        self.log: list[Admission] = []
        self.twins = twins

    def admit(self, section: Section, index: int, candidate: Candidate, step: Step, cost: int) -> bool:
        """Show a candidate, at an estimated cost in tokens. False where it says what is shown already."""
        if not candidate.pinned and candidate.leader is None and self.twins.is_duplicate(section, candidate):
            section.taken.add(index)
            return False
        group = section.groups.get(candidate.group)
        if group is None:
            group = Group(candidate.kind, candidate.group, section.lines.get(candidate.group), title=section.title)
            section.groups[candidate.group] = group
        group.admit(candidate, step, cost)
        section.taken.add(index)
        section.add(candidate, cost)
        section.admit(candidate, step)
        self.log.append(Admission(section, index, candidate.group, cost))
        return True

    def take_back(self) -> bool:
        """Undo the latest admission. Returns whether there was one."""
        if not self.log:
            return False
        last = self.log.pop()
        group = last.section.groups[last.group]
        group.withdraw(last.tokens)
        last.section.taken.discard(last.index)
        candidate = last.section.candidates[last.index]
        last.section.shown.discard(candidate)
        last.section.add(candidate, -last.tokens)
        if not group.picks:
            del last.section.groups[last.group]
        return True

    def save(self) -> Saved:
        """The present state."""
        every = (candidate for section in self.sections for candidate in section.candidates)
        return Saved(
            tuple(section.choice() for section in self.sections),
            tuple(self.log),
            {candidate: tuple(candidate.twins) for candidate in every if candidate.twins},
        )

    def restore(self, saved: Saved) -> None:
        """Go back to a state; what was shown since is not shown."""
        for section, choice in zip(self.sections, saved.choices, strict=True):
            section.choose(choice)
            for candidate in section.candidates:
                if candidate.twins or candidate in saved.twins:
                    candidate.twins[:] = saved.twins.get(candidate, ())
        self.log = list(saved.log)
