"""A larger budget keeps the best item, and nothing clearly weaker is shown in place of something better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import Satchel
from satchel.types import Format
from tests.properties.checks import assemble, weaker_inside
from tests.properties.corpora import write_corpus

CORPUS = 77
QUESTIONS = ("retry the order queue", "why does the parser drop a token", "merge_cache", "when the connection drops")

options = st.fixed_dictionaries(
    {
        "format": st.sampled_from(list(Format)),
        "tokenizer": st.sampled_from(["o200k_base", "cl100k_base", "claude", "chars"]),
        "purpose": st.sampled_from(["read", "find", "edit"]),
        "show_code": st.sampled_from([True, True, True, False]),
        "fill": st.booleans(),
        "types": st.sampled_from([(), ("code",), ("code", "commits")]),
    }
)


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    repository = write_corpus(tmp_path_factory.mktemp("corpus"), CORPUS)
    with Satchel.open(repository.root) as opened:
        opened.index()
        yield opened


@given(st.sampled_from(QUESTIONS), options, st.integers(40, 3000), st.sampled_from([1.0, 1.02, 1.1, 1.5, 2.0]))
def test_a_larger_budget_never_loses_the_best_item(
    satchel: Satchel, question: str, chosen: dict[str, Any], budget: int, factor: float
) -> None:
    smaller = assemble(satchel, question, **chosen, max_tokens=budget)
    larger = assemble(satchel, question, **chosen, max_tokens=int(budget * factor) + 1)
    assert smaller.best not in smaller.shown or smaller.best in larger.shown


@given(st.sampled_from(QUESTIONS), options, st.integers(40, 3000))
def test_nothing_clearly_weaker_is_shown_while_something_better_has_no_room(
    satchel: Satchel, question: str, chosen: dict[str, Any], budget: int
) -> None:
    assert list(weaker_inside(assemble(satchel, question, **chosen, max_tokens=budget))) == []
