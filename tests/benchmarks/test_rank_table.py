"""The stored table of the ranking check: every fitted number is in it, and one that no line notices has a reason."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from rank_table import OUT, Change, as_markdown, changes, name_of, numbers, summary

from satchel.fitted import Constant

_REASONS = {
    "a limit of work, which small projects do not reach": """
        answer.CANDIDATE_TOKENS answer.COMMON_NAME answer.FAILURE_FILES answer.FAILURE_NAMES
        answer.FOLLOWED_NAMES answer.ITEM_TOKENS answer.LARGE_CANDIDATE_TOKENS answer.LEAST_CANDIDATES
        answer.LISTED_FILES answer.LISTED_PLACES answer.OMISSIONS answer.RERANKED answer.SPARE_RECORDS
        answer.THEME_ITEM_TOKENS memory.NEAR_MEMORIES search.CALLS_OF_CHUNK search.CANDIDATE_SPANS
        search.CHANGE_COMMITS search.IMPACT_CHUNKS search.IMPACT_IN_TEXT search.IMPACT_OF_EACH
        search.LITERAL_SPANS search.NAMED_FILES search.RANKED_FILES search.RANKED_SPANS search.REPLACING_RECORDS
        search.SPANS_PER_RECORD search.TOP_CHUNKS search.VECTOR_CHUNKS search.VOTING_COMMITS
    """,
    "zero, which halved or doubled is the same": """
        answer.RELATIVE_FLOORS[code] answer.REST_DROP guidance.UNLIKE_BELOW
    """,
    "about notes, confidence or what a session has, not about what is found": """
        answer.ALIKE_TEXTS answer.CONFIDENCE_FACTOR answer.CONFIDENT_RESULTS answer.FEW_NOTES_SHARE
        answer.FEW_NOTES_TOKENS answer.NOTES_SHARE answer.RELATED_SHARE answer.SENT_SHARE guidance.SHOWN_NOTES
    """,
    "about duplicates and groups of the memory, which tests/memory and benchmarks/values.py measure": """
        memory.ABOVE_CHANCE memory.ALIKE memory.DOMAIN_WEIGHT memory.FEWEST_MEMBERS memory.KEPT_OVERLAP
        memory.LEAST_ENTRIES memory.LINKED memory.MARGIN memory.SAME_PROSE memory.SMALLEST_GROUP
        memory.SPLIT_SHARE memory.SPREAD memory.UNCHANGED_MONTHS
    """,
    "about guides of a situation, which tests/guidance checks": """
        answer.GUIDE_SHARES[0] answer.GUIDE_SHARES[1] answer.GUIDE_SHARES[2] answer.GUIDE_SHARES[3]
        answer.HISTORY_SHARE answer.LATER_SHARE answer.LEAD_SHARE guidance.HEADING_WORDS guidance.ITEMS
        guidance.LIKE_FROM guidance.OWN_WORDS guidance.PRIORITIES[base] guidance.TOPIC_WORDS
    """,
    "no fair question was found that it decides: it may be deleted": """
        answer.HISTORY_WORDS answer.ITEM_SHARE answer.LEAST_PROSE answer.LEAST_STRENGTH answer.LONG_PLACE
        answer.PASSAGES answer.PASSAGE_SHARE answer.RARE_LINES answer.RECORD_GROWTH answer.RECORD_REST_DROP
        answer.SHRINK_SHARES[1] answer.SHRINK_SHARES[2] answer.SMALLEST_PIECE answer.STRATEGY_SHARES[1]
        answer.STRATEGY_SHARES[2] answer.STRATEGY_SHARES[3] answer.USEFULNESS[conversation]
        answer.USEFULNESS[note] answer.VALUE_LINES answer.WHOLE_BEST_LINES answer.WHOLE_BEST_TOKENS
        answer.WHOLE_ITEM_TOKENS[edit] hooks.LEAST_STRENGTH hooks.PREMORTEM_SHARE search.BASE_LINES
        search.CALL_GUESSED search.CALL_INHERITED search.CALL_STEP search.CHANGE_LINES_AROUND search.EDIT_CALLS
        search.EDIT_SUBJECTS search.EXAMPLE_LEAST search.EXAMPLE_LINES search.FIRST_LINES search.FRAME_FILE
        search.FRAME_LINES search.FRAME_REST search.IMPACT_PROSE search.LONG_QUESTION search.NEAR_COMMIT
        search.NEAR_PASSAGE search.NOTE_SPAN_SHARE search.ORDER_LEAST search.REGISTER_LINES search.REST_FACTOR
        search.STEM_WEIGHTS[dotted] search.THEME_COMMON search.THEME_LITERAL search.UNASKED_FACTOR
        search.VALUE_TRACE
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
    assert unnoticed == UNNOTICED.keys(), "a new number needs a question that it decides, or a reason"


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
