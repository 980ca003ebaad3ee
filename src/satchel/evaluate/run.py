"""Asking about each fix at the state before it, oldest first, so that going from one to the next is a small step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from satchel.engine import Satchel
from satchel.errors import NoIndexError
from satchel.evaluate.answers import Answer, Kept, measured
from satchel.evaluate.fixes import Fix, Mined, mine
from satchel.evaluate.snapshot import Snapshot
from satchel.git import find_repository, head
from satchel.index.report import Progress, Quiet
from satchel.settings import SETTINGS, attribute
from satchel.types import Kind

DEFAULT_LIMIT = 100
"""Fixes that are asked about: half a minute, and intervals of about a tenth on either side."""

HITS = 200
"""Parts that a search gives for tuning; they come from some 60 files, and no file below those was ever shown."""

FOLDER = "evaluate"

NOT_INDEXED = "not in the index"


@dataclass(slots=True)
class Outcome:
    """What a run found: the fixes that were asked about, oldest first, with their answers."""

    mined: Mined
    max_tokens: int
    fixes: list[Fix] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    asked: int = 0
    is_stopped: bool = False


def evaluate(
    satchel: Satchel,
    *,
    limit: int = DEFAULT_LIMIT,
    max_tokens: int | None = None,
    since: float = 0.0,
    fresh: bool = False,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Measure the root of this engine on its own history, with its settings. Its index and files are not touched.

    What an earlier run of this version was told is not asked again, unless `fresh`.
    Raises NoIndexError where there is no repository, GitError, UsageError for impossible numbers.
    """
    root = satchel.places.root
    repository = find_repository(root)
    if repository is None:
        raise NoIndexError(f"{root} is in no git repository: there are no fixes to learn from")
    if head(repository) is None:
        raise NoIndexError(f"{root} has no commits yet: there are no fixes to learn from")
    wanted = satchel.settings.budget_max_tokens if max_tokens is None else max_tokens
    budget = satchel.request("budget", max_tokens=wanted).max_tokens
    mined = mine(repository, limit=limit, since=since, should_stop=should_stop)
    outcome = Outcome(mined, budget)
    kept = Kept(satchel.places.index.parent.parent / FOLDER / satchel.places.index.name, satchel.settings, budget)
    known = {} if fresh else {fix.sha: answer for fix in mined.fixes if (answer := kept.get(fix.sha)) is not None}
    watch = progress or Quiet()
    watch.phase("asking about fixes", len(mined.fixes))
    with tempfile.TemporaryDirectory(prefix="satchel-eval-") as place, closing(_Past(satchel, Path(place))) as past:
        for fix in reversed(mined.fixes):
            if should_stop():
                break
            answer = known.get(fix.sha)
            if answer is None:
                answer = past.ask(fix, budget, should_stop)
                if should_stop():
                    break
                outcome.asked += 1
                if answer is not None:
                    kept.add(answer)
            if answer is None:
                mined.left_out[NOT_INDEXED] += 1
            else:
                outcome.fixes.append(fix)
                outcome.answers.append(answer)
            watch.advance(1)
    outcome.is_stopped = should_stop()
    return outcome


class _Past:
    """The root at earlier commits, with an index of its own in a folder that is deleted afterwards."""

    def __init__(self, satchel: Satchel, place: Path) -> None:
        repository = find_repository(satchel.places.root)
        assert repository is not None
        self._inside = satchel.places.root.relative_to(repository.work_tree)
        self._root = place / "tree" / self._inside
        self._environment = {"SATCHEL_HOME": str(place / "home"), "HOME": str(place / "home")}
        self._settings = _settings(satchel)
        self._snapshot = Snapshot(place / "tree", repository, most_bytes=satchel.settings.index_max_file_bytes)
        self._engine: Satchel | None = None

    def ask(self, fix: Fix, budget: int, should_stop: Callable[[], bool]) -> Answer | None:
        """The answer at the state before the fix, None where none of its files is indexed there, or after a stop."""
        self._snapshot.move_to(fix.parent, should_stop)
        prefix = "" if self._inside == Path() else f"{self._inside.as_posix()}/"
        gold = {path.removeprefix(prefix): ranges for path, ranges in fix.gold.items() if path.startswith(prefix)}
        if not gold or should_stop() or not self._root.is_dir():
            return None
        if self._engine is None:
            # Folders of their own: nothing that was remembered after the fix may answer.
            self._engine = Satchel.open(self._root, root=self._root, settings=self._settings, environ=self._environment)
        engine = self._engine
        engine.index(should_stop=should_stop)
        gold = {path: ranges for path, ranges in gold.items() if engine.store.bundle(Kind.CODE, path) is not None}
        if not gold or should_stop():
            return None
        context = engine.assemble(fix.question, refresh=False, types=["code"], max_tokens=budget, now=fix.time)
        hits = engine.search(fix.question, refresh=False, types=["code"], limit=HITS, now=fix.time)
        return measured(fix, gold, context, hits)

    def close(self) -> None:
        """Release the index."""
        if self._engine is not None:
            self._engine.close()


def _settings(satchel: Satchel) -> Mapping[str, object]:
    """The settings in force for the real root, whatever those of an earlier commit say; code needs no vectors."""
    values = asdict(satchel.settings)
    found = {key: values[attribute(key)] for key in SETTINGS}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()} | {
        "embed.provider": "off"
    }
