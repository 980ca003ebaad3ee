"""Periods at the end of a question."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from broad import memories  # benchmarks/ is on the path

from satchel import Satchel
from satchel.search.periods import period_in, without_period
from satchel.search.query import subject_of
from satchel.testing import TinyRepository
from tests.postgres import environment

NOW = datetime(2026, 6, 17, 12, tzinfo=UTC).timestamp()
"""A Wednesday."""


@pytest.mark.parametrize(
    ("subject", "begin", "end", "rest"),
    [
        ("in March", "2026-03-01", "2026-04-01", ""),
        ("in December", "2025-12-01", "2026-01-01", ""),
        ("payments in December 2024", "2024-12-01", "2025-01-01", "payments"),
        ("what happened on May 12th", "2026-05-12", "2026-05-13", "what happened"),
        ("payments on 12 May 2025", "2025-05-12", "2025-05-13", "payments"),
        ("since may 3", "2026-05-03", "2026-06-18", ""),
        ("Ausfall am 3. Juli", "2025-07-03", "2025-07-04", "Ausfall"),
        ("since May", "2026-05-01", "2026-06-18", ""),
        ("Preise im März", "2026-03-01", "2026-04-01", "Preise"),
        ("the outage on 2026-02-28", "2026-02-28", "2026-03-01", "the outage"),
        ("2026-02", "2026-02-01", "2026-03-01", ""),
        ("yesterday", "2026-06-16", "2026-06-17", ""),
        ("last week", "2026-06-08", "2026-06-15", ""),
        ("this month", "2026-06-01", "2026-07-01", ""),
        ("last month", "2026-05-01", "2026-06-01", ""),
        ("letztes Jahr", "2025-01-01", "2026-01-01", ""),
        ("the last 3 days", "2026-06-14", "2026-06-18", ""),
        ("deployments in 2025", "2025-01-01", "2026-01-01", "deployments"),
    ],
)
def test_a_period_is_read_with_what_is_asked_besides(subject: str, begin: str, end: str, rest: str) -> None:
    period = period_in(subject, NOW)
    assert period is not None
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in (period.begin, period.end)]
    assert (*days, period.subject) == (begin, end, rest)


@pytest.mark.parametrize(
    "subject", ["Jana", "the march of progress", "release 2.0", "May be", "port 2026 of the server", "all that may 12"]
)
def test_other_subjects_have_no_period(subject: str) -> None:
    assert period_in(subject, NOW) is None
    assert without_period(subject) == subject


@pytest.mark.parametrize(
    ("question", "subject"),
    [("what happened in March?", "in March"), ("what did we learn last week", "last week"),
     ("what happened to the cache", ""), ("what happened to payments in March", "")],
)  # fmt: skip
def test_what_happened_is_broad_where_it_asks_of_a_period_alone(question: str, subject: str) -> None:
    assert subject_of(question) == subject


def test_all_records_of_a_period_are_shown_and_no_others(tmp_path: Path) -> None:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Begin", {"README.md": "# Shop\n"})
    days = {"2026-02-28": "Rates are cached", "2026-03-01": "Lisbon is closed", "2026-03-31": "Ruff is the linter",
            "2026-04-01": "GraphQL was dropped"}  # fmt: skip
    rows = [{"type": "memory", "id": day, "content": text, "created_at": f"{day}T00:00:00Z"}
            for day, text in days.items()]  # fmt: skip
    with Satchel.open(made.root, environ=environment(tmp_path / "home")) as engine:
        engine.import_memory([json.dumps(row).encode() for row in rows], here=True)
        context = engine.assemble("what happened in March?", refresh=False, now="2026-06-15")
        assert {item.content for item in context.items} == {"Lisbon is closed", "Ruff is the linter"}
        context = engine.assemble("what did we learn about the linter in March", refresh=False, now="2026-06-15")
        assert context.items[0].content == "Ruff is the linter"
        assert "GraphQL was dropped" not in context.text


def test_persons_and_periods_are_complete_and_themes_mostly(tmp_path: Path) -> None:
    result = memories(tmp_path, "static")
    assert (result["persons"]["recall"], result["persons"]["precision"]) == (1.0, 1.0)
    assert min(result["periods"]["recall"], result["periods"]["precision"]) >= 0.83
    assert result["themes"]["recall"] >= 0.68
    assert result["themes"]["precision"] >= 0.5
