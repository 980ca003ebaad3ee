from __future__ import annotations

from dataclasses import replace

import pytest

from satchel import Satchel
from satchel.assemble.receipts.budgets import admitting, is_shown
from satchel.testing import TinyRepository
from satchel.types import Context, ContextItem, Format, Location, Omission, Usage
from tests.e2e.test_question import QUESTION

OUT = Omission("code:a.py::f", "code", "f", 0.5, "budget", 120, "a.py", 3, 9)


def shown(*spans: tuple[int, int]) -> ContextItem:
    return ContextItem("code:a.py", "code", "a.py", "", 0.5, location=Location("a.py", 1, 20), spans=spans)


def answer(*items: ContextItem) -> Context:
    return Context("q", "", Format.MARKDOWN, items, Usage(1, 1, "o200k_base", exact=True))


@pytest.mark.parametrize("budget", [60, 120, 200, 300])
def test_the_budget_that_is_named_really_admits_it(satchel: Satchel, repository: TinyRepository, budget: int) -> None:
    extra = {
        f"shop/extra{n}.py": f"def retry{n}(attempt):\n    '''Wait for the backoff.'''\n    return {n} * attempt\n"
        for n in range(9)
    }
    repository.commit("Add more", extra)
    request = satchel.request(QUESTION, max_tokens=budget)
    satchel.index()
    context = satchel.answer(request)
    explained = satchel.explained(request, context)
    assert [row.id for row in explained.overflow] == [row.id for row in context.overflow]
    assert any(row.verified for row in explained.overflow)
    for row in explained.overflow:
        assert row.verified
        assert row.budget > budget
        assert is_shown(row, satchel.unrecorded(replace(request, max_tokens=row.budget)).items)


def test_only_the_first_rows_are_tried_if_no_more_are_shown(satchel: Satchel) -> None:
    request = satchel.request(QUESTION, max_tokens=100)
    satchel.index()
    explained = satchel.explained(request, satchel.answer(request), most=2)
    assert sum(row.verified for row in explained.overflow) == 2
    assert explained.meta["explained"] == 2


def test_the_smallest_tried_budget_that_shows_it_is_named() -> None:
    tried: list[int] = []

    def ask(budget: int) -> Context:
        tried.append(budget)
        return answer(shown((1, 9))) if budget >= 200 else answer()

    found = admitting([OUT], 100, ask, 10_000)
    assert found[0].verified
    assert 200 <= found[0].budget <= 250
    assert tried == sorted(tried)


def test_what_nothing_shows_stays_an_estimate() -> None:
    assert admitting([OUT], 100, lambda _: answer(), 500) == (OUT,)


def test_what_the_limit_of_items_keeps_out_is_not_tried() -> None:
    barred = replace(OUT, reason="limit", budget=0)

    def ask(_: int) -> Context:
        raise AssertionError("no budget helps")

    assert admitting([barred], 100, ask, 500) == (barred,)


def test_where_the_limit_keeps_an_item_out_no_budget_is_named(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["code"], limit=1)
    assert {row.reason for row in context.overflow if row.path != "shop/client.py"} == {"limit"}
    assert all(row.budget == 0 for row in context.overflow if row.reason == "limit")


def test_lines_count_as_shown_only_all_together() -> None:
    assert is_shown(OUT, [shown((1, 12))])
    assert not is_shown(OUT, [shown((1, 5), (8, 12))])
    assert not is_shown(OUT, [shown((10, 12))])
    record = Omission("commit:1", "commit", "Fix", 0.1, "budget", 9)
    assert is_shown(record, [ContextItem("commit:1", "commit", "Fix", "", 0.1)])
    assert is_shown(record, [ContextItem("commit:2", "commit", "Fix", "", 0.1, origins=("commit:1",))])
