from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from agents.asking import WORDS_ONLY, Arm, Asker, Place
from agents.cases import Case, Target
from agents.reach import arguments, arms_of, ask, result_of
from questions.dataset import Question

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "agents" / "reach.py"
ANSWER = """
import json, pathlib, sys
asked = sys.stdin.read()
pathlib.Path("asked").open("a").write(asked + " ".join(sys.argv[1:]) + "|")
print(json.dumps({"text": "### session.py\\n@@2-3 Session.close\\n    def close(self):\\n        if self.closed:\\n"}))
"""


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def new_package(source: Path, main: str) -> None:
    (source / "satchel").mkdir(parents=True)
    (source / "satchel" / "__init__.py").touch()
    (source / "satchel" / "__main__.py").write_text(main)


@pytest.fixture
def case(question: Question) -> Case:
    targets = (Target("session.py", pattern=r"def close\("), Target("session.py", ((4, 4),)))
    return Case(question.id, "questions", "where", question.repo, question.commit, "closed twice?", targets, ("close",))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "repos", tmp_path / "work", 1_000, environment=WORDS_ONLY)


@pytest.fixture
def arm() -> Arm:
    return Arm("fake", None, python(ANSWER), "")


def asked(place: Place, case: Case) -> str:
    return (Asker(place).tree(case) / "asked").read_text()


def test_an_answer_is_judged_by_its_text(place: Place, arm: Arm, case: Case) -> None:
    row = ask(Asker(place), 1_000, arm, case)
    assert (row["failure"], row["shown@500"], row["file1"], row["cost"] < 40) == ("", 0.5, 1, True)


def test_an_answer_is_kept_for_the_next_run(place: Place, arm: Arm, case: Case) -> None:
    assert Asker(place).answer(arm, case) == Asker(place).answer(arm, case)
    assert asked(place, case) == "closed twice?|"


def test_names_are_a_last_line_where_the_command_has_no_option_for_them(place: Place, arm: Arm, case: Case) -> None:
    Asker(place).answer(replace(arm, has_names=True), case)
    assert asked(place, case) == "closed twice?\nLikely names: close|"


def test_names_are_an_option_where_the_command_has_it(place: Place, case: Case) -> None:
    source = place.work.parent / "src"
    helping = f"import sys\nif '--help' in sys.argv: sys.exit(print('  --names TEXT,...'))\n{ANSWER}"
    new_package(source, helping)
    Asker(place).answer(Arm("named", source, index="", has_names=True), case)
    assert asked(place, case) == "closed twice?context - --max-tokens 1000 --json --names close|"


def test_each_version_has_an_index_of_its_own_and_may_start_from_another(place: Place, arm: Arm, case: Case) -> None:
    index = "import os, pathlib; (pathlib.Path(os.environ['SATCHEL_HOME']) / 'log').open('a').write('x')"
    old, new = replace(arm, index=python(index)), replace(arm, name="new", index=python(f"{index}  # newer"))
    Asker(place).answer(old, case)
    Asker(replace(place, seed=old)).answer(new, case)
    assert sorted(log.read_text() for log in place.work.glob("homes/*/*/log")) == ["x", "xx"]


@pytest.mark.parametrize(
    ("command", "index", "failure"),
    [
        (python("raise SystemExit('out of order')"), "", "answer: exit 1: out of order"),
        (python(ANSWER), python("raise SystemExit(3)"), "index: exit 3"),
        ("no-such-command", "", "no-such-command"),
    ],
)
def test_a_failure_is_reported_and_asked_again(
    place: Place, arm: Arm, case: Case, command: str, index: str, failure: str
) -> None:
    row = ask(Asker(place), 1_000, replace(arm, command=command, index=index), case)
    assert failure in row["failure"]
    assert (row["shown@4000"], row["cost"]) == (0, 1_000)
    assert not list(place.work.glob("answers/*"))


def test_the_first_arm_is_what_the_others_are_compared_with(place: Place, arm: Arm, case: Case) -> None:
    arms = [arm, replace(arm, name="other", command=python("print('nothing')"))]
    rows = [ask(Asker(place), 1_000, one, case) for one in arms]
    found = result_of(rows, arms)
    assert found["groups"]["questions"]["fake"]["shown@1000"] == 0.5
    assert found["differences"]["questions"]["other - fake"]["shown@1000"] == [-0.5, -0.5, -0.5]


def test_arms_are_source_trees_with_options(tmp_path: Path) -> None:
    (tmp_path / "satchel").mkdir()
    lines = ["--repos", "r", "--work", "w", "--names", "--named", "b", "--arm", f"a={tmp_path}"]
    options = arguments().parse_args([*lines, "--arm", f"b={tmp_path} --for find"])
    first, second = arms_of(options)
    assert (first.source, first.has_names, second.has_names) == (tmp_path, False, True)
    assert second.words(second.command)[1:3] == ["-m", "satchel"]
    assert second.command.endswith(" --for find")


@pytest.mark.parametrize("wrong", [["--arm", "a=/no/such"], ["--named", "a"], ["--index-from", "b"]])
def test_an_arm_that_does_not_exist_is_refused(wrong: list[str]) -> None:
    with pytest.raises(ValueError, match=r"is not NAME=FOLDER|no arm is called"):
        arms_of(arguments().parse_args(["--repos", "r", "--work", "w", *wrong]))


def test_the_script_writes_what_it_measured(tmp_path: Path, case: Case) -> None:
    new_package(tmp_path / "src", ANSWER)
    command = [sys.executable, str(SCRIPT), "--repos", str(tmp_path / "repos"), "--work", str(tmp_path / "work")]
    command += ["--arm", f"one={tmp_path / 'src'}", "--kinds", "questions", "--only", case.repo, "--index", ""]
    done = subprocess.run([*command, "--summary", str(tmp_path / "sum.json")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "sum.json").read_text())["sample"]["cases"] == 0
