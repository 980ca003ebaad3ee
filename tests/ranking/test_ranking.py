"""Each project is asked all its questions; a failure lists every line that is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ranking.check import red_lines
from tests.ranking.doors import Answer, Part
from tests.ranking.expectations import EXPECTATIONS
from tests.ranking.projects import open_project, project_names, read_project


@pytest.mark.files("the ranking of one store is checked; contracts compare the others with it")
@pytest.mark.parametrize("name", project_names())
def test_the_questions_of_a_project_are_answered_as_an_engineer_would(name: str, tmp_path: Path) -> None:
    with (opened := open_project(read_project(name), tmp_path)).satchel:
        red = red_lines(opened)
    assert not red, "\n" + "\n".join(red)


RIGHT = Answer((Part("a.py", "if idle:", ("a.py::close",)), Part("b.py", "pass")), "if idle:\npass", tokens=40)
WRONG = Answer((Part("b.py", "pass"), Part("c.py", "unrelated")), "pass\nunrelated", is_weak=True, tokens=400)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("first", "a.py", WRONG),
        ("first", "a.py::close", WRONG),
        ("top", ["b.py", "a.py"], WRONG),
        ("shows", ["a.py"], WRONG),
        ("hides", ["c.py"], WRONG),
        ("before", ["a.py", "b.py"], WRONG),
        ("before", ["b.py", "c.py"], WRONG._replace(parts=WRONG.parts[::-1])),
        ("orders", [["b.py", "c.py"], ["a.py", "b.py"]], WRONG),
        ("line", "if idle:", WRONG),
        ("lines", ["if idle:", "pass"], WRONG),
        ("without", ["unrelated"], WRONG),
        ("silent", False, WRONG),
        ("sure", True, WRONG),
        ("says", ["idle"], WRONG),
        ("within", 100, WRONG),
        ("beyond", 40, Answer(tokens=39)),
    ],
)
def test_an_expectation_tells_a_right_answer_from_a_wrong_one(name: str, value: object, wrong: Answer) -> None:
    assert EXPECTATIONS[name](RIGHT, value) == ""
    assert EXPECTATIONS[name](wrong, value) != ""
