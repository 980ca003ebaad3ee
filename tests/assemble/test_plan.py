"""Which kinds are asked, and how many items each may give."""

from __future__ import annotations

from satchel.assemble.plan import MOST_BESIDE_OTHERS, make_plan
from satchel.assemble.request import AssembleRequest
from satchel.types import Kind


def test_commits_are_few_beside_other_kinds() -> None:
    plan = make_plan(AssembleRequest("why"), {Kind.CODE: 3, Kind.COMMIT: 90})
    assert {section.kind: section.limit for section in plan} == {
        Kind.CODE: 20,
        Kind.COMMIT: MOST_BESIDE_OTHERS[Kind.COMMIT],
    }


def test_commits_alone_have_the_limit_of_the_request() -> None:
    (section,) = make_plan(AssembleRequest("why", kinds=(Kind.COMMIT,), limit=15), {})
    assert section.limit == 15
