"""Answers to the question of each fix at the state before it, oldest first.

Each step to the next state is small. Answers are cached, because a history does not change: only measures, by the id of
the fix; no message, no path and no line of code.

Plain methods on the same questions are there to compare with: BM25 over whole files, and grep for the rarest word. Both
rank the indexed files of code. Grep takes the word of the question that is in the fewest files, and reads the file with
most of them first.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import structs

from satchel import __version__
from satchel.codec import iso_time
from satchel.config import load_settings
from satchel.engine import Satchel
from satchel.errors import NoIndexError, UsageError
from satchel.evaluation.fixes import Estimate, Fix, Mined, Snapshot, estimate, mine
from satchel.index.run import Progress, Quiet
from satchel.settings import SETTINGS, Settings, attribute
from satchel.store.protocol import Store
from satchel.system import state_files
from satchel.system.git import Repository, find_repository, head
from satchel.text import count_terms, is_meaningful, words
from satchel.types import Context, Kind, ShouldStop, never

K1, B = 1.5, 0.75  # the usual ones for whole files


class Baselines:
    """Ranks files of one root at several states; the words of a text are counted once."""

    def __init__(self) -> None:
        self._counted: dict[str, Counter[str]] = {}

    def ranks(self, question: str, store: Store, gold: Collection[str]) -> tuple[int, int]:
        """Return the rank (from 1) of the first right file by BM25 and by grep, 0 where it does not match."""
        files = self._files(store)
        asked = count_terms(word for word in words(question) if is_meaningful(word))
        every = {term: [path for path, counts in files.items() if counts[term]] for term in asked}
        holders = {term: paths for term, paths in every.items() if paths}
        if not holders:
            return 0, 0
        scores = _bm25(files, holders)
        rarest = min(holders, key=lambda term: (len(holders[term]), term))
        by_grep = _rank(holders[rarest], lambda path: files[path][rarest], gold)
        return _rank(scores, scores.__getitem__, gold), by_grep

    def _files(self, store: Store) -> Mapping[str, Counter[str]]:
        stamps = store.stamps(Kind.CODE)
        fresh = {
            stamp.document: stamp.content_hash for stamp in stamps.values() if stamp.content_hash not in self._counted
        }
        for document, text in store.texts(fresh).items():
            self._counted[fresh[document]] = Counter(count_terms(words(text)))
        return {path: self._counted[stamp.content_hash] for path, stamp in stamps.items()}


def _bm25(files: Mapping[str, Counter[str]], holders: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the score of each file that holds a term."""
    lengths = {path: counts.total() for path, counts in files.items()}
    average = sum(lengths.values()) / len(files)
    scores: dict[str, float] = defaultdict(float)
    for term, paths in holders.items():
        rarity = math.log(1 + len(files) / len(paths))
        for path in paths:
            count = files[path][term]
            scores[path] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[path] / average))
    return scores


def _rank(paths: Collection[str], score: Callable[[str], float], gold: Collection[str]) -> int:
    """Return the rank of the first path that is right, 0 if none is."""
    ordered = sorted(paths, key=lambda path: (-score(path), path))
    return next((rank for rank, path in enumerate(ordered, 1) if path in gold), 0)


NOT_INDEXED = "not in the index"

_QUIET = Quiet()

_HARMLESS = frozenset({"ui_color", "index_workers", "index_lock_wait_s", "store_url", "store_name"})
"""Settings that change no answer."""


@dataclass(frozen=True, slots=True)
class FixAnswer:
    """One question's measures: the rank of the first changed file (0: not shown), and shares of 0 to 1.

    `file_share` counts changed files with a changed line shown, `span_share` changed ranges with a line shown, `used`
    tokens of the budget. `bm25_rank` and `grep_rank` are the same for plain methods. Of an answer that shows no changed
    line, `needed` says where the best changed file ranks and what kept it out.
    """

    sha: str
    rank: int
    file_share: float
    span_share: float
    used: float
    gold_files: int
    bm25_rank: int = 0
    grep_rank: int = 0
    needed: str = ""


def measured(fix: Fix, gold: Mapping[str, Sequence[tuple[int, int]]], context: Context) -> FixAnswer:
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
    )


