"""A whole evaluation on a small history, through the real git, index and assembler."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.cli.application import run
from satchel.errors import NoIndexError
from satchel.evaluation import run as run_module
from satchel.evaluation.fixes import Mined
from satchel.evaluation.run import EvaluationResult, evaluate, measured
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.evaluation.conftest import History
from tests.repositories import commit, git

LIMIT = 4


def evaluated(history: History, limit: int = LIMIT, **options: object) -> EvaluationResult:
    with Satchel.open(history.root) as satchel:
        return evaluate(satchel, limit=limit, **options)  # type: ignore[arg-type]


def test_each_fix_is_asked_about_at_the_state_before_it(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[set[str]] = []

    def spy(*arguments: object) -> object:
        stored.append(opened[-1].keys(Kind.COMMIT))
        return measured(*arguments)  # type: ignore[arg-type]

    opened: list[SqliteStore] = []
    make = SqliteStore.__init__

    def remember(self: SqliteStore, *arguments: object, **options: object) -> None:
        make(self, *arguments, **options)  # type: ignore[arg-type]
        opened.append(self)

    monkeypatch.setattr(run_module, "measured", spy)
    monkeypatch.setattr(SqliteStore, "__init__", remember)
    (history.root / "shop" / "parcel.py").write_text("half written")
    outcome = evaluated(history)
    assert [fix.sha for fix in outcome.fixes] == history.fixes[-LIMIT:]
    for position, commits in enumerate(stored):
        assert set(history.fixes[: len(history.fixes) - LIMIT + position]) <= commits
        assert commits.isdisjoint(history.fixes[len(history.fixes) - LIMIT + position :])
    assert [(answer.rank, answer.file_share, answer.span_share) for answer in outcome.answers] == [
        (1, 1.0, 1.0)
    ] * LIMIT
    assert (history.root / "shop" / "parcel.py").read_text() == "half written"
    assert git(history.root, "status", "--porcelain").split() == ["M", "shop/parcel.py"]


def test_a_second_run_asks_nothing_and_other_settings_ask_again(history: History) -> None:
    first = evaluated(history, 2)
    second = evaluated(history, 2)
    assert (first.asked, second.asked) == (2, 0)
    assert second.answers == first.answers
    assert evaluated(history, 2, max_tokens=300).asked == 2
    (kept, *_) = Path(str(history.root.parent)).glob("home/cache/evaluate/*/*.jsonl")
    assert "parcel" not in kept.read_text()
    with kept.open("a") as stream:
        stream.write('{"sha": "cut')
    assert evaluated(history, 2).asked == 0
    assert evaluated(history, 2, fresh=True).asked == 2


def test_a_stop_keeps_what_is_done(history: History) -> None:
    class Stopper:
        done = 0

        def phase(self, name: str, total: int) -> None:
            assert (name, total) == ("asking about fixes", LIMIT)

        def advance(self, count: int) -> None:
            self.done += count

    stopper = Stopper()
    outcome = evaluated(history, progress=stopper, should_stop=lambda: stopper.done >= 2)
    assert outcome.is_stopped
    assert len(outcome.answers) == 2
    assert evaluated(history).asked == LIMIT - 2


def test_a_folder_of_the_repository_is_a_root_too(history: History) -> None:
    with Satchel.open(root=history.root / "shop") as satchel:
        outcome = evaluate(satchel, limit=2)
    assert [answer.rank for answer in outcome.answers] == [1, 1]
    with Satchel.open(root=history.root / "tests") as satchel:
        nothing = evaluate(satchel, limit=2)
    assert nothing.answers == []
    assert nothing.mined.left_out["not in the index"] == 2


def test_a_fix_of_a_file_that_is_not_indexed_is_left_out(history: History) -> None:
    commit(history.root, "Ignore", {".satchel.toml": '[index]\nexclude = ["shop/ledger.py"]\n'})
    outcome = evaluated(history, 2)
    assert [fix.sha for fix in outcome.fixes] == [history.fixes[-1]]
    assert outcome.mined.left_out["not in the index"] == 1


def test_without_a_repository_there_is_nothing_to_learn_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    folder = tmp_path / "plain"
    folder.mkdir()
    with Satchel.open(root=folder) as satchel, pytest.raises(NoIndexError, match="is in no git repository"):
        evaluate(satchel)


def test_the_command_prints_a_table_or_json(history: History, capfd: pytest.CaptureFixture[str]) -> None:
    hostile = "fix: <script>alert(1)</script> & basket counts \u202ewrong articles"
    commit(history.root, hostile, {"shop/basket.py": "def change_basket():\n    return 0\n"})
    assert run(["eval", "--root", str(history.root), "--limit", "3"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("3 small fixes of ")
    assert re.search(r"^hit@1 +1\.000 +1\.000 to 1\.000 +fixes whose first file is a changed one$", out, re.MULTILINE)

    assert run(["eval", "--root", str(history.root), "--limit", "3", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["usable"] == 3
    assert data["asked"] == 0
    assert data["measures"]["span@4000"]["mean"] == 1.0
    assert [row["rank"] for row in data["fixes"]] == [1, 1, 1]
    assert not any("\u202e" in row["subject"] for row in data["fixes"])


def test_the_command_says_why_there_is_nothing(history: History, capfd: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(history.root)]
    assert run(["eval", *root, "--since", "2030-01-01"]) == 1
    assert "none of 0 commits is a usable fix" in capfd.readouterr().err
    assert run(["eval", *root, "--limit", "0"]) == 2
    assert run(["eval", *root, "--max-tokens", "-1"]) == 2


def test_an_interrupt_ends_the_command_with_its_code(
    history: History, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> Mined:
        signal.raise_signal(signal.SIGINT)
        return Mined()

    monkeypatch.setattr(run_module, "mine", stopped)
    assert run(["eval", "--root", str(history.root)]) == 130
    assert "stopped before the first fix was asked about" in capfd.readouterr().err


def test_nothing_measured_is_no_measure(history: History, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "--root", str(history.root), "--since", "2030-01-01", "--json"]) == 1
    data = json.loads(capfd.readouterr().out)
    assert (data["usable"], data["measures"]) == (0, {})
    assert run(["eval", "--root", str(history.root), "--max-tokens", "0"]) == 2
    assert "--max-tokens is 0" in capfd.readouterr().err


def test_a_repository_without_commits_has_no_fixes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    (tmp_path / ".git" / "objects").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert run(["eval", "--root", str(tmp_path)]) == 10
    assert "has no commits yet: there are no fixes to learn from" in capfd.readouterr().err


def test_own_questions_are_asked_as_the_files_are_now(
    history: History, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"question": "where is the weight of a parcel changed", "files": ["shop/parcel.py:9-11"]},
        {"question": "zebra crossing of the harbour", "files": ["shop/invoice.py"]},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n\n".join(map(json.dumps, rows)))
    assert run(["eval", "--root", str(history.root), "--questions", str(file), "--json"]) == 0
    first, second = json.loads(capfd.readouterr().out)["fixes"]
    assert (first["commit"], first["rank"], first["needed"], first["bm25_rank"], first["grep_rank"]) == (
        "line 1", 1, "", 1, 1,
    )  # fmt: skip
    assert (second["commit"], second["rank"], second["bm25_rank"]) == ("line 3", None, None)
    assert second["needed"] == "no word of the question is in it"
    file.write_text('{"question": "who"}')
    assert run(["eval", "--root", str(history.root), "--questions", str(file)]) == 2
    assert f"{file}:1" in capfd.readouterr().err
    file.write_text("\n")
    assert run(["eval", "--root", str(history.root), "--questions", str(file)]) == 2
    assert "has no question" in capfd.readouterr().err
    file.write_text('{"question": "who", "files": ["nowhere.py"]}')
    assert run(["eval", "--root", str(history.root), "--questions", str(file)]) == 1
    assert "none of your questions names a file that is in the index" in capfd.readouterr().err


def test_failed_fixes_are_named_with_what_they_would_need_and_two_settings_are_compared(
    history: History, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "--root", str(history.root), "--limit", "3", "--max-tokens", "60"]
    assert run([*words, "--against", "context.limit=1"]) == 0
    output = capfd.readouterr().out
    assert "not shown, " in output
    assert f"  {history.fixes[-1][:10]} " in output
    assert re.search(r"file \d+ of \d+", output)
    assert "against context.limit=1: 0 questions show more" in output
    assert re.search(r"bm25 hit@5 +1\.000", output)
    assert run([*words, "--against", "context.limt=1"]) == 2
    assert run([*words, "--against", "context.limit"]) == 2


def test_a_question_whose_right_file_only_one_of_the_settings_indexes_is_not_compared(
    history: History, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = (["shop/parcel.py"], ["shop/invoice.py", "shop/parcel.py"], ["shop/invoice.py"])
    rows = [{"question": "where is the weight of a parcel changed", "files": files} for files in places]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    words = ["eval", "--root", str(history.root), "--questions", str(file)]
    assert run([*words, "--against", "index.exclude=shop/invoice.py"]) == 0
    output = capfd.readouterr().out
    assert "2 not compared, because not all of their right files are in both indexes" in output
    assert re.search(r"hit@1 +1\.000 +1\.000 +\+0\.000", output)
    assert "of the messages" not in output
