"""What a link means among the names of a vault."""

from __future__ import annotations

import unicodedata

import pytest

from satchel.sources.notes import LinkTarget, NoteNames

PATHS = {
    "Alpha.md": (),
    "work/Alpha.md": (),
    "work/Plan.md": ("The Plan",),
    "people/Zoë.md": ("Z",),
    "people/old/Plan.markdown": (),
    "v1.2.md": (),
}


@pytest.mark.parametrize(
    ("written", "source", "path"),
    [
        ("Alpha", "x.md", "Alpha.md"),
        ("Alpha", "work/Other.md", "work/Alpha.md"),
        ("alpha.MD", "x.md", "Alpha.md"),
        ("work/alpha", "x.md", "work/Alpha.md"),
        ("old/Plan", "x.md", "people/old/Plan.markdown"),
        ("Plan", "x.md", "work/Plan.md"),
        ("the plan", "x.md", "work/Plan.md"),
        (unicodedata.normalize("NFD", "ZOË"), "x.md", "people/Zoë.md"),
        ("v1.2", "x.md", "v1.2.md"),
        ("./Plan", "work/Alpha.md", "work/Plan.md"),
        ("../Alpha", "work/Plan.md", "Alpha.md"),
        ("/work/Plan", "x.md", "work/Plan.md"),
        ("Nobody", "x.md", ""),
        ("./Nobody", "x.md", ""),
        ("lan", "x.md", ""),
    ],
)
def test_a_name_is_resolved(written: str, source: str, path: str) -> None:
    assert NoteNames(PATHS).resolve(written, source, is_path=False) == LinkTarget(path)


@pytest.mark.parametrize(
    ("written", "path"),
    [("Plan.md", "work/Plan.md"), ("../people/Zoë.md", "people/Zoë.md"), ("people/Zoë.md", "people/Zoë.md")],
)
def test_a_path_is_relative_to_its_file_else_to_the_vault(written: str, path: str) -> None:
    assert NoteNames(PATHS).resolve(written, "work/Alpha.md", is_path=True) == LinkTarget(path)


def test_parts_of_a_file_are_kept_and_a_part_alone_means_the_same_file() -> None:
    assert NoteNames(PATHS).resolve("Plan#Goals#Deep", "x.md", is_path=False) == LinkTarget(
        "work/Plan.md", "Goals#Deep"
    )
    assert NoteNames(PATHS).resolve("#^b1", "x.md", is_path=False) == LinkTarget("x.md", "^b1")


@pytest.mark.parametrize("written", ["photo.PNG", "a/paper.pdf#page=3", "../../outside.md", "folder/"])
def test_what_is_no_link_to_a_note_gives_none(written: str) -> None:
    assert NoteNames(PATHS).resolve(written, "work/x.md", is_path=True) is None
