"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How bad it is: `warn` costs something, `fail` makes answers wrong or impossible."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `fix` is what to do about it, a command where there is one; empty where all is well."""

    name: str
    outcome: Outcome
    message: str
    fix: str = ""


def ok(name: str, message: str) -> Check:
    """All is well."""
    return Check(name, Outcome.OK, message)


def warn(name: str, message: str, fix: str) -> Check:
    """It works, with a loss."""
    return Check(name, Outcome.WARN, message, fix)


def fail(name: str, message: str, fix: str) -> Check:
    """It does not work."""
    return Check(name, Outcome.FAIL, message, fix)


def check_data(check: Check) -> dict[str, str]:
    """A finding as plain JSON values."""
    return {"name": check.name, "outcome": check.outcome.value, "message": check.message, "fix": check.fix}
