"""Relevance as the probability that an item is needed: fitted, and measured on groups that the fit has not seen.

    python benchmarks/calibration.py --rows DIR --repos DIR --work DIR --out benchmarks/results/calibration.json

Each question is asked where its answer is, and in a place that does not answer it: there no item is needed. Code:
issues of the localisation data and short questions (needed: a chunk with a changed or a deciding line). Documentation:
hidden headings (`prose`), and encyclopedia passages as pages. Records: turns of conversations as exchanges and as
memories, and the passages as notes. All with the static table as installed, with `--minilm` records and pages with
MiniLM, too.

The rows of each set are kept in DIR, so that a second start only fits. One formula is fitted to all sets with equal
weight, leaving out one repository, conversation or eighth of the questions after the other. `before` is the relevance
without calibration, strength times share. `floors` counts the needed and the shown items of records and prose for each
rule, at most ten a question.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import memory
import multihop
import numpy as np
import prose
from localization.dataset import Instance, load_instances, load_scorer
from options import positive
from questions.dataset import Question
from questions.dataset import load as load_questions

from satchel import Satchel
from satchel.answer import weights as answer_weights
from satchel.answer.search import with_guesses
from satchel.memory.model import Memory
from satchel.memory.records import document_of
from satchel.search import rank_records, searcher, weights
from satchel.search.dense import Meaning, scores
from satchel.search.query import analyse
from satchel.search.strength import relevance_of
from satchel.types import Hit, Kind

SHOWN, LISTED = 60, 10
"""Items of a question that are judged, and those of them that floors admit."""

FORMER_FLOORS = 0.1, 0.6
"""Least `before`, and its least share of the best, that records and prose had."""

PROVIDERS = {"table": "static", "MiniLM": "minilm"}
"""What the table is called in the names of sets, and MiniLM, which is asked only with `--minilm`."""

Row = dict[str, Any]
Rows = Iterator[Row]
Needed = Callable[[Hit], bool]


def area(rows: Sequence[tuple[float, bool]]) -> float:
    """The area under the curve: how often a right one is above a wrong one; equal ones count half."""
    values = np.array([value for value, _ in rows])
    right = np.array([is_right for _, is_right in rows])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    wins = ranks[right].sum() - right.sum() * (right.sum() + 1) / 2
    return round(float(wins / (right.sum() * (~right).sum())), 4)


def foreign(instance: Instance, instances: Sequence[Instance], chance: random.Random) -> Iterator[Instance]:
    """An issue of another project in the same language, where there is one, and one in another language."""
    others = [row for row in instances if row["repo"] != instance["repo"]]
    same = [row for row in others if row["lang"] == instance["lang"]]
    yield chance.choice(same or others)
    yield chance.choice([row for row in others if row["lang"] != instance["lang"]])


def ask(satchel: Satchel, kind: Kind, question: str, needed: Needed | None, **about: Any) -> Rows:
    """One row for each of the best items; without `needed` nothing here answers the question."""
    given: dict[float, tuple[float, float, float]] = {}

    def noted(strength: float, share: float = 1.0, place: float = 1.0) -> float:
        relevance = relevance_of(strength, share, place)
        given[relevance] = strength, share, place
        return relevance

    meaning = Meaning(satchel.vectors.embedder, question) if satchel.vectors.embedder is not None else None
    store = satchel.opened.store_of(kind)
    query = with_guesses(analyse(question), (), satchel.opened.bench(satchel.store, None, None, ""))
    for module in (searcher, rank_records):
        module.relevance_of = noted  # type: ignore[attr-defined]
    result = searcher.search_kind(store, kind, query, likeness=scores(store, kind, meaning, query))
    for hit in result.hits[:SHOWN]:
        strength, share, place = given[hit.relevance]
        yield about | {
            "own": needed is not None, "needed": needed is not None and needed(hit),
            "strength": round(strength, 6), "share": round(share, 6), "place": place,
        }  # fmt: skip


def touching(lines: Mapping[str, Sequence[Sequence[int]]]) -> Needed:
    """Whether an item has one of these lines."""

    def needed(hit: Hit) -> bool:
        place = hit.chunk.location
        assert place is not None
        return any(first <= place.end_line and place.start_line <= last for first, last in lines.get(place.path, ()))

    return needed


def code(repos: Path, work: Path, every: int) -> Rows:
    """One of so many issues of each repository and all short questions, each with a foreign one."""
    scorer, instances = load_scorer(), load_instances()
    strangers = [row.question for row in load_questions() if row.id.startswith("foreign")]
    short = [row for row in load_questions() if not row.id.startswith("foreign") and row.kind != "absent"]
    for repo in sorted({row["repo"] for row in instances}):
        origin, tree, chance = scorer.git_directory(repos, repo), work / repo.replace("/", "+"), random.Random(repo)
        assert origin is not None, f"{repo} is not below {repos}"
        asked: dict[str, list[Any]] = defaultdict(list)
        for row in [row for row in instances if row["repo"] == repo][::every]:
            asked[row["base_commit"]].append(row)
        for question in short:
            if question.repo == repo:
                asked[question.commit].append(question)
        command = ["git", "-C", str(origin), "log", "--no-walk=unsorted", "--format=%ct %H", *asked]
        dated = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
        for commit in (line.split()[1] for line in sorted(filter(None, dated))):
            scorer.check_out(origin, tree, commit)
            with Satchel.open(tree, root=tree, settings={"embed.provider": "static"}) as satchel:
                satchel.index()
                for row in asked[commit]:
                    if isinstance(row, Question):
                        found = deciding(row, tree), row.question, chance.choice(strangers)
                    else:
                        found = row["gold_lines"], row["query"], next(foreign(row, instances, chance))["query"]
                    lines, own, other = found
                    about = {"group": repo, "id": row.id if isinstance(row, Question) else row["id"]}
                    yield from ask(satchel, Kind.CODE, own, touching(lines), **about)
                    yield from ask(satchel, Kind.CODE, other, None, **about)


def deciding(question: Question, tree: Path) -> dict[str, list[tuple[int, int]]]:
    """The deciding lines of a short question, by path."""
    lines: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in question.deciding:
        text = (tree / one.path).read_text(encoding="utf-8", errors="replace").split("\n")
        lines[one.path] += [(number, number) for number in one.numbers(text)]
    return lines


def conversations(kind: Kind, provider: str) -> Rows:
    """Turns as exchanges or as memories; each question in its own conversation and in another."""
    turns = memory.load(memory.data_folder() / "memory_locomo_dev_turns.jsonl")
    questions = memory.load(memory.data_folder() / "memory_locomo_dev_questions.jsonl")
    names = list(dict.fromkeys(row["conv"] for row in turns))
    for name, other in zip(names, names[1:] + names[:1], strict=True):
        mine = [row for row in turns if row["conv"] == name]
        ids = {f"{number:06d}": row["id"] for number, row in enumerate(mine)}
        with (
            tempfile.TemporaryDirectory(prefix="satchel-calibration-") as folder,
            opened(Path(folder), provider) as satchel,
        ):
            if kind is Kind.CONVERSATION:
                satchel.memory.remember_exchanges(memory.turns_of(mine), origin="locomo")
            else:
                facts = [
                    Memory(f"mem-{number}", said(row), workspace=satchel.memory.notebook.workspace)
                    for number, row in zip(ids, mine, strict=True)
                ]
                with satchel.memory.notebook.store.write() as writer:
                    writer.put(map(document_of, facts))
                    writer.merge(lambda: False)
            satchel.embed()
            for row in questions:
                gold = {number for number, turn in ids.items() if turn in row["evidence"]}
                about = {"group": name, "id": row["id"]}
                if row["conv"] == name:
                    yield from ask(satchel, kind, row["question"], partial(is_one_of, gold), **about)
                elif row["conv"] == other:
                    yield from ask(satchel, kind, row["question"], None, **about)


def said(row: Row) -> str:
    """A turn as a text of its own."""
    return f"{row['speaker']} ({row['date']}): {row['text']}"


def is_one_of(gold: set[str], hit: Hit) -> bool:
    """Whether an item is one of these turns."""
    return str(hit.chunk.fields.get("exchange") or hit.chunk.id.rpartition("-")[2]) in gold


def passages(provider: str) -> Rows:
    """The passages as notes; beside their questions those about conversations."""
    data = memory.data_folder()
    strangers = [row["question"] for row in memory.load(data / "memory_locomo_dev_questions.jsonl")]
    with tempfile.TemporaryDirectory(prefix="satchel-calibration-") as folder:
        export = Path(folder) / "passages.json"
        multihop.write_export(export, memory.load(data / "multihop_dev_passages.jsonl"))
        with opened(Path(folder), provider, export) as satchel:
            satchel.index()
            satchel.embed()
            for number, row in enumerate(memory.load(data / "multihop_dev_questions.jsonl")):
                about = {"group": f"eighth {number % 8}", "id": row["id"]}
                needed = partial(lambda gold, hit: hit.chunk.id.partition(":")[2] in gold, row["gold"])
                yield from ask(satchel, Kind.NOTE, row["question"], needed, **about)
                yield from ask(satchel, Kind.NOTE, strangers[number * 4], None, **about)


def pages(collection: prose.Collection, strangers: Sequence[str], provider: str) -> Rows:
    """The documentation of a collection; beside its questions foreign ones."""
    with tempfile.TemporaryDirectory(prefix="satchel-calibration-") as folder:
        root = Path(folder) / "root"
        for path, text in collection.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        with opened(Path(folder), provider, root) as satchel:
            satchel.index()
            satchel.embed()
            for number, row in enumerate(collection.questions):
                group = collection.name if row.by_section else f"eighth {number % 8}"
                about = {"group": group, "id": f"{collection.name} {number}"}
                yield from ask(satchel, Kind.DOC, row.text, partial(answers, row), **about)
                yield from ask(satchel, Kind.DOC, strangers[number % len(strangers)], None, **about)


def answers(question: prose.Question, hit: Hit) -> bool:
    """Whether a section or its page answers a question about prose."""
    place = hit.chunk.location
    assert place is not None
    return (f"{place.path}:{place.start_line}" if question.by_section else place.path) in question.gold


def opened(folder: Path, provider: str, root: Path | None = None) -> Satchel:
    """A root with a home of its own."""
    place = root or folder / "root"
    if root is None:
        place.mkdir()
    environ = {**os.environ, "SATCHEL_HOME": str(folder / "home")}
    return Satchel.open(root=place, settings={"embed.provider": provider}, environ=environ)


def sets_of(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Rows]]]:
    """The sets by name, each with what asks its questions."""
    collections = list(prose.collections(memory.data_folder(), options.work / "docs"))
    headings = [one for one in collections if one.name.startswith("headings")]
    strangers = [row["question"] for row in memory.load(memory.data_folder() / "memory_locomo_dev_questions.jsonl")]
    for one, other in zip(headings, headings[::-1], strict=True):
        yield one.name, partial(pages, one, [row.text for row in other.questions], "static")
    for mode, provider in list(PROVIDERS.items())[: 2 if options.minilm else 1]:
        yield f"pages, {mode}", partial(pages, collections[0], strangers[::4], provider)
        yield f"turns, {mode}", partial(conversations, Kind.CONVERSATION, provider)
        yield f"memories, {mode}", partial(conversations, Kind.MEMORY, provider)
        yield f"notes, {mode}", partial(passages, provider)
        if provider == "static":
            yield "code", partial(code, options.repos, options.work, options.every)


class Set:
    """The rows of a set as arrays; own and foreign questions weigh the same, and each set as much as any other."""

    def __init__(self, rows: Sequence[Row]) -> None:
        strength, share, place = (np.array([row[name] for row in rows]) for name in ("strength", "share", "place"))
        self.rows = rows
        self.needed = np.array([row["needed"] for row in rows])
        self.own = np.array([row["own"] for row in rows])
        self.group = np.array([row["group"] for row in rows])
        self.before = strength * share
        self.after = np.array([relevance_of(row["strength"], row["share"], row["place"]) for row in rows])
        least = 1e-4
        logs = [np.log(np.maximum(strength, least)), np.log(np.maximum(share, least)), -np.log(place)]
        self.signals = np.stack([np.ones(len(rows)), *logs], 1)
        self.weight = np.where(self.own, 0.5 / self.own.sum(), 0.5 / (~self.own).sum()) * 1e4


def fit(sets: Sequence[Set], without: str = "") -> Any:
    """The constants of the formula by Newton's method: the logarithm of the odds, and the exponents."""
    kept = [one.group != without for one in sets]
    signals = np.vstack([one.signals[mask] for one, mask in zip(sets, kept, strict=True)])
    needed = np.concatenate([one.needed[mask] for one, mask in zip(sets, kept, strict=True)])
    weight = np.concatenate([one.weight[mask] for one, mask in zip(sets, kept, strict=True)])
    found = np.zeros(signals.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-signals @ found))
        curvature = (signals * (weight * chance * (1 - chance))[:, None]).T @ signals
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(found)), signals.T @ (weight * (chance - needed)))
        found -= step
        if abs(step).max() < 1e-9:
            break
    return found


