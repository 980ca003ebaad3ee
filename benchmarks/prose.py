"""Do vectors help to find prose? Three sets of questions, by words alone and by words and vectors.

    python benchmarks/prose.py --repositories DIR --out benchmarks/results/prose.json

`passages`: 2,525 encyclopedia passages, one file each, and questions that need two to four of them. `headings`: the
documentation of two projects with every heading hidden; each heading is a question for the section that it stood over.
`paraphrases`: questions written by hand in other words than the documentation's, each with the pages that answer it.
`DIR` holds the projects as `flask` and `pytest`. Everything is asked through the search that `satchel search` uses.

Then the weights are varied. `left_out` is what each set reaches with the weights that are best on all others.
`answered_with_nothing`: the share of questions that reach no floor, asked where the answer is and, as `foreign`, about
people's conversations (LoCoMo), which no documentation answers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel import Satchel, __version__
from satchel.fitted import changed
from satchel.search import weights
from satchel.search.strength import relevance_of
from satchel.sources.docs import FINDERS

PROJECTS = {"pallets/flask": ("flask", "docs"), "pytest-dev/pytest": ("pytest", "doc/en")}
"""Repository -> its folder in DIR, and the folder of its documentation there."""

LEFT_OUT = ("changes.rst", "changelog.rst", "plugin_list.rst", "announce")
"""Lists of releases and of plugins: they hold every word and explain none."""

QUESTION_WORDS = 3
"""A heading of fewer words ("Configuration") could stand over any section."""

HIDDEN = "Part"
"""What stands in the place of a heading."""

ASKED = 50
SUFFIXES = (".rst", ".md")

MODES = ("words", "words and vectors")

FOREIGN_STEP = 4
"""Every fourth question about conversations is asked of each set."""

FILE_FACTORS, PART_FACTORS = (0.5, 1.0, 2.0), (0.5, 1.0, 2.0)
AS_IT_IS = "as it is"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the ids of what answers it: paths, or ids of sections."""

    text: str
    gold: tuple[str, ...]
    by_section: bool = False


@dataclass(frozen=True, slots=True)
class Collection:
    """Files to be indexed, and questions about them."""

    name: str
    files: Mapping[str, str]
    questions: Sequence[Question]


def data_folder() -> Path:
    """Where the passages lie: `SATCHEL_EVAL`, else `../shared/eval` beside this repository."""
    return Path(os.environ.get("SATCHEL_EVAL", Path(__file__).resolve().parents[2] / "shared" / "eval"))


