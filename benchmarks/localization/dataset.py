"""The evaluation data: where it is, its instances, and the scorer that comes with it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
DATA_FILE = "code_localization_dev.jsonl"


class Instance(TypedDict):
    """One issue and what its fix changed; line ranges are 1-based and inclusive, at `base_commit`."""

    id: str
    repo: str
    lang: str
    source: str
    base_commit: str
    query: str
    gold_files: list[str]
    gold_lines: dict[str, list[list[int]]]
    gold_functions: list[str]
    path_in_query: bool


class Scorer(Protocol):
    """The part of the data folder's `score_code.py` that is used here."""

    def git_directory(self, repos: Path, name: str) -> Path | None:
        """The git directory of OWNER/NAME below `repos`, or None."""

    def check_out(self, origin: Path, tree: Path, commit: str) -> None:
        """Put a work tree at `commit`, without refs to later commits; raises CalledProcessError."""

    def score(self, instance: Instance, answer: dict[str, Any], tree: Path) -> dict[str, float]:
        """The basic measures of one answer."""


def evaluation_folder() -> Path:
    """`SATCHEL_EVAL`, else `../shared/eval` beside the repository; raises FileNotFoundError without the data."""
    folder = Path(os.environ.get("SATCHEL_EVAL") or REPOSITORY_ROOT.parent / "shared" / "eval")
    if not (folder / DATA_FILE).is_file():
        message = f"no {DATA_FILE} in {folder}: set SATCHEL_EVAL to the folder that holds it"
        raise FileNotFoundError(message)
    return folder


@cache
def load_scorer() -> Scorer:
    """Import `score_code.py` from the data folder."""
    spec = importlib.util.spec_from_file_location("score_code", evaluation_folder() / "score_code.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Scorer", module)


def load_instances() -> list[Instance]:
    """All instances, sorted by repository, then id."""
    text = (evaluation_folder() / DATA_FILE).read_text(encoding="utf-8")
    return sorted(map(json.loads, text.splitlines()), key=lambda row: (row["repo"], row["id"]))


def data_digest() -> str:
    """SHA-256 of the instances' file, so that a stored result names its data."""
    return hashlib.sha256((evaluation_folder() / DATA_FILE).read_bytes()).hexdigest()


def choose(instances: Iterable[Instance], *, per_repo: int, limit: int, only: str) -> dict[str, list[Instance]]:
    """Instances by repository: the first `per_repo` of each, `limit` in all (0: no bound), names that match `only`."""
    chosen: dict[str, list[Instance]] = defaultdict(list)
    count = 0
    for instance in instances:
        repo = instance["repo"]
        if only and not re.search(only, repo):
            continue
        if (per_repo and len(chosen[repo]) >= per_repo) or (limit and count >= limit):
            continue
        chosen[repo].append(instance)
        count += 1
    return {repo: rows for repo, rows in chosen.items() if rows}
