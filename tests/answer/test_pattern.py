"""Every line that matches an expression, in the files as they are now."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer.pattern import LONGEST_LINE, Matches
from satchel.errors import UsageError
from satchel.testing import TinyRepository
from satchel.tokens import counter

SECRET = "ghp_" + "a1B2c3D4e5" * 4  # not a secret, but of the form of one
FILES = {
    "quay/rope.py": "MAX_ROPES = 4\n\n\ndef tie_rope(rope):\n    return rope.knot(MAX_ROPES)\n\n\n"
    "def splice(first, second):\n    # tie_rope is for one\n    tie_rope(first)\n    tie_rope(second)\n"
    "    tie_rope(first)\n    return tie_rope(second)\n",
    "quay/Anchor.java": "class Anchor {\n  int drop(int depth) {\n    return depth;\n  }\n}\n",
    "quay/bell.js": "export function ring(times) {\n  return times.map(tie_rope)\n}\n",
    "tests/test_rope.py": "from quay.rope import tie_rope\n\n\ndef test_tie_rope():\n    assert tie_rope(None)\n",
    "notes.md": f"# Ropes\n\nWe tie_rope twice.\n\n{SECRET}\n",
    "long.py": f"wide = '{'rope ' * 200}'\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Satchel, Path]]:
    folder = tmp_path_factory.mktemp("pattern")
    repository = TinyRepository(folder / "quay")
    repository.commit("Ropes", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine, repository.root


def ask(place: tuple[Satchel, Path], pattern: str, question: str = "", **options: Any) -> Matches:
    return place[0].search_pattern(pattern, question, **options)


def test_all_lines_are_those_of_grep(place: tuple[Satchel, Path]) -> None:
    found = ask(place, "tie_rope")
    grep = subprocess.run(["git", "grep", "-n", "tie_rope"], cwd=place[1], capture_output=True, text=True, check=True)
    lines = [row.split(":", 2) for row in grep.stdout.splitlines()]
    assert {(one.path, one.line, one.text) for one in found.matches} == {
        (path, int(n), text) for path, n, text in lines
    }
    assert (found.files, len(found.matches)) == (4, len(lines))


@pytest.mark.parametrize(
    "pattern",
    [
        "^def", r"\Adef", r"\breturn .*\)$", r"\)\z", "(?i)MOST", r"\Qtie_rope(first", "first$|^# Ropes", r"\Bope\b",
        "(?-s:rope.)", r"[^a-z]$", "^$", r"(?m)^\s+return$", "ropes?\n", "(?s)rope.+rope", "z" * 399 + "?",
    ],
)  # fmt: skip
def test_looking_at_whole_texts_first_changes_no_match(
    pattern: str, place: tuple[Satchel, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(place, pattern)
    monkeypatch.setattr("satchel.answer.pattern.for_texts", lambda _: None)
    assert ask(place, pattern) == found


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("quay/*", 3),
        ("*.py", 2),
        ("quay/*.py", 1),
        ("quay/**/*.py", 1),
        ("**/test_*.py", 1),
        ("**/*.py", 2),
        ("quay/**", 3),
        ("quay", 3),
        ("quay/", 3),
        ("./quay", 3),
        ("./quay/*.py", 1),
        ("qua", 0),
        ("quay/rope.py", 1),
    ],
)
def test_which_files_a_glob_means(place: tuple[Satchel, Path], glob: str, files: int) -> None:
    assert ask(place, "tie_rope|drop", paths=[glob]).files == files
    assert ask(place, "tie_rope|drop", exclude=[glob]).files == 5 - files


def test_definitions_come_first_and_tests_last(place: tuple[Satchel, Path]) -> None:
    found = ask(place, "tie_rope")
    first, last = found.matches[0], found.matches[-1]
    assert (first.path, first.line, first.name, first.is_definition) == ("quay/rope.py", 4, "tie_rope", True)
    assert last.path == "tests/test_rope.py"
    assert found.text.startswith(
        f"{len(found.matches)} lines in 4 files, {found.shown} shown\n\n### quay/rope.py\n@@4-5 tie_rope\n"
    )
    assert "… 2 more here" in found.text  # of splice three are shown
    assert "4\tdef tie_rope(rope):\n" in found.text


@pytest.mark.parametrize(
    ("pattern", "line"), [("MAX_ROPES", 1), (r"drop", 2), ("ring", 1), ("class Anchor", 1), ("def tie", 4)]
)
def test_what_defines(place: tuple[Satchel, Path], pattern: str, line: int) -> None:
    (defined,) = [one.line for one in ask(place, pattern, paths=["quay/*"]).matches if one.is_definition]
    assert defined == line


def test_a_question_decides_what_is_first(place: tuple[Satchel, Path]) -> None:
    assert ask(place, "return", "ring a bell some times").matches[0].path == "quay/bell.js"
    assert ask(place, "return", "how deep does an anchor drop").matches[0].path == "quay/Anchor.java"


def test_the_budget_holds_and_the_rest_is_counted(place: tuple[Satchel, Path]) -> None:
    for tokens in (1, 30, 60, 90, 150, 400):
        found = ask(place, "tie_rope", max_tokens=tokens)
        assert counter("o200k_base").count(found.text) == found.used <= tokens
        counted = sum(int(part.split()[-1]) for part in _rest(found.text))
        assert not found.text or found.shown + counted == len(found.matches)


def _rest(text: str) -> list[str]:
    row = next((row for row in text.splitlines() if row.startswith("Not shown: ")), "")
    return row.removeprefix("Not shown: ").split(", ") if row else []


def test_files_are_those_of_now(place: tuple[Satchel, Path]) -> None:
    file = place[1] / "quay/fender.py"
    file.write_text("def hang_fender():\n    return 'cork'\n", encoding="utf-8")
    try:
        place[0].index()
        (match,) = ask(place, "'cork'").matches
        assert (match.path, match.line, match.name) == ("quay/fender.py", 2, "hang_fender")
        file.write_text("\n\ndef hang_fender():\n    return 'cork'\n", encoding="utf-8")
        (match,) = ask(place, "'cork'").matches
        assert (match.line, match.name) == (4, "hang_fender")
    finally:
        file.unlink()
    assert ask(place, "'cork'").matches == ()


def test_secrets_cannot_be_probed_and_long_lines_are_cut(place: tuple[Satchel, Path]) -> None:
    assert ask(place, SECRET[:12]).matches == ()
    assert f"{FILES['long.py'][:LONGEST_LINE]}…\n" in ask(place, "wide").text


@pytest.mark.parametrize("pattern", ["(", "", "a" * 401, r"(?=ahead)"])
def test_a_bad_pattern_is_refused(place: tuple[Satchel, Path], pattern: str) -> None:
    with pytest.raises(UsageError, match=r"pattern|regular expression"):
        ask(place, pattern)
