"""Change real repositories between indexing and asking, and look for lines that are shown as what they are not.

    python benchmarks/fresh_edits.py --repos REPO... --edits 2000 --out benchmarks/results/fresh_edits.json

Each repository is cloned and indexed once. A round makes some edits (or moves to another commit, or replaces files by
what is not a file), asks about each edited file without refreshing the index, checks every piece of every answer, and
puts the tree back. The checks know the text of every file at the time of the index and read the live files
themselves; of satchel they use only the part table of the index and the cleaning and redaction of text:

* a piece without `stale` is, line by line, what the file has at the stated numbers now, or a passage of one long line
  with an ellipsis where it is cut;
* a piece without any mark was at the same lines when it was indexed, a `moved` one elsewhere;
* a `changed` piece has a name that was indexed, and where all of the definition is shown it does not read as it did;
* a `stale` piece is what was indexed, and its definition is nowhere in the file as it was; a Python function or class
  whose name the file still defines once, as it did, is not called stale.

With `--store URL` the index of an older commit is published on a PostgreSQL server from another clone, and the clone
that is edited starts from it, as a developer's does. After each round it is brought up to date, too: then every piece
of an answer has to be without a mark, and what the file has now.

The exit status is 1 when any check fails. Equal seeds and repositories give equal edits and questions.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fresh_oracle import Lines, Oracle, Outcome
from options import keep

from satchel import Satchel
from satchel.store.records import PUBLISHED
from satchel.types import ContextItem

EDITS_A_ROUND = 8
BRANCH_EVERY = 5
"""One round in so many moves to another commit instead of editing."""

FARTHEST_COMMIT = 300
PUBLISHED_BEFORE = 30
"""The published commit is so many commits before that of the clone that is edited."""

MAX_EXAMPLES = 20
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


class Editor:
    """Makes the edits of one repository, the same for the same seed."""

    def __init__(self, root: Path, chance: random.Random, oracle: Oracle) -> None:
        self._root, self._chance, self._oracle = root, chance, oracle
        self._of_lines: Mapping[str, Callable[[str, Lines], Lines]] = {
            "insert lines": self._insert,
            "delete lines": self._delete,
            "replace lines": self._replace,
            "rename definition": self._rename_definition,
            "delete definition": self._delete_definition,
            "swap definitions": self._swap,
        }
        self._of_files: Mapping[str, Callable[[Path], object]] = {
            "rename file": self._rename_file,
            "delete file": Path.unlink,
            "truncate": self._truncate,
            "turn binary": lambda path: path.write_bytes(b"\0" * 100),
            "turn into link": self._link,
            "turn into pipe": self._pipe,
            "grow huge": lambda path: path.write_bytes(path.read_bytes() * 3 + b"x" * 2_000_000),
            "other line ends": lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")),
            "empty": lambda path: path.write_bytes(b""),
        }

    def edit(self, path: str) -> str:
        """Make one edit; returns what it was."""
        by_line = self._chance.random() < 0.7
        what = self._chance.choice(list(self._of_lines if by_line else self._of_files))
        file = self._root / path
        if not by_line:
            self._of_files[what](file)
            return what
        for _ in range(self._chance.randint(1, 3)):
            lines = file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
            changed = "\n".join(self._of_lines[what](path, lines))
            file.write_bytes(changed.encode("utf-8", "surrogateescape"))
        return what

    def _insert(self, _: str, lines: Lines) -> Lines:
        at = self._chance.randint(0, len(lines))
        new = self._chance.choice((["", ""], ["# something new", "x = 1"], lines[: self._chance.randint(1, 4)]))
        return [*lines[:at], *new, *lines[at:]]

    def _delete(self, _: str, lines: Lines) -> Lines:
        at = self._chance.randrange(len(lines))
        return [*lines[:at], *lines[at + self._chance.randint(1, 10) :]]

    def _replace(self, _: str, lines: Lines) -> Lines:
        at = self._chance.randrange(len(lines))
        return [*lines[:at], *(f"{line} changed" for line in lines[at : at + 3]), *lines[at + 3 :]]

    def _rename_definition(self, path: str, lines: Lines) -> Lines:
        named = [part for part in self._oracle.parts[path] if part.name and part.end <= len(lines)]
        if not named:
            return self._replace(path, lines)
        part = self._chance.choice(named)
        word = re.compile(rf"\b{re.escape(part.name.rpartition('.')[2])}\b")
        inside = [word.sub("renamed_here", line) for line in lines[part.start - 1 : part.end]]
        return [*lines[: part.start - 1], *inside, *lines[part.end :]]

    def _delete_definition(self, path: str, lines: Lines) -> Lines:
        part = self._chance.choice(self._oracle.parts[path])
        return [*lines[: part.start - 1], *lines[part.end :]] or [""]

    def _swap(self, path: str, lines: Lines) -> Lines:
        parts = self._oracle.parts[path]
        at = self._chance.randrange(len(parts))
        first, second = parts[at - 1] if at else parts[at], parts[at]
        if first is second or second.end > len(lines):
            return self._insert(path, lines)
        head, tail = lines[: first.start - 1], lines[second.end :]
        return [*head, *lines[second.start - 1 : second.end], *lines[first.start - 1 : first.end], *tail]

    def _rename_file(self, path: Path) -> None:
        path.rename(path.with_name(f"renamed_{self._chance.randrange(10**6)}_{path.name}"))

    def _truncate(self, path: Path) -> None:
        raw = path.read_bytes()
        path.write_bytes(raw[: self._chance.randrange(len(raw) + 1)])

    def _link(self, path: Path) -> None:
        path.unlink()
        path.symlink_to(os.devnull)

    def _pipe(self, path: Path) -> None:
        path.unlink()
        os.mkfifo(path)


class Repository:
    """One repository through all of its rounds."""

    def __init__(self, source: Path, folder: Path, chance: random.Random, outcome: Outcome, store: str) -> None:
        self._root = folder / "tree"
        self._chance, self._outcome, self._has_team = chance, outcome, bool(store)
        subprocess.run(["git", "clone", "-q", "--shared", str(source), str(self._root)], check=True)
        self._head = self._git("rev-parse", "HEAD").strip()
        environment = {**os.environ, "SATCHEL_HOME": str(folder / "home")}
        if store:
            team = {"SATCHEL_STORE": store, "SATCHEL_STORE_NAME": str(folder), "SATCHEL_KEY": "ab" * 32}
            environment |= team
            self._publish(folder / "ci", {**environment, "SATCHEL_HOME": str(folder / "ci_home")})
        self._satchel = Satchel.open(root=self._root, environ=environment)
        self._satchel.index()
        assert not store or self._satchel.store.meta(PUBLISHED) == str(folder)
        self._oracle = Oracle(self._root, self._satchel, outcome)
        self._editor = Editor(self._root, chance, self._oracle)
        self._paths = sorted(path for path, parts in self._oracle.parts.items() if parts)

    def _publish(self, clone: Path, environment: Mapping[str, str]) -> None:
        """Publish the index of an older commit from a clone of its own."""
        subprocess.run(["git", "clone", "-q", str(self._root), str(clone)], check=True)
        older = self._git("rev-list", "--first-parent", f"--max-count={PUBLISHED_BEFORE}", "HEAD").split()[-1]
        subprocess.run(["git", "checkout", "-q", "--detach", older], cwd=clone, check=True)
        with Satchel.open(root=clone, environ=environment) as publisher:
            publisher.team.begin_publishing()
            publisher.index()

    def run(self, edits: int) -> None:
        """So many edits, in rounds."""
        done = number = 0
        with self._satchel:
            while done < edits:
                number += 1
                if number % BRANCH_EVERY == 0:
                    done += self._switch()
                    continue
                chosen = self._chance.sample(self._paths, k=min(EDITS_A_ROUND, edits - done, len(self._paths)))
                made = {path: self._editor.edit(path) for path in chosen}
                self._outcome.edits.update(made.values())
                done += len(made)
                for path, what in made.items():
                    self._ask(path, what)
                if self._has_team:
                    self._satchel.index()
                    for path, what in made.items():
                        self._ask(path, what, is_refreshed=True)
                self._restore()
                if self._has_team:
                    self._satchel.index()

    def _switch(self) -> int:
        """Move to another commit, ask about some of the files that differ there, and come back."""
        commits = self._git("rev-list", f"--max-count={FARTHEST_COMMIT}", "HEAD").split()
        there = self._chance.choice(commits)
        differing = [path for path in self._git("diff", "--name-only", "HEAD", there).split("\n") if path]
        self._git("checkout", "-q", "--detach", there)
        known = sorted(set(differing) & set(self._paths))
        for path in self._chance.sample(known, k=min(EDITS_A_ROUND, len(known))):
            self._ask(path, "branch switch")
        self._outcome.edits["branch switch"] += 1
        self._restore()
        return 1

    def _ask(self, path: str, what: str, *, is_refreshed: bool = False) -> None:
        names = [part.name for part in self._oracle.parts[path] if part.name]
        chosen = self._chance.sample(names, k=min(3, len(names)))
        words = _WORD.findall("\n".join(self._oracle.old[path]))
        chosen += self._chance.sample(words, k=min(5, len(words)))
        question = f"{' '.join(chosen)} in {path}"
        context = self._satchel.assemble(question, refresh=False, max_tokens=3000, types=["code", "docs"])
        self._outcome.questions += 1
        shown = [item for item in context.items if item.location is not None and self._is_of(item, path)]
        self._outcome.edited_files_shown += bool(shown)
        for item in context.items:
            self._oracle.judge(item, what, is_refreshed=is_refreshed)

    def _is_of(self, item: ContextItem, path: str) -> bool:
        assert item.location is not None
        prefix = f"{item.source}:{path}"
        return item.location.path == path or any(origin.startswith(prefix) for origin in item.origins)

    def _restore(self) -> None:
        self._git("checkout", "-q", "--force", "--detach", self._head)
        self._git("clean", "-fdqx")

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self._root, check=True, capture_output=True, text=True)
        return done.stdout


def measure(
    repositories: Sequence[Path], edits: int, seed: int, folder: Path, store: str
) -> tuple[Outcome, dict[str, int]]:
    """All repositories, each with its share of the edits."""
    outcome, shares = Outcome(), {}
    for number, source in enumerate(repositories):
        place = folder / str(number)
        place.mkdir()
        share = edits // len(repositories) + (number < edits % len(repositories))
        Repository(source, place, random.Random(seed + number), outcome, store).run(share)
        name = source.parent.name if source.name == "repo" else source.name
        shares[name] = share
        print(f"{name}: {share} edits, {outcome.questions} questions so far", file=sys.stderr, flush=True)
        shutil.rmtree(place)
    return outcome, shares


def main() -> int:
    """Measure, print and store. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, nargs="+", required=True, help="git repositories, which stay as they are")
    parser.add_argument("--edits", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default="", help="address of a PostgreSQL server that has the team's index")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="satchel-fresh-") as folder:
        outcome, shares = measure(arguments.repos, arguments.edits, arguments.seed, Path(folder), arguments.store)
    result: dict[str, Any] = {
        "repositories": shares,
        "seed": arguments.seed,
        "edits": sum(outcome.edits.values()),
        "edits_by_kind": dict(sorted(outcome.edits.items())),
        "questions": outcome.questions,
        "answers_that_show_the_edited_file": outcome.edited_files_shown,
        "pieces": sum(outcome.pieces.values()),
        "pieces_by_mark": dict(sorted(outcome.pieces.items())),
        "wrong_slices": len(outcome.wrong_slices),
        "wrong_labels": len(outcome.wrong_labels),
        "examples": (outcome.wrong_slices + outcome.wrong_labels)[:MAX_EXAMPLES],
        "seconds": round(time.monotonic() - started, 1),
    }
    keep(result, arguments.out)
    return 1 if outcome.wrong_slices or outcome.wrong_labels else 0


if __name__ == "__main__":
    sys.exit(main())
