"""What one question passes in the code: functions, files, changes of file, and the calls from the door to the pipeline.

    python benchmarks/journey.py TREE --source src --as now --out benchmarks/results/journey.json
    python benchmarks/journey.py TREE --source ../older/src --as before --out benchmarks/results/journey.json

`satchel context` is asked once in a clone of TREE whose index is fresh, in one process without a resident one. Only
functions of the package that run count, in all threads; lambdas, comprehensions, the bodies of modules and classes and
what an import runs do not. The door is the method `answer` of the engine; the pipeline is `assemble`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

QUESTION = "how does the packer fill the budget"

RECORDER = """
import json, sys, threading
out, package = sys.argv[1:3]
calls, chain = [], []
def of(frame):
    code = frame.f_code
    name = code.co_filename
    is_function = code.co_flags & 2 and not code.co_name.startswith("<")  # class bodies have no such flag
    inside = name.startswith(package) and is_function
    return (name[len(package):], getattr(code, "co_qualname", code.co_name)) if inside else None
def note(frame, event, _argument):
    if event != "call" or (row := of(frame)) is None:
        return
    depth, above = 0, frame
    while above is not None:
        if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(package):
            return  # what an import runs is no part of the question
        depth, above = depth + (of(above) is not None), above.f_back
    calls.append((*row, depth))
    if not chain and row[1] == "assemble" and row[0].endswith("pipeline.py"):
        while frame is not None and frame.f_code.co_name != "_context_query":
            chain.append(of(frame))
            frame = frame.f_back
threading.setprofile(note)
sys.setprofile(note)
sys.argv = ["satchel", *sys.argv[3:]]
from satchel.cli.main import main
main()
sys.setprofile(None)
json.dump({"calls": calls, "chain": [row for row in chain if row]}, open(out, "w"))
"""
"""Runs the command line and writes every call with its depth, and the frames from the door to the pipeline."""


def ask(tree: Path, source: Path) -> dict[str, Any]:
    """Ask once with this version of the package and return what was passed."""
    with tempfile.TemporaryDirectory(prefix="satchel-journey-") as folder:
        home = {name: f"{folder}/{name}" for name in ("HOME", "SATCHEL_HOME")}
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(source), "SATCHEL_EMBED_PROVIDER": "off", **home}
        root, out = Path(folder, "tree"), Path(folder, "calls.json")
        subprocess.run(["git", "clone", "-q", str(tree), str(root)], check=True)

        def run(*words: str) -> None:
            subprocess.run([sys.executable, *words], cwd=root, env=environment, capture_output=True, check=True)

        run("-m", "satchel", "index")
        run("-m", "satchel", "context", QUESTION)
        run("-c", RECORDER, str(out), f"{source / 'satchel'}/", "context", QUESTION)
        recorded = json.loads(out.read_text(encoding="utf-8"))
    calls = recorded["calls"]
    files = [file for file, _, _ in calls]
    visited = list(dict.fromkeys((file, name) for file, name, _ in calls))
    return {
        "calls": len(calls),
        "functions": len(visited),
        "files": len(set(files)),
        "changes of file on first visits": sum(a[0] != b[0] for a, b in pairwise(visited)),
        "deepest call": max(depth for _, _, depth in calls),
        "calls from the door to the pipeline": sum(file != "engine.py" for file, _ in recorded["chain"]),
        "from the pipeline up": [f"{file}::{name}" for file, name in recorded["chain"]],
        "functions by file": {file: sum(one == file for one, _ in visited) for file in sorted(set(files))},
    }


def main() -> None:
    """Measure one source folder and store it under its label, beside the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--source", type=Path, default=Path("src"))
    parser.add_argument("--as", dest="label", default="now")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    result = ask(chosen.tree.resolve(), chosen.source.resolve())
    print(json.dumps(result, indent=1))
    if chosen.out is not None:
        stored = json.loads(chosen.out.read_text(encoding="utf-8")) if chosen.out.exists() else {}
        chosen.out.write_text(json.dumps(stored | {chosen.label: result}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
