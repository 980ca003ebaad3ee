"""The plans by name, and the requests of those that need no question.

A request names its plan, so that it can be saved and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.assemble.plan import Plan, make_plan
from satchel.assemble.question import safe_question
from satchel.assemble.request import AssembleRequest, make_request
from satchel.errors import UsageError
from satchel.search.filters import make_filters
from satchel.settings import Settings
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


def premortem_request(settings: Settings, domain: str, strategy: str | None, **options: Any) -> AssembleRequest:
    """The checked request of a premortem. Raises UsageError for an unknown domain or strategy; it lists all."""
    from satchel.assemble import premortem

    defaults = {"max_tokens": premortem.MAX_TOKENS, "limit": premortem.LIMIT}
    filters = make_filters(domain=domain, strategy=strategy)
    return make_request("", settings, {**defaults, **options, "filters": filters, "plan": premortem.PLAN})


def brief_request(settings: Settings, after_failure: str | None, **options: Any) -> AssembleRequest:
    """The checked request of a brief. Raises UsageError for an empty failure."""
    from satchel.assemble import brief, failure

    if after_failure is None:
        defaults = {"max_tokens": brief.MAX_TOKENS, "limit": brief.LIMIT}
        return make_request("", settings, {**defaults, **options, "plan": brief.PLAN})
    if not after_failure.strip():
        raise UsageError("the failure is empty: give the output of the command that failed")
    text = safe_question(after_failure, settings.redact_allow)[-failure.FAILURE_CHARACTERS :]
    defaults = {"max_tokens": failure.MAX_TOKENS, "limit": failure.LIMIT}
    return make_request(text, settings, {**defaults, **options, "plan": failure.PLAN})
