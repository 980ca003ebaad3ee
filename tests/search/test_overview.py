"""The map of a root, from a real index: folders by size, files by changes, and questions that fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.search.overview import MAX_ENTRIES, MAX_QUESTIONS, Overview
from tests.repositories import commit, new_repository
from tests.search.test_changes import DAY, NOW, change

BODY = "".join(f"    value += {number}\n" for number in range(10))
ENGINE = f"def ignite(value):\n{BODY}    return value\n\n\ndef cool_down(value):\n    return value - 1\n"
DRIVE = "from engine import cool_down, ignite\n\n\ndef drive():\n    return ignite(1)\n"
USERS = f"{DRIVE}\n\ndef park():\n    return cool_down(2)\n"


def overview(root: Path, path: str = "") -> Overview:
    with Satchel.open(root, root=root, environ={"SATCHEL_HOME": str(root.parent / "home")}) as satchel:
        satchel.index()
        return satchel.history.overview(path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "tree")
    change(root, "Start the engine of the car", {"src/engine.py": ENGINE, "src/users.py": USERS}, days=500)
    change(root, "fix(engine): cool it down when it is hot (#12)", {"src/engine.py": f"{ENGINE}\nX = 1\n"}, days=9)
    change(root, "Bump pytest from 1 to 2", {"pyproject.toml": "[tool]\n"}, days=8)
    change(root, "Say how to drive the car", {"docs/deep/only/guide.md": "# Guide\n\nDrive.\n"}, days=1)
    return root


def test_folders_come_by_size_with_the_commits_of_the_last_year_and_what_is_inside(tree: Path) -> None:
    found = overview(tree)
    assert [(one.name, one.path, one.is_folder, one.files, one.commits) for one in found.entries] == [
        ("src", "src", True, 2, 1),
        ("docs/deep/only", "docs/deep/only", True, 1, 1),
        ("pyproject.toml", "pyproject.toml", False, 1, 1),
    ]
    assert [one.name for one in found.entries[0].inside] == ["engine.py", "users.py"]
    assert (found.files, found.commits, found.since) == (4, 3, NOW - DAY - 365 * DAY)
    assert found.size == sum(one.size for one in found.entries) > 0


def test_of_a_folder_that_is_nearly_all_of_another_the_inside_is_told(tree: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "lib/kiln.rb": "K = 1\n", "lib/kiln/cli/run.rb": "A = 1\n" * 90, "lib/kiln/heat.rb": "B = 1\n" * 60,
    }  # fmt: skip
    change(tree, "Build the kiln", files, days=0)
    lib = next(entry for entry in overview(tree).entries if entry.path == "lib")
    assert [(entry.name, entry.path) for entry in lib.inside] == [
        ("kiln/cli", "lib/kiln/cli"),
        ("kiln/heat.rb", "lib/kiln/heat.rb"),
        ("kiln.rb", "lib/kiln.rb"),
    ]


def test_the_hot_files_are_sources_that_changed(tree: Path) -> None:
    assert overview(tree).hot == (("src/engine.py", 1),)


def test_the_examples_name_a_function_its_use_and_a_change_that_is_not_routine(tree: Path) -> None:
    change(tree, "fix: cool it down before parking (#13)", {"src/engine.py": f"{ENGINE}\nX = 2\n"}, days=0)
    assert overview(tree).questions == (
        "How does ignite work?",
        "What would break if I change cool_down?",
        "Why was this changed: cool it down before parking",
    )


def test_a_folder_and_a_file_have_maps_of_their_own(tree: Path) -> None:
    inside = overview(tree, "src")
    assert [(one.name, one.path) for one in inside.entries] == [
        ("engine.py", "src/engine.py"),
        ("users.py", "src/users.py"),
    ]
    one = overview(tree, "src/users.py")
    assert [(entry.name, entry.is_folder) for entry in one.entries] == [("users.py", False)]
    with pytest.raises(UsageError, match="nowhere"):
        overview(tree, "nowhere")


def test_a_root_without_commits_or_code_is_asked_about_its_files(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "guide.md").write_text("# Guide\n")
    found = overview(root)
    assert (found.commits, found.since, found.hot) == (0, 0.0, ())
    assert found.questions == ("What is in guide.md?",)


def test_the_smallest_of_a_wide_folder_are_counted_together(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "wide")
    commit(root, "Many", {f"{number:03}.py": f"x = {number}\n" for number in range(MAX_ENTRIES + 5)})
    found = overview(root)
    assert len(found.entries) == MAX_ENTRIES + 1
    assert (found.entries[-1].name, found.entries[-1].path, found.entries[-1].files) == ("5 smaller ones", "", 5)
    assert len(found.questions) <= MAX_QUESTIONS


def test_the_imports_between_files_are_told_in_go_by_package(tree: Path) -> None:
    change(tree, "Add a pump in Go", {
        "go.mod": "module example.org/car\n",
        "cmd/main.go": 'package main\n\nimport "example.org/car/pump"\n\nfunc main() { pump.Run() }\n',
        "pump/run.go": "package pump\n\nfunc Run() {}\n",
        "tests/test_engine.py": "from engine import ignite\n",
    }, days=0)  # fmt: skip
    with Satchel.open(tree, root=tree, environ={"SATCHEL_HOME": str(tree.parent / "home")}) as satchel:
        satchel.index()
        found = satchel.history.imports()
    assert found["files"] == [
        {"path": "cmd/main.go", "secondary": False},
        {"path": "pump/run.go", "secondary": False},
        {"path": "src/engine.py", "secondary": False},
        {"path": "src/users.py", "secondary": False},
        {"path": "tests/test_engine.py", "secondary": True},
    ]
    assert found["links"] == [
        ("cmd/main.go", "pump"),
        ("src/users.py", "src/engine.py"),
        ("tests/test_engine.py", "src/engine.py"),
    ]
