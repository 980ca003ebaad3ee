"""What a host has read itself is not sent again."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from satchel.hooks.answers import excluded, mentioned, without_mentions

ROOT = Path("/home/me/shop")


@pytest.mark.parametrize(
    ("prompt", "paths"),
    [
        ("look at @src/a.py and @src/b.py.", ["src/a.py", "src/b.py"]),
        ("@README.md", ["README.md"]),
        ('compare @"my file.txt" with @src/a.py#L10-20', ["my file.txt", "src/a.py"]),
        ("see @src/a.py:12-30, please", ["src/a.py"]),
        ("write to me@example.com", []),
        ("nothing here", []),
    ],
)
def test_a_prompt_attaches_files_with_an_at_sign(prompt: str, paths: list[str]) -> None:
    assert mentioned(prompt) == paths


def test_a_mention_is_asked_about_as_a_name() -> None:
    assert without_mentions("why does @src/a.py fail?") == "why does src/a.py fail?"


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE.md", "packages/app/CLAUDE.md", "AGENTS.md", ".claude/rules/tests.md", ".cursor/rules/a.mdc",
        "MEMORY.md", "src/a.py", "docs/guide.md", "a[1].py",
    ],
)  # fmt: skip
def test_instruction_files_and_attached_files_are_left_out(path: str) -> None:
    globs = excluded(ROOT, ROOT / "src", ["a.py", "../docs", "/home/me/shop/a[1].py", "/etc/passwd", "~/x", "../.."])
    assert any(fnmatch.fnmatchcase(path, glob) for glob in globs)


@pytest.mark.parametrize("path", ["src/b.py", "README.md", "docs.md", "a1.py", "etc/passwd"])
def test_everything_else_stays(path: str) -> None:
    globs = excluded(ROOT, ROOT / "src", ["a.py", "../docs", "/home/me/shop/a[1].py", "/etc/passwd", "~/x", "../.."])
    assert not any(fnmatch.fnmatchcase(path, glob) for glob in globs)
