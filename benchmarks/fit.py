"""Choose fitted numbers with one project left out, and tell how much of a gain is left on it.

    python benchmarks/fit.py --repos DIR --work DIR --out benchmarks/results/fit.json    # make fit
    python benchmarks/fit.py --here                                                      # make fit-here

Every number of `search/weights.py`, `answer/weights.py` and `memory/weights.py` (`--family` takes one of them) is moved
alone, to half, .7, 1.4 and twice its value within its range. With `--repos` issues, questions and unknown code
(`agents/cases.py`) are asked: the score is what is reached and shown. With `--here` nothing is fetched: questions with
an expected file are asked (`cases_here`), and the score is one over the place of the first such file.

A number takes the value that is best for all projects but one, if it gains more than its standard error there;
`left_out` is what the project that was not looked at scores with the numbers of the others, `fitted` what all score
with numbers chosen on all of them, and the gap is what the fit has learned by heart. The numbers of conversations and
of hooks are chosen the same way by `memory.py` and `hooks.py`; their stored results are repeated. With `--repos` a
second start asks only what was not asked before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import house_questions
import numpy as np
from agents.asking import INDEX, WORDS_ONLY, Arm, Asker, Place
from agents.cases import Case, load_cases, sample
from agents.reading import LinesOf, read
from agents.report import bootstrap, judge
from localization.dataset import REPOSITORY_ROOT, evaluation_folder
from localization.measures import read_lines
from options import folder, natural, output, positive

from satchel import Satchel, fitted
from satchel.answer import weights as answer_weights
from satchel.fitted import Key
from satchel.memory import weights as memory_weights
from satchel.search import weights as search_weights

RESULTS = REPOSITORY_ROOT / "benchmarks" / "results"
BUDGET = 4_000
KINDS = "issues", "questions", "unknown"
WAYS: Mapping[str, Mapping[str, Any]] = {"find": {"purpose": "find"}, "read": {"purpose": "read", "fill": True}}
MEASURES = {"find": ("reached@1000", "reached@4000"), "read": ("shown@4000",)}
"""The score of a case is the mean of these: an agent with tools reads what is named, a reader what is shown."""

FAMILIES: Mapping[str, ModuleType] = {"search": search_weights, "answer": answer_weights, "memory": memory_weights}

FIXED = {("search", "FILE_WEIGHTS", "best part"), ("search", "VALUE_SPAN", None), ("answer", "USEFULNESS", "code")}
"""Numbers that stay, because the others of their sum are fitted against them."""

FACTORS = 0.5, 0.7, 1.4, 2.0


class Move(NamedTuple):
    """Another value for one number."""

    family: str
    name: str
    key: Key
    value: float

    @property
    def number(self) -> str:
        """The name of the number with its family and key, as in `answer.WHOLE_ITEM_TOKENS edit`."""
        return f"{self.family}.{self.name}" if self.key is None else f"{self.family}.{self.name} {self.key}"


Setting = tuple[Move, ...]


class Expected(NamedTuple):
    """A question about a project on this machine, and the file that answers it; a folder ends with a slash."""

    id: str
    repo: str
    root: Path
    question: str
    path: str
    options: Mapping[str, Any] = {}
    kind: str = "expected"


class Cell(NamedTuple):
    """The score of a case with a setting; `parts` are the measures that it is the mean of."""

    case: str
    kind: str
    repo: str
    score: float
    parts: tuple[float, ...]


Table = dict[Setting, list[Cell]]
Ask = Callable[[Sequence[Setting], Any], list[list[float]]]
"""Returns the parts of a case with each setting."""


@contextmanager
def changed(setting: Setting) -> Iterator[None]:
    """Other numbers for a while."""
    with ExitStack() as stack:
        for family, name, key, value in setting:
            stack.enter_context(fitted.changed(FAMILIES[family], name, value, key))
        yield


def alone(families: Sequence[str] = tuple(FAMILIES)) -> list[Setting]:
    """Each number moved alone, after none. One of 0 is moved to a quarter and a half of its range."""
    settings: list[Setting] = [()]
    for family in families:
        for name, key, present, low, high in fitted.constants(FAMILIES[family]):
            if (family, name, key) in FIXED:
                continue
            tried = [present * factor for factor in FACTORS] if present else [high / 4, high / 2]
            within = (min(max(value, low), high) for value in tried)
            values = dict.fromkeys(round(value) if isinstance(present, int) else round(value, 6) for value in within)
            settings += [(Move(family, name, key, value),) for value in values if value != present]
    return settings


def ask_elsewhere(place: Place, settings: Sequence[Setting], case: Case) -> list[list[float]]:
    """Ask about a repository with each setting, unless that was done before."""
    asker, arm = Asker(place), Arm("now", REPOSITORY_ROOT / "src", index=INDEX)
    key = hashlib.sha256(repr((arm.version, WAYS, MEASURES, settings, case)).encode()).hexdigest()
    kept = place.work / "fit" / f"{key}.json"
    if not kept.exists():
        tree = asker.tree(case)
        environ = {**os.environ, **WORDS_ONLY, "SATCHEL_HOME": str(asker._indexed(arm, case, tree))}
        with Satchel.open(tree, root=tree, environ=environ) as engine:
            rows = [_parts(engine, case, setting, partial(read_lines, tree)) for setting in settings]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(rows), encoding="utf-8")
    stored: list[list[float]] = json.loads(kept.read_text(encoding="utf-8"))
    return stored


def _parts(engine: Satchel, case: Case, setting: Setting, lines: LinesOf) -> list[float]:
    parts: list[float] = []
    targets = [target.located(lines(target.path)) for target in case.targets]
    names: Mapping[str, Any] = {"names": case.names} if case.kind == "unknown" else {}
    for way, options in WAYS.items():
        with changed(setting):
            request = engine.request(case.question, max_tokens=BUDGET, **options, **names)
            text = engine.answers.unrecorded(request).markdown
        row = judge(read(text, lines), targets, BUDGET, text)
        parts += [row[measure] for measure in MEASURES[way]]
    return parts


def cases_here() -> list[Expected]:
    """Questions that need nothing but this checkout; what is left out is a room of it, not a project."""
    options = {"types": ["code"], "exclude": ["benchmarks/**", "tests/**"]}
    return [
        Expected(room.split("/")[-2], room, REPOSITORY_ROOT, question, room, options)
        for question, room in house_questions.QUESTIONS.items()
    ]


def ask_here(home: Path, settings: Sequence[Setting], case: Expected) -> list[list[float]]:
    """Ask about a project on this machine with each setting; its index is made in `home` if it is not there."""
    rows = []
    with Satchel.open(root=case.root, environ={**os.environ, **WORDS_ONLY, "SATCHEL_HOME": str(home)}) as engine:
        engine.index()
        for setting in settings:
            with changed(setting):
                context = engine.assemble(case.question, max_tokens=BUDGET, refresh=False, **case.options)
            paths = dict.fromkeys(item.location.path for item in context.items if item.location is not None)
            right = [case.path == path or (case.path.endswith("/") and path.startswith(case.path)) for path in paths]
            rows.append([1 / (right.index(True) + 1) if any(right) else 0.0])
    return rows


def run(ask: Ask, jobs: int, work: Sequence[tuple[Sequence[Setting], Case | Expected]]) -> Table:
    """Ask each question with its settings, so many at once."""
    table: Table = defaultdict(list)
    with ProcessPoolExecutor(jobs) as pool:
        every = zip(work, pool.map(ask, *zip(*work, strict=True)), strict=True)
        for done, ((settings, case), rows) in enumerate(every, 1):
            for setting, parts in zip(settings, rows, strict=True):
                table[setting].append(Cell(case.id, case.kind, case.repo, statistics.fmean(parts), tuple(parts)))
            told = f"{done} of {len(work)} questions: {case.id}, with {len(settings)} settings"
            print(told, file=sys.stderr, flush=True)
    return {setting: sorted(cells) for setting, cells in table.items()}


def gain(table: Table, setting: Setting, without: str) -> tuple[float, float]:
    """Return the mean gain of a setting outside of one project, each kind alike, and its standard error."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for before, after in zip(table[()], table[setting], strict=True):
        if before.repo != without:
            by_kind[before.kind].append(after.score - before.score)
    means = [statistics.fmean(rows) for rows in by_kind.values()]
    errors = [np.std(rows) ** 2 / len(rows) for rows in by_kind.values()]
    return statistics.fmean(means), float(np.sqrt(sum(errors))) / len(errors)