class Kept:
    """Answers of earlier runs on the same root with the same version, settings and budget; new ones are added."""

    def __init__(self, folder: Path, settings: Settings, max_tokens: int, *, is_fresh: bool = False) -> None:
        """With `is_fresh` the earlier answers are not used."""
        values = {name: value for name, value in structs.asdict(settings).items() if name not in _HARMLESS}
        # Version of the fields of an answer; answers of other versions are not used.
        key = json.dumps([5, __version__, max_tokens, sorted(values.items())], default=str)
        name = blake2b(key.encode(), digest_size=16).hexdigest()
        self._file = folder / f"{name}.jsonl"
        self.answers = {} if is_fresh else {answer.sha: answer for answer in self._read()}

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
                    answers.append(FixAnswer(**json.loads(line)))
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
    limit: int = 100,  # default number of fixes: half a minute, and intervals of about ±0.1
    max_tokens: int | None = None,
    since: float = 0.0,
    fresh: bool = False,
    questions: Sequence[Fix] = (),
    changed: Mapping[str, str] = {},
    progress: Progress = _QUIET,
    should_stop: ShouldStop = never,
) -> EvaluationResult:
    """Measure the root of this engine on its own history, with its settings. Its index and files are not touched.

    The answers of an earlier run of this version are used again, unless `fresh`. `questions` are asked as the root is
    now, in place of fixes; `changed` are settings by their keys in place of those in force.
    Raises NoIndexError where there is no repository, GitError, UsageError for impossible numbers.
    """
    tokens = satchel.settings.budget_max_tokens if max_tokens is None else max_tokens
    budget = satchel.request("budget", max_tokens=tokens).budget.max_tokens
    folder = satchel.places.index.parent.parent / "evaluate" / satchel.places.index.name
    if questions:
        mined, fresh = Mined([*reversed(questions)]), True
    else:
        mined = mine(_repository(satchel), limit=limit, since=since, should_stop=should_stop)
    outcome = EvaluationResult(mined, budget)
    settings = _changed(satchel.settings, changed)
    kept = Kept(folder, settings, budget, is_fresh=fresh)
    progress.phase("asking about fixes", len(mined.fixes))
    with (
        tempfile.TemporaryDirectory(prefix="satchel-eval-") as place,
        closing(_Past(satchel.places.root, settings, Path(place))) as past,
    ):
        for fix in reversed(mined.fixes):
            if should_stop():
                break
            answer = kept.answers.get(fix.sha)
            if answer is None:
                answer = past.ask(fix, budget, should_stop)
                if should_stop():
                    break
                outcome.asked += 1
                if answer is not None and not questions:
                    kept.add(answer)
            if answer is None:
                mined.left_out[NOT_INDEXED] += 1
            else:
                outcome.fixes.append(fix)
                outcome.answers.append(answer)
            progress.advance(1)
    outcome.is_stopped = should_stop()
    return outcome


class _Past:
    """The root at earlier commits, with an index of its own in a folder that is deleted afterwards."""

    def __init__(self, root: Path, settings: Settings, place: Path) -> None:
        repository, self._now = find_repository(root), root
        work_tree = repository.work_tree if repository is not None else self._now
        self._inside = self._now.relative_to(work_tree)
        self._root = place / "tree" / self._inside
        self._baselines = Baselines()
        self._environment = {"SATCHEL_HOME": str(place / "home"), "HOME": str(place / "home")}
        self._settings = _settings(settings)
        max_bytes = settings.index_max_file_bytes
        self._snapshot = Snapshot(place / "tree", repository, max_bytes=max_bytes) if repository is not None else None
        self._engine: Satchel | None = None

    def ask(self, fix: Fix, budget: int, should_stop: ShouldStop) -> FixAnswer | None:
        """Return the answer at the state before the fix, None if none of its files is indexed, or after a stop."""
        root, gold = self._before(fix, should_stop)
        if not gold or should_stop() or not root.is_dir():
            return None
        # Separate folders: nothing that was remembered after the fix may be in an answer.
        engine = self._engine = self._engine or Satchel.open(
            root, root=root, settings=self._settings, environ=self._environment
        )
        engine.index(should_stop=should_stop)
        gold = {path: ranges for path, ranges in gold.items() if engine.store.document(Kind.CODE, path) is not None}
        if not gold or should_stop():
            return None
        options: Any = {"refresh": False, "types": ["code"], "max_tokens": budget, "now": fix.time}
        answer = measured(fix, gold, engine.assemble(fix.question, **options))
        by_bm25, by_grep = self._baselines.ranks(fix.question, engine.store, gold)
        needed = "" if answer.file_share else _needed(engine, fix.question, gold, options)
        return replace(answer, bm25_rank=by_bm25, grep_rank=by_grep, needed=needed)

    def _before(self, fix: Fix, should_stop: ShouldStop) -> tuple[Path, dict[str, tuple[tuple[int, int], ...]]]:
        """Return the root at the state before a fix, and the places of the fix in it."""
        if not fix.parent:
            return self._now, {**fix.gold}
        if self._snapshot is not None:
            self._snapshot.move_to(fix.parent, should_stop)
        prefix = f"{self._inside.as_posix()}/" if self._inside != Path() else ""
        gold = {path.removeprefix(prefix): ranges for path, ranges in fix.gold.items() if path.startswith(prefix)}
        return self._root, gold

    def close(self) -> None:
        """Release the index."""
        if self._engine is not None:
            self._engine.close()


def _repository(satchel: Satchel) -> Repository:
    root = satchel.places.root
    repository = find_repository(root)
    if repository is None:
        raise NoIndexError(f"{root} is in no git repository: there are no fixes to learn from")
    if head(repository) is None:
        raise NoIndexError(f"{root} has no commits yet: there are no fixes to learn from")
    return repository


