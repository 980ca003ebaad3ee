"""The filters of a search as arguments, and the check that they say something of what is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from satchel.calls.parameters import Parameter, Shape
from satchel.errors import UsageError
from satchel.types import CONTEXT_TYPES
from satchel.vocabulary import ACTIVE, FILTER_KINDS, Axis, Domain, MemoryCategory, OutcomeStatus, Strategy, choices

FILTERS = (
    Parameter("category", Shape.TEXT, "Of memories.", choices=tuple(choices(MemoryCategory))),
    Parameter("min_importance", Shape.NUMBER, "Of memories.", least=0, most=1),
    Parameter("domain", Shape.TEXT, "Of experiences and values.", choices=tuple(choices(Domain))),
    Parameter("strategy", Shape.TEXT, "Of experiences and values.", choices=tuple(choices(Strategy))),
    Parameter("outcome", Shape.TEXT, "Of experiences.", choices=(*choices(OutcomeStatus), ACTIVE)),
    Parameter("axis", Shape.TEXT, "One side of experiences and values.", choices=tuple(choices(Axis))),
    Parameter("author", Shape.TEXT, "A part of the name, of commits."),
    Parameter("since", Shape.MOMENT, "Records from then on: a date, or epoch seconds."),
    Parameter("until", Shape.MOMENT, "Records before then."),
    Parameter("tags", Shape.TEXTS, "Records with all of these."),
)
"""One for each filter of a search."""


def check_filters(
    names: Iterable[str], types: Iterable[str], spelled: Callable[[str], str] = lambda name: name
) -> None:
    """Raise UsageError for a filter that says nothing of any of the types asked for. `spelled` is how it is written."""
    asked = {CONTEXT_TYPES[name] for name in types if name in CONTEXT_TYPES}
    for name in names if asked else ():
        concerned = FILTER_KINDS[name]
        if not concerned & asked:
            said = ", ".join(sorted(kind.plural for kind in asked))
            known = ", ".join(kind.plural for kind in CONTEXT_TYPES.values() if kind in concerned)
            raise UsageError(f"{spelled(name)} says nothing of {said}: it is for {known}")
