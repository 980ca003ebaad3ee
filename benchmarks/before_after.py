"""What one question costs an agent that searches and reads files, and one that asks satchel: tokens and what they show.

    python benchmarks/before_after.py FLASK --out benchmarks/results/before_after.json

FLASK is a clone of pallets/flask. Each output is counted with o200k; `shown` are the deciding definitions with both of
their lines in it. The ways are a search and the files it leads to, a search with forty lines around each hit, and one
answer, whose markers depend on the key of the new home: its count varies by a few tokens. This is one example;
`questions/run.py` measures 109 questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from stopwatch import fresh_home

from satchel.tokens import counter

QUESTION = "which error handler is chosen for an exception that a view raises?"

WORD = "error_handler"

DECIDES = {
    "App._find_error_handler": ("def _find_error_handler(", "handler = handler_map.get(cls)"),
    "Flask.handle_http_exception": ("def handle_http_exception(", "if isinstance(e, RoutingException):"),
    "Flask.handle_user_exception": ("def handle_user_exception(", "if isinstance(e, HTTPException) and not"),
    "Flask.handle_exception": ("def handle_exception(", "InternalServerError(original_exception=e)"),
    "Scaffold.register_error_handler": ("def register_error_handler(", "self.error_handler_spec[None][code]"),
    "Scaffold._get_exc_class_and_code": ("def _get_exc_class_and_code(", "return exc_class, exc_class.code"),
}
"""The definitions that decide the question, each with two of its lines; an example that every way can answer."""

SEARCH = ["grep", "-rn", "--include=*.py", WORD, "src"]
WAYS: dict[str, list[list[str]]] = {
    "search, then read": [
        SEARCH,
        *(["cat", "-n", f"src/flask/{name}"] for name in ("sansio/app.py", "app.py", "sansio/scaffold.py")),
    ],
    "search with 40 lines around": [[*SEARCH[:2], "-C", "40", *SEARCH[2:]]],
    "satchel": [[sys.executable, "-m", "satchel", "context", QUESTION, "--for", "read", "--max-tokens", "3000"]],
}


def outcome(calls: Sequence[Sequence[str]], tree: Path, environment: Mapping[str, str]) -> dict[str, object]:
    """Run calls one after another; return the tokens of each output and the definitions they show together."""
    outputs = [
        subprocess.run(call, cwd=tree, env=environment, capture_output=True, text=True, check=True).stdout
        for call in calls
    ]
    tokens = [counter().count(output) for output in outputs]
    text = "".join(outputs)
    return {
        "calls": len(calls),
        "tokens": sum(tokens),
        "tokens_by_call": tokens,
        "shown": [name for name, lines in DECIDES.items() if all(line in text for line in lines)],
    }


def main() -> None:
    """Measure all three ways and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=arguments.tree, capture_output=True, text=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, **fresh_home(Path(home)), "SATCHEL_EMBED_PROVIDER": "off"}
        result = {
            "repository": f"pallets/flask at {head[:12]}",
            "question": QUESTION,
            "tokenizer": counter().name,
            "decides": list(DECIDES),
            "ways": {name: outcome(calls, arguments.tree, environment) for name, calls in WAYS.items()},
        }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
