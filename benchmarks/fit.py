"""Choose the constants of ranking with one repository left out, and tell how much of a gain is left on it.

    python benchmarks/fit.py --repos DIR --work DIR --out benchmarks/results/fit.json

Issues, questions and unknown code (`agents/cases.py`) are asked in this process with each constant moved alone. A
constant takes the value that is best for all repositories but one, if it gains more than its standard error there;
`left_out` is what the repository that was not looked at scores with the constants of the others, `fitted` what all
score with constants chosen on all of them, and the gap is what the fit has learned by heart. The constants of
conversations and of hooks are chosen the same way by `memory.py` and `hooks.py`; their stored results are repeated.
A second start asks only what was not asked before.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from agents.asking import INDEX, WORDS_ONLY, Arm, Asker, Place
from agents.cases import Case, load_cases, sample
from agents.reading import LinesOf, read
from agents.report import bootstrap, judge
from localization.dataset import REPOSITORY_ROOT
from localization.measures import read_lines

from satchel import Satchel

RESULTS = REPOSITORY_ROOT / "benchmarks" / "results"
BUDGET = 4_000
KINDS = "issues", "questions", "unknown"
WAYS: Mapping[str, Mapping[str, Any]] = {"find": {"purpose": "find"}, "read": {"purpose": "read", "fill": True}}
MEASURES = {"find": ("reached@1000", "reached@4000"), "read": ("shown@4000",)}
"""The score of a case is the mean of these: an agent with tools reads what is named, a reader what is shown."""

CONSTANTS: dict[tuple[str, str, str], tuple[float, ...]] = {
    **{("search.weights", "FILE_WEIGHTS", name): () for name in ("top three parts", "history", "name")},
    **{("search.weights", name, ""): () for name in (
        "VALUE_FILE", "VALUE_FILE_RANK", "VALUE_SPAN_RANK", "VALUE_PARTS", "VALUE_TITLE", "VALUE_CALLS",
        "VALUE_COMMENT", "SECONDARY_FACTOR",
    )},
    ("search.weights", "ZONE_WEIGHTS", "title"): (),
    ("search.weights", "NAMES_WEIGHT", ""): (),
    ("answer.weights", "COST_EXPONENT", ""): (0.32, 0.52),
    ("answer.weights", "FIND_RANGE", ""): (1.0, 1.8, 100.0),
    ("answer.weights", "LEAST_CUT", ""): (16, 120),
    ("answer.weights", "LONG_FUNCTION", ""): (0, 30, 120),
    ("answer.weights", "IMPORT_VALUE", ""): (0.1, 1.0),
}  # fmt: skip
"""Module, name and key (in a mapping) of each constant, and the values to try: by default `FACTORS` of the present.

Constants of one sum are fitted against one that stays: the best part of a file, and the words of a span.
"""

FACTORS = 0.6, 1.6

Setting = tuple[tuple[tuple[str, str, str], float], ...]


class Cell(NamedTuple):
    """The score of a case with a setting; `parts` are the measures that it is the mean of."""

    case: str
    kind: str
    repo: str
    score: float
    parts: tuple[float, ...]


Table = dict[Setting, list[Cell]]


def present(constant: tuple[str, str, str]) -> float:
    """Return the value in force."""
    module, name, key = constant
    value = getattr(importlib.import_module(f"satchel.{module}"), name)
    return float(value[key] if key else value)


@contextmanager
def changed(setting: Setting) -> Iterator[None]:
    """Other constants for a while, in every module that has imported them."""
    undo: list[tuple[Any, str, Any]] = []
    for (module, name, key), value in setting:
        old = getattr(importlib.import_module(f"satchel.{module}"), name)
        new = {**old, key: value} if key else value
        for other in [one for label, one in sys.modules.items() if label.startswith("satchel.")]:
            if other is not None and name in vars(other) and vars(other)[name] is old:
                undo.append((other, name, old))
                setattr(other, name, new)
    try:
        yield
    finally:
        for other, name, old in reversed(undo):
            setattr(other, name, old)


def alone() -> list[Setting]:
    """Each constant moved alone, after none."""
    settings: list[Setting] = [()]
    for constant, values in CONSTANTS.items():
        tried = values or tuple(round(present(constant) * factor, 4) for factor in FACTORS)
        settings += [((constant, value),) for value in tried]
    return settings


def asked(place: Place, settings: Sequence[Setting], case: Case) -> list[Cell]:
    """Ask a question with each setting, unless that was done before."""
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
    rows = json.loads(kept.read_text(encoding="utf-8"))
    return [Cell(case.id, case.kind, case.repo, statistics.fmean(parts), tuple(parts)) for parts in rows]


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


def run(place: Place, jobs: int, work: Sequence[tuple[Sequence[Setting], Case]]) -> Table:
    """Ask each question with its settings, so many at once."""
    table: Table = defaultdict(list)
    with ProcessPoolExecutor(jobs) as pool:
        for (settings, case), cells in zip(work, pool.map(asked, repeat(place), *zip(*work, strict=True)), strict=True):
            for setting, cell in zip(settings, cells, strict=True):
                table[setting].append(cell)
            print(case.id, file=sys.stderr, flush=True)
    return {setting: sorted(cells) for setting, cells in table.items()}


def gain(table: Table, setting: Setting, without: str) -> tuple[float, float]:
    """Return the mean gain of a setting outside of one repository, each kind alike, and its standard error."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for before, after in zip(table[()], table[setting], strict=True):
        if before.repo != without:
            by_kind[before.kind].append(after.score - before.score)
    means = [statistics.fmean(rows) for rows in by_kind.values()]
    errors = [np.std(rows) ** 2 / len(rows) for rows in by_kind.values()]
    return statistics.fmean(means), float(np.sqrt(sum(errors))) / len(errors)