def _needed(engine: Satchel, question: str, gold: Iterable[str], options: Any) -> str:
    """Return the rank of the best right file, and in a sentence what kept it out and what would show it."""
    rows = [row for path in gold for row in engine.why(path, question, **options)]
    best = min(rows, key=lambda row: (row.rank == 0, row.rank))
    why = "other lines of it are shown" if best.is_shown else best.detail or best.reason
    return f"file {best.rank} of {best.of}: {why}" if best.rank else why


def _changed(settings: Settings, changed: Mapping[str, str]) -> Settings:
    """Return settings with other values, as text by their keys. Raises UsageError for an unknown key, ConfigError."""
    if unknown := changed.keys() - SETTINGS.keys():
        raise UsageError(f"unknown setting {', '.join(sorted(unknown))}: `satchel config` names all")
    environ = {SETTINGS[key].variable: value for key, value in changed.items()}
    loaded = load_settings(None, {"HOME": "/nobody", **environ}).settings
    return structs.replace(settings, **{attribute(key): getattr(loaded, attribute(key)) for key in changed})


def _settings(settings: Settings) -> Mapping[str, object]:
    """Return the settings of the real root instead of those of an earlier commit; code needs no vectors, and a file."""
    values = structs.asdict(settings)
    rows = {key: values[attribute(key)] for key in SETTINGS} | {"embed.provider": "off", "store.url": ""}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in rows.items()}


RANKS = (1, 5, 10)
"""`hit@k`: a changed file is among the first k files of the context."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: its name, its meaning, and its value over all fixes."""

    name: str
    meaning: str
    value: Estimate


def measures(answers: Sequence[FixAnswer], max_tokens: int) -> list[Measure]:
    """Return the rows of the table, none where nothing was measured."""
    if not answers:
        return []
    meanings = {rank: f"fixes with a changed file among the first {rank}" for rank in RANKS}
    meanings[1] = "fixes whose first file is a changed one"
    rows = [(f"hit@{most}", meanings[most], _within(answers, "rank", most)) for most in RANKS]
    rows.append(("bm25 hit@5", "the same by BM25 over whole files", _within(answers, "bm25_rank", 5)))
    rows.append(("grep hit@5", "the same by grep for the rarest word", _within(answers, "grep_rank", 5)))
    files = [answer.file_share for answer in answers]
    spans = [answer.span_share for answer in answers]
    return [
        *(Measure(name, meaning, estimate(values)) for name, meaning, values in rows),
        Measure(f"file@{max_tokens}", "changed files with a changed line shown", estimate(files)),
        Measure(f"span@{max_tokens}", "changed places shown", estimate(spans)),
        Measure("budget used", "tokens of the budget", estimate([answer.used for answer in answers])),
    ]


def _within(answers: Sequence[FixAnswer], name: str, most: int) -> list[bool]:
    return [0 < rank <= most for rank in map(attrgetter(name), answers)]


def paired(first: Sequence[FixAnswer], second: Sequence[FixAnswer]) -> list[tuple[FixAnswer, FixAnswer]]:
    """Return the answers of two runs to the same questions, where as many right files are in the index of both."""
    before = {(answer.sha, answer.gold_files): answer for answer in first}
    return [(before[key], after) for after in second if (key := (after.sha, after.gold_files)) in before]


def report_data(outcome: EvaluationResult) -> dict[str, Any]:
    """Return everything as plain JSON values; the messages are cleaned, and the lines of the fixes only counted."""
    return {
        "usable": len(outcome.answers),
        "commits": outcome.mined.commits,
        "left_out": dict(outcome.mined.left_out.most_common()),
        "asked": outcome.asked,
        "stopped": outcome.is_stopped,
        "max_tokens": outcome.max_tokens,
        "named": named_share(outcome.fixes),
        "measures": {row.name: asdict(row.value) for row in measures(outcome.answers, outcome.max_tokens)},
        "fixes": [_fix_data(fix, answer) for fix, answer in zip(outcome.fixes, outcome.answers, strict=True)],
        "meta": {"version": __version__},
    }


def named_share(fixes: Sequence[Fix]) -> float:
    """Return the share of messages that name a changed file: their questions are easier than those of people."""
    return sum(fix.names_a_file for fix in fixes) / len(fixes) if fixes else 0.0


def _fix_data(fix: Fix, answer: FixAnswer) -> dict[str, Any]:
    return {
        "commit": fix.sha,
        "date": iso_time(fix.time)[:10],
        "subject": fix.subject,
        "files": answer.gold_files,
        "rank": answer.rank or None,
        "file_share": round(answer.file_share, 4),
        "span_share": round(answer.span_share, 4),
        "bm25_rank": answer.bm25_rank or None,
        "grep_rank": answer.grep_rank or None,
        "needed": answer.needed,
    }
