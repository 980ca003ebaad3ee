"""Answers to the question of each fix at the state before it, oldest first, and weights fitted to them.

Each step to the next state is small. Answers are cached, because a history does not change: only measures, by the id of
the fix; no message, no path and no line of code.

Weights of the signals of files are applied to the files of the search of each fix, so no question is asked again. They
are fitted on four fifths of the time and measured on the other fifth, for each fifth: the reported gain is that on
fixes that the weights had not seen.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Container, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from satchel import __version__
from satchel.dataclass import dataclass
from satchel.engine import Satchel
from satchel.errors import NoIndexError
from satchel.evaluation.fixes import Estimate, Fix, Mined, Snapshot, estimate, mine
from satchel.index.options import Progress, Quiet
from satchel.search.query import analyse
from satchel.search.rank_files import FILE_WEIGHTS, SECONDARY_FACTOR
from satchel.settings import SETTINGS, Settings, attribute
from satchel.sources.roles import is_secondary
from satchel.system import state_files
from satchel.system.git import find_repository, head
from satchel.types import Context, Hit, Kind, ShouldStop, never

DEFAULT_LIMIT = 100
"""Default number of fixes: half a minute, and intervals of about ±0.1."""

HITS = 200
"""Hits of a search for tuning: some 60 files; no lower-ranked file was ever shown."""

NOT_INDEXED = "not in the index"

FILE_SIGNALS = frozenset(Settings().search_weights) - {"learned"}

_FORM = 2
"""Version of the fields of an answer; answers of other versions are not used."""

_HARMLESS = frozenset({"ui_color", "index_workers", "index_lock_wait_s", "store_url", "store_name"})
"""Settings that change no answer."""


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file of a search: whether the fix changed it, whether it ranks lower as a test, and its signals."""

    is_gold: bool
    is_demoted: bool
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FixAnswer:
    """One question's measures: the rank of the first changed file (0: not shown), and shares of 0 to 1.

    `file_share` counts changed files with a changed line shown, `span_share` changed ranges with a line shown, `used`
    tokens of the budget. For tuning, `files` are those of the search, `place` and `formula_place` the ranks of the
    first changed place in it, as it is and without the learned order.
    """

    sha: str
    rank: int
    file_share: float
    span_share: float
    used: float
    gold_files: int
    files: tuple[RankedFile, ...] = ()
    place: int = 0
    formula_place: int = 0


def measured(
    fix: Fix, gold: Mapping[str, Sequence[tuple[int, int]]], context: Context, hits: Sequence[Hit]
) -> FixAnswer:
    """Return the measures of one answer; `gold` are the indexed places of the fix."""
    shown: dict[str, list[tuple[int, int]]] = {}
    for item in context.items:
        if item.location is not None:
            shown.setdefault(item.location.path, []).extend(item.spans)
    order = list(shown)
    rank = min((order.index(path) + 1 for path in gold if path in shown), default=0)
    hits_of = [
        [any(start <= last and first <= end for first, last in shown.get(path, ())) for start, end in ranges]
        for path, ranges in gold.items()
    ]
    return FixAnswer(
        sha=fix.sha,
        rank=rank,
        file_share=sum(map(any, hits_of)) / len(gold),
        span_share=sum(map(sum, hits_of)) / sum(map(len, hits_of)),
        used=context.usage.utilization,
        gold_files=len(gold),
        files=ranked_files(hits, gold, asks_for_tests=analyse(fix.question).asks_for_tests),
        place=first_place(hits, gold),
        formula_place=first_place(sorted(hits, key=lambda hit: _learned(hit) - hit.score), gold),
    )


def _learned(hit: Hit) -> float:
    """Return what the learned order added to the score of a hit."""
    return next((signal.value for signal in hit.signals if signal.name == "learned"), 0.0)


def first_place(hits: Sequence[Hit], gold: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    """Return the rank of the first hit with a changed line, 0 if there is none."""
    for rank, hit in enumerate(hits, 1):
        location = hit.chunk.location
        ranges = gold.get(location.path, ()) if location is not None else ()
        if any(start <= span.end and span.start <= end for start, end in ranges for span in hit.spans):
            return rank
    return 0


def ranked_files(hits: Sequence[Hit], gold: Container[str], *, asks_for_tests: bool) -> tuple[RankedFile, ...]:
    """Return the files of a search, best first, each with the signals of its score."""
    files: dict[str, RankedFile] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.file_score, hit.chunk.id)):
        location = hit.chunk.location
        if location is not None and location.path not in files:
            signals = {signal.name: signal.value for signal in hit.signals if signal.name in FILE_SIGNALS}
            is_demoted = is_secondary(location.path) and not asks_for_tests
            files[location.path] = RankedFile(location.path in gold, is_demoted, signals)
    return tuple(files.values())


