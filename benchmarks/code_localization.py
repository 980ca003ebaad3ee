"""Score satchel and its rivals on code localisation: from an issue's text to the lines that its fix changed.

    python benchmarks/code_localization.py --repos DIR --work DIR --out answers.jsonl --summary result.json \
        --index "satchel=satchel index --quiet" \
        --system "satchel=satchel context - --for read --types code --max-tokens {max_tokens} --json" \
        --rivals bm25-files,bm25-chunks,contextsmith-lexical --per-repo 10

Every system answers each instance in turn on the same checkout. A second start goes on where the first ended;
`--report` only prints. `--compare A.jsonl[:SYSTEM] B.jsonl[:SYSTEM]` prints paired differences.
The exit status is 1 when an answer failed: no JSON, a non-zero exit, or claimed lines that its text does not hold.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from localization.dataset import choose, data_digest, load_instances
from localization.report import by_system, compare, summary, summary_text, table
from localization.rivals import RIVALS, rival_system
from localization.runner import Run, System, ask_all, read_rows

Row = dict[str, Any]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, help="folder with one git repository a project: OWNER+NAME[/folder]")
    parser.add_argument("--work", type=Path, help="folder for work trees and the systems' caches")
    parser.add_argument("--out", type=Path, help="one JSON line an answer, appended")
    parser.add_argument("--summary", type=Path, help="means and intervals as JSON")
    parser.add_argument("--system", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--index", action="append", default=[], metavar="NAME=COMMAND", help="run before the question")
    parser.add_argument("--rivals", default="", help="comma-separated, of: " + ", ".join(RIVALS))
    parser.add_argument("--max-tokens", type=int, default=4000)
    parser.add_argument("--per-repo", type=int, default=0, help="first N instances of each repository; 0: all")
    parser.add_argument("--limit", type=int, default=0, help="first N instances in all; 0: all")
    parser.add_argument("--only", default="", help="regular expression on the repository's name")
    parser.add_argument("--jobs", type=int, default=1, help="repositories at a time; times are only comparable at 1")
    parser.add_argument("--groups", action="store_true", help="print every group, not only `all`")
    parser.add_argument("--report", action="store_true", help="print and store what --out holds, ask nothing")
    parser.add_argument("--compare", nargs=2, metavar="FILE[:SYSTEM]")
    return parser


def _pairs(given: list[str]) -> dict[str, str]:
    """NAME=COMMAND arguments as a mapping; raises ValueError for anything else."""
    for text in given:
        if "=" not in text:
            message = f"{text!r} is not NAME=COMMAND"
            raise ValueError(message)
    return dict(text.split("=", 1) for text in given)


def systems_of(options: argparse.Namespace) -> list[System]:
    """The systems in order of the command line, rivals last."""
    index = _pairs(options.index)
    named = [System(name, command, index.get(name, "")) for name, command in _pairs(options.system).items()]
    return named + [rival_system(name) for name in options.rivals.split(",") if name]


def rows_of(argument: str) -> list[Row]:
    """The rows of `FILE` or `FILE:SYSTEM`; raises ValueError unless exactly one system is meant."""
    path, _, name = argument.partition(":")
    found = by_system(read_rows(Path(path)))
    if name not in found and (name or len(found) != 1):
        message = f"{path} holds {', '.join(found) or 'nothing'}: name one as {path}:SYSTEM"
        raise ValueError(message)
    return found[name] if name else next(iter(found.values()))


def print_comparison(first: str, second: str) -> None:
    """Paired differences as text, a line a measure."""
    result = compare(rows_of(first), rows_of(second))
    print(f"{first} - {second}: {result.pop('n')} instances")
    for name, value in result.items():
        print(
            f"  {name:10s} {value['mean']:+.3f} ±{value['ci95']:.3f}  n {value['n']},"
            f" better {value['better']}, worse {value['worse']}"
        )


def main() -> int:
    """Run, report or compare; 0 when every answer counted."""
    parser = arguments()
    options = parser.parse_args()
    try:
        if options.compare:
            print_comparison(*options.compare)
            return 0
        if options.out is None or not (options.report or (options.repos and options.work)):
            parser.error("--out is needed, and --repos and --work unless --report is given")
        if options.report:
            rows = read_rows(options.out)
        else:
            chosen = choose(load_instances(), per_repo=options.per_repo, limit=options.limit, only=options.only)
            run = Run(options.repos, options.work, options.out, options.max_tokens, options.jobs)
            rows = ask_all(systems_of(options), chosen, run)
    except (ValueError, KeyError, RuntimeError, OSError) as problem:
        parser.error(str(problem))
    if not rows:
        print("no instance could be asked", file=sys.stderr)
        return 1
    print(table(rows, all_groups=options.groups))
    if options.summary:
        about = {"data_sha256": data_digest(), "max_tokens": options.max_tokens, "per_repo": options.per_repo}
        options.summary.parent.mkdir(parents=True, exist_ok=True)
        options.summary.write_text(summary_text(summary(rows, **about)), encoding="utf-8")
    return int(any(row.get("failure") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