def chosen(table: Table, without: str = "") -> Setting:
    """Return the numbers that the projects but one want moved, with their values."""
    best: dict[str, tuple[float, Move]] = {}
    for setting in table:
        if len(setting) == 1:
            move = setting[0]
            mean, error = gain(table, setting, without)
            if mean > error and mean > best.get(move.number, (0.0, move))[0]:
                best[move.number] = mean, move
    return tuple(move for _, (_, move) in sorted(best.items()))


def compared(before: Sequence[Cell], after: Sequence[Cell], measures: Sequence[str] = ()) -> dict[str, Any]:
    """Return the scores of two settings and the difference with its 90 % interval, each case alike."""
    pairs = list(zip(before, after, strict=True))
    rows = [[b.score - a.score, *(y - x for x, y in zip(a.parts, b.parts, strict=True))] for a, b in pairs]
    spread = bootstrap(rows, [a.repo for a, _ in pairs])
    return {
        "score": round(statistics.fmean(b.score for b in after), 4),
        "over_present": dict(zip(["score", *measures], spread, strict=False)),
    }


def named(setting: Setting) -> dict[str, float]:
    """A setting by the names of its numbers."""
    return {move.number: move.value for move in setting}


def fit(
    ask: Ask, cases: Sequence[Case | Expected], options: argparse.Namespace, measures: Sequence[str] = ()
) -> dict[str, Any]:
    """Fit the numbers on these cases."""
    table = run(ask, options.jobs, [(alone(options.family or [*FAMILIES]), case) for case in cases])
    repos = sorted({case.repo for case in cases})
    of_rest = {repo: chosen(table, repo) for repo in repos}
    everywhere = chosen(table)
    last = run(ask, options.jobs, [(list(dict.fromkeys([everywhere, of_rest[case.repo]])), case) for case in cases])
    held = sorted({cell for repo in repos for cell in last[of_rest[repo]] if cell.repo == repo})
    on_all, left = compared(table[()], last[everywhere], measures), compared(table[()], held, measures)
    moving = {one: cells for one, cells in table.items() if cells != table[()]}
    numbers = {move.number for one in table for move in one}
    idle = numbers - {move.number for one in moving for move in one}
    return {
        "cases": len(held), "projects": len(repos),
        "present": round(statistics.fmean(cell.score for cell in table[()]), 4),
        "fitted": {"numbers": named(everywhere), **on_all},
        "left_out": {"numbers": {repo: named(setting) for repo, setting in of_rest.items()}, **left},
        "gap": round(on_all["score"] - left["score"], 4),
        "numbers": len(numbers), "idle": sorted(idle),
        "alone": {json.dumps(named(one)): compared(table[()], moving[one], measures)["over_present"] for one in moving},
    }  # fmt: skip


