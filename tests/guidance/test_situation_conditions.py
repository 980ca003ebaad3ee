from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UnsafePathError, UsageError
from satchel.guidance.situation import (
    ConditionError,
    Situation,
    make_situation,
    parse_condition,
    pattern,
    pattern_problem,
    resolved,
)
from satchel.text import PATTERN_MEMORY

EDIT = make_situation(
    {
        "tool": "edit_file",
        "task": "Fix the log in of admins",
        "files": ["src/auth/login.py", "docs/a.md"],
        "error": "ValueError: bad",
        "agent": "coder",
        "tags": ["urgent"],
        "time": 1_700_000_000,  # 22:13 UTC
    }
)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"tool": "edit_*"}, True),
        ({"tool": ["read", "EDIT_FILE"]}, True),
        ({"tool": "read_file"}, False),
        ({"paths": "src/**/*.py"}, True),
        ({"paths": ["*.rs", "login.py"]}, True),
        ({"paths": "src/*.py"}, False),
        ({"paths": ["**", "!src/**", "!docs/"]}, False),
        ({"task_matches": "log ?in|session"}, True),
        ({"task_matches": "^admins"}, False),
        ({"language": "python"}, True),
        ({"language": "rust"}, False),
        ({"error": "valueerror"}, True),
        ({"error": "KeyError"}, False),
        ({"agent": "coder"}, True),
        ({"tags": ["slow", "urgent"]}, True),
        ({"time": "22:00-06:00"}, True),
        ({"time": "08:00-22:00"}, False),
        ({"time": ["08:00-09:00", "22:00-24:00"]}, True),
        ({"tool": "edit_*", "language": "rust"}, False),
        ({"any": [{"language": "rust"}, {"tool": "edit_*"}]}, True),
        ({"any": [{"language": "rust"}, {"language": "go"}]}, False),
        ({"all": [{"language": "python"}, {"not": {"agent": "reviewer"}}]}, True),
        ({"not": {"tool": "edit_*"}}, False),
    ],
)
def test_a_condition_holds_or_does_not(when: dict[str, Any], holds: bool) -> None:
    outcome = parse_condition(when).check(EDIT)
    assert outcome.holds is holds
    assert outcome.reason


@pytest.mark.parametrize("when", [{"error": "x"}, {"time": "00:00-24:00"}, {"tool": "*"}, {"paths": "**"}])
def test_nothing_holds_of_what_the_situation_does_not_say(when: dict[str, Any]) -> None:
    assert not parse_condition(when).check(Situation()).holds


@pytest.mark.parametrize(
    ("when", "message", "place"),
    [
        ({}, "is not a condition", ()),
        ("tool", "is not a condition", ()),
        ({"tol": "x"}, "there is no condition 'tol': choose from tool, paths", ("tol",)),
        ({"tool": 3}, "tool needs a text", ("tool",)),
        ({"tool": []}, "tool needs a text", ("tool",)),
        ({"any": {"tool": "x"}}, "any needs a list", ("any",)),
        ({"any": [{"tool": "x"}, {"x": 1}]}, "there is no condition 'x'", ("any", 1, "x")),
        ({"paths": "../x"}, "leads outside its folder", ("paths",)),
        ({"time": "25:00-26:00"}, "is not a span of the day", ("time",)),
        ({"task_matches": "("}, "is not a regular expression", ("task_matches",)),
        ({"task_matches": r"(a)\1"}, r"that RE2 accepts: invalid escape sequence: \1", ("task_matches",)),
        ({"task_matches": ["a", "(?=a)"]}, "that RE2 accepts: invalid perl operator: (?=", ("task_matches",)),
    ],
)
def test_a_condition_that_cannot_be_used_says_where_and_why(when: Any, message: str, place: tuple[Any, ...]) -> None:
    with pytest.raises(ConditionError, match=re.escape(message)) as raised:
        parse_condition(when)
    assert raised.value.place == place


def test_conditions_nested_too_deeply_are_refused() -> None:
    when: dict[str, Any] = {"tool": "x"}
    for _ in range(30):
        when = {"not": when}
    with pytest.raises(ConditionError, match="nested deeper"):
        parse_condition(when)


