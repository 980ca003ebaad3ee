"""tests/ mirrors src/satchel: the tests of a module are in the folder of its room, under its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import PurePosixPath

from tests.architecture.tree import ROOT, repository_files

ACROSS_ROOMS = frozenset(
    {
        "architecture",
        "benchmarks",
        "contracts",
        "corpora",
        "docs",
        "e2e",
        "faults",
        "golden",
        "peers",
        "properties",
        "ranking",
        "seeds",
    }
)
"""Folders of tests whose subject is no room of the package."""

WITHOUT_MODULE: Mapping[str, str] = {
    "tests/clients/test_distribution.py": "the files beside the package by which clients and registries find it",
}
"""Path -> why it is named after no module."""


@cache
def rooms() -> Mapping[str, frozenset[str]]:
    """Each room of the package with the names of its modules and folders; "" is for the files beside the rooms."""
    names: dict[str, set[str]] = {}
    for path in (ROOT / "src" / "satchel").rglob("*"):
        room, *inner = path.relative_to(ROOT / "src" / "satchel").parts
        if path.is_dir() or path.suffix == ".py":
            names.setdefault(room if inner else "", set()).add(path.stem)
    return {room: frozenset(found - {"__init__", "__pycache__"}) for room, found in names.items()}


def misplaced(paths: Iterable[str]) -> list[str]:
    """Return each test file that is named after no module of its room."""
    known = rooms()
    return [path for path in paths if not _mirrors(path, known)]


def _mirrors(path: str, known: Mapping[str, frozenset[str]]) -> bool:
    """Whether a test file says its module: `test_git.py` and `test_git_history.py` test `git`."""
    _, *folders, name = PurePosixPath(path).with_suffix("").parts
    room = folders[0] if folders else ""
    if room in ACROSS_ROOMS or path in WITHOUT_MODULE:
        return True
    subject = name.removeprefix("test_")
    return any(subject == module or subject.startswith(f"{module}_") for module in known.get(room, ()))


def test_a_folder_of_tests_is_a_room_or_in_the_list() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - rooms().keys() <= ACROSS_ROOMS
    assert not ACROSS_ROOMS & rooms().keys()


def test_a_test_file_is_named_after_the_module_that_it_tests() -> None:
    paths = [path for path in repository_files() if path.startswith("tests/") and "/test_" in path]
    paths = [path for path in paths if path.endswith(".py")]
    assert misplaced(paths) == []
    assert set(WITHOUT_MODULE) <= set(paths)


def test_a_file_that_is_named_after_no_module_of_its_room_is_noticed() -> None:
    wrong = ["tests/test_git.py", "tests/store/test_git.py", "tests/nowhere/test_git.py", "tests/system/test_gitter.py"]
    assert misplaced([*wrong, "tests/system/test_git.py", "tests/system/test_git_history.py"]) == wrong
