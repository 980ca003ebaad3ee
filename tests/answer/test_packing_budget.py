"""The budget: a ceiling, spent where it pays, with reserves that come back when unused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import InvalidContextTypeError, UsageError
from satchel.testing import TinyRepository
from tests.e2e.sample import sample_repository
from tests.oracle import o200k

QUESTION = "how long does backoff wait before an order is sent again"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = sample_repository(tmp_path / "shop")
    body = "".join(f"    order.retry_{n} = backoff(order, {n})\n" for n in range(12))
    made.commit("Many", {f"shop/part_{n}.py": f"def retry_{n}(order):\n{body}" for n in range(30)})
    return made


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        yield opened


def test_an_answer_stops_where_value_ends_and_fills_the_budget_when_that_is_asked_for(satchel: Satchel) -> None:
    short = satchel.assemble(QUESTION, max_tokens=1500)
    full = satchel.assemble(QUESTION, max_tokens=1500, fill=True)
    assert short.usage.used == o200k(short.text) < full.usage.used == o200k(full.text) <= 1500
    assert (short.usage.stopped, full.usage.stopped) == ("value", "budget")
    assert {row.reason for row in short.overflow} == {"value"}
    assert {row.budget for row in short.overflow} == {0}
    assert full.usage.utilization > 0.9
    assert {item.id for item in short.items} < {item.id for item in full.items}


def test_a_reserve_is_kept_for_its_kind_and_comes_back_when_it_is_not_needed(satchel: Satchel) -> None:
    def docs_tokens(**options: Any) -> int:
        context = satchel.assemble(QUESTION, max_tokens=300, weights={}, **options)
        return sum(item.tokens for item in context.items if item.source == "doc")

    context = satchel.assemble(QUESTION, max_tokens=600, reserves={"commits": 500}, fill=True)
    assert context.usage.utilization > 0.8
    assert docs_tokens(reserves={"docs": 200}) >= docs_tokens()


@pytest.mark.parametrize("tokens", [-1, True, 1.5])
def test_an_impossible_reserve_is_refused(satchel: Satchel, tokens: Any) -> None:
    with pytest.raises(UsageError, match="reserve of code"):
        satchel.assemble(QUESTION, reserves={"code": tokens})


def test_a_reserve_for_an_unknown_type_is_refused(satchel: Satchel) -> None:
    with pytest.raises(InvalidContextTypeError, match="choose from memories"):
        satchel.assemble(QUESTION, reserves={"pictures": 10})


@pytest.mark.parametrize("budget", [0, -1, 10_000_001, True])
def test_an_impossible_budget_is_refused(satchel: Satchel, budget: int) -> None:
    with pytest.raises(UsageError, match="max_tokens"):
        satchel.assemble(QUESTION, max_tokens=budget)


def test_a_huge_budget_shows_everything_that_is_relevant(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["code"], max_tokens=10_000_000, limit=100, fill=True)
    assert len(context.items) >= 30