def figures(values: Any, one: Set) -> dict[str, Any]:
    """The area under the curve for own questions and with foreign ones, and the reliability.

    `log_loss` counts own and foreign questions equally. `deciles` are mean values and shares of needed items, and
    `highest` those of the fifths of the last decile.
    """

    def means(parts: Sequence[Any]) -> list[list[float]]:
        return [[round(float(values[part].mean()), 4), round(float(one.needed[part].mean()), 4)] for part in parts]

    likely = np.clip(values, 1e-6, 1 - 1e-6)
    deciles = np.array_split(np.argsort(values, kind="stable"), 10)
    return {
        "auc": area(list(zip(values[one.own], one.needed[one.own], strict=True))),
        "auc_with_foreign": area(list(zip(values, one.needed, strict=True))),
        "log_loss": round(float(np.average(-np.log(np.where(one.needed, likely, 1 - likely)), weights=one.weight)), 5),
        "deciles": means(deciles),
        "highest": means(np.array_split(deciles[-1], 5)),
    }


def floors(one: Set) -> dict[str, dict[str, float]]:
    """Needed items among those that a rule shows, and how many it shows for own and for foreign questions."""
    questions: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for position, row in enumerate(one.rows):
        questions[row["id"], row["own"]].append(position)
    table = {}
    for name, values, (least, relative) in (
        ("before", one.before, FORMER_FLOORS),
        ("after", one.after, (answer_weights.ITEM_FLOOR, answer_weights.RELATIVE_FLOOR)),
    ):
        found, shown, asked = 0, {True: 0, False: 0}, {True: 0, False: 0}
        for (_, is_own), positions in questions.items():
            own = values[positions]
            best = own.max()
            kept = np.array(positions)[(own > 0) & (own >= max(min(least, relative * best), relative * best))][:LISTED]
            found += int(one.needed[kept].sum())
            shown[is_own] += len(kept)
            asked[is_own] += 1
        table[name] = {
            "found": round(found / max(int(one.needed.sum()), 1), 4),
            "shown": round(shown[True] / asked[True], 2),
            "shown_to_foreign": round(shown[False] / asked[False], 2),
        }
    return table


