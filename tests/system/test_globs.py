from __future__ import annotations

import pytest

from satchel.system.globs import Globs, is_among, problem_of


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "src/a.py", True),
        ("src/", "src/deep/a.py", True),
        ("src/**/*.{ts,tsx}", "src/x/a.tsx", True),
        ("{a,b}/{c,d}.py", "b/c.py", True),
        ("./src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("**", "anything/at.all", True),
    ],
)
def test_globs_mean_what_git_means_and_braces_besides(glob: str, path: str, matches: bool) -> None:
    assert bool(Globs((glob,)).matching(path)) is matches


def test_a_glob_made_to_be_slow_is_not() -> None:
    assert not Globs(("**/*a" * 60 + "b",)).matching("a/" * 200 + "a" * 200)


@pytest.mark.parametrize("glob", ["", "/etc/*", "a/../b", "x" * 500, "{a,b}" * 12])
def test_a_glob_that_cannot_be_used_says_why(glob: str) -> None:
    assert problem_of(glob)


@pytest.mark.parametrize(
    ("glob", "text", "matches"),
    [
        ("*.py", "src/a.py", True),
        ("src/*", "src/deep/a.py", True),
        ("src", "src/deep/a.py", True),
        ("src/", "src/a.py", True),
        ("./src", "src/a.py", True),
        ("sr", "src/a.py", False),
        ("**/a.py", "a.py", True),
        ("**/s*", "src/a.py", False),
        ("edit_*", "edit_file", True),
        ("edit", "edit_file", False),
    ],
)
def test_the_star_of_an_option_crosses_folders_and_a_folder_is_all_within_it(
    glob: str, text: str, matches: bool
) -> None:
    assert is_among(text, (glob,)) is matches
    assert is_among(text, ("other", glob)) is matches
