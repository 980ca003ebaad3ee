"""How well what was said in a conversation is found again: LoCoMo, through the public interface.

    python benchmarks/memory.py --out benchmarks/results/memory.json

Every turn of a conversation is remembered as an exchange of one session, by the writer that imports use; every
question is asked by the search that `satchel search` uses. The evidence turns are named by the data. The same turns are
asked by words alone, and (not with `--words-only`) by words and vectors (extra `embed`).

Then the constants of the ranking are varied: `steps` adds its parts one after the other, and `varied` moves each
constant alone. `left_out` is what a conversation reaches with the variant that is best on the other conversations.

    python benchmarks/memory.py --abilities --out benchmarks/results/memory.json

asks in the manner of LongMemEval, by words, and writes only its own part of the result:

several sessions    questions whose evidence is in two or more sessions: the share of these sessions, and whether all of
                    them, are among the first ten and twenty turns
time                the questions of the category `temporal`, and the same with the day of the evidence as `since` and
                    `until`, as a caller says it who knows the time
update              a turn that has the answer of a question is a memory; half a year later the same is remembered with
                    another answer of that kind. The question is asked: is the newer one told before the older one,
                    and is the older one marked as replaced
absent              questions of one conversation to the memory of another one: how many are
                    answered by nothing, and by how many items on average
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from satchel import Satchel, __version__
from satchel.sources.conversations import Exchange

DEPTHS = (1, 5, 10, 20)
ASKED_TURNS = 100
"""Hits asked for: recall is looked at down to 20, the reciprocal rank counts 0 beyond."""

BASELINES = {
    "BM25 over turns": {"r@5": 0.525, "r@10": 0.601, "mrr": 0.442},
    "BM25 with the neighbouring turns' text": {"r@5": 0.639, "r@10": 0.739, "mrr": 0.452},
}
"""As measured with the data (its README): speaker, date and text, stop words out, stemmed."""

CONSTANTS = {
    "neighbours": "NEIGHBOUR_WEIGHTS",
    "answers": "ANSWER_WEIGHT",
    "speakers": "SPEAKER_BONUS",
    "questions": "QUESTION_PENALTY",
    "length": "HALF_WEIGHT_TERMS",
    "vectors": "VECTOR_WEIGHT",
}
"""What is varied in `satchel.search.weights`, by the name that the result gives it."""

OFF: Mapping[str, Any] = {"neighbours": (0, 0, 0, 0), "answers": 0, "speakers": 0, "questions": 0, "length": 0}

AS_IT_IS = "as it is"
WORDS, VECTORS = "words", "words and vectors"

Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and the ranks (from 1) of its evidence turns; None where one was not found."""

    conversation: str
    category: str
    ranks: tuple[int | None, ...]
    seconds: float

    def recall(self, depth: int) -> float:
        """Share of the evidence among the first so many turns."""
        return sum(rank is not None and rank <= depth for rank in self.ranks) / len(self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first evidence turn."""
        return max((1 / rank for rank in self.ranks if rank is not None), default=0.0)


def data_folder() -> Path:
    """Where the data lies: `SATCHEL_EVAL`, else `../shared/eval` beside this repository."""
    return Path(os.environ.get("SATCHEL_EVAL", Path(__file__).resolve().parents[2] / "shared" / "eval"))


def load(path: Path) -> Rows:
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def turns_of(rows: Rows) -> Iterator[Exchange]:
    """The turns of one conversation, a second apart from the time at which each sitting began."""
    for place, row in enumerate(rows):
        began = datetime.strptime(row["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield Exchange(
            session=row["conv"],
            id=f"{place:06d}",
            time=began.timestamp() + place,
            said=row["text"],
            speaker=row["speaker"],
        )


@contextmanager
def constants(values: Mapping[str, Any]) -> Iterator[None]:
    """Other constants for a while."""
    module = _ranking()
    before = {name: getattr(module, CONSTANTS[name]) for name in values}
    for name, value in values.items():
        setattr(module, CONSTANTS[name], value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, CONSTANTS[name], value)


def _ranking() -> ModuleType:
    """The fitted numbers, imported when they are varied: `score.py` also asks versions that do not have it."""
    return import_module("satchel.search.weights")


def steps() -> dict[str, dict[str, Any]]:
    """The ranking without its parts, and with one more of them each time."""
    off, table = dict(OFF), {}
    table["turns alone"] = dict(off)
    for name in ("neighbours", "answers", "speakers"):
        del off[name]
        table[f"and {name}"] = dict(off)
    return table


def variations(*, vectors: bool) -> dict[str, dict[str, Any]]:
    """Each constant alone, a half less and a half more."""
    table: dict[str, dict[str, Any]] = {}
    for name, attribute in CONSTANTS.items():
        if name == "vectors" and not vectors:
            continue
        value = getattr(_ranking(), attribute)
        for factor in (0.5, 1.5):
            moved = tuple(part * factor for part in value) if isinstance(value, tuple) else value * factor
            table[f"{name} x {factor}"] = {name: moved}
    return table


def ask(satchel: Satchel, conversation: Rows, questions: Rows) -> Iterator[Asked]:
    """Ask the questions of one conversation that is remembered."""
    names = {f"{place:06d}": row["id"] for place, row in enumerate(conversation)}
    for row in questions:
        started = time.perf_counter()
        hits = satchel.search(row["question"], types=["conversations"], limit=ASKED_TURNS, refresh=False)
        seconds = time.perf_counter() - started
        found = {names[hit.chunk.fields["exchange"]]: rank for rank, hit in enumerate(hits, 1)}
        evidence = [turn for turn in row["evidence"] if turn in set(names.values())]
        if evidence:
            yield Asked(row["conv"], row["category"], tuple(found.get(turn) for turn in evidence), seconds)


def measure(data: Path, *, vectors: bool) -> dict[str, list[Asked]]:
    """All conversations with all questions, each in a home of its own, by the name of the variant."""
    turns = load(data / "memory_locomo_dev_turns.jsonl")
    questions = load(data / "memory_locomo_dev_questions.jsonl")
    variants = {AS_IT_IS: {}, **steps(), **variations(vectors=vectors)}
    asked: dict[str, list[Asked]] = {name: [] for name in variants}
    settings = {"embed.provider": "minilm" if vectors else "off"}
    for conversation in dict.fromkeys(row["conv"] for row in turns):
        mine = [row for row in turns if row["conv"] == conversation]
        with tempfile.TemporaryDirectory(prefix="satchel-locomo-") as folder:
            root = Path(folder) / conversation
            root.mkdir()
            environ = {**os.environ, "SATCHEL_HOME": str(Path(folder) / "home")}
            with Satchel.open(root=root, settings=settings, environ=environ) as satchel:
                satchel.memory.remember_exchanges(turns_of(mine), origin="locomo")
                report = satchel.embed()
                if vectors and report.failure is not None:
                    raise SystemExit(f"no vectors: {report.failure.message}; {report.failure.hint}")
                satchel.search("warm up", types=["conversations"], refresh=False)
                for name, values in variants.items():
                    with constants(values):
                        asked[name] += ask(satchel, mine, [row for row in questions if row["conv"] == conversation])
    return asked


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Recall at each depth and the mean reciprocal rank."""
    table = {f"r@{depth}": round(statistics.fmean(row.recall(depth) for row in asked), 3) for depth in DEPTHS}
    return {"questions": len(asked), **table, "mrr": round(statistics.fmean(row.reciprocal_rank for row in asked), 3)}


def grouped(asked: Sequence[Asked], name: str) -> Mapping[str, Mapping[str, float]]:
    """The figures for each value of an attribute."""
    values = sorted({getattr(row, name) for row in asked})
    return {value: figures([row for row in asked if getattr(row, name) == value]) for value in values}


def left_out(runs: Mapping[str, Sequence[Asked]]) -> dict[str, float]:
    """Figures where each conversation is asked by the variant that has the best recall at 10 on all others."""
    chosen: list[Asked] = []
    for held in sorted({row.conversation for row in runs[AS_IT_IS]}):
        others = {name: [row for row in run if row.conversation != held] for name, run in runs.items()}
        best = max(others, key=lambda name: statistics.fmean(row.recall(10) for row in others[name]))
        chosen += [row for row in runs[best] if row.conversation == held]
    return figures(chosen)


def summarised(runs: Mapping[str, Sequence[Asked]]) -> dict[str, Any]:
    """The result of one way of asking."""
    asked = runs[AS_IT_IS]
    milliseconds = sorted(row.seconds * 1000 for row in asked)
    moved = {name: run for name, run in runs.items() if name not in steps()}
    return {
        **figures(asked),
        "by_category": grouped(asked, "category"),
        "by_conversation": grouped(asked, "conversation"),
        "milliseconds": {
            "p50": round(statistics.median(milliseconds), 1),
            "p95": round(milliseconds[int(len(milliseconds) * 0.95)], 1),
        },
        "steps": {name: figures(runs[name]) for name in steps()},
        "varied": {name: figures(run) for name, run in moved.items() if name != AS_IT_IS},
        "left_out": left_out(moved),
    }


def session_of(turn: str) -> str:
    """`D3` of the turn `D3:14`."""
    return turn.partition(":")[0]


def sessions_found(satchel: Satchel, conversation: Rows, question: Row) -> dict[int, set[str]]:
    """The evidence sessions among the first turns, by their number."""
    names = {f"{place:06d}": row["id"] for place, row in enumerate(conversation)}
    hits = satchel.search(question["question"], types=["conversations"], limit=ASKED_TURNS, refresh=False)
    turns = [names[hit.chunk.fields["exchange"]] for hit in hits]
    wanted = {*map(session_of, question["evidence"])}
    return {depth: wanted & {*map(session_of, turns[:depth])} for depth in (10, 20)}


def several_sessions(satchel: Satchel, conversation: Rows, questions: Rows) -> Iterator[dict[str, float]]:
    """For each question over sessions: the share of them that is found, and whether all are."""
    for row in questions:
        wanted = {*map(session_of, row["evidence"])}
        if len(wanted) > 1 and row["category"] != "adversarial":
            found = sessions_found(satchel, conversation, row)
            shares = {f"sessions@{depth}": len(names) / len(wanted) for depth, names in found.items()}
            yield {**shares, **{f"all@{depth}": float(names == wanted) for depth, names in found.items()}}


def in_time(satchel: Satchel, conversation: Rows, questions: Rows) -> Iterator[dict[str, float]]:
    """For each question about time: recall at ten of its evidence, with and without the span of time."""
    times = {row["id"]: exchange.time for row, exchange in zip(conversation, turns_of(conversation), strict=True)}
    names = {f"{place:06d}": row["id"] for place, row in enumerate(conversation)}
    for row in questions:
        evidence = [turn for turn in row["evidence"] if turn in times]
        if row["category"] != "temporal" or not evidence:
            continue
        moments = [times[turn] for turn in evidence]
        span = {"since": min(moments) - 43_200, "until": max(moments) + 43_200}
        result = {}
        for name, filters in (("r@10", {}), ("r@10 with the day", span)):
            hits = satchel.search(row["question"], types=["conversations"], limit=10, filters=filters, refresh=False)
            found = {names[hit.chunk.fields["exchange"]] for hit in hits}
            result[name] = len(found & {*evidence}) / len(evidence)
        yield result


def updates(questions: Rows, conversation: Rows) -> Iterator[tuple[str, str, str]]:
    """Question, the turn that answers it, and the same turn with another answer of a question of this kind."""
    texts = {row["id"]: row["text"] for row in conversation}
    answered = [row for row in questions if 3 <= len(str(row.get("answer", ""))) <= 30]
    for place, row in enumerate(answered):
        answer, turns = str(row["answer"]), [texts[turn] for turn in row["evidence"] if turn in texts]
        if len(turns) != 1 or turns[0].count(answer) != 1 or row["category"] == "adversarial":
            continue
        is_number = any(map(str.isdigit, answer))
        others = (str(one["answer"]) for one in answered[place + 1 :] + answered[:place])
        fitting = [
            one for one in others
            if (any(map(str.isdigit, one)), len(one.split())) == (is_number, len(answer.split()))
            and one not in turns[0]
        ]  # fmt: skip
        if fitting:
            yield row["question"], turns[0], turns[0].replace(answer, fitting[0])


def updated(satchel: Satchel, pairs: Sequence[tuple[str, str, str]]) -> Iterator[dict[str, float]]:
    """For each pair: whether both are found, the newer one comes first, and the older one is marked."""
    from satchel.memory.memories import Memories  # here, for the same reason as in `_ranking`

    began, half_a_year = datetime(2026, 1, 1, tzinfo=UTC).timestamp(), 182 * 86_400
    ids = []
    for number, (_, older, newer) in enumerate(pairs):
        stored = []
        for text, moment in ((older, began + number), (newer, began + half_a_year + number)):
            notebook = satchel.memory.notebook._replace(clock=partial(float, moment))
            stored.append(Memories(notebook).add(text).memory.id)
        ids.append(stored)
    for (question, _, _), (older, newer) in zip(pairs, ids, strict=True):
        matches = satchel.memories.search(question, limit=20)
        order = {match.memory.id: place for place, match in enumerate(matches)}
        marks = {match.memory.id: match.replaced_by for match in matches}
        is_found = older in order and newer in order
        yield {
            "found": float(newer in order),
            "newer first": float(newer in order and order[newer] < order.get(older, len(order))),
            "older marked": float(is_found and marks[older] == newer),
        }


def means(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each figure."""
    every = list(rows)
    names = every[0] if every else {}
    return {"questions": len(every), **{name: round(statistics.fmean(row[name] for row in every), 3) for name in names}}


def abilities(data: Path) -> dict[str, Any]:
    """Questions over sessions, about time, after an update and about absent things, by words."""
    turns = load(data / "memory_locomo_dev_turns.jsonl")
    questions = load(data / "memory_locomo_dev_questions.jsonl")
    names = list(dict.fromkeys(row["conv"] for row in turns))
    rows: dict[str, list[Mapping[str, float]]] = {name: [] for name in ("several sessions", "time", "update", "absent")}
    for place, conversation in enumerate(names):
        talk = [row for row in turns if row["conv"] == conversation]
        mine = [row for row in questions if row["conv"] == conversation]
        foreign = [row for row in questions if row["conv"] == names[place - 1]][:100]
        with tempfile.TemporaryDirectory(prefix="satchel-locomo-") as folder:
            for name in ("talk", "facts"):
                (Path(folder) / name).mkdir()
            environ = {**os.environ, "SATCHEL_HOME": str(Path(folder) / "home")}
            off = {"embed.provider": "off"}
            with Satchel.open(root=Path(folder) / "talk", settings=off, environ=environ) as satchel:
                satchel.memory.remember_exchanges(turns_of(talk), origin="locomo")
                rows["several sessions"] += several_sessions(satchel, talk, mine)
                rows["time"] += in_time(satchel, talk, mine)
                for row in foreign:
                    context = satchel.assemble(row["question"], types=["conversations"], refresh=False)
                    rows["absent"].append(
                        {"nothing shown": float(not context.items), "items": float(len(context.items))}
                    )
            with Satchel.open(root=Path(folder) / "facts", settings=off, environ=environ) as satchel:
                rows["update"] += updated(satchel, list(updates(mine, talk)))
    return {name: means(found) for name, found in rows.items()}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with the LoCoMo files")
    parser.add_argument("--words-only", action="store_true", help="leave out the run with vectors")
    parser.add_argument("--out", type=Path, help="where the result goes (JSON); shown if not given")
    parser.add_argument("--abilities", action="store_true", help="only several sessions, time, update and absent")
    options = parser.parse_args()
    if options.abilities:
        found = abilities(options.data)
        print(json.dumps(found, indent=2))
        if options.out is not None:
            result = {**json.loads(options.out.read_text(encoding="utf-8")), "abilities": found}
            options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        return
    runs = {WORDS: summarised(measure(options.data, vectors=False))}
    if not options.words_only:
        runs[VECTORS] = summarised(measure(options.data, vectors=True))
    result = {"satchel": __version__, "data": "LoCoMo, 4 conversations", "baselines": BASELINES, "runs": runs}
    text = json.dumps(result, indent=2) + "\n"
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")
    for name, run in runs.items():
        print(f"{name:20} r@1 {run['r@1']}  r@5 {run['r@5']}  r@10 {run['r@10']}  mrr {run['mrr']}")


if __name__ == "__main__":
    main()
