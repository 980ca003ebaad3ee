"""The rules that a context file states: how to behave, and what to bring in when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.rules.conditions import Condition


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to bring in: a context's path or a registered key as written, and how much of it."""

    reference: str
    query: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """What both kinds of rules have.

    `condition` is free text for the judge, `when` what can be decided; a rule with neither always applies, one with
    both needs both. `origin` is the folder of the context that stated it, `place` its file and line.
    """

    origin: str
    place: str
    condition: str
    when: Condition | None
    said: str
    """The rule as written, to know it again when it comes along a second way."""


@dataclass(frozen=True, slots=True)
class BehaviorRule(Rule):
    """On `trigger`, do `actions`."""

    trigger: str
    actions: tuple[str, ...]

    @property
    def line(self) -> str:
        """The rule on one line, as the first specification writes it."""
        condition = f" (if {self.condition})" if self.condition else ""
        return f"{self.trigger}{condition}: {'; '.join(self.actions)}"


@dataclass(frozen=True, slots=True)
class InjectionRule(Rule):
    """Bring in these targets."""

    name: str
    inject: tuple[Target, ...]

    @property
    def label(self) -> str:
        """How messages name it."""
        return self.name or self.place
