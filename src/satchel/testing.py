"""Real, deterministic stand-ins for tests: a tiny repository builder and a counter of characters.

Shipped with the package, so that those who extend satchel test on the same seams as satchel itself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FIRST_COMMIT_TIME = 1_700_000_000
"""Commits of a tiny repository start here (seconds, UTC) and are one hour apart."""


@dataclass(frozen=True, slots=True)
class CharacterCounter:
    """A token counter whose tokens are characters: budgets in tests can be read off the text."""

    name: str = "characters"
    exact: bool = True

    def count(self, text: str) -> int:
        """Characters of the text."""
        return len(text)


class TinyRepository:
    """A git repository in a folder, written file by file and commit by commit, the same bytes every time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._commits = 0
        root.mkdir(parents=True, exist_ok=True)
        self._git("init", "-q", "-b", "main")

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, creating their folders."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        """Delete a file."""
        (self.root / path).unlink()

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        """Write files, commit everything, and return the commit id."""
        self.write(files or {})
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", message)
        self._commits += 1
        return self._git("rev-parse", "HEAD").strip()

    def checkout(self, revision: str) -> None:
        """Move HEAD and the work tree, detached."""
        self._git("checkout", "-q", "--detach", revision)

    def _git(self, *arguments: str) -> str:
        when = f"{FIRST_COMMIT_TIME + 3600 * self._commits} +0000"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout
