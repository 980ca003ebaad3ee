"""The two versions that are compared: sources that nobody edits while they are asked, and what their indexes depend on.

Below one folder outside of the repository: `versions/` are the sources, `trees/` and `concepts/` work trees,
`homes/INDEX/NAME/` the data folders with one index for each tree, where INDEX is a digest of what writes an index and
NAME is `base` or `now`. A version that only ranks differently finds the indexes of the run before.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.asking import source_digest
from localization.dataset import REPOSITORY_ROOT
from questions.dataset import git
from two_versions import package_of

BASE, NOW = "base", "now"

ROOMS_ABOVE_INDEX = frozenset({
    "__main__.py", "answer", "cli", "clients", "doctor.py", "engine.py", "evaluation", "graph", "guidance", "hooks",
    "mcp", "memory", "operations", "receipts", "results", "search", "testing.py", "web",
})  # fmt: skip
"""Parts of the package that the room `index` may not import (tests/architecture): they do not change an index."""

KEPT_INDEXES = 4
"""Folders of indexes that are kept, those used last: one takes some gigabytes."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version: `name` is base or now, `commit` for people, `digest` that of its source, `index` of its indexes."""

    name: str
    commit: str
    source: Path
    digest: str

    @property
    def index(self) -> str:
        """A digest of the part of the source that reads and stores."""
        return source_digest(self.source, ROOMS_ABOVE_INDEX)[:16]


def base_commit(given: str) -> tuple[str, str]:
    """Return a commit and why it is the base: it is given, the last tag, or where this branch left `main`.

    Raises ValueError if there is none.
    """
    wanted = {"as given": given} if given else {
        "the last tag": _printed("describe", "--tags", "--abbrev=0"),
        "where this branch left main": _printed("merge-base", "HEAD", "main"),
    }  # fmt: skip
    for reason, revision in wanted.items():
        if revision and (commit := _printed("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")):
            return commit, reason
    message = f"{given} is not a commit" if given else "there is neither a tag nor a branch main: name a base commit"
    raise ValueError(message)


def check_tree(tree: Path) -> None:
    """Raise ValueError for a folder that is no work tree of satchel."""
    if not (tree / "src" / "satchel").is_dir() or not (tree / ".git").exists():
        message = f"{tree} is not a work tree of satchel: give one with its .git and its src"
        raise ValueError(message)


def check_work(work: Path) -> None:
    """Make a work folder. Raises ValueError where that cannot be done."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        (work / "score.lock").touch()
    except OSError as problem:
        message = f"{work} cannot be written ({problem.strerror}): set SATCHEL_BENCH_WORK to another folder"
        raise ValueError(message) from problem


def _printed(*words: str) -> str:
    """What git prints, empty where it fails."""
    try:
        return git(REPOSITORY_ROOT, *words).strip()
    except subprocess.CalledProcessError:
        return ""


def versions(work: Path, base: str, tree: Path) -> list[Version]:
    """The base, and a work tree as it is now; both are copied, so that the tree may be edited meanwhile.

    A version that is compared with itself has another digest the second time: it is asked twice.
    """
    folder = work / "versions" / base[:16]
    if not (folder / "src").exists():
        with whole(folder) as part:
            package_of(base, part)
    before = source_digest(folder / "src")
    now = source_digest(tree / "src")
    copy = copied(work, tree / "src", now)
    head = git(tree, "rev-parse", "HEAD").strip()[:12]
    changed = git(tree, "status", "--porcelain", "--", "src").strip()
    again = " again" if now == before else ""
    return [
        Version(BASE, base[:12], folder / "src", before[:16]),
        Version(NOW, f"{head}, changed" if changed else head, copy, f"{now[:16]}{again}"),
    ]


def copied(work: Path, folder: Path, digest: str) -> Path:
    """Return a copy of a folder of the work tree, made once for each digest of it."""
    copy = work / "versions" / digest[:16] / folder.name
    if not copy.exists():
        with whole(copy) as part:
            shutil.copytree(folder, part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "results"))
    return copy


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Give another path to make a folder at, which becomes `folder` once it is done: Ctrl-C leaves no half of it."""
    part = folder.with_name(f"{folder.name}.part")
    for left in (part, folder):
        shutil.rmtree(left, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    yield part
    part.rename(folder)


def home(work: Path, version: Version, tree: Path) -> Path:
    """The data folder of a version for a tree, with the index of the other version if that is the same; made once."""
    homes = work / "homes" / version.index
    name = "_".join(tree.relative_to(work).parts)
    mine = homes / version.name / name
    if not (mine / "indexed").exists():
        shutil.rmtree(mine, ignore_errors=True)
        others = [other / name for other in sorted(homes.glob("*")) if (other / name / "indexed").exists()]
        if others:
            with whole(mine) as part:
                shutil.copytree(others[0], part)
        mine.mkdir(parents=True, exist_ok=True)
    return mine


def prune(work: Path, used: set[str]) -> None:
    """Remove all indexes but those `used` now, and of the others the ones used last."""
    homes = work / "homes"
    for name in used:
        (homes / name).mkdir(parents=True, exist_ok=True)
        (homes / name).touch()
    every = sorted(homes.iterdir(), key=lambda folder: (folder.name in used, folder.stat().st_mtime), reverse=True)
    for folder in every[KEPT_INDEXES:]:
        shutil.rmtree(folder)


@contextmanager
def alone(work: Path) -> Iterator[None]:
    """Keep others out of a work folder. Raises BlockingIOError if somebody works there."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "score.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
