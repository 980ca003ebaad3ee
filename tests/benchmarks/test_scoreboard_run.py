"""Tests for what the scoreboard asks, keeps and leaves out, on a repository of three files."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from localization.dataset import REPOSITORY_ROOT
from questions.dataset import Question
from scoreboard.asking import scorer
from scoreboard.parts import PARTS, Machine, Task, chosen, tasks_of
from scoreboard.run import Board
from scoreboard.versions import KEPT_INDEXES, Version, alone, base_commit, check_tree, check_work, home, prune, whole

TASK = Task("issues", "shop-1", "acme/shop", "acme/shop", {"question": "where"}, "c0ffee")


def version(name: str, digest: str = "d1") -> Version:
    return Version(name, "c0ffee", REPOSITORY_ROOT / "src", digest)


def test_a_key_depends_on_the_task_and_on_what_judges_it() -> None:
    key = TASK.key("scorer")
    assert key == replace(TASK).key("scorer")
    others = [replace(TASK, data={"question": "why"}), replace(TASK, commit="decade"), replace(TASK, part="hooks")]
    assert key not in {TASK.key("other"), *(other.key("scorer") for other in others)}


def test_a_second_run_asks_only_what_is_new_and_a_changed_version_everything(
    tmp_path: Path, question: Question
) -> None:
    machine = Machine(tmp_path / "data", tmp_path / "repos", tmp_path / "work", 1)
    task = Task("questions", question.id, question.repo, question.repo, asdict(question), question.commit)
    with alone(machine.work):
        pair = [version("base"), version("now", "d1 again")]
        board = Board(machine, pair, "scorer", 1)
        assert board.ask([task])
        cases, failures = board.rows([task])
        assert failures == []
        assert cases["base"] == cases["now"]
        assert cases["now"][0]["figures"]["lines, packed"] == 1
        assert board.progress.total == 2
        for versions, count in ((pair, 0), ([pair[0], version("now", "d2")], 1)):
            again = Board(machine, versions, "scorer", 1)
            again.ask([task])
            assert (again.progress.total, again.rows([task])) == (count, (cases, []))


def test_a_question_that_cannot_be_asked_is_a_failure_and_counts_in_no_figure(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "data", tmp_path / "repos", tmp_path / "work", 1)
    machine.work.mkdir()
    board = Board(machine, [version("base"), version("now", "d1 again")], "scorer", 1)
    assert board.ask([TASK])
    cases, failures = board.rows([TASK])
    assert cases == {"base": [], "now": []}
    assert [line.partition(": ")[0] for line in failures] == ["base", "now"]
    assert all("acme/shop is not below" in line for line in failures)


def test_what_a_machine_has_no_data_for_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_EVAL", str(tmp_path))
    tasks, left_out = tasks_of(Machine(tmp_path, None, tmp_path / "work", 1), [*PARTS])
    assert {task.repo for task in tasks} <= {"satchel"}
    named = {line.partition(":")[0] for line in left_out}
    assert named == set(PARTS) - {"agents"}
    assert any("no pallets/flask at its commits" in line for line in left_out)


def test_of_a_scorer_that_is_a_script_only_the_functions_are_taken(tmp_path: Path) -> None:
    script = tmp_path / "score_concepts.py"
    script.write_text(
        "import math\n\ndef half(of):\n    return math.ceil(of / 2)\n\nraise SystemExit\n", encoding="utf-8"
    )
    assert scorer(script)["half"](5) == 3


def test_parts_are_chosen_by_name_and_those_on_request_only_so() -> None:
    assert chosen("concepts,memory") == ["memory", "concepts"]
    assert "memory-3000" not in chosen("")
    assert chosen("memory-3000") == ["memory-3000"]
    with pytest.raises(ValueError, match="unknown part speed: choose from memory, "):
        chosen("speed")


def test_an_index_is_copied_from_the_other_version_if_nothing_that_writes_it_has_changed(tmp_path: Path) -> None:
    tree = tmp_path / "trees" / "acme+shop" / "c0ffee"
    base, now = version("base"), version("now")
    first = home(tmp_path, base, tree)
    (first / "index.db").touch()
    assert not (home(tmp_path, now, tree) / "index.db").exists()
    (first / "indexed").touch()
    assert (home(tmp_path, now, tree) / "index.db").exists()
    assert first != home(tmp_path, now, tree)


def test_only_what_reads_and_stores_makes_another_index(tmp_path: Path) -> None:
    def changed(path: str) -> str:
        folder = tmp_path / path.replace("/", "-")
        shutil.copytree(REPOSITORY_ROOT / "src" / "satchel", folder / "satchel")
        with (folder / "satchel" / path).open("a", encoding="utf-8") as file:
            file.write("\n")
        return replace(version("now"), source=folder).index

    assert changed("search/rank_files.py") == changed("memory/memories.py") == version("now").index
    assert changed("store/extract.py") != version("now").index


def test_indexes_that_were_not_used_lately_are_removed(tmp_path: Path) -> None:
    for number in range(KEPT_INDEXES + 2):
        folder = tmp_path / "homes" / f"index-{number}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    prune(tmp_path, {"index-0"})
    assert sorted(folder.name for folder in (tmp_path / "homes").iterdir()) == [
        "index-0",
        "index-3",
        "index-4",
        "index-5",
    ]


def test_two_scoreboards_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(BlockingIOError), alone(tmp_path):
        pass


def test_a_base_that_is_not_a_commit_is_an_error() -> None:
    assert base_commit("HEAD") == base_commit("HEAD^0")
    with pytest.raises(ValueError, match="nowhere is not a commit"):
        base_commit("nowhere")


def test_a_folder_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "versions" / "src"
    with suppress(KeyboardInterrupt), whole(folder) as part:
        part.mkdir()
        raise KeyboardInterrupt
    assert not folder.exists()
    with whole(folder) as part:
        part.mkdir()
        (part / "new").touch()
    assert [file.name for file in folder.iterdir()] == ["new"]
    assert [one.name for one in folder.parent.iterdir()] == ["src"]


def test_a_folder_that_is_no_work_tree_or_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a work tree of satchel"):
        check_tree(tmp_path)
    check_tree(REPOSITORY_ROOT)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="set SATCHEL_BENCH_WORK to another folder"):
        check_work(tmp_path / "file")


def test_a_file_of_the_data_that_is_not_json_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "neardup.jsonl").write_text("{}\n{bad\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"neardup\.jsonl:2 is not JSON"):
        Machine(tmp_path, None, tmp_path / "work", 1).rows("neardup.jsonl")