class Kept:
    """Answers of earlier runs on the same root with the same version, settings and budget; new ones are added."""

    def __init__(self, folder: Path, settings: Settings, max_tokens: int) -> None:
        values = {name: value for name, value in asdict(settings).items() if name not in _HARMLESS}
        key = json.dumps([_FORM, __version__, max_tokens, sorted(values.items())], default=str)
        name = blake2b(key.encode(), digest_size=16).hexdigest()
        self._file = folder / f"{name}.jsonl"
        self.answers = {answer.sha: answer for answer in self._read()}

    def add(self, answer: FixAnswer) -> None:
        """Add an answer. Raises OSError."""
        state_files.append(self._file, f"{json.dumps(asdict(answer))}\n".encode())
        self.answers[answer.sha] = answer

    def _read(self) -> list[FixAnswer]:
        """Return the answers of all valid lines; the last one may be incomplete."""
        answers = []
        with suppress(OSError, UnicodeDecodeError):
            for line in self._file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError, TypeError, KeyError, AttributeError):
                    data = json.loads(line)
                    files = tuple(RankedFile(**row) for row in data.pop("files"))
                    answers.append(FixAnswer(**data, files=files))
        return answers


@dataclass(slots=True)
class EvaluationResult:
    """The result of a run: the fixes that were asked about, oldest first, with their answers."""

    mined: Mined
    max_tokens: int
    fixes: list[Fix] = field(default_factory=list)
    answers: list[FixAnswer] = field(default_factory=list)
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
    should_stop: ShouldStop = never,
) -> EvaluationResult:
    """Measure the root of this engine on its own history, with its settings. Its index and files are not touched.

    The answers of an earlier run of this version are used again, unless `fresh`.
    Raises NoIndexError where there is no repository, GitError, UsageError for impossible numbers.
    """
    root = satchel.places.root
    repository = find_repository(root)
    if repository is None:
        raise NoIndexError(f"{root} is in no git repository: there are no fixes to learn from")
    if head(repository) is None:
        raise NoIndexError(f"{root} has no commits yet: there are no fixes to learn from")
    tokens = satchel.settings.budget_max_tokens if max_tokens is None else max_tokens
    budget = satchel.request("budget", max_tokens=tokens).max_tokens
    mined = mine(repository, limit=limit, since=since, should_stop=should_stop)
    outcome = EvaluationResult(mined, budget)
    kept = Kept(satchel.places.index.parent.parent / "evaluate" / satchel.places.index.name, satchel.settings, budget)
    watch = progress or Quiet()
    watch.phase("asking about fixes", len(mined.fixes))
    with tempfile.TemporaryDirectory(prefix="satchel-eval-") as place, closing(_Past(satchel, Path(place))) as past:
        for fix in reversed(mined.fixes):
            if should_stop():
                break
            answer = None if fresh else kept.answers.get(fix.sha)
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

    def ask(self, fix: Fix, budget: int, should_stop: ShouldStop) -> FixAnswer | None:
        """Return the answer at the state before the fix, None if none of its files is indexed, or after a stop."""
        self._snapshot.move_to(fix.parent, should_stop)
        prefix = "" if self._inside == Path() else f"{self._inside.as_posix()}/"
        gold = {path.removeprefix(prefix): ranges for path, ranges in fix.gold.items() if path.startswith(prefix)}
        if not gold or should_stop() or not self._root.is_dir():
            return None
        if self._engine is None:
            # Separate folders: nothing that was remembered after the fix may be in an answer.
            self._engine = Satchel.open(self._root, root=self._root, settings=self._settings, environ=self._environment)
        engine = self._engine
        engine.index(should_stop=should_stop)
        gold = {path: ranges for path, ranges in gold.items() if engine.store.document(Kind.CODE, path) is not None}
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
    """Return the settings of the real root instead of those of an earlier commit; code needs no vectors, and a file."""
    values = asdict(satchel.settings)
    rows = {key: values[attribute(key)] for key in SETTINGS} | {"embed.provider": "off", "store.url": ""}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in rows.items()}


FOLDS = 5

FEWEST_FIXES = 20
"""Fixes that tuning needs: with fewer, a fold has three, and any gain is chance."""

