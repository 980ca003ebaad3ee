"""Real repositories for tests: git itself, run so that nothing of the machine's settings matters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

DATE = "2024-03-05T12:00:00+00:00"
TIME = 1709640000.0
"""`DATE` in seconds since the epoch."""


def git(folder: Path, *arguments: str, stdin: bytes | None = None, **variables: str) -> str:
    """Run git in a folder with a fixed author and date; variables override them. Returns the output."""
    return git_bytes(folder, *arguments, stdin=stdin, **variables).decode("utf-8", "surrogateescape")


def git_bytes(folder: Path, *arguments: str, stdin: bytes | None = None, **variables: str) -> bytes:
    """Run git and return the bytes that it prints."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=_environment(variables),
        input=stdin or b"",
        capture_output=True,
        check=True,
    ).stdout


def git_allowing_failure(folder: Path, *arguments: str, stdin: bytes | None = None, **variables: str) -> int:
    """Run git where it may fail; returns its exit code."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=_environment(variables),
        input=stdin or b"",
        capture_output=True,
        check=False,
    ).returncode


def new_repository(folder: Path) -> Path:
    """An empty repository with branch `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit(folder: Path, message: str, files: Mapping[str, str | bytes | None] | None = None, **variables: str) -> str:
    """Write files (None deletes one), commit everything, and return the id."""
    for path, content in (files or {}).items():
        target = folder / path
        if content is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "-A")
    message_bytes = message.encode("utf-8", "surrogateescape")
    git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", stdin=message_bytes, **variables)
    return git(folder, "rev-parse", "HEAD").strip()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.invalid",
        "GIT_AUTHOR_DATE": DATE,
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.invalid",
        "GIT_COMMITTER_DATE": DATE,
    }
    return {**kept, **fixed, **variables}


def long_history(folder: Path, count: int = 2_000) -> Path:
    """A repository with so many commits; each changes one of ten files, and every hundredth says so at length."""
    script = b""
    for number in range(count):
        text = f"def step_{number % 10}():\n    return {number}\n".encode()
        subject = f"Change step {number}, because the total was wrong".encode() if not number % 100 else b"Next"
        script += b"commit refs/heads/main\ncommitter Ada <a@b> %d +0000\ndata %d\n%b\n" % (
            1_600_000_000 + number, len(subject), subject,
        )  # fmt: skip
        script += b"M 644 inline src/step_%d.py\ndata %d\n%b\n" % (number % 10, len(text), text)
    git_bytes(new_repository(folder), "fast-import", "--quiet", stdin=script)
    git(folder, "reset", "-q", "--hard")
    return folder