def load(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def passages(data: Path) -> Collection:
    """The multi-hop passages, one file each."""
    files = {
        f"{row['id']}.md": f"# {row['title']}\n\n{row['text']}\n" for row in load(data / "multihop_dev_passages.jsonl")
    }
    questions = [
        Question(row["question"], tuple(f"{gold}.md" for gold in row["gold"]))
        for row in load(data / "multihop_dev_questions.jsonl")
    ]
    return Collection("passages", files, questions)


def pages(repository: Path, folder: str) -> dict[str, str]:
    """The documentation of a project, by path."""
    below = repository / folder
    found = (path for path in sorted(below.rglob("*")) if path.suffix in SUFFIXES)
    kept = (path for path in found if not set(LEFT_OUT) & set(path.relative_to(below).parts))
    return {str(path.relative_to(repository)): path.read_text(encoding="utf-8") for path in kept}


def without_headings(project: str, texts: Mapping[str, str]) -> Collection:
    """Each heading replaced by a number that no question asks for; the questions are the headings."""
    files, questions = {}, []
    seen: dict[str, int] = {}
    for path, text in texts.items():
        lines = text.split("\n")
        headings = [heading for heading in FINDERS["rst"](lines) if heading.title]
        for number, heading in enumerate(headings, 1):
            for row in (heading.row, heading.row + 1):
                if row < len(lines) and lines[row].strip() == heading.title:
                    lines[row] = f"{HIDDEN} {number}".ljust(len(lines[row]), ".")
                    break
            if len(heading.title.split()) >= QUESTION_WORDS:
                seen[heading.title] = seen.get(heading.title, 0) + 1
                questions.append(Question(heading.title, (f"{path}:{heading.row + 1}",), by_section=True))
        files[path] = "\n".join(lines)
    return Collection(f"headings of {project}", files, [row for row in questions if seen[row.text] == 1])


def collections(data: Path, repositories: Path) -> Iterator[Collection]:
    """All sets."""
    yield passages(data)
    asked = load(Path(__file__).with_name("prose_questions.jsonl"))
    for project, (folder, docs) in PROJECTS.items():
        texts = pages(repositories / folder, docs)
        yield without_headings(project, texts)
        mine = [Question(row["question"], tuple(row["gold"])) for row in asked if row["repo"] == project]
        for row in mine:
            if not set(row.gold) <= set(texts):
                raise SystemExit(f"{project} has no {set(row.gold) - set(texts)}")
        yield Collection(f"paraphrases of {project}", texts, mine)


@contextmanager
def vectors_weighted(file: float, part: float) -> Iterator[None]:
    """Other weights of vectors for a while, as factors."""
    in_files, in_parts = weights.FILE_WEIGHTS["vectors"] * file, weights.VALUE_VECTORS * part
    with changed(weights, "FILE_WEIGHTS", in_files, "vectors"), changed(weights, "VALUE_VECTORS", in_parts):
        yield


def ranks(satchel: Satchel, question: Question) -> list[int | None]:
    """The rank (from 1) of each gold answer among the distinct pages or sections found."""
    hits = satchel.search(question.text, types=["docs"], limit=ASKED, refresh=False)
    places = [hit.chunk.location for hit in hits if hit.chunk.location is not None]
    names = [f"{place.path}:{place.start_line}" if question.by_section else place.path for place in places]
    found = {name: rank for rank, name in enumerate(dict.fromkeys(names), 1)}
    return [found.get(gold) for gold in question.gold]


def silence(satchel: Satchel, questions: Sequence[str]) -> float:
    """The share of questions that are answered with nothing."""
    answers = [satchel.search(text, types=["docs"], limit=ASKED, refresh=False) for text in questions]
    return statistics.fmean(
        max((hit.relevance for hit in hits), default=0.0) < relevance_of(weights.WEAK_FLOOR) for hits in answers
    )


def figures(rows: Sequence[Sequence[int | None]]) -> dict[str, float]:
    """Recall at 1, 5 and 10, whether all answers are among the first 10, and the mean reciprocal rank."""

    def recall(depth: int) -> float:
        return statistics.fmean(sum(rank is not None and rank <= depth for rank in row) / len(row) for row in rows)

    table = {f"r@{depth}": round(recall(depth), 3) for depth in (1, 5, 10)}
    every = statistics.fmean(all(rank is not None and rank <= 10 for rank in row) for row in rows)
    first = statistics.fmean(max((1 / rank for rank in row if rank is not None), default=0.0) for row in rows)
    return {"questions": len(rows), **table, "all@10": round(every, 3), "mrr": round(first, 3)}


def measure(collection: Collection, foreign: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The figures of one set, by variant."""
    result: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="satchel-prose-") as folder:
        root = Path(folder) / "root"
        for path, text in collection.files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        environ = {**os.environ, "SATCHEL_HOME": os.environ.get("SATCHEL_BENCH_HOME", str(Path(folder) / "home"))}
        for mode in MODES:
            provider = "off" if mode == MODES[0] else "minilm"
            with Satchel.open(root=root, settings={"embed.provider": provider}, environ=environ) as satchel:
                satchel.index()
                report = satchel.embed()
                if provider == "minilm" and not report.counts.is_complete:
                    raise SystemExit(f"no vectors: {report.failure}")
                result[mode] = figures([ranks(satchel, row) for row in collection.questions])
                result[mode]["answered_with_nothing"] = {
                    "own": round(silence(satchel, [row.text for row in collection.questions]), 3),
                    "foreign": round(silence(satchel, foreign), 3),
                }
                if provider == "off":
                    continue
                for file in FILE_FACTORS:
                    for part in PART_FACTORS:
                        with vectors_weighted(file, part):
                            name = f"file x {file}, part x {part}"
                            result[name] = figures([ranks(satchel, row) for row in collection.questions])
    return result


def left_out(runs: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """For each set the variant that has the best mean r@5 on all other sets, and what it gives on this one."""
    variants = [name for name in next(iter(runs.values())) if name.startswith("file")]
    table = {}
    for held in runs:
        others = [run for name, run in runs.items() if name != held]
        best = max(variants, key=lambda name: statistics.fmean(run[name]["r@5"] for run in others))
        table[held] = {"chosen": best, **runs[held][best]}
    return table


def revision(repository: Path) -> str:
    """The commit of a project."""
    command = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with the multi-hop passages")
    parser.add_argument("--repositories", type=Path, required=True, help="folder with the projects")
    parser.add_argument("--out", type=Path, help="where the result goes (JSON)")
    options = parser.parse_args()
    runs = {}
    foreign = [row["question"] for row in load(options.data / "memory_locomo_dev_questions.jsonl")][::FOREIGN_STEP]
    for collection in collections(options.data, options.repositories):
        runs[collection.name] = run = measure(collection, foreign)
        for mode in MODES:
            print(f"{collection.name:32} {mode:18} {run[mode]}", flush=True)
    result = {
        "satchel": __version__,
        "projects": {project: revision(options.repositories / folder) for project, (folder, _) in PROJECTS.items()},
        "weights": {"file": weights.FILE_WEIGHTS["vectors"], "part": weights.VALUE_VECTORS},
        "runs": runs,
        "left_out": left_out(runs),
    }
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