EXPRESSIONS = [
    "abc", "a|bc", "a*b", "a+?b", "(ab)+", "a{2,3}", "^ab", "b$", r"\bab\b", "[a-c]x", "[^a]b", r"\w+\s\d",
    "(?:a|b)*c", ".b", "a?b?c", r"\Bb", "", "(a|)b", r"\S\D\W", "(a*)*c",
]  # fmt: skip


@given(st.sampled_from(EXPRESSIONS), st.text("abcx 1\n_A", max_size=12))
def test_patterns_match_what_the_standard_library_matches(expression: str, text: str) -> None:
    text = text.strip()  # as the text of a task is
    assert bool(pattern(expression).search(text)) == bool(re.search(expression, text, re.IGNORECASE))


@pytest.mark.parametrize("expression", ["(a+)+b", "(.*)*(.*)*(.*)*x", "(a|aa)+$b", "(a?){30}a{30}b", "(a|b|ab)*c"])
def test_a_hostile_pattern_runs_in_bounded_memory(expression: str) -> None:
    compiled = pattern(expression)
    assert compiled.options.max_mem == PATTERN_MEMORY
    assert not compiled.search("a" * 4_000)


@pytest.mark.parametrize(
    ("expression", "message"),
    [("a" * 500, "has 500 characters"), ("(a{100}){100}", "repetition size"), (r"\pL{1000}", "too large"),
     ("(){4000000000}", "repeat {4000000000}"), ("a{1,99999}", "repeat {1,99999}"), ("a{,3}", "repeat {,3}"),
     ("a{2000}", "repetition size"), ("(?=a)", "not a regular"), ("(?<!a)b", "not a regular"),
     ("a" + "(" * 200, "not a regular"), ("(((a{9}){9}){9}){9}", "repetition size")],
)  # fmt: skip
def test_a_pattern_that_cannot_be_used_says_why(expression: str, message: str) -> None:
    assert message in pattern_problem(expression)
    with pytest.raises(ConditionError, match="task_matches"):
        parse_condition({"task_matches": expression})


def test_a_pattern_sees_letters_of_any_language_and_damaged_text() -> None:
    when = parse_condition({"task_matches": "MÜDE|\\pL+keit"})
    assert when.check(Situation(task="so müde")).holds
    assert when.check(Situation(intent="Höflichkeit \ud800")).holds


def test_paths_are_resolved_below_the_root() -> None:
    assert resolved("../base/./auth", "client/auth") == "client/base/auth"
    assert resolved(".", "a") == "a"
    with pytest.raises(UnsafePathError):
        resolved("../../..", "a/b")


def test_a_situation_is_checked_and_completed() -> None:
    result = make_situation(
        {"params": {"file_path": "./src/../src/b.ts", "n": 1}, "files": "a.py, ../../etc/passwd", "timestamp": 1.7e12}
    )
    assert result.files == ("a.py", "src/b.ts")
    assert result.languages == ("python", "typescript")
    assert result.time == 1.7e9
    assert make_situation(result) is result
    assert make_situation(None) == Situation()


@pytest.mark.parametrize(
    "given_",
    [{"color": "red"}, {"task": 3}, {"files": 3}, {"files": [1]}, {"params": "x"}, {"time": "noon"},
     {"time": -1}, {"tags": {}}],
)  # fmt: skip
def test_a_situation_of_the_wrong_kind_is_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make_situation(given_)


def test_a_situation_shows_no_secret_and_not_more_than_fits() -> None:
    token = "gh" + "p_" + "Zk3vQ9" * 6
    result = make_situation({"error": f"{token}\n" + "x" * 10_000 + "\nend", "params": {"body": "y" * 5_000}})
    shown = "\n".join(result.lines())
    assert len(shown) < 7_000
    assert "end" in shown


def test_the_digest_ignores_the_moment() -> None:
    assert make_situation({"task": "a", "time": 1}).digest() == make_situation({"task": "a", "time": 2}).digest()
    assert make_situation({"task": "a"}).digest() != make_situation({"task": "b"}).digest()


def test_a_parameter_whose_name_says_that_it_is_secret_is_redacted() -> None:
    secret = "Zk3vQ9tLx71p" + "Wm4Rb8Hd2Yc"
    result = make_situation({"params": {"password": secret, "path": "a.py", "nested": {"api_key": secret}, "n": 3}})
    assert secret not in str(result)
    assert (result.params["n"], result.files) == (3, ("a.py",))
