"""Ask every system every question at every budget, and append one judged JSON line for each answer."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from localization.runner import COMMAND_SECONDS, Answers, Run, System, problem_of, run_command

from .dataset import Question, git, git_directory
from .judge import judge

Row = dict[str, Any]

UNKNOWN_OPTION = "No such option"
"""What a satchel prints that is older than an option of its command line."""


class RejectedError(Exception):
    """The system's command does not know one of its options: it is left out of the run."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, and where: `work` keeps the trees and the systems' homes, `out` the rows."""

    questions: list[Question]
    systems: list[System]
    budgets: list[int]
    repos: Path
    work: Path
    out: Path


def ask_all(plan: Plan) -> list[Row]:
    """Ask what `out` does not hold yet and return the rows of these systems, questions and budgets.

    A system indexes a repository once, on a clean tree, and then answers all of its questions in this tree.
    """
    answers = Answers(plan.out)
    rejected: set[str] = set()
    for (repo, commit), members in groupby(sorted(plan.questions, key=_place), key=_place):
        questions = list(members)
        for system in plan.systems:
            tasks = [task for task in _tasks(plan, questions) if (system.name, _row_id(*task)) not in answers.done]
            if tasks and system.name not in rejected:
                tree = plan.work.resolve() / "trees" / repo.replace("/", "+")
                check_out(git_directory(plan.repos, repo), tree, commit)
                try:
                    _ask_repository(plan, system, tree, tasks, answers)
                except RejectedError as problem:
                    rejected.add(system.name)
                    print(f"{system.name}: left out, {problem}", file=sys.stderr)
    chosen = {(system.name, _row_id(*task)) for system in plan.systems for task in _tasks(plan, plan.questions)}
    return [row for row in answers.rows if (row["system"], row["id"]) in chosen]


def check_out(origin: Path, tree: Path, commit: str) -> None:
    """A clean work tree at `commit` that borrows the objects of `origin` and has no ref; raises CalledProcessError."""
    if not (tree / ".git").exists():
        tree.mkdir(parents=True, exist_ok=True)
        git(tree, "init", "-q")
        objects = (origin / git(origin, "rev-parse", "--git-path", "objects").strip()).resolve()
        (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
    git(tree, "checkout", "-q", "--force", "--detach", commit)
    git(tree, "clean", "-q", "-ffdx")


def _place(question: Question) -> tuple[str, str]:
    return question.repo, question.commit


def _row_id(question: Question, budget: int) -> str:
    return f"{question.id}@{budget}"


def _tasks(plan: Plan, questions: list[Question]) -> Iterator[tuple[Question, int]]:
    for question in questions:
        for budget in plan.budgets:
            yield question, budget


def _ask_repository(
    plan: Plan, system: System, tree: Path, tasks: list[tuple[Question, int]], answers: Answers
) -> None:
    problem = _index(plan, system, tree)
    for question, budget in tasks:
        run = Run(plan.repos, plan.work, plan.out, budget)
        row = _failed(question, tree, budget, problem) if problem else _ask(question, system, run, tree)
        head = {"question": question.id, "repo": question.repo, "kind": question.kind, "budget": budget}
        answers.append({"system": system.name, "id": _row_id(question, budget), **head, **row})
        state = row["failure"] or f"shown {row['shown']}/{row['deciding']} used {row['used']} in {row['ask_s']:.2f} s"
        print(f"{system.name:22s} {_row_id(question, budget):34s} {state}", file=sys.stderr, flush=True)


def _index(plan: Plan, system: System, tree: Path) -> str:
    """Run the system's index command, if it has one; returns what went wrong, or an empty text."""
    if not system.index:
        return ""
    done = run_command(system.index, system, Run(plan.repos, plan.work, plan.out, 0), tree, "")
    return problem_of("index", done) if done.returncode else ""


def _failed(question: Question, tree: Path, budget: int, failure: str) -> Row:
    return judge(question, {}, tree, budget) | {"ask_s": 0.0, "failure": failure}


def _ask(question: Question, system: System, run: Run, tree: Path) -> Row:
    """The judged answer; every way to fail ends as `failure`, except an option that the command does not know."""
    started = time.monotonic()
    try:
        done = run_command(system.command, system, run, tree, question.question)
    except subprocess.TimeoutExpired:
        return _failed(question, tree, run.max_tokens, f"no answer within {COMMAND_SECONDS:.0f} s")
    seconds = time.monotonic() - started
    if done.returncode and UNKNOWN_OPTION in done.stderr.decode("utf-8", "replace"):
        raise RejectedError(problem_of("command", done))
    try:
        row = judge(question, json.loads(done.stdout), tree, run.max_tokens)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        return _failed(question, tree, run.max_tokens, problem_of(f"unreadable answer ({problem})", done))
    return row | {"ask_s": round(seconds, 3), "failure": problem_of("command", done) if done.returncode else None}
