"""Import a generated Tana export of many notes and relations: time, peak memory, and the second run.

    .venv/bin/python -m benchmarks.notes_scale [--notes 300000] [--links 1000000]

The export has a tree with hubs, inline references, fields with references, circles, links to itself and links to
nothing. Each run is a process of its own, so that its peak memory is its own. Writes
`benchmarks/results/notes_scale.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from satchel import Satchel

RESULT = Path(__file__).parent / "results" / "notes_scale.json"

HUB_CHILDREN = 5_000
WORDS = ("launch", "rocket", "budget", "plan", "meeting", "note", "idea", "review", "market", "design", "code", "test")


def nodes(count: int, links: int, choice: random.Random) -> Iterator[dict[str, Any]]:
    """The nodes of an export with so many notes and about so many relations, tree edges counted both ways."""
    children: dict[int, list[str]] = {}
    parents = [0] * count
    for number in range(1, count):
        parents[number] = 0 if number <= HUB_CHILDREN else choice.randrange(max(number // 20, 1))
        children.setdefault(parents[number], []).append(f"n{number}")
    spare = links - 2 * (count - 1)
    fields = spare // 4
    references = spare - fields
    yield {"id": "label", "props": {"name": "Owner", "_docType": "attrDef"}}
    for number in range(count):
        linked = references * (number + 1) // count - references * number // count
        targets = [f"n{choice.randrange(count)}" for _ in range(linked)]
        if number % 1_000 == 0:
            targets[:2] = [f"n{number}", f"gone{number}"]
        said = " ".join(choice.choices(WORDS, k=8)) + f" w{choice.randrange(50_000)}"
        name = said + "".join(f' <span data-inlineref-node="{target}"></span>' for target in targets)
        own = list(children.get(number, ()))
        if number < fields:
            own.append(f"f{number}")
            yield {"id": f"f{number}", "props": {"_docType": "tuple", "_ownerId": f"n{number}"},
                   "children": ["label", f"n{choice.randrange(count)}"]}  # fmt: skip
        props = {"name": name if number % 997 else None, "created": 1_700_000_000_000 + number}
        yield {"id": f"n{number}", "props": {**props, **({"_ownerId": f"n{parents[number]}"} if number else {})},
               "children": own, "modifiedTs": [1_750_000_000_000 + number], "touchCounts": [1]}  # fmt: skip


def write_export(path: Path, count: int, links: int) -> None:
    """Write the export as a stream."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"formatVersion": 1, "docs": [')
        for number, one in enumerate(nodes(count, links, random.Random(5))):
            file.write((",\n" if number else "\n") + json.dumps(one))
        file.write("]}")


def once(path: Path) -> int:
    """One run in this process, as JSON on standard output."""
    with Satchel.open(root=path) as satchel:
        started = time.perf_counter()
        report = satchel.index()
        seconds = time.perf_counter() - started
        held = satchel.store.statistics()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({
        "seconds": round(seconds, 2), "peak_bytes": peak, "added": report.added, "changed": report.changed,
        "notes": report.files, "edges": dict(held.edges),
    }))  # fmt: skip
    return 0


def run(path: Path, home: Path) -> dict[str, Any]:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.notes_scale", "--once", str(path)]
    environ = {**os.environ, "SATCHEL_HOME": str(home), "SATCHEL_EMBED_PROVIDER": "off"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Write the export, import it, touch it, change one note, and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=300_000)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--once", type=Path)
    options = parser.parse_args()
    if options.once is not None:
        return once(options.once)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        path = base / "export.json"
        write_export(path, options.notes, options.links)
        result: dict[str, Any] = {"export_bytes": path.stat().st_size, "first": run(path, base / "home")}
        result["index_bytes"] = sum(one.stat().st_size for one in (base / "home" / "cache").rglob("index.db*"))
        result["unchanged"] = run(path, base / "home")
        os.utime(path)
        result["touched"] = run(path, base / "home")
        path.write_text(path.read_text(encoding="utf-8").replace("budget", "changed", 1), encoding="utf-8")
        result["one_note_changed"] = run(path, base / "home")
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
