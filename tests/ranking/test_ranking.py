"""Each project is asked all its questions; a failure lists every line that is red."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ranking import projects
from tests.ranking.__main__ import main
from tests.ranking.check import red_lines
from tests.ranking.doors import Answer, Part
from tests.ranking.expectations import EXPECTATIONS, problems
from tests.ranking.projects import all_projects, open_project, project_names, read_project


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


def test_no_question_but_a_silent_one_is_right_without_an_answer() -> None:
    every = [question for project in all_projects() for question in (*project.questions, *project.not_yet)]
    assert [one.id for one in every if "silent" not in one.expected and not problems(one, Answer())] == []


QUESTION = '[search]\nspeed = {ask = "speed", first = "a.md"}\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[search\n", "odd.toml: Expected ']'"),
        ("", "there is no question"),
        ("[serach]\n", "unknown door 'serach': choose from search"),
        ("[search]\nspeed = 5\n", "search.speed is no table"),
        ('[search]\nspeed = {first = "a.md"}\n', "search.speed needs `ask`"),
        ('[search]\nspeed = {ask = "speed", frist = "a.md"}\n', "search.speed needs `ask` and one of first"),
        ('[search]\nspeed = {ask = "speed", frist = "a.md", sure = true}\n', "search.speed has an unknown frist"),
        ('[search]\nspeed = {ask = "speed", first = ["a.md"]}\n', "first = ['a.md'] is not a text"),
        ('[search]\nspeed = {ask = "speed", hides = "a.md"}\n', "hides = 'a.md' is not a list of texts"),
        ('[search]\nspeed = {ask = "speed", top = []}\n', "top = [] is not a list of texts"),
        ('[search]\nspeed = {ask = "speed", before = ["a.md"]}\n', "is not a list of at least two names"),
        ('[search]\nspeed = {ask = "speed", orders = ["a.md", "b.md"]}\n', "is not a list of lists"),
        ('[search]\nspeed = {ask = "speed", sure = 1}\n', "sure = 1 is not true or false"),
        ('[search]\nspeed = {ask = "speed", within = "600"}\n', "within = '600' is not a number of tokens"),
        (f'now = "today"\n{QUESTION}', "now: 'today' is no date"),
        (f'corpus = "nowhere"\n{QUESTION}', "no folder 'nowhere' below corpora"),
        (f'[[memory]]\nkey = "a"\n{QUESTION}', "[[memory]] a without content"),
        (f'[[memory]]\nkey = "a"\ncontent = "b"\nimportanc = 1\n{QUESTION}', "with an unknown importanc"),
        (f'[[patch]]\npath = "a.md"\nold = "a"\nnew = "b"\n{QUESTION}', "a.md has no text 'a' to replace"),
    ],
)
def test_what_nobody_understands_in_a_file_of_questions_is_told_in_a_sentence(
    text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "FOLDER", tmp_path)
    (tmp_path / "odd.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(told)):
        read_project("odd")


@pytest.mark.parametrize("argument", ["nowhere", "--not-yt"])
def test_a_project_or_an_option_that_nobody_knows_ends_the_check(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([argument])
    assert ended.value.code == 2
    assert argument in capsys.readouterr().err