def chosen(table: Table, without: str = "") -> Setting:
    """Return the constants that the repositories but one want moved, with their values."""
    best: dict[tuple[str, str, str], tuple[float, float]] = {}
    for setting in table:
        if len(setting) == 1:
            constant, value = setting[0]
            mean, error = gain(table, setting, without)
            if mean > error and mean > best.get(constant, (0.0, 0.0))[0]:
                best[constant] = mean, value
    return tuple((constant, value) for constant, (_, value) in sorted(best.items()))


def compared(before: Sequence[Cell], after: Sequence[Cell]) -> dict[str, Any]:
    """Return the scores of two settings and the difference with its 90 % interval, each case alike."""
    pairs = list(zip(before, after, strict=True))
    rows = [[b.score - a.score, *(y - x for x, y in zip(a.parts, b.parts, strict=True))] for a, b in pairs]
    names = ["score", *(f"{way} {name}" for way, measures in MEASURES.items() for name in measures)]
    spread = bootstrap(rows, [a.repo for a, _ in pairs])
    return {
        "score": round(statistics.fmean(b.score for b in after), 4),
        "over_present": dict(zip(names, spread, strict=True)),
    }


def named(setting: Setting) -> dict[str, float]:
    """A setting by the names of its constants."""
    return {f"{name} {key}".rstrip(): value for (_, name, key), value in setting}


def code(place: Place, cases: Sequence[Case], jobs: int) -> dict[str, Any]:
    """Fit the constants of code."""
    table = run(place, jobs, [(alone(), case) for case in cases])
    repos = sorted({case.repo for case in cases})
    of_others = {repo: chosen(table, repo) for repo in repos}
    everywhere = chosen(table)
    last = run(place, jobs, [(list(dict.fromkeys([everywhere, of_others[case.repo]])), case) for case in cases])
    held = sorted({cell for repo in repos for cell in last[of_others[repo]] if cell.repo == repo})
    fitted, left = compared(table[()], last[everywhere]), compared(table[()], held)
    return {
        "cases": len(held), "repositories": len(repos),
        "present": round(statistics.fmean(cell.score for cell in table[()]), 4),
        "fitted": {"constants": named(everywhere), **fitted},
        "left_out": {"constants": {repo: named(setting) for repo, setting in of_others.items()}, **left},
        "gap": round(fitted["score"] - left["score"], 4),
        "alone": {json.dumps(named(one)): compared(table[()], table[one])["over_present"] for one in table if one},
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
    """Fit and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder with one git repository a project")
    parser.add_argument("--work", type=Path, required=True, help="folder of trees and indexes, as of agents/reach.py")
    parser.add_argument("--per-repo", type=int, default=5, help="issues, and questions, of each repository; 0: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    place = Place(options.repos, options.work.resolve(), BUDGET, environment=WORDS_ONLY)
    cases = [case for case in sample(load_cases(KINDS, {}), options.per_repo) if case.targets]
    result = {"per_repo": options.per_repo, "code": code(place, cases, options.jobs), **of_others()}
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: part for name, part in result["code"].items() if name != "alone"}, indent=1))


if __name__ == "__main__":
    main()