STEPS = (0.0, 0.5, 0.7, 1.4, 2.0)
"""Factors that are tried on one weight after the other; a weight of 0 is replaced by 0.25."""

LEAST_GAIN = 0.002
"""Minimal gain of a step on the fixes that it is fitted on; smaller gains are chance."""

ROUNDS = 3

_FROM_ZERO = 0.25

_DEEPEST = 10
"""Rank below which the reciprocal rank of the first changed file counts as 0."""

SIGNALS = tuple(name for name in FILE_WEIGHTS if name in FILE_SIGNALS)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Weights fitted on all fixes, where they differ from those in force, and what such a fit gains on unseen fixes.

    `before` and `after` are mean reciprocal ranks on unseen fixes, `gain` their difference. `learned` is what the
    learned order gains over that of the formula in the reciprocal rank of the first changed place.
    """

    weights: dict[str, float]
    before: float
    after: float
    gain: Estimate
    fixes: int
    learned: Estimate

    @property
    def is_learned_worse(self) -> bool:
        """True if the learned order ranks the changed places of this history lower by more than chance."""
        return self.learned.high < 0

    @property
    def is_offered(self) -> bool:
        """True if the weights differ, and have a gain on unseen fixes."""
        return bool(self.weights) and self.gain.mean > 0

    @property
    def is_sure(self) -> bool:
        """True if the interval of the gain is above 0."""
        return self.gain.low > 0


@dataclass(frozen=True, slots=True)
class _Case:
    """One fix: a row of signals for each file of the search, best first, and which of the files it changed."""

    signals: Floats
    factor: Floats
    is_gold: npt.NDArray[np.bool_]


def propose(answers: Sequence[FixAnswer], current: dict[str, float]) -> Proposal | None:
    """Fit weights to these answers (oldest first); None for too few of them."""
    cases = [_case(answer) for answer in answers if answer.files]
    if len(cases) < FEWEST_FIXES:
        return None
    start = np.array([current[name] for name in SIGNALS])
    before, after = _scores(cases, start), np.zeros(len(cases))
    for part in np.array_split(np.arange(len(cases)), FOLDS):
        fold = set(part.tolist())
        fitted = _fit([case for at, case in enumerate(cases) if at not in fold], start)
        after[part] = _scores([cases[at] for at in part.tolist()], fitted)
    best = _fit(cases, start)
    weights = {name: round(float(weight), 4) for name, weight in zip(SIGNALS, best, strict=True)}
    changed = {name: weight for name, weight in weights.items() if weight != current[name]}
    learned = [_reciprocal(one.place) - _reciprocal(one.formula_place) for one in answers]
    return Proposal(
        changed,
        float(before.mean()),
        float(after.mean()),
        estimate((after - before).tolist()),
        len(cases),
        estimate(learned),
    )


def _reciprocal(rank: int) -> float:
    return 1.0 / rank if 0 < rank <= _DEEPEST else 0.0


def _case(answer: FixAnswer) -> _Case:
    return _Case(
        signals=np.array([[file.signals.get(name, 0.0) for name in SIGNALS] for file in answer.files]),
        factor=np.array([SECONDARY_FACTOR if file.is_demoted else 1.0 for file in answer.files]),
        is_gold=np.array([file.is_gold for file in answer.files]),
    )


def _fit(cases: Sequence[_Case], start: Floats) -> Floats:
    """Improve one weight after the other as long as that gains, from the weights in force, to stay near them."""
    best, score = start, float(_scores(cases, start).mean())
    for _ in range(ROUNDS):
        before = score
        for position in range(len(start)):
            trials = np.tile(best, (len(STEPS), 1))
            trials[:, position] = best[position] * np.array(STEPS) if best[position] else _FROM_ZERO
            scores = [float(_scores(cases, weights).mean()) for weights in trials]
            at = int(np.argmax(scores))
            if scores[at] >= score + LEAST_GAIN:
                best, score = trials[at], scores[at]
        if score == before:
            break
    return best


def _scores(cases: Sequence[_Case], weights: Floats) -> Floats:
    """Return one over the rank of the first changed file, for each fix; equal scores keep the order of the search."""
    ranks = np.zeros(len(cases))
    for at, case in enumerate(cases):
        score = (case.signals @ weights) * case.factor
        gold = np.flatnonzero(case.is_gold)
        if len(gold):
            best = gold[np.argmax(score[gold])]
            rank = 1 + int(np.count_nonzero(score > score[best])) + int(np.count_nonzero(score[:best] == score[best]))
            ranks[at] = _reciprocal(rank)
    return ranks
