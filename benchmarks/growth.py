"""How the first answer, the index and warm questions grow over real repositories, from small to large.

    python benchmarks/growth.py TREE... --out benchmarks/results/growth.json

Each tree is cloned and gets a new home. The first answer is a whole `satchel context` without an index; `index` is a
whole first `satchel index`, in turns with that of the rival where its environment is here. The questions are asked in
one process, twice, to `find` code: `speed_questions.py` says which. The tree is not compared with the index before;
`nothing_changed` is what that takes, which a process that is asked does every two seconds at most.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from localization.rivals import rival_system
from speed_questions import questions, thinned
from stopwatch import Lap, PeakMemory, base_home, lap, quantiles, run, summary
from two_versions import MAX_TOKENS, cloned

from satchel import Satchel

SATCHEL = (sys.executable, "-m", "satchel")
RIVAL = "contextsmith-lexical"
CHECKS = 3


class Homes:
    """Homes that nothing was written to yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def new(self) -> dict[str, str]:
        """The environment of the next one."""
        self._count += 1
        return base_home(self._folder / str(self._count))


def measured(tree: Path, homes: Homes, rounds: int, count: int) -> dict[str, Any]:
    """The row of one tree."""
    every = thinned(questions(tree), count)
    first_question = [*SATCHEL, "context", every[0], "--max-tokens", str(MAX_TOKENS)]
    first, index, rival = [], [], []
    try:
        command = ["sh", "-c", rival_system(RIVAL).index]
    except RuntimeError as missing:
        print(f"left out: {missing}", file=sys.stderr)
        command = []
    for _ in range(rounds):
        first.append(lap(partial(run, first_question, tree, homes.new())))
        environment = homes.new()
        index.append(lap(partial(run, [*SATCHEL, "index", "--quiet"], tree, environment)))
        if command:
            rival.append(lap(partial(run, command, tree, homes.new())))
            subprocess.run(["git", "-C", str(tree), "clean", "-q", "-ffdx"], check=True)
    asked: dict[str, list[Lap]] = {"first": [], "second": []}
    with Satchel.open(tree, environ=environment) as opened:
        status = opened.status()
        unchanged = [lap(opened.index) for _ in range(CHECKS)]
        ask = partial(opened.assemble, max_tokens=MAX_TOKENS, types=["code"], purpose="find", refresh=False)
        ask("warm up")
        for laps in asked.values():
            laps += [lap(partial(ask, question)) for question in every]
    with (
        subprocess.Popen([*SATCHEL, "index", "--quiet"], cwd=tree, env=homes.new()) as process,
        PeakMemory(process.pid) as peak,
    ):
        process.wait()
    tracked = subprocess.run(["git", "-C", str(tree), "ls-files"], capture_output=True, check=True).stdout.count(b"\n")
    found = {
        "tree": tree.name, "files": tracked, "chunks": sum(status.statistics.chunks.values()),
        "first_answer": summary(first), "index": summary(index), "index_peak_mb": round(peak.total / 1e6, 1),
        "nothing_changed": summary(unchanged), "questions": {name: quantiles(laps) for name, laps in asked.items()},
    }  # fmt: skip
    if rival:
        ratio = min(theirs.cpu for theirs in rival) / min(ours.cpu for ours in index)
        found |= {RIVAL: summary(rival), "rival_by_satchel_cpu": round(ratio, 2)}
    return found


def main() -> None:
    """Measure each tree, and write the rows after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", type=Path, nargs="+", help="git work trees")
    parser.add_argument("--rounds", type=int, default=2, help="runs of everything that takes long")
    parser.add_argument("--count", type=int, default=40, help="questions of a tree")
    parser.add_argument("--out", type=Path, required=True, help="where to store the JSON")
    options = parser.parse_args()
    rows = []
    for tree in options.trees:
        with tempfile.TemporaryDirectory(prefix="satchel-") as folder:
            copy = cloned(tree.resolve(), Path(folder))
            rows.append(measured(copy, Homes(Path(folder) / "homes"), options.rounds, options.count))
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(rows[-1]))


if __name__ == "__main__":
    main()
