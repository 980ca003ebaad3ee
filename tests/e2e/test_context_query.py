"""A query with strategies that can be switched off, its results with previews, and what could not take part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from tests.e2e.sample import sample_repository

QUESTION = "why does sending an order wait so long between attempts, the backoff seems wrong"


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    repository = sample_repository(tmp_path_factory.mktemp("query") / "shop")
    with Satchel.open(repository.root, settings={"embed.provider": "off"}) as opened:
        yield opened


def test_a_query_gives_context_results_and_summary(satchel: Satchel) -> None:
    found = satchel.context_query(QUESTION, limit=3, fill=True)
    assert found.context == found.answer.text
    assert found.token_count == found.answer.usage.used
    assert len(found.results) == found.summary.entities_included == 3
    first = found.results[0]
    assert (first.entity.name, first.entity.type) == ("send_order", "method")
    assert first.location is not None
    assert first.location.path == "shop/client.py"
    assert all(len(row.preview) <= 203 for row in found.results)
    assert any(row.preview.endswith("...") for row in found.results)
    assert 0 < found.confidence <= 1


def test_types_and_roles_limit_what_is_found(satchel: Satchel) -> None:
    found = satchel.context_query(QUESTION, include_types=["function", "method"])
    assert {row.entity.type for row in found.results} <= {"function", "method"}
    found = satchel.context_query(QUESTION, include_types=["commits"])
    assert [row.location for row in found.results] == [None]


def test_each_strategy_really_takes_part_or_not(satchel: Satchel) -> None:
    by_strategy = {
        name: {
            signal.name
            for item in satchel.context_query(QUESTION, strategies=[name], include_types=["code"]).answer.items
            for signal in item.signals
        }
        for name in ("lexical", "names", "history")
    }
    assert "best part" in by_strategy["lexical"]
    assert by_strategy["lexical"].isdisjoint({"name", "history", "symbol mention", "calls"})
    assert "name" in by_strategy["names"]
    assert by_strategy["names"].isdisjoint({"best part", "history", "calls"})
    assert "history" in by_strategy["history"]
    assert by_strategy["history"].isdisjoint({"best part", "name", "calls"})


def test_records_are_found_by_their_words_alone(satchel: Satchel) -> None:
    assert satchel.context_query(QUESTION, strategies=["lexical"], include_types=["commits"]).results
    assert not satchel.context_query(QUESTION, strategies=["names"], include_types=["commits"]).results


def test_case_14_words_answer_and_a_strategy_that_is_down_is_a_named_failure(satchel: Satchel) -> None:
    found = satchel.context_query(QUESTION, strategies=["lexical", "dense"])
    assert found.results
    assert [failure.source for failure in found.failures] == ["strategy dense"]
    stop_words = satchel.context_query("what is the of and", strategies=["lexical", "dense"])
    assert (stop_words.context, stop_words.results, stop_words.confidence) == ("", (), 0.0)
    assert [failure.source for failure in stop_words.failures] == ["strategy dense"]
    assert satchel.context_query(QUESTION).failures == ()


def test_history_without_commits_is_a_named_failure(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("def backoff():\n    return 1\n", encoding="utf-8")
    with Satchel.open(root=tmp_path / "plain") as satchel:
        found = satchel.context_query("backoff", strategies=["lexical", "history"])
    assert [row.entity.name for row in found.results] == ["backoff"]
    assert [failure.source for failure in found.failures] == ["strategy history"]


def test_case_15_nothing_relevant_is_an_empty_context_without_confidence(satchel: Satchel) -> None:
    found = satchel.context_query("quantum chromodynamics of zebras")
    assert (found.results, found.confidence) == ((), 0.0)
    assert "Not found here: quantum, chromodynamics, zebras." in found.context
    assert (found.summary.entities_included, found.summary.entities_excluded) == (0, 0)


def test_a_floor_of_ones_own_is_absolute(satchel: Satchel) -> None:
    assert not satchel.context_query(QUESTION, min_score=0.9).results
    low = satchel.context_query("what do the zebras do about the order", min_score=0.0)
    assert low.results


def test_lines_around_come_with_the_entities(satchel: Satchel) -> None:
    alone = satchel.context_query("backoff doubles", include_types=["function"], context_lines=0)
    around = satchel.context_query("backoff doubles", include_types=["function"])
    assert len(around.results[0].preview) >= len(alone.results[0].preview)
    assert around.token_count > alone.token_count


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strategies": ["telepathy"]}, "choose from lexical, names, history, graph, dense"),
        ({"include_types": ["poems"]}, "unknown type 'poems': choose from memories, code"),
        ({"limit": 0}, "limit is 0: give 1 to 100,000 results"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"min_score": 2}, "min_score is 2"),
        ({"view": "tree"}, "unknown view 'tree'"),
        ({"strategy": "half"}, "unknown strategy 'half'"),
    ],
)
def test_bad_input_is_answered_with_what_would_be_right(satchel: Satchel, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        satchel.context_query(QUESTION, refresh=False, **options)


def test_a_strategy_that_cannot_take_part_is_a_failure(satchel: Satchel) -> None:
    found = satchel.context_query(QUESTION, limit=2, fill=True, strategies=["lexical", "dense"])
    assert found.summary.entities_included == len(found.results) == 2
    assert found.failures[0].source == "strategy dense"


def test_a_cleared_cache_changes_nothing(satchel: Satchel) -> None:
    before = satchel.context_query(QUESTION)
    satchel.clear_cache()
    assert satchel.context_query(QUESTION).context == before.context


def test_the_best_results_over_all_types_come_in_the_order_of_their_scores(satchel: Satchel) -> None:
    scores = [row.score for row in satchel.context_query(QUESTION, limit=3).results]
    assert scores == sorted(scores, reverse=True)
    every = [row.score for row in satchel.context_query(QUESTION, limit=50).results]
    assert scores == sorted(every, reverse=True)[:3]


def test_several_types_are_a_union_and_an_entity_says_what_is_meant_of_its_type(satchel: Satchel) -> None:
    found = satchel.context_query(QUESTION, include_types=["method", "commits"], min_score=0.0)
    assert {"method", "commit"} <= {row.entity.type for row in found.results}
    assert "function" not in {row.entity.type for row in found.results}
    found = satchel.context_query(QUESTION, include_types=["function", "code"], min_score=0.0)
    assert {row.entity.type for row in found.results} == {"function"}


def test_a_kind_of_weight_zero_stays_out(satchel: Satchel) -> None:
    with Satchel.open(satchel.places.root, settings={"context.weights.commits": 0}) as weighted:
        context = weighted.assemble(QUESTION, max_tokens=300)
    assert "commits" not in context.sources_used
    assert context.items
