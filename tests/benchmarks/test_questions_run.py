from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from localization.runner import System
from questions.asking import Plan, ask_all
from questions.dataset import Question
from questions.report import summary, summary_text, tables

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "questions" / "run.py"

SHOWS_ALL = """
import json, pathlib
text = pathlib.Path("session.py").read_text()
item = {"location": {"path": "session.py", "spans": [[1, 5]]}}
print(json.dumps({"text": text, "items": [item]}))
"""


def system(name: str, code: str, index: str = "") -> System:
    python = shlex.quote(sys.executable)
    return System(name, f"{python} -c {shlex.quote(code)}", f"{python} -c {shlex.quote(index)}" if index else "")


@pytest.fixture
def plan(tmp_path: Path, question: Question) -> Plan:
    absent = replace(question, id="shop-absent-01", kind="absent", question="kafka?", deciding=(), absent=("kafka",))
    systems = [system("all", SHOWS_ALL)]
    return Plan([question, absent], systems, [50, 500], tmp_path / "repos", tmp_path / "work", tmp_path / "rows.jsonl")


def test_every_question_is_asked_at_every_budget(plan: Plan) -> None:
    rows = ask_all(plan)
    assert [(row["question"], row["budget"], row["shown"], row["failure"]) for row in rows] == [
        ("shop-where-01", 50, 2, None),
        ("shop-where-01", 500, 2, None),
        ("shop-absent-01", 50, 0, None),
        ("shop-absent-01", 500, 0, None),
    ]


def test_what_is_answered_is_not_asked_again(plan: Plan) -> None:
    rows = ask_all(plan)
    assert ask_all(replace(plan, systems=[system("all", "raise SystemExit(1)")])) == rows


def test_a_system_indexes_once_in_a_clean_tree(plan: Plan) -> None:
    tree = plan.work / "trees" / "acme+shop"
    counting = "import pathlib; pathlib.Path('index').open('a').write('x')"
    ask_all(replace(plan, systems=[system("first", SHOWS_ALL, counting), system("second", SHOWS_ALL, counting)]))
    assert (tree / "index").read_text() == "x"
    ask_all(replace(plan, systems=[system("third", SHOWS_ALL)]))
    assert not (tree / "index").exists()


@pytest.mark.parametrize(
    ("failing", "failure"),
    [
        (system("x", "print('no JSON')"), "unreadable answer"),
        (system("x", SHOWS_ALL + "raise SystemExit(3)"), "command: exit 3"),
        (system("x", SHOWS_ALL, "raise SystemExit('out of order')"), "index: exit 1: out of order"),
    ],
)
def test_a_failure_is_kept_in_the_row(plan: Plan, failing: System, failure: str) -> None:
    rows = ask_all(replace(plan, systems=[failing]))
    assert all(failure in row["failure"] for row in rows)


def test_an_answer_that_takes_too_long_is_a_failure(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise subprocess.TimeoutExpired("command", 1)

    monkeypatch.setattr("questions.asking.run_command", late)
    assert all("no answer within" in row["failure"] for row in ask_all(plan))


def test_a_system_that_rejects_an_option_is_left_out(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    rejecting = system("old", "raise SystemExit('Error: No such option: --fill')")
    assert {row["system"] for row in ask_all(replace(plan, systems=[rejecting, *plan.systems]))} == {"all"}
    assert "old: left out, command: exit 1: Error: No such option: --fill" in capsys.readouterr().err


def test_the_summary_has_shares_by_budget_and_kind(plan: Plan) -> None:
    half = SHOWS_ALL.replace("[[1, 5]]", "[[1, 2]]")
    questions = [*plan.questions, replace(plan.questions[1], id="foreign-01", absent=())]
    rows = ask_all(replace(plan, questions=questions, systems=[*plan.systems, system("half", half)]))
    result = summary(rows, questions=2)
    measured = result["systems"]["half"]["500"]
    assert (measured["all"]["n"], measured["all"]["lines"], measured["all"]["complete"]) == (1, 0.5, 0.0)
    assert (measured["absent"]["named"], measured["absent"]["lines"]) == (0.0, None)
    assert (measured["absent"]["n"], measured["foreign"]["n"], measured["foreign"]["named"]) == (1, 1, None)
    assert result["questions"] == {
        "shop-where-01": {"all": {"50": "2/2", "500": "2/2"}, "half": {"50": "1/2", "500": "1/2"}}
    }
    assert json.loads(summary_text(result)) == result
    assert "| half | 500 | .500 | .500 | .000 | 1.00 |" in tables(result)


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def file(tmp_path: Path, question: Question) -> str:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(asdict(question)) + "\n")
    return str(path)


def test_the_script_verifies_questions(tmp_path: Path, file: str) -> None:
    done = run_script(file, "--verify", "--repos", str(tmp_path / "repos"))
    assert (done.returncode, done.stdout) == (0, "1 questions, 0 problems\n")


def test_the_script_asks_a_command_and_writes_json_and_tables(tmp_path: Path, file: str) -> None:
    command = f"all={shlex.quote(sys.executable)} -c {shlex.quote(SHOWS_ALL)}"
    folders = ["--repos", str(tmp_path / "repos"), "--work", str(tmp_path / "work"), "--out", str(tmp_path / "rows")]
    done = run_script(file, *folders, "--system", command, "--summary", str(tmp_path / "result.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["systems"]["all"]["4000"]["all"]["complete"] == 1.0
    assert (tmp_path / "result.md").read_text() in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--work and --out are needed"),
        (["--work", "w", "--out", "o", "--system", "nameless"], "'nameless' does not have the form NAME=VALUE"),
    ],
)
def test_the_script_says_what_is_wrong_with_its_arguments(
    tmp_path: Path, file: str, arguments: list[str], message: str
) -> None:
    done = run_script(file, "--repos", str(tmp_path / "repos"), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
