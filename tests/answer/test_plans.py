"""Which kinds are asked, with which weight, and how many items each may give."""

from __future__ import annotations

import pytest

from satchel.answer import weights
from satchel.answer.plans import make_plan, role_is_asked
from satchel.answer.request import Asked, SearchScope
from satchel.types import Kind, Role


def test_every_kind_may_give_as_many_items_as_the_answer() -> None:
    plan = make_plan(Asked("why"), SearchScope(limit=15), {Kind.CODE: 3, Kind.COMMIT: 90})
    assert {section.kind: section.limit for section in plan} == {Kind.CODE: 15, Kind.COMMIT: 15}


def test_a_kind_without_weight_is_not_asked() -> None:
    scope = SearchScope(weights={Kind.COMMIT: 0.0})
    assert [section.kind for section in make_plan(Asked("why"), scope, {Kind.CODE: 3, Kind.COMMIT: 90})] == [Kind.CODE]


@pytest.mark.parametrize(
    ("kind", "role", "roles", "is_asked"),
    [
        (Kind.CODE, Role.METHOD, (), True),
        (Kind.CODE, Role.METHOD, (Role.METHOD,), True),
        (Kind.CODE, Role.FUNCTION, (Role.METHOD,), False),
        (Kind.DOC, Role.SECTION, (Role.METHOD,), True),
        (Kind.COMMIT, Role.RECORD, (Role.CLASS, Role.SECTION), True),
        (Kind.DOC, Role.TEXT, (Role.CLASS, Role.SECTION), False),
    ],
)
def test_roles_say_what_is_meant_of_their_own_kinds_alone(
    kind: Kind, role: Role, roles: tuple[Role, ...], is_asked: bool
) -> None:
    assert role_is_asked(kind, role, roles) is is_asked


@pytest.mark.parametrize(
    ("question", "is_about_history"),
    [
        ("why was the helper removed", True),
        ("Why are redirects no longer intercepted?", True),
        ("when did the cache start to use keys, and why", True),
        ("who renamed this, and why was it split", True),
        ("why does the validator hand me an empty object", False),
        ("what breaks if the header is removed", False),
        (f"why was the helper removed? {'it worked ' * 20}", False),
    ],
)
def test_a_question_about_why_something_was_changed_gives_commits_room(
    question: str, *, is_about_history: bool
) -> None:
    available, scope = {Kind.CODE: 3, Kind.COMMIT: 90}, SearchScope()
    sections = {section.kind: section.weight for section in make_plan(Asked(question), scope, available)}
    usual = {section.kind: section.weight for section in make_plan(Asked("cache"), scope, available)}
    assert sections[Kind.CODE] == usual[Kind.CODE]
    assert sections[Kind.COMMIT] == usual[Kind.COMMIT] * (weights.HISTORY_FACTOR if is_about_history else 1)
