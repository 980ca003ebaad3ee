"""Asks one version, in its own process, and judges each answer; run by `run.py` with the version on the path.

The first line of standard input says where things are, each other line is a task; each line of standard output has the
judged cases of a task. What is asked goes through the command line of the version, called in this process, and through
`satchel.hooks.worker.work`, which answers an event without the deadline of a hook. Memory, conversations, links and
duplicates are asked through the public class, by the benchmarks of these names.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from agents.asking import INDEX
from agents.cases import Case, Target
from agents.reach import tree_lines
from agents.reading import LinesOf, read
from agents.report import judge
from localization.measures import measure
from questions.dataset import question_of
from questions.judge import judge as judge_question

Row = dict[str, Any]
Cases = list[Row]
"""What a task gives: each case with its name and its `figures`."""

MAX_TOKENS, FEW_TOKENS = 4_000, 1_000
FRESH_SECONDS = 20.0
"""Time after which the index is brought up to date before a hook, which else starts a process that does it."""

KEY = "5" * 64
"""The same marks around the blocks of all answers: the marks of two homes differ, and so would counts of tokens."""

COMMITTED = "2026-01-01T00:00:00Z"
"""When a project of the memory is committed: answers show the id of the commit, which has more or fewer tokens."""

DOORS = ("hook", "edit", "files", "context", "situation")
UNASKED = ("hook", "edit")
"""Doors through which an agent gets memories without asking; together they are the door `unasked`."""

REACH = {
    **{f"{name}@{budget}": f"{name}@{budget}" for name in ("shown", "reached") for budget in (500, 1000, 2000, 4000)},
    "tokens until shown": "cost", "tokens until reached": "cost_reached", "first file": "file1", "tokens": "tokens",
}  # fmt: skip
"""Figures of an answer as an agent reads it, and the names that agents/report.py gives them."""


class AskError(Exception):
    """A command of the version failed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are: `tree` is the work tree of a task and `home` its data folder, if it has one."""

    data: Path
    repos: Path
    work: Path
    tree: Path
    home: Path


def called(words: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command line of the version in this process, from the current folder and with the current environment."""
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    try:
        if words[0] == "hook":
            note, answer = import_module("satchel.hooks.worker").work([*words[1:]], text.encode())
            return subprocess.CompletedProcess(words, 0, answer.decode(), note)
        code = import_module("satchel.cli.application").run([*words])
        return subprocess.CompletedProcess(
            words, code, out.getvalue().decode("utf-8", "replace"), err.getvalue().decode("utf-8", "replace")
        )
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def answered(words: Sequence[str], question: str) -> Row:
    """The JSON that a command prints for a question. Raises AskError."""
    done = called([*words, "--json", "--no-refresh"], question)
    if done.returncode not in (0, 1, 3):
        message = f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-300:]}"
        raise AskError(message)
    answer: Row = json.loads(done.stdout)
    return answer


def context(question: str, *options: str, max_tokens: int = MAX_TOKENS) -> Row:
    """The answer of `satchel context` as JSON. Raises AskError."""
    return answered(["context", "-", "--max-tokens", str(max_tokens), *options], question)


_indexed: dict[Path, float] = {}


def enter(place: Place, *, fresh_seconds: float = math.inf) -> None:
    """Go into a work tree, with its data folder, and index it unless that was done, lately or at all."""
    os.chdir(place.tree)
    os.environ["SATCHEL_HOME"] = str(place.home)
    mark = place.home / "indexed"
    if mark.exists() and time.monotonic() - _indexed.get(place.tree, -math.inf) <= fresh_seconds:
        return
    needs_vectors = os.environ.get("SATCHEL_EMBED_PROVIDER") == "minilm"
    done = called([word for word in INDEX.split()[1:] if not (needs_vectors and word == "--no-vectors")])
    if done.returncode:
        message = f"index: exit {done.returncode}: {done.stderr.strip()[-300:]}"
        raise AskError(message)
    mark.touch()
    _indexed[place.tree] = time.monotonic()


