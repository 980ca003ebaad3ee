"""Show at once what a change does: everything that can be measured here, on the work tree and on a base commit.

    python benchmarks/score.py [--base COMMIT] [--sample N] [--only concepts,memory] [--by repository] [--out FILE]

Both versions are asked the same questions in the same order, repository by repository, in two processes at low
priority; the table has paired differences with 95 % intervals of a bootstrap (over repositories and their cases), and
marks those that exclude 0. Answers and indexes are kept in the work folder: a second start asks only what was not
asked, and after Ctrl-C the table is of what is done. The work tree is copied first, so it may be edited meanwhile.

    SATCHEL_EVAL         the measuring data, else ../shared/eval beside the repository
    SATCHEL_BENCH_REPOS  folder with the public repositories and their history, each OWNER+NAME
    SATCHEL_BENCH_WORK   work trees, indexes and answers, else a folder in TMPDIR
    SATCHEL_BENCH_VECTORS  `static` or `minilm` to compare with the table of words or MiniLM (extra `embed`), each in
                           a work folder of its own (default `off`)

What the machine has no data for is named as left out. The exit status is 1 when a question failed, 2 when there is
nothing to ask, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

from localization.dataset import REPOSITORY_ROOT
from options import natural, output, positive
from scoreboard.figures import by_repository, compared, table
from scoreboard.parts import ON_REQUEST, PARTS, Machine, chosen, scorer_digest, tasks_of
from scoreboard.run import Board
from scoreboard.versions import alone, base_commit, check_tree, check_work, prune, versions

SAMPLE = 8
"""Issues of each repository, questions of each kind and repository, reports, prompts of each sort: 15 minutes."""

JOBS = 2
NICENESS = 10
MAX_FAILURES = 10
INTERRUPTED = 130


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--base",
        default="",
        help="commit to compare with, HEAD for what is not committed (default the last tag, else where main was left)",
    )
    parser.add_argument("--tree", type=Path, default=REPOSITORY_ROOT, help="the work tree; default this repository")
    parser.add_argument(
        "--sample",
        type=natural,
        default=SAMPLE,
        help=f"size of the sample of a repository; 0: everything (default {SAMPLE}: 15 minutes)",
    )
    parser.add_argument("--only", default="", help=f"parts, separated by commas, of: {', '.join(PARTS)}")
    parser.add_argument(
        "--repositories", default="", help="only questions about these, OWNER/NAME or a name of concepts"
    )
    parser.add_argument("--by", choices=["repository"], help="also the figures of each repository or set")
    parser.add_argument("--jobs", type=positive, default=JOBS, help=f"processes that ask at once (default {JOBS})")
    parser.add_argument("--out", type=output, help="the figures as JSON")
    return parser


def machine_of(per_repo: int) -> Machine:
    """What the environment says of this machine."""
    data = Path(os.environ.get("SATCHEL_EVAL") or REPOSITORY_ROOT.parent / "shared" / "eval").resolve()
    repos = os.environ.get("SATCHEL_BENCH_REPOS", "")
    work = Path(os.environ.get("SATCHEL_BENCH_WORK") or Path(tempfile.gettempdir()) / "satchel-bench").resolve()
    return Machine(data, Path(repos).resolve() if repos else None, work, per_repo)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End once: `make` and a time limit send the signal again while the rest is put away."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Ask both versions, print the table, and keep the figures."""
    parser = arguments()
    options = parser.parse_args()
    # A shell starts what is in the background without Ctrl-C, and `kill` sends another signal.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _interrupt)
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    machine = machine_of(options.sample)
    try:
        names = chosen(options.only)
        base, reason = base_commit(options.base)
        check_tree(options.tree)
        check_work(machine.work)
        with alone(machine.work):
            return _scored(options, machine, names, (base, reason))
    except BlockingIOError:
        parser.error(f"another scoreboard works in {machine.work}: wait for it, or set SATCHEL_BENCH_WORK")
    except ValueError as problem:
        parser.error(str(problem))
    except KeyboardInterrupt:
        print("interrupted before anything was asked", file=sys.stderr)
        return INTERRUPTED


def _scored(options: argparse.Namespace, machine: Machine, names: list[str], base: tuple[str, str]) -> int:
    began, compared_versions = time.monotonic(), versions(machine.work, base[0], options.tree.resolve())
    before, now = compared_versions
    prune(machine.work, {one.index for one in compared_versions})
    tasks, left_out = tasks_of(machine, names)
    if wanted := set(filter(None, options.repositories.split(","))):
        tasks = [task for task in tasks if wanted & {task.repo, task.concept}]
    left_out += [f"{name}: only asked by name (--only)" for name in PARTS if name in ON_REQUEST and name not in names]
    print(f"base {before.commit} ({base[1]}), now {now.commit}; indexes "
          f"{'are the same' if before.index == now.index else 'differ'}", file=sys.stderr)  # fmt: skip
    for text in left_out:
        print(f"left out: {text}", file=sys.stderr)
    if not tasks:
        message = "nothing is left to ask: set SATCHEL_EVAL and SATCHEL_BENCH_REPOS to folders with the data"
        raise ValueError(message)
    board = Board(machine, compared_versions, scorer_digest(), options.jobs)
    is_complete = board.ask(tasks)
    cases, failures = board.rows(tasks)
    parts = compared(cases)
    wall = time.monotonic() - began
    result: dict[str, Any] = {
        "base": {"commit": before.commit, "source": before.digest, "because": base[1]},
        "now": {"commit": now.commit, "source": now.digest},
        "sample": options.sample,
        "complete": is_complete,
        "left_out": left_out,
        "failed": len(failures),
        "asked": board.progress.total - sum(board.progress.open.values()),
        "seconds": {"wall": round(wall), **{f"processor {name}": round(spent) for name, spent in
                                           sorted(board.progress.processor.items())}},
        "figures": parts,
    }  # fmt: skip
    print(table(parts))
    if options.by:
        result["repositories"] = by_repository(cases)
        for repo, figures in result["repositories"].items():
            print(f"\n{repo}\n\n{table(figures)}")
    print(f"\n{result['asked']:,} answers in {wall / 60:.1f} min; processor seconds: "
          + (", ".join(f"{name} {spent:,.0f}" for name, spent in sorted(board.progress.processor.items())) or "none")
          + ("" if is_complete else "; interrupted: the same command goes on"))  # fmt: skip
    for text in failures[:MAX_FAILURES]:
        print(f"failed: {text}", file=sys.stderr)
    if len(failures) > MAX_FAILURES:
        print(f"and {len(failures) - MAX_FAILURES} more failed", file=sys.stderr)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(written(result), encoding="utf-8")
    return INTERRUPTED if not is_complete else int(bool(failures))


def written(result: dict[str, Any]) -> str:
    """The result as JSON with a figure a line."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\{\s+\"n\":[^{}]*\}", lambda found: " ".join(found[0].split()), text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
