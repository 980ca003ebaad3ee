"""The stored table of the ranking check: every fitted number is in it, and one that no line notices has a reason."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from rank_table import OUT, Change, as_markdown, changes, name_of, numbers, summary

from satchel.fitted import Constant

_REASONS = {
    "about groups and duplicates, which tests/memory, benchmarks/values.py and duplicates.py measure": """
        memory.ABOVE_CHANCE memory.ALIKE memory.DOMAIN_WEIGHT memory.FEWEST_MEMBERS memory.KEPT_OVERLAP
        memory.MIN_ENTRIES memory.LINKED memory.MARGIN memory.SAME_PROSE memory.SMALLEST_GROUP
        memory.SAYS_ABOVE memory.SAYS_SHARE memory.SPLIT_SHARE memory.SPREAD memory.TABLE_ABOVE_CHANCE
        memory.TABLE_MARGIN
    """,
    "about guides and conditions of a situation, which tests/guidance and benchmarks/judge.py measure": """
        guidance.APART_BELOW guidance.FAILS_BELOW guidance.HEADING_WORDS guidance.LIKE_FROM guidance.NEAR_FROM
        guidance.NEAR_WORD guidance.OWN_WORDS guidance.PRIORITIES[base] guidance.SAID_LIKE_FROM
        guidance.TABLE_LIKE_FROM guidance.TOPIC_WORDS guidance.VAGUE_WORD
    """,
    "about what is told unasked, which tests/search/test_lessons.py and benchmarks/score.py (memory) measure": """
        answer.LESSON_IMPORTANCE answer.LESSON_RULE answer.LESSON_SHARE answer.LESSON_TELLING answer.LESSON_TOKENS
        search.LESSON_ALONE search.LESSON_FILE search.LESSON_MEANING search.LESSON_SHARE search.LESSON_WORK
        search.LESSON_WORK_RARITY
    """,
    "about the static table, without which the check asks; benchmarks/meaning.py and broad.py measure it": """
        search.FILE_WEIGHTS[table] search.TABLE_FLOOR search.THEME_MATCH search.THEME_TABLE_LEAST
        search.THEME_TABLE_SHARE search.VALUE_TABLE
    """,
    "about the commits of questions why, which benchmarks/why_changed.py measures": """
        answer.NOTES_FACTOR answer.REASON_SHARE search.REASON_EXPONENT
    """,
    "about the lines and places of an answer that is not sure, which issues and questions measure": """
        answer.FIRST_SHARE answer.GLIMPSE_LINES answer.HOP_PLACES answer.PLACES_SHARE answer.REST_DROP
        answer.UNSURE_TOKENS
    """,
    "about the room of a large change, whose lines benchmarks/promises.py looks for": "answer.HUNKS_SHARE",
    "about the names that code has for what is asked, which benchmarks/idioms.py measures": "search.IDIOM_WEIGHT",
    "about the files of a trace, whose frames come first anyway: without it issues lose .012 of their lines": """
        search.FILE_WEIGHTS[trace]
    """,
}

UNNOTICED = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Number -> why no line of the ranking check notices it, halved or doubled."""


@cache
def stored() -> dict[str, Any]:
    """The stored table."""
    table: dict[str, Any] = json.loads(OUT.read_text(encoding="utf-8"))
    return table


def is_noticed(entry: dict[str, Any]) -> bool:
    """Whether a line turns red for a number that is halved or doubled."""
    return any(entry.get(direction, {}).get("red") for direction in ("halved", "doubled"))


def test_every_fitted_number_is_in_the_table_with_its_value() -> None:
    values = {name_of(room, one): one.value for room, one in numbers()}
    measured = {name: entry["value"] for name, entry in stored()["constants"].items()}
    different = sorted(name for name, value in values.items() if measured.get(name) != value)
    assert not different, f"measure them: python benchmarks/rank_table.py --only NAME, for {', '.join(different)}"
    assert measured.keys() == values.keys()


def test_a_line_notices_each_number_or_there_is_a_reason_why_none_does() -> None:
    unnoticed = {name for name, entry in stored()["constants"].items() if not is_noticed(entry)}
    assert not unnoticed - UNNOTICED.keys(), "no line notices these: give each a question that it decides, or a reason"
    assert not UNNOTICED.keys() - unnoticed, "a line notices these, or they are gone: take them out of _REASONS"


def test_the_summary_and_the_page_are_those_of_the_table() -> None:
    table = stored()
    assert table["summary"] == summary(table["constants"])
    assert OUT.with_suffix(".md").read_text(encoding="utf-8") == as_markdown(table)


def test_a_change_stays_within_the_range_of_its_number() -> None:
    every = list(changes())
    assert all(one.constant.low <= one.value <= one.constant.high and one.value != one.constant.value for one in every)
    assert {one.direction for one in every} == {"halved", "doubled", "off"}


def test_a_number_of_a_mapping_is_named_with_its_key() -> None:
    constant = Constant("FILE_WEIGHTS", "history", 1.0, 0.0, 4.0)
    assert Change("search", constant, "halved", 0.5).name == "search.FILE_WEIGHTS[history]"
