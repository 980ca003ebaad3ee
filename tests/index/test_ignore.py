"""Files of rules: the same answers as git, and time that stays linear for patterns made to be slow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from satchel.index.ignore import GLOB_LIMIT, WILDCARD_LIMIT, Rules, parse_rules
from satchel.index.walk import WalkOptions, walk
from satchel.system.globs import translate
from tests.repositories import git, new_repository


def verdict(lines: str, path: str, *, is_folder: bool = False) -> bool | None:
    return parse_rules(lines.encode()).match(path.rpartition("/")[2], path, is_folder=is_folder)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("*.pyc", "a/b.pyc", True),
        ("build", "src/build", True),
        ("/build", "src/build", None),
        ("/build", "build", True),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", None),
        ("build/", "build", None),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("# note\n\n\\#name", "#name", True),
        ("\\!name", "!name", True),
        ("name   ", "name", True),
        ("name\\ ", "name ", True),
        ("name\\ ", "name", None),
        ("name\t", "name", None),
        ("name\r\nother", "name", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("**/z", "a/b/z", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", None),
        ("a/*/z", "a/b/c/z", None),
        ("a**z", "abcz", True),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", None),
        ("file[[:alpha:]].txt", "filex.txt", True),
        ("[", "[", None),
        ("name\\", "name\\", None),
        ("caf?", "café", True),
        ("", "anything", None),
        ("/", "anything", None),
    ],
)
def test_one_file_of_rules(lines: str, path: str, expected: bool | None) -> None:
    assert verdict(lines, path) is expected


def test_a_pattern_with_a_slash_at_its_end_is_for_folders() -> None:
    assert verdict("build/", "build", is_folder=True) is True


def test_a_byte_order_mark_is_not_part_of_the_first_pattern() -> None:
    assert parse_rules(b"\xef\xbb\xbfbuild").match("build", "build", is_folder=False) is True


def test_rules_of_a_folder_see_paths_from_there() -> None:
    inside = Rules(["/a.txt"], base="src/")
    assert inside.match("a.txt", "src/a.txt", is_folder=False) is True
    above = Rules(["src/a.txt"], above="src/")
    assert above.match("a.txt", "a.txt", is_folder=False) is True


@pytest.mark.parametrize(
    "glob",
    ["*a" * 40 + "b", "*a*" * 40 + "/b", "**/a/" * 40 + "b", "**/*a*/" * 20 + "b", "?*" * 60 + "b", "[ab]*" * 60 + "c"],
)
def test_a_pattern_made_to_be_slow_is_answered(glob: str) -> None:
    """With ordinary backtracking each of these would outlast the age of the universe."""
    expression = re.compile(translate(glob))
    assert expression.fullmatch("a" * 250) is None
    assert expression.fullmatch("/".join(["a" * 30] * 60)) is None


def test_two_stars_within_a_step_are_as_one() -> None:
    expression = re.compile(translate("?a**/b"))
    assert expression.fullmatch("xac/b")
    assert not expression.fullmatch("xab")
    assert not expression.fullmatch("xa/c/b")


def test_patterns_over_the_limits_are_dropped_and_counted() -> None:
    rules = Rules([f"*{number}x*" for number in range(WILDCARD_LIMIT + 2)] + ["x*" + "y" * GLOB_LIMIT, "plain"])
    assert rules.dropped == 3
    assert rules.match("plain", "plain", is_folder=False) is True


def test_a_megabyte_of_plain_names_is_looked_up_not_searched() -> None:
    rules = Rules(f"name{number}" for number in range(100_000))
    assert rules.match("name99999", "name99999", is_folder=False) is True
    assert rules.match("other", "other", is_folder=False) is None
    assert len(rules) == 100_000


FOLDERS = ("a", "b", "ab", "a b")
NAMES = ("c", "a1", "ab1", "b 1", "]", "#c", "!c", "-", "\\", "c ", "x.py", "A1", "[", "^")
STEPS = (
    *(
        "a",
        "b",
        "ab",
        "a b",
        "c",
        "a1",
        "A1",
        "*",
        "?",
        "a*",
        "*1",
        "**",
        "***",
        "a**",
        "**b",
        "a?",
        "*b*",
        "x.*",
        "*.py",
    ),
    *("[ab]", "[!a]*", "[a-b]?", "[[:alpha:]]1", "[[:digit:]]", "[[:bad:]]", "[^c]", "[]]", "[]-a]", "[\\]]", "[a-]"),
    *("[!]]", "[a", "\\a", "\\*", "\\]", "\\#c", "#c", "!c", "\\!c", "*\\ 1", "c\\ ", "c "),
)
tidy = st.builds(
    lambda start, steps, end: start + "/".join(steps) + end,
    st.sampled_from(["", "", "", "/"]),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
    st.sampled_from(["", "", "", "/"]),
)
wild = st.text(alphabet="ab1c*?/[]!-\\# ^:.", min_size=1, max_size=7)
pattern = st.builds(
    lambda negation, body, tail: negation + body + tail,
    st.sampled_from(["", "", "!"]),
    tidy | wild,
    st.sampled_from(["", "", "", " ", "  ", "\\ ", "\t", " \\", "\r"]),
)
rules = st.lists(pattern, max_size=4).map("\n".join)


def _fill(folder: Path, depth: int) -> None:
    folder.mkdir()
    for name in NAMES:
        (folder / name).touch()
    for inner in FOLDERS if depth else ():
        _fill(folder / inner, depth - 1)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with 294 untracked files whose names look like pieces of patterns."""
    top = new_repository(tmp_path_factory.mktemp("rules") / "top")
    _fill(top / "sub", 2)
    return top


@given(exclude=rules, at_top=rules, in_sub=rules, in_a=rules, mark=st.booleans())
# Random rules seldom bring a file back.
@example(exclude="", at_top="*.py\na*", in_sub="!*.py\n!a1", in_a="*.py", mark=False)
def test_the_walk_finds_what_git_finds(
    tree: Path, exclude: str, at_top: str, in_sub: str, in_a: str, mark: bool
) -> None:
    (tree / ".git" / "info" / "exclude").write_bytes(exclude.encode())
    (tree / ".gitignore").write_bytes(b"\xef\xbb\xbf" * mark + at_top.encode())
    (tree / "sub" / ".gitignore").write_bytes(in_sub.encode())
    (tree / "sub" / "a" / ".gitignore").write_bytes(in_a.encode())
    expected = set(git(tree, "ls-files", "-z", "-co", "--exclude-standard").split("\0")) - {""}
    found = {entry.path for entry in walk(tree, WalkOptions(hidden=True)).entries}
    assert found == expected
    below = {path.removeprefix("sub/") for path in expected if path.startswith("sub/")}
    if below:  # a root that is ignored itself is walked all the same, because somebody asked for it
        assert {entry.path for entry in walk(tree / "sub", WalkOptions(hidden=True)).entries} == below
