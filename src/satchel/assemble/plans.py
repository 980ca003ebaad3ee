"""The plans by name. A request names its plan, so that it can be saved and asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from satchel.assemble.plan import Plan, make_plan
from satchel.assemble.request import AssembleRequest
from satchel.errors import UsageError
from satchel.types import Kind


def _premortem(request: AssembleRequest) -> Plan:
    from satchel.assemble import premortem  # here, as the others: most requests name no plan

    return premortem.plan(request)


def _brief(request: AssembleRequest) -> Plan:
    from satchel.assemble import brief

    return brief.plan(request)


def _failure(request: AssembleRequest) -> Plan:
    from satchel.assemble import failure

    return failure.plan(request)


PLANS: Mapping[str, Callable[[AssembleRequest], Plan]] = {"premortem": _premortem, "brief": _brief, "failure": _failure}
"""Name -> the plan of a request. The plan without a name asks every kind about the question."""


def plan_of(request: AssembleRequest, available: Mapping[Kind, int]) -> Plan:
    """The plan that a request names; `available` counts the documents of each kind. Raises UsageError for a name."""
    if not request.plan:
        return Plan(make_plan(request, available))
    if request.plan not in PLANS:
        raise UsageError(f"unknown plan {request.plan!r}: choose from {', '.join(PLANS)}")
    return PLANS[request.plan](request)
