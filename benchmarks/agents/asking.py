"""Ask several versions the same questions, each on an index of its own, and keep every answer for the next run.

Below one folder outside of the repository: `trees/OWNER+NAME/COMMIT` are work trees, `homes/VERSION/...` the data
folders of satchel with one index for each tree, `answers/` the texts. VERSION is a digest of the source, so that an
answer is asked anew as soon as anything in it changes, and an old version costs nothing in later runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from localization.dataset import REPOSITORY_ROOT
from questions.asking import check_out
from questions.dataset import git_directory

from .cases import SATCHEL, Case

COMMAND = "satchel context - --max-tokens {max_tokens} --json"
INDEX = "satchel index --quiet --no-vectors"
SECONDS = 600.0
"""A command that takes longer has failed."""
ERROR_CHARACTERS = 300
WORDS_ONLY = {"SATCHEL_EMBED_PROVIDER": "off"}
"""Vectors of docs take ten times as long as the rest of an index, and code has none."""
NAMES_OPTION = "--names"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Arm:
    """A version that is asked: `source` is the folder to import satchel from, None for a command that is not satchel.

    `has_names` gives it the likely names of a case: as `--names` where its help lists this option, else as a last line
    of the question.
    """

    name: str
    source: Path | None
    command: str = COMMAND
    index: str = INDEX
    has_names: bool = False

    @property
    def version(self) -> str:
        """A digest of the source and of how it is indexed."""
        return hashlib.sha256(f"{source_digest(self.source)}\0{self.index}".encode()).hexdigest()[:16]

    def words(self, command: str) -> list[str]:
        """The words of a command line; `satchel` is the module of this source."""
        words = shlex.split(command)
        is_satchel = self.source is not None and words[:1] == ["satchel"]
        return [sys.executable, "-m", *words] if is_satchel else words


@cache
def source_digest(source: Path | None, left_out: frozenset[str] = frozenset()) -> str:
    """A digest of all files of the package below this folder, except for rooms that are `left_out`; read once."""
    digest = hashlib.sha256()
    package = source / "satchel" if source is not None else Path()
    files = sorted(package.rglob("*")) if source is not None else []
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and file.relative_to(package).parts[0] not in left_out:
            digest.update(f"{file.relative_to(source or file)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the repositories are and where trees, indexes and answers are kept.

    `seed` is the arm from whose indexes those of the others are copied and brought up to date, as after an upgrade.
    """

    repos: Path
    work: Path
    max_tokens: int
    seed: Arm | None = None
    environment: Mapping[str, str] | None = None


class Asker:
    """Asks arms about cases; safe from several threads."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def tree(self, case: Case) -> Path:
        """The work tree of a case, laid out once. Raises CalledProcessError, FileNotFoundError."""
        name = case.repo.replace("/", "+")
        tree = self._place.work / "trees" / name / case.commit[:16]
        done = tree.with_name(f"{tree.name}.done")
        with self._lock(str(tree)):
            if not done.exists():
                is_ours = case.repo == SATCHEL
                origin = REPOSITORY_ROOT if is_ours else git_directory(self._place.repos, case.repo)
                check_out(origin, tree, case.commit)
                done.touch()
        return tree

    def answer(self, arm: Arm, case: Case) -> Row:
        """The answer as `text`, `seconds` and `failure` (empty if it worked), from an earlier run if it was kept."""
        question, more = self._question(arm, case)
        key = [arm.version, arm.command, str(self._place.max_tokens), case.repo, case.commit, question, *more]
        key += [f"{name}={value}" for name, value in sorted((self._place.environment or {}).items())]
        name = hashlib.sha256("\0".join(key).encode()).hexdigest()
        file = self._place.work / "answers" / f"{name}.json"
        if file.exists():
            kept: Row = json.loads(file.read_text(encoding="utf-8"))
            return kept
        row = self._asked(arm, case, question, more)
        if not row["failure"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(row), encoding="utf-8")
        return row

    def _lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._locks[name]

    def _question(self, arm: Arm, case: Case) -> tuple[str, list[str]]:
        if not (arm.has_names and case.names):
            return case.question, []
        if self.knows_names(arm):
            return case.question, [NAMES_OPTION, ",".join(case.names)]
        return f"{case.question.rstrip()}\nLikely names: {', '.join(case.names)}", []

    def knows_names(self, arm: Arm) -> bool:
        """Whether the command of an arm has an option for likely names."""
        with self._lock(f"help {arm.version}"):
            return _knows_names(self, arm)

    def _asked(self, arm: Arm, case: Case, question: str, more: list[str]) -> Row:
        failed: Row = {"text": "", "seconds": 0.0, "failure": ""}
        try:
            tree = self.tree(case)
            home = self._indexed(arm, case, tree)
            started = time.monotonic()
            words = arm.words(arm.command.replace("{max_tokens}", str(self._place.max_tokens))) + more
            done = self.run(words, arm, tree, home, question)
            seconds = time.monotonic() - started
        except (subprocess.SubprocessError, OSError) as problem:
            return failed | {"failure": str(problem)[:ERROR_CHARACTERS]}
        if done.returncode:
            return failed | {"failure": _problem("answer", done)}
        return {"text": _text_of(done.stdout), "seconds": round(seconds, 3), "failure": ""}

    def _indexed(self, arm: Arm, case: Case, tree: Path) -> Path:
        """The data folder with the index of a tree. Raises ChildProcessError."""
        home = self._home(arm, case)
        done = home / "indexed"
        with self._lock(str(home)):
            if not done.exists() and arm.index:
                seed = self._place.seed
                earlier = self._home(seed, case) if seed is not None else home
                shutil.rmtree(home, ignore_errors=True)
                if earlier != home and (earlier / "indexed").exists():
                    shutil.copytree(earlier, home)
                    (home / "indexed").unlink()
                home.mkdir(parents=True, exist_ok=True)
                result = self.run(arm.words(arm.index), arm, tree, home, "")
                if result.returncode:
                    raise ChildProcessError(_problem("index", result))
                done.touch()
        return home

    def _home(self, arm: Arm, case: Case) -> Path:
        return self._place.work / "homes" / arm.version / f"{case.repo.replace('/', '+')}@{case.commit[:16]}"

    def run(
        self, words: list[str], arm: Arm, folder: Path, home: Path, question: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command of an arm in a folder, the question on standard input. Raises TimeoutExpired, OSError."""
        path = {"PYTHONPATH": str(arm.source)} if arm.source is not None else {}
        extra = WORDS_ONLY if self._place.environment is None else self._place.environment
        environment = {**os.environ, **path, **extra, "SATCHEL_HOME": str(home)}
        return subprocess.run(
            words,
            cwd=folder,
            env=environment,
            input=question.encode("utf-8"),
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )


@cache
def _knows_names(asker: Asker, arm: Arm) -> bool:
    folder = Path.cwd()
    done = asker.run(arm.words("satchel context --help"), arm, folder, folder, "") if arm.source is not None else None
    return done is not None and NAMES_OPTION in done.stdout.decode("utf-8", "replace").split()


def _problem(what: str, done: subprocess.CompletedProcess[bytes]) -> str:
    tail = done.stderr.decode("utf-8", "replace").strip()[-ERROR_CHARACTERS:]
    return f"{what}: exit {done.returncode}: {tail}"


def _text_of(output: bytes) -> str:
    """The text that an agent sees: that of the JSON of satchel, else the output as it is."""
    text = output.decode("utf-8", "replace")
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer["text"]) if isinstance(answer, dict) and "text" in answer else text