@cache
def scorer(path: Path) -> Mapping[str, Any]:
    """The functions of a scorer of the data that is a script: nothing else of it is run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kept: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom)
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), str(path), "exec"), names)
    return names


def concept(data: Row, place: Place) -> Cases:
    """A short question: how high its files and ranges are among ten results."""
    enter(place)
    score = scorer(place.data / "score_concepts.py")
    types = "docs" if data["category"] == "docs" else "code"
    said = answered(["search", "-", "--types", types, "-n", "10", "--min-score", "0"], data["query"])
    hits, is_graded = score["results"](said), data["set"] == "octocode"
    targets = data["primary"] + data["secondary"]
    name = f"{data['set']} {types}" if is_graded else data["set"]
    return [
        {
            "figures": {
                f"{name}: NDCG@10": score["graded" if is_graded else "semble"](hits, data),
                f"{name}: first right": float(bool(hits) and any(score["overlaps"](hits[0], one) for one in targets)),
            }
        }
    ]


def case_of(row: Row) -> Case:
    """A case from its JSON."""
    targets = tuple(
        Target(one["path"], tuple((first, last) for first, last in one["ranges"]), one["pattern"])
        for one in row["targets"]
    )
    return Case(**{**row, "targets": targets, "names": tuple(row["names"])})


def reach(answer: Row, targets: Sequence[Target], place: Place) -> Row:
    """The measures of `agents/report.py` of an answer."""
    lines: LinesOf = partial(tree_lines, place.tree, {})
    located = [target.located(lines(target.path)) for target in targets]
    return judge(read(answer["text"], lines), located, MAX_TOKENS, answer["text"])


def reached(answer: Row, targets: Sequence[Target], place: Place, label: str = "") -> dict[str, float]:
    """The figures of `REACH`, with a label before their names."""
    row = reach(answer, targets, place)
    return {f"{label}{name}": row[measure_name] for name, measure_name in REACH.items()}


def issue(data: Row, place: Place) -> Cases:
    """An issue: what a packed answer shows of its fix, and what an agent reaches in the answer of the command."""
    enter(place)
    case = case_of(data["case"])
    packed = context(case.question, "--for", "read", "--fill")
    row = measure(data["instance"], packed, place.tree, MAX_TOKENS)
    counts = not row["failure"]
    figures = {
        "packed: files": row["file"] * counts,
        "packed: ranges": row["span"] * counts,
        "packed: first file": reach(packed, case.targets, place)["file1"] * counts,
    }
    return [{"figures": figures | reached(context(case.question), case.targets, place)}]


def question(data: Row, place: Place) -> Cases:
    """A natural question: the deciding lines that are shown, or whether the answer says that there is nothing."""
    enter(place)
    asked = question_of(data)
    if not asked.deciding:
        kind = "foreign" if asked.id.startswith("foreign") else "absent"
        row = reach(context(asked.question), (), place)
        return [{"figures": {f"{kind}: says so": row["told"], f"{kind}: tokens": row["tokens"]}}]
    answers = {
        "lines, 1,000 tokens": context(asked.question, max_tokens=FEW_TOKENS),
        "lines, 4,000 tokens": context(asked.question),
        "lines, packed": context(asked.question, "--for", "read", "--fill"),
    }
    judged = {name: judge_question(asked, answer, place.tree, MAX_TOKENS) for name, answer in answers.items()}
    figures = {name: row["shown"] / row["deciding"] for name, row in judged.items()}
    targets = [Target(entry.path, pattern=entry.pattern) for entry in asked.deciding]
    return [{"figures": figures | reached(answers["lines, 4,000 tokens"], targets, place)}]


def agent_case(data: Row, place: Place) -> Cases:
    """A report or a question about code that nobody remembers."""
    enter(place)
    case = case_of(data["case"])
    answer = context(case.question)
    if not case.targets:
        row = reach(answer, (), place)
        return [{"figures": {f"{case.kind}, absent: says so": row["told"]}}]
    return [{"figures": reached(answer, case.targets, place, f"{case.kind}: ")}]


def hook(data: Row, place: Place) -> Cases:
    """A prompt: whether the hook answers."""
    enter(place, fresh_seconds=FRESH_SECONDS)
    event = {"session_id": uuid.uuid4().hex, "cwd": str(place.tree), "hook_event_name": "UserPromptSubmit"}
    done = called(["hook", "prompt"], json.dumps({**event, "prompt": data["prompt"]}))
    said = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
    return [{"figures": {f"answered: {data['sort']}": float(bool(said.get("additionalContext")))}}]


@cache
def memory_help(data: Path) -> ModuleType:
    """The scorer of memory that helps."""
    spec = util.spec_from_file_location("score_memory_help", data / "score_memory_help.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def memory(data: Row, place: Place) -> Cases:
    """A project with its records: whether the one that decides arrives at each door, and what else does."""
    module, name = memory_help(place.data), data["name"]
    last = [time.monotonic()]

    class Project(module.Project):  # type: ignore[misc, name-defined]
        def satchel(self, *words: str, send: str = "") -> subprocess.CompletedProcess[str]:
            os.environ.clear()
            os.environ.update(self.env | {"SATCHEL_KEY": KEY})
            os.chdir(self.root)
            if words[0] == "hook" and time.monotonic() - last[0] > FRESH_SECONDS:
                called(["index", "--quiet"])
                last[0] = time.monotonic()
            return called(words, send)

    options = argparse.Namespace(
        work=str(place.work / "memory"), records=data["records"], weights=None, words=True, repos=str(place.repos),
        tokens=800, data=place.data / "memory_help_dev", satchel="satchel",
    )  # fmt: skip
    before = dict(os.environ)
    os.environ |= {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
    try:
        project = Project(name, data["project"], options)
        records = {row["id"]: row for row in project.records}
        tasks = [row for row in module.lines_of(f"{options.data}_tasks.jsonl") if row["project"] == name]
        return [
            {"case": f"{name} {number}", "figures": _helped(module, project, task, records)}
            for number, task in enumerate(tasks)
        ]
    finally:
        os.environ.clear()
        os.environ.update(before)


def _helped(module: ModuleType, project: Any, task: Row, records: Row) -> dict[str, float]:
    """The figures of a prompt at each door; a door that this version does not have gives nothing."""
    looks = {}
    for door in DOORS:
        try:
            text = project.ask(door, task)
        except module.NotOfferedError:
            text = ""
        looks[door] = module.look(task, text, records)
    looks["unasked"] = {
        "arrived": any(looks[door]["arrived"] for door in UNASKED),
        "tokens": sum(looks[door]["tokens"] for door in UNASKED),
        "records": [one for door in UNASKED for one in looks[door]["records"]],
    }
    figures: dict[str, float] = {}
    for door, row in looks.items():
        if task["lesson"]:
            figures |= {f"{door}: arrived": float(row["arrived"]), f"{door}: tokens a task": row["tokens"]}
        else:
            figures |= {f"{door}: neutral prompts with records": float(bool(row["records"]))}
            figures |= {f"{door}: tokens a neutral prompt": row["tokens"]}
    return figures


def conversation(data: Row, place: Place) -> Cases:
    """A conversation: the share of the turns that answer a question among the first ones."""
    from satchel import Satchel

    benchmark = import_module("memory")
    with tempfile.TemporaryDirectory(dir=place.work) as folder:
        root = Path(folder) / "conversation"
        root.mkdir()
        environ = {**os.environ, "SATCHEL_HOME": f"{folder}/home"}
        with Satchel.open(root=root, environ=environ) as satchel:
            satchel.memory.remember_exchanges(benchmark.turns_of(data["turns"]), origin="locomo")
            return [
                {"case": row["id"], "figures": {f"R@{depth}": one.recall(depth) for depth in (5, 10)}}
                for row in data["questions"]
                for one in benchmark.ask(satchel, data["turns"], [row])
            ]


def multihop(data: Row, place: Place) -> Cases:
    """Questions whose answer is some links away: the passages found by a search and by a walk."""
    from satchel import Satchel

    benchmark = import_module("multihop")
    with tempfile.TemporaryDirectory(dir=place.work) as folder:
        export = Path(folder) / "passages.json"
        benchmark.write_export(export, data["passages"])
        environ = {**os.environ, "SATCHEL_HOME": f"{folder}/home"}
        with Satchel.open(root=export, environ=environ) as satchel:
            satchel.index()
            ways = benchmark.methods(satchel)
            return [{"case": row["id"], "figures": _walked(benchmark, ways, row)} for row in data["questions"]]


def _walked(benchmark: ModuleType, ways: Mapping[str, Any], row: Row) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("search", "graph, depth 2"):
        measured = benchmark.measured(ways[name], [row])
        found |= {f"{name}: R@5": measured["r5"], f"{name}: all in 10": float(measured["all10"])}
    return found


def duplicates(data: Row, place: Place) -> Cases:  # noqa: ARG001 - every part has the same parameters
    """Pairs of texts: near-duplicates that are reported when they are remembered, and different texts shown as one.

    F1 is not a mean: its value is whether a pair counts as a true positive, a false positive and a false negative.
    """
    benchmark = import_module("duplicates")
    pairs = zip(data["pairs"], benchmark.reported(data["pairs"]), benchmark.outcomes(data["pairs"]), strict=True)
    return [
        {
            "case": row["id"],
            "figures": {
                "near-duplicates reported: F1": [
                    float(said and near),
                    float(said and not near),
                    float(near and not said),
                ],
                "different texts shown as one": float(merged and not same),
            },
        }
        for row, (said, near), (merged, same) in pairs
    ]


PARTS: Mapping[str, Callable[[Row, Place], Cases]] = {
    "concepts": concept, "issues": issue, "questions": question, "agents": agent_case, "hooks": hook,
    "memory": memory, "memory-3000": memory, "conversations": conversation, "multihop": multihop,
    "duplicates": duplicates,
}  # fmt: skip


def spent() -> float:
    """Processor seconds of this process and its children."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def done(task: Row, place: Place) -> Row:
    """The judged cases of a task, and why it failed."""
    began = spent()
    try:
        cases, failure = PARTS[task["part"]](task["data"], place), ""
    except Exception as problem:  # noqa: BLE001 - whatever a version does, the other questions are asked
        cases, failure = [], f"{type(problem).__name__}: {problem}"[:500]
    for case in cases:
        case.setdefault("case", task["id"])
    return {"cases": cases, "failure": failure, "seconds": round(spent() - began, 3)}


@contextmanager
def answers() -> Iterator[Callable[[Row], None]]:
    """Yield what writes a line to the real standard output; whatever else is written goes to the error output."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stream:
        os.dup2(2, 1)

        def write(row: Row) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        yield write


def main() -> None:
    """Answer all tasks of standard input."""
    lines = iter(sys.stdin)
    said = json.loads(next(lines))
    import satchel

    source = Path(str(satchel.__file__)).resolve()
    if not source.is_relative_to(Path(said["source"]).resolve()):
        message = f"asked {source}, not {said['source']}"
        raise SystemExit(message)
    os.environ["SATCHEL_KEY"] = KEY
    here = Path.cwd()
    places = {name: Path(said[name]) for name in ("data", "repos", "work")}
    with answers() as write:
        for line in lines:
            task = json.loads(line)
            place = Place(**places, tree=Path(task["tree"] or here), home=Path(task["home"] or here))
            write({"key": task["key"], **done(task, place)})
            os.chdir(here)


if __name__ == "__main__":
    main()
