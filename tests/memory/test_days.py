"""Days that are told by their distance become dates."""

from __future__ import annotations

import pytest

from satchel.memory.days import with_dates

FRIDAY = 1_777_629_600.0
"""2026-05-01, 10:00 UTC."""


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("We chose it yesterday.", "We chose it on 2026-04-30."),
        ("It runs since yesterday.", "It runs since 2026-04-30."),
        ("the day before yesterday", "on 2026-04-29"),
        ("two weeks ago", "on 2026-04-17"),
        ("3 months ago", "in February 2026"),
        ("five years ago", "in 2021"),
        ("last week", "in the week of 2026-04-20"),
        ("until next week", "until the week of 2026-05-04"),
        ("It expires next month", "It expires in June 2026"),
        ("last year", "in 2025"),
        ("last Friday", "on 2026-04-24"),
        ("since Monday", "since 2026-04-27"),
        ("yesterday's outage", "the outage of 2026-04-30"),
        ("seit gestern", "seit 2026-04-30"),
        ("letzten Montag", "am 2026-04-27"),
    ],
)
def test_a_relative_day_is_written_as_a_date(said: str, written: str) -> None:
    assert with_dates(said, FRIDAY) == written


@pytest.mark.parametrize(
    "said", ["We deploy on Mondays.", "last week's outage", "an hour ago", "recently", "next Friday", "the todays list"]
)
def test_what_names_no_single_day_stays(said: str) -> None:
    assert with_dates(said, FRIDAY) == said
