from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.search import weights
from satchel.search.query import (
    LONGEST_RUN,
    Zone,
    analyse,
    asks_for_a_recipe,
    recipe_nouns,
)

ISSUE = """Session.send drops the body on redirect
<!-- please fill in the template -->
### Describe the bug
- [ ] I searched the issues
When `Session.send` follows a redirect, see src/net/session.py, `max_hops` is ignored.
```
client.send("x")
```
Traceback (most recent call last):
  File "/usr/lib/site-packages/net/session.py", line 42, in send
    raise TooManyHops
TooManyHopsError: boom
Link: https://example.org/owner/repo/blob/main/src/net/hops.py#L7 and https://example.org/docs
"""


def test_an_issue_is_split_into_zones_and_its_template_is_dropped() -> None:
    zones = analyse(ISSUE).zones
    assert zones[0] == (Zone.TITLE, "Session.send drops the body on redirect")
    assert [zone for zone, line in zones if "client.send" in line] == [Zone.CODE]
    assert [zone for zone, line in zones if "raise TooManyHops" in line] == [Zone.TRACE]
    assert not any("Describe" in line or "searched" in line or "template" in line for _, line in zones)
    assert not any("example.org" in line for _, line in zones)


def test_paths_symbols_and_frames_are_noted_with_their_form() -> None:
    query = analyse(ISSUE)
    assert {mention.text for mention in query.paths} >= {"src/net/session.py", "src/net/hops.py"}
    forms = {(mention.text, mention.qualifier): mention.form for mention in query.symbols}
    assert forms[("send", "Session")] == "backticks"
    assert forms[("max_hops", "")] == "backticks"
    places = {(frame.path, frame.line) for frame in query.trace.places}
    assert places == {("/usr/lib/site-packages/net/session.py", 42), ("src/net/hops.py", 7)}


@pytest.mark.parametrize(
    ("text", "asks"),
    [("hello there", False), ("ok, good morning!", False), ("say hello", True), ("`hello`", True), ("hello()", True)],
)
def test_a_greeting_asks_nothing_but_a_name_of_code_does(text: str, asks: bool) -> None:
    assert bool(analyse(text).terms) is asks


@pytest.mark.parametrize(
    ("question", "name", "has"),
    [
        ("which environment variables are read", "getenv", True),
        ("what env vars does it use?", "getenv", True),
        ("how is the environment of a build set up", "getenv", False),
        ("which commands are there", "click", True),
        ("where are the command line options defined", "click", True),
        ("how are commands sent to the server", "click", False),
    ],
)
def test_a_question_of_a_known_vocabulary_ranks_by_the_names_that_code_has(question: str, name: str, has: bool) -> None:
    guessed = {term.term for term in analyse(question).terms if term.guessed}
    assert (name in guessed) == has


def test_the_title_weighs_more_than_prose() -> None:
    terms = {term.term: term for term in analyse("zebra\n\nyak").terms}
    assert terms["zebra"].weight > terms["yak"].weight
    assert terms["zebra"].title_weight > 0 == terms["yak"].title_weight
    assert weights.ZONE_WEIGHTS["title"] > 1


def test_a_long_pasted_run_weighs_no_more_than_a_short_one() -> None:
    """Many lines of a listing share what a few lines count; prose of the same length keeps all of its weight."""
    listing = ["```", *["zebra 1.0"] * 100, "```"]
    pasted = {term.term: term.weight for term in analyse("\n".join(["title", *listing])).terms}
    terms = {term.term: term.weight for term in analyse("\n".join(["title", *["zebra"] * 100])).terms}
    assert pasted["zebra"] == pytest.approx(math.log2(1 + weights.ZONE_WEIGHTS["code"] * weights.PASTED_LINES))
    assert terms["zebra"] == pytest.approx(math.log2(1 + 100))


def test_short_terms_weigh_less() -> None:
    terms = {term.term: term.weight for term in analyse("title\n\nos yak").terms}
    assert terms["os"] < terms["yak"]


def test_a_question_of_stop_words_has_no_terms() -> None:
    assert analyse("what is the of and").terms == ()


def test_a_question_about_tests_is_noticed() -> None:
    assert analyse("where are the tests for the parser").asks_for_tests
    assert not analyse("test case fails on Windows").asks_for_tests


@given(st.text(max_size=400))
def test_any_question_can_be_analysed(text: str) -> None:
    query = analyse(text)
    assert all(term.weight > 0 and term.title_weight >= 0 for term in query.terms)


def test_a_huge_question_is_cut() -> None:
    assert len(analyse("word " * 1_000_000).terms) == 1


@pytest.mark.parametrize("piece", ["x", "aB1_", "a.", "a/", "QWxh"], ids=["word", "name", "dotted", "path", "base64"])
def test_names_are_not_looked_for_across_a_run_without_end(piece: str) -> None:
    """Each place of a run is tried, so a pasted key or picture of some kilobytes would take minutes."""
    query = analyse(f"title\n\n{piece * 8_000} backoff")
    assert "backoff" in {mention.text for mention in query.symbols}
    assert max(len(line.replace("backoff", "").split()[0]) for _, line in query.zones) <= LONGEST_RUN


def test_a_picture_in_the_text_is_no_part_of_the_question() -> None:
    drawn = f"![screen](data:image/png;base64,{'QWxh' * 5_000}) <img src='{'b' * 400}'>"
    assert analyse(f"title\n\nyak {drawn} zebra").terms == analyse("title\n\nyak zebra").terms


@pytest.mark.parametrize(
    ("question", "nouns"),
    [
        ("how do I add a new command line flag to rg", ["flag", "line", "command", "comm"]),
        ("How can we write another built-in kind of checker?", ["checker", "chec"]),
        ("where do I register one more builder, like epub", ["builder", "buil"]),
        ("how do I add an authentication scheme", ["scheme", "authent", "authenti", "authen", "authe", "auth"]),
        ("how to add it", []),
        ("how does a flag work", []),
    ],
)
def test_the_nouns_of_a_question_for_a_recipe_end_before_its_purpose(question: str, nouns: list[str]) -> None:
    assert recipe_nouns(question) == nouns


def test_the_act_of_a_question_for_a_recipe_is_no_term() -> None:
    for question in (
        "how do I add one more encoding",
        "where can we register an encoding",
        "How to plug in an encoding?",
    ):
        assert [term.term for term in analyse(question).terms if not term.term.startswith("=")] == ["encod"]
        assert asks_for_a_recipe(question)
    for question in (
        "how does adding an encoding work",
        "how does Session support retries",
        "what does it write there",
    ):
        assert not asks_for_a_recipe(question)
    assert "support" in [term.term for term in analyse("how does Session support retries").terms]


@pytest.mark.parametrize("task", ["- [ ] fix the login bug in auth", "* [x] fix the login bug\n* [ ] write to auth"])
def test_a_task_with_its_box_is_a_question(task: str) -> None:
    assert {"login", "auth"} <= {term.term for term in analyse(task).terms}
