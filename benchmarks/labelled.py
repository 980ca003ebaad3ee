"""Benchmarks that ask one version of satchel in a folder of repositories and keep its figures under a label."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from options import folder, output

SOURCE = Path(__file__).resolve().parents[1] / "src"


def parsed(description: str | None) -> Namespace:
    """Return the options `repositories`, `label`, `out` and `show`; what is imported then comes from `--source`."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=folder)
    parser.add_argument("--source", type=folder, default=SOURCE)
    parser.add_argument("--label", default="now", help="the name of these figures in the file")
    parser.add_argument("--out", type=output)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    sys.path.insert(0, str(given.source))
    return given


def keep(given: Namespace, figures: Any) -> None:
    """Print the figures, and add them to the file of `--out` under their label."""
    print(json.dumps(figures))
    if given.out:
        stored = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
        stored[given.label] = figures
        given.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
