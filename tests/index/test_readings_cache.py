"""What was read of the files of a branch is kept: switching to it again parses nothing and gives the same index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from satchel.index import reading, readings_cache, update
from satchel.index.readings_cache import NAME
from satchel.store.records import rows
from satchel.testing import TinyRepository
from tests.index.indexing import Index, differences, fresh_contents
from tests.repositories import git

FILES = {f"part{number}.py": f"def first_{number}():\n    return {number}\n" for number in range(3)}


@pytest.fixture
def folder(index: Index, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the index keeps readings, of two files and more."""
    monkeypatch.setattr(update, "MIN_FILES", 2)
    index.options = replace(index.options, readings_folder=index.path.parent)
    return index.path.parent


@pytest.fixture
def switch(repository: TinyRepository, index: Index, folder: Path) -> Callable[[str], int]:
    """Go to one of two branches whose files differ and bring the index up to date; returns the changed files."""
    assert folder.is_dir()
    repository.commit("Files", FILES)
    index.run()
    git(repository.root, "checkout", "-q", "-b", "other")
    repository.commit("Other files", {path: f"{text}\nhere = 1\n" for path, text in FILES.items()})

    def switched(branch: str) -> int:
        repository.checkout(branch)
        report = index.run()
        assert index.faults() == []
        return report.changed

    assert [switched("other"), switched("main")] == [3, 3]
    return switched


def test_a_switch_to_a_branch_that_was_read_before_parses_nothing(
    repository: TinyRepository,
    index: Index,
    tmp_path: Path,
    switch: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for branch in ("other", "main", "other"):
        with monkeypatch.context() as patch:
            patch.setattr(reading, "outline_file", None)
            assert switch(branch) == 3
        fresh = fresh_contents(repository.root, tmp_path, replace(index.options, readings_folder=None))
        assert differences(index.contents(), fresh) == {}


@pytest.mark.usefixtures("switch")
def test_a_file_with_other_content_is_read(repository: TinyRepository, index: Index, tmp_path: Path) -> None:
    repository.checkout("other")
    (repository.root / "part1.py").write_text("def second():\n    return 2\n")
    assert index.run().changed == 3
    assert differences(index.contents(), fresh_contents(repository.root, tmp_path)) == {}
    assert len(index.store.definitions(["second"])) == 1


def test_readings_of_another_version_are_not_taken(
    index: Index, switch: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = index.options
    index.options = replace(options, reading=replace(options.reading, allow=("nothing",)))
    index.run()
    monkeypatch.setattr(reading, "outline_file", None)
    with pytest.raises(TypeError):
        switch("other")


def test_without_a_sound_file_everything_is_read_again(
    folder: Path, switch: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / NAME).write_bytes(b"no database")
    assert switch("other") == 3
    assert sizes(folder) == (1, 3)
    with apsw.Connection(str(folder / NAME)) as connection:
        connection.execute("UPDATE batches SET body = x'00'")
    assert [switch("main"), switch("other")] == [3, 3]
    with apsw.Connection(str(folder / NAME)) as connection:
        connection.execute("DELETE FROM batches")
    assert [switch("main"), switch("other"), switch("main")] == [3, 3, 3]
    monkeypatch.setattr(reading, "outline_file", None)
    assert [switch("other"), switch("main")] == [3, 3]
    assert sizes(folder) == (2, 6)


def test_only_the_newest_readings_are_kept(
    folder: Path, switch: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings_cache, "MAX_BYTES", 0)
    switch("other")
    assert sizes(folder) == (0, 0)


def test_an_edit_of_few_files_and_a_first_index_keep_nothing(
    repository: TinyRepository, index: Index, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    index.options = replace(index.options, readings_folder=folder)
    repository.write({"one.py": "x = 1\n"})
    index.run()
    repository.write({"one.py": "x = 2\n"})
    index.run()
    assert not folder.exists()


def sizes(folder: Path) -> tuple[int, int]:
    """How many batches and files are kept."""
    with apsw.Connection(str(folder / NAME)) as connection:
        batches, files = (rows(connection, f"SELECT count(*) FROM {table}")[0][0] for table in ("batches", "files"))
    return int(batches), int(files)
