"""What handles cost, and whether the context of a change shows who calls it.

    python benchmarks/receipts.py TREE COMMIT... [--output benchmarks/results/receipts.json]

TREE is a git repository; it is cloned, not touched. For each COMMIT the work tree is put in the state in which that
commit was about to be made, and the context of the change is asked for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.search import weights
from satchel.search.change_impact import impact_of_change
from satchel.tokens import counter

QUESTIONS = (
    "session cookie is not saved when the response is streamed",
    "blueprint error handler is not called for 404",
    "TypeError in url_for with an unknown endpoint",
    "config from a file with an environment prefix",
)

CHANGE_TOKENS = 2000


def handles(satchel: Satchel) -> dict[str, Any]:
    """Tokens of the footer that lists handles."""
    tokens = cuts = 0
    for question in QUESTIONS:
        request = satchel.request(question, show_handles=True)
        context = satchel.answer(request)
        footer = [line for line in context.text.split("\n") if line.startswith("Handles: ")]
        tokens += sum(map(counter().count, footer))
        cuts += sum(len(item.cuts) for item in context.items)
    return {
        "handles": cuts,
        "tokens_a_handle": round(tokens / max(cuts, 1), 1),
    }


def change(satchel: Satchel, root: Path, commit: str) -> dict[str, Any]:
    """Who is near a change (callers, heirs and tests that call it), and who of them is not shown."""
    git(root, "checkout", "-qf", commit)
    git(root, "reset", "-q", "HEAD~1")
    satchel.index()
    found = satchel.change()
    context = satchel.assemble("", change=found, max_tokens=CHANGE_TOKENS)
    with satchel.store.snapshot() as store:
        related = impact_of_change(found, store).related
        parts = store.chunks(related)
        documents = store.documents({part.document for part in parts.values()})
    spans = {item.location.path: item.spans for item in context.items if item.location is not None}
    near = [parts[row] for row, relation in related.items() if weights.NEAR_TEST <= relation.weight < 1]
    missing = [
        part.name
        for part in near
        if not any(
            start <= part.end and part.start <= end for start, end in spans.get(documents[part.document].key, ())
        )
    ]
    return {"commit": commit, "names": list(found.names), "near": len(near), "not_shown": missing}


def git(root: Path, *arguments: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def main() -> int:
    """Run both parts."""
    parser = argparse.ArgumentParser(description="Handles, and the context of changes.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / options.tree.name
        git(Path(name), "clone", "-q", str(options.tree.resolve()), str(root))
        environ = {"SATCHEL_HOME": str(Path(name) / "home")}
        with Satchel.open(root, environ=environ) as satchel:
            satchel.index()
            result = {"tree": options.tree.name, **handles(satchel)}
            result["changes"] = [change(satchel, root, commit) for commit in options.commits]
    text = json.dumps(result, indent=2)
    print(text)
    if options.output is not None:
        options.output.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
