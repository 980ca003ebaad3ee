from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.conversations import (
    ASKS,
    MAX_ACTIONS,
    Action,
    Exchange,
    searched_terms,
    shortened,
    shown_text,
    title_of,
)
from satchel.text import stem

MAY_FIRST = 1_777_631_400.25  # 2026-05-01 10:30:00.250 UTC


def exchange(said: str = "Why is the build red?", **options: object) -> Exchange:
    """An exchange of the first of May."""
    values: dict[str, object] = {"session": "s1", "id": "1a2b3c4d-5e6f", "time": MAY_FIRST, "said": said}
    return Exchange(**(values | options))  # type: ignore[arg-type]


def test_an_exchange_reads_as_who_said_what_and_which_tools_were_used() -> None:
    actions = (
        Action("Bash", "make test", "3 failed", failed=True),
        Action("Read", "a.py"),
        Action("Edit", "a.py", "ok"),
    )
    assert shown_text(exchange(replies=("Looking.", "It was a typo."), actions=actions)) == (
        "User: Why is the build red?\n\n"
        "Assistant: Looking.\n\nIt was a typo.\n\n"
        "Tools:\n- Bash make test\n  failed: 3 failed\n- Read a.py\n- Edit a.py\n  gave: ok"
    )


def test_a_turn_of_a_person_begins_with_the_name() -> None:
    assert shown_text(exchange("Hi!", speaker="Ada")) == "Ada: Hi!"


def test_a_summary_is_not_told_as_something_that_the_user_said() -> None:
    assert shown_text(exchange("The tests pass.", compaction=True)).startswith("Summary of what was said before: ")


def test_a_failure_without_words_is_still_told() -> None:
    assert shown_text(exchange("", actions=(Action("Bash", "", failed=True),))) == "Tools:\n- Bash\n  failed"


def test_a_long_run_of_tools_is_counted_and_not_listed_whole() -> None:
    text = shown_text(exchange(actions=(Action("Read", "a.py"),) * (MAX_ACTIONS + 3)))
    assert text.count("- Read") == MAX_ACTIONS
    assert text.endswith("- [3 more]")


@given(st.lists(st.floats(0, 4e9), min_size=2, max_size=20, unique=True))
def test_the_keys_of_a_session_sort_by_time(times: list[float]) -> None:
    times = sorted({round(time, 3) for time in times})
    keys = [exchange(time=time).key for time in times]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_a_key_names_its_session_its_moment_and_its_exchange() -> None:
    assert exchange().key == "s1/20260501T103000.250-1a2b3c4d"


@pytest.mark.parametrize(
    ("said", "replies", "asks"),
    [
        ("Is it red?", (), True),
        ("Is it red? [shared image: a wall]", (), True),
        ("It is red.", (), False),
        ("Is it red?", ("Yes.",), False),
    ],
    ids=["a question", "with a picture", "a statement", "answered"],
)
def test_an_exchange_asks_when_it_ends_with_an_open_question(said: str, replies: tuple[str, ...], asks: bool) -> None:
    assert exchange(said, replies=replies).asks is asks
    one = exchange(said, replies=replies)
    assert one.asks is asks
    assert (ASKS in searched_terms(one.time, one.branch, asks=one.asks)) is asks


def test_an_exchange_is_found_by_its_date_in_words_and_by_its_branch() -> None:
    one = exchange(branch="retry")
    assert {"1", "may", "2026", stem("retry")} <= set(searched_terms(one.time, one.branch, asks=False))


@given(st.text(max_size=400), st.integers(30, 200))
def test_what_is_shortened_keeps_its_ends_and_says_how_much_is_left_out(text: str, limit: int) -> None:
    short = shortened(text, limit)
    if len(text) <= limit:
        assert short == text
    else:
        assert f"[... {len(text) - limit:,} characters left out ...]" in short
        assert len(short) <= limit + 50


def test_a_title_is_one_short_line() -> None:
    assert title_of(exchange("one\ntwo")) == "one two"
    assert len(title_of(exchange("word " * 100))) <= 80