def of_others() -> dict[str, Any]:
    """What `memory.py` and `hooks.py` stored: their constants are chosen with one group left out there."""
    words = json.loads((RESULTS / "memory.json").read_text(encoding="utf-8"))["runs"]["words"]
    asked = json.loads((RESULTS / "hooks.json").read_text(encoding="utf-8"))["relevance"]
    fitted, left = max([words, *words["varied"].values()], key=itemgetter("r@10"))["r@10"], words["left_out"]["r@10"]
    shares = {sort: row["share"] for sort, row in asked["answered"].items()}
    return {
        "conversations, r@10": {"fitted": fitted, "left_out": left, "gap": round(fitted - left, 4)},
        "hooks, share answered": {"present": shares, "left_out": asked["leave_one_out"]["answered"]},
    }


def main() -> None:
    """Fit, and print or store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--here", action="store_true", help="fit on questions that need nothing but this checkout")
    parser.add_argument("--repos", type=folder, help="folder with one git repository a project")
    parser.add_argument("--work", type=Path, help="folder of trees and indexes, as of agents/reach.py")
    parser.add_argument("--per-repo", type=natural, default=5, help="issues, and questions, of each repository; 0: all")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="fit only these numbers (repeatable)")
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--out", type=output)
    options = parser.parse_args()
    if options.here:
        with tempfile.TemporaryDirectory(prefix="satchel-fit-") as home:
            cases = cases_here()
            for case in {case.root: case for case in cases}.values():
                ask_here(Path(home), [()], case)  # the index is made once
            result = fit(partial(ask_here, Path(home)), cases, options)
    elif options.repos is None or options.work is None:
        parser.error("give --repos and --work, or --here")
    else:
        try:
            evaluation_folder()
        except FileNotFoundError as problem:
            parser.error(str(problem))
        place = Place(options.repos, options.work.resolve(), BUDGET, environment=WORDS_ONLY)
        asked = [case for case in sample(load_cases(KINDS, {}), options.per_repo) if case.targets]
        measures = [f"{way} {name}" for way, names in MEASURES.items() for name in names]
        code = fit(partial(ask_elsewhere, place), asked, options, measures)
        result = {"per_repo": options.per_repo, "code": code, **of_others()}
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: part for name, part in result.get("code", result).items() if name != "alone"}, indent=1))


if __name__ == "__main__":
    main()
