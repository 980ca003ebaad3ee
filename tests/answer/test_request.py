"""Requests: one value for each stage, and a question that is safe from the beginning."""

from dataclasses import fields, replace

from satchel.answer.request import PARTS, AssembleRequest, make_request, request_fields, request_with
from satchel.settings import Settings
from satchel.types import Format, Kind
from tests.safety.test_sanitize_redact import TOKENS


def test_every_field_is_in_one_part_of_a_request() -> None:
    assert tuple(PARTS) == tuple(part.name for part in fields(AssembleRequest))
    names = [row.name for part in PARTS.values() for row in fields(part)]
    assert len(set(names)) == len(names) == len(request_fields())


def test_values_are_in_the_part_of_their_field() -> None:
    request = request_with(query="why", kinds=(Kind.CODE,), max_tokens=700, format=Format.XML, session="s")
    assert (request.asked.query, request.scope.kinds, request.asker.session) == ("why", (Kind.CODE,), "s")
    assert (request.budget.max_tokens, request.form.format) == (700, Format.XML)


def test_a_request_within_another_budget_differs_in_nothing_else() -> None:
    request = request_with(query="why", fill=True)
    smaller = request.within(300)
    assert smaller.budget == replace(request.budget, max_tokens=300)
    assert replace(smaller, budget=request.budget) == request


def test_only_a_plan_and_several_named_kinds_share_the_budget() -> None:
    scopes = [request_with(**values).scope for values in ({}, {"kinds": (Kind.CODE,)}, {"kinds": tuple(Kind)[:2]})]
    assert [scope.shares_budget for scope in scopes] == [False, False, True]
    assert request_with(plan="brief").scope.shares_budget


def test_the_question_of_a_request_is_made_safe() -> None:
    secret = TOKENS["github-token"]
    request = make_request(f"who\u200b uses {secret}", Settings(), {})
    assert request.asked.query == "who uses [REDACTED:github-token]"
    allowed = make_request(f"who uses {secret}", Settings(redact_allow=(secret[:6],)), {})
    assert allowed.asked.query == f"who uses {secret}"