def main() -> None:
    """Ask what is not in the rows yet, fit, and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True, help="folder for the rows of each set")
    parser.add_argument("--repos", type=Path, required=True, help="folder with one git repository a project")
    parser.add_argument("--work", type=Path, required=True, help="folder for work trees; docs/flask and docs/pytest")
    parser.add_argument("--every", type=positive, default=1, help="ask one of so many issues of each repository")
    parser.add_argument("--minilm", action="store_true", help="ask records and pages with MiniLM, too (extra embed)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sets: dict[str, Set] = {}
    for name, rows in sets_of(options):
        target = options.rows / f"{name}.jsonl".replace("/", "+")
        if not target.exists():
            text = "".join(json.dumps(row) + "\n" for row in rows())
            target.write_text(text, encoding="utf-8")
        sets[name] = Set(memory.load(target))
        print(name, len(sets[name].rows), flush=True)
    every = list(sets.values())
    left_out = {name: np.zeros(len(one.rows)) for name, one in sets.items()}
    for group in sorted({str(group) for one in every for group in np.unique(one.group)}):
        found = fit(every, without=group)
        for name, one in sets.items():
            mine = one.group == group
            left_out[name][mine] = 1 / (1 + np.exp(-one.signals[mine] @ found))
    odds, *exponents = fit(every).tolist()
    result = {
        "fitted": {"odds": round(float(np.exp(odds)), 3), "exponents": [round(one, 3) for one in exponents]},
        "used": {"odds": weights.LARGEST_ODDS, "exponents": [weights.STRENGTH_EXPONENT, 1.0, weights.PLACE_EXPONENT]},
        "sets": {
            name: {
                "items": len(one.rows), "needed": int(one.needed.sum()), "before": figures(one.before, one),
                "after": figures(one.after, one), "left out": figures(left_out[name], one),
                **({"floors": floors(one)} if name != "code" else {}),
            }
            for name, one in sets.items()
        },
    }  # fmt: skip
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
