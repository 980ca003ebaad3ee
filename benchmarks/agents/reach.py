"""How much an agent has to read of an answer until it sees, or is told, where the deciding lines are.

    python benchmarks/agents/reach.py --repos DIR --work DIR --out reach.jsonl
    python benchmarks/agents/reach.py --repos DIR --work DIR --out reach.jsonl --summary result.json \
        --arm old=OTHER/src --arm new=src --arm "find=src --for find" --names --named find

Every arm is a source tree, with options of its own after a space; the first one is what the others are compared with.
Answers of a version that was asked before are taken from --work. README.md beside this file says what is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from localization.dataset import REPOSITORY_ROOT
from localization.measures import read_lines
from questions.dataset import git

from agents.asking import COMMAND, INDEX, WORDS_ONLY, Arm, Asker, Place
from agents.cases import KINDS, Case, load_cases, load_names, sample
from agents.reading import LinesOf, read
from agents.report import differences, groups, judge, summary, tables

Row = dict[str, Any]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repos", type=Path, required=True, help="folder with one git repository a project: OWNER+NAME"
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for trees, indexes and answers, kept for later"
    )
    parser.add_argument(
        "--arm", action="append", default=[], metavar="NAME=SOURCE[ OPTIONS]", help="satchel from SOURCE"
    )
    parser.add_argument("--command", default=COMMAND, help="how every arm is asked; `satchel` is that of its source")
    parser.add_argument("--index", default=INDEX, help="run once for each tree; empty: nothing")
    parser.add_argument(
        "--index-from", default="", metavar="ARM", help="copy the indexes of this arm, then update them"
    )
    parser.add_argument("--vectors", action="store_true", help="with vectors, as far as --index makes them")
    parser.add_argument("--kinds", default="issues,questions,unknown", help="of " + ", ".join(KINDS))
    parser.add_argument("--per-repo", type=int, default=5, help="issues, and questions, of each repository; 0: all")
    parser.add_argument("--only", default="", help="repositories, separated by commas: pallets/flask or flask")
    parser.add_argument("--max-tokens", type=int, default=4_000)
    parser.add_argument("--names", type=Path, nargs="?", const=Path(), help="give likely names: those of FILE, by id")
    parser.add_argument("--named", default="", metavar="ARMS", help="only these arms get the names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--groups", action="store_true", help="print languages and kinds of questions, too")
    parser.add_argument("--out", type=Path, help="one JSON line an answer")
    parser.add_argument("--summary", type=Path, help="the measures as JSON")
    return parser


def arms_of(options: argparse.Namespace) -> list[Arm]:
    """The arms of the command line, by default this source tree. Raises ValueError."""
    arms = []
    named = [name for name in options.named.split(",") if name]
    for text in options.arm or [f"now={REPOSITORY_ROOT / 'src'}"]:
        name, equals, rest = text.partition("=")
        source, _, more = rest.partition(" ")
        if not equals or not (Path(source) / "satchel").is_dir():
            message = f"{text!r} is not NAME=FOLDER with a folder that contains satchel"
            raise ValueError(message)
        has_names = options.names is not None and (not named or name in named)
        command = f"{options.command} {more}".rstrip()
        arms.append(Arm(name, Path(source).resolve(), command, options.index, has_names))
    if unknown := {*named, *filter(None, [options.index_from])}.difference(arm.name for arm in arms):
        message = f"no arm is called {', '.join(sorted(unknown))}"
        raise ValueError(message)
    return arms


def ask(asker: Asker, max_tokens: int, arm: Arm, case: Case) -> Row:
    """One judged answer."""
    answer = asker.answer(arm, case)
    head: Row = {"arm": arm.name, "id": case.id, "kind": case.kind, "group": case.group, "repo": case.repo}
    head |= {"has_names": bool(case.names), "seconds": answer["seconds"], "failure": answer["failure"]}
    lines_of: LinesOf = _no_lines if answer["failure"] else partial(tree_lines, asker.tree(case), {})
    targets = [target.located(lines_of(target.path)) for target in case.targets]
    return head | judge(read(answer["text"], lines_of), targets, max_tokens, answer["text"])


def _no_lines(_path: str) -> list[str]:
    return []


def tree_lines(tree: Path, kept: dict[str, list[str]], path: str) -> list[str]:
    """The lines of a file of the tree, none for any other path."""
    if path not in kept:
        is_inside = bool(path) and not path.startswith("/") and ".." not in Path(path).parts
        kept[path] = read_lines(tree, path) if is_inside and (tree / path).is_file() else []
    return kept[path]


def result_of(rows: Sequence[Row], arms: Sequence[Arm]) -> Row:
    """The measures of every arm in every group, and the differences of the others from the first arm."""
    by_group = groups(rows)
    names = [arm.name for arm in arms]
    result: Row = {"groups": {}, "differences": {}}
    for group, some in by_group.items():
        result["groups"][group] = {name: summary([row for row in some if row["arm"] == name]) for name in names}
        if len(names) > 1:
            result["differences"][group] = {
                f"{name} - {names[0]}": differences(some, names[0], name) for name in names[1:]
            }
    return result


def main() -> int:
    """Ask, judge, report."""
    parser = arguments()
    options = parser.parse_args()
    try:
        arms = arms_of(options)
        names = load_names(options.names if options.names not in {None, Path()} else None)
        kinds = options.kinds.split(",")
        only = [name for name in options.only.split(",") if name]
        cases = sample(load_cases(kinds, names), options.per_repo, only)
    except (ValueError, OSError) as problem:
        parser.error(str(problem))
    seed = next((arm for arm in arms if arm.name == options.index_from), None)
    environment = {} if options.vectors else WORDS_ONLY
    asker = Asker(Place(options.repos, options.work.resolve(), options.max_tokens, seed, environment))
    tasks = [(arm, case) for case in cases for arm in arms]
    rows: list[Row] = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for row in pool.map(lambda task: ask(asker, options.max_tokens, *task), tasks):
            rows.append(row)
            state = row["failure"] or f"cost {row.get('cost', '')} of {row['tokens']} in {row['seconds']:.2f} s"
            print(f"{row['arm']:12s} {row['id']:34s} {state}", file=sys.stderr, flush=True)
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = {
        "sample": {"kinds": kinds, "per_repo": options.per_repo, "only": only, "cases": len(cases)},
        "asked": {"max_tokens": options.max_tokens, "vectors": options.vectors},
        "arms": {arm.name: _described(asker, arm) for arm in arms},
        **result_of(rows, arms),
    }
    print(tables(result, every=options.groups))
    if options.summary:
        text = re.sub(
            r"\[\s+([^\[\]{}]*?)\s+\]", lambda part: f"[{' '.join(part[1].split())}]", json.dumps(result, indent=1)
        )
        options.summary.write_text(f"{text}\n", encoding="utf-8")
    return int(any(row["failure"] for row in rows))


def _described(asker: Asker, arm: Arm) -> Row:
    names = ("as --names" if asker.knows_names(arm) else "in the question") if arm.has_names else "none"
    return {"commit": _commit(arm), "command": arm.command, "version": arm.version, "names": names}


def _commit(arm: Arm) -> str:
    """The commit that the source of an arm is of, with a mark if it was changed since; empty if git knows none."""
    try:
        return git(arm.source or Path(), "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*").strip()
    except subprocess.CalledProcessError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
