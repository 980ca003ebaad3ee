"""Questions why or when something changed: whether the commit or the release note that answers is shown, or first.

    python benchmarks/why_changed.py --repos DIR --work DIR --out benchmarks/results/why_changed.json

`--repos` has one git repository a project (OWNER+NAME), which is cloned below `--work`. Each question is asked over all
kinds in 3,000 tokens, and again with commits and documents weighted as for any other question. `code_files` counts the
files of code that remain.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from options import keep

from satchel import Satchel, __version__
from satchel.answer import weights
from satchel.fitted import changed

QUESTIONS = (
    ("pallets+flask", "why was the async helper method removed", "2889da67"),
    ("pallets+flask", "why was _blueprint_order removed", "83d358d2"),
    ("pallets+flask", "why was context copying removed from run_async", "cb13128c"),
    ("pallets+flask", "why are 307/308 routing redirects no longer intercepted in debug mode", "c9a1f7ad"),
    ("pallets+flask", "why was it changed to abort if the instance folder cannot be created", "3d03098a"),
    ("pallets+flask", "when did flask start to require a newer flit_core, and why", "fe3b215d"),
    ("psf+requests", "why was chardet replaced by charset_normalizer", "2ed84f55"),
    ("psf+requests", "why was extracting zip paths changed to read and write instead of extract", "24630743"),
    ("psf+requests", "why was URLRequired removed from the docs of exceptions", "e361622f"),
    ("honojs+hono", "why does RegExpRouter no longer throw UnsupportedPathError at the first match", "8a0b18fd"),
    ("honojs+hono", "why was the Vary: Accept-Encoding header added to compress", "8f070282"),
    ("honojs+hono", "why was useRef changed to have overloads", "2df0b476"),
    ("pallets+flask", "why is TextField deprecated in favor of StringField", "6517a1a"),
    ("pallets+flask", "why is pop prevented when no flashes are in the session", "57920a5"),
    ("pallets+flask", "why does _compat use feature detection", "47bdf9f"),
    ("psf+requests", "why are lock-threads disabled on forks", "48676ca"),
    ("psf+requests", "why is the CA cert path detected automatically", "62a23bf"),
    ("spf13+cobra", "why is svg used for the images", "a40354f"),
    ("spf13+cobra", "why is the periodic labeler disabled", "94a87a7"),
    ("spf13+cobra", "why can mousetrap be disabled", "c46add8"),
    ("expressjs+express", "why do the examples use path.join", "8eb95ae"),
    ("expressjs+express", "why is debug pinned", "7515ee6"),
    ("pimutils+vdirsyncer", "why are dependencies pinned for ete tests", "aafafaa"),
    ("pimutils+vdirsyncer", "why is there no error when the status_path dir does not exist", "b6d3b99"),
    ("iamkun+dayjs", "why are sub-second precisions rounded at the seconds field", "a9d7d03"),
    ("iamkun+dayjs", "why did installing a plugin many times leak memory", "b8d2e32"),
)  # fmt: skip
"""Repository, question, and the commit whose message gives the reason."""

NOTES = (
    ("pallets+flask", "why is autoescaping no longer active for all templates", "Autoescaping is no longer active"),
    ("pallets+flask", "why were the eager-loading and lazy-loading options removed", "--eager-loading/--lazy-loading"),
    ("BurntSushi+ripgrep", "why was the simd-accel feature removed", "it was frequently broken"),
    ("BurntSushi+ripgrep", "why was the avx-accel feature removed", "has been removed since it is no longer"),
    ("pytest-dev+pytest", "why was support for yield tests removed", "they are fundamentally broken"),
    ("pytest-dev+pytest", "why was the scope argument removed from request.addfinalizer", "remove scope-argument from"),
    ("jqlang+jq", "why was pow10 removed", "deprecated in glibc"),
    ("sqlfluff+sqlfluff", "why was the ContainsOnly grammar removed", "remained only as an anti-pattern"),
    ("sqlfluff+sqlfluff", "why was the heuristic slicer removed", "as it was replaced by JinjaTracer"),
    ("aio-libs+aiohttp", "why was set_current_app removed from UrlMappingMatchInfo", "it is no longer used"),
    ("expressjs+express", "why was make test-cov removed", "wont work with node"),
)
"""Repository, question, and words of the release note that gives the reason."""

BUDGET = 3_000


def shown(satchel: Satchel, question: str, factor: float) -> tuple[list[str], set[str], str]:
    """Return the commits and the files of code that an answer shows, and what it begins with."""
    with changed(weights, "HISTORY_FACTOR", factor):
        items = satchel.assemble(question, max_tokens=BUDGET, refresh=False).items
    commits = [one.id.partition(":")[2] for one in items if one.source == "commit"]
    return commits, {one.id for one in items if one.source == "code"}, items[0].id if items else ""


def shown_note(satchel: Satchel, question: str, told: str, factor: float) -> int | None:
    """Return the place from 0 of the item that shows the words of a release note, None where none does."""
    with changed(weights, "NOTES_FACTOR", factor):
        items = satchel.assemble(question, max_tokens=BUDGET, refresh=False).items
    places = (place for place, one in enumerate(items) if one.source in ("doc", "code") and told in one.content)
    return next(places, None)


def main() -> None:
    """Parse the command line, measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    os.environ["SATCHEL_HOME"] = str(given.work / "home")
    factor, rows, engines = weights.HISTORY_FACTOR, [], {}
    for name in dict.fromkeys(name for name, *_ in (*QUESTIONS, *NOTES)):
        if not (given.work / name).exists():
            subprocess.run(["git", "clone", "-q", given.repos / name, given.work / name], check=True)
        engines[name] = Satchel.open(root=given.work / name)
        engines[name].refresh()
    for name, question, commit in QUESTIONS:
        plain, usual_code, _ = shown(engines[name], question, 1.0)
        commits, code, first = shown(engines[name], question, factor)
        rows.append({
            "repository": name, "question": question, "commit": commit,
            "shown": any(one.startswith(commit) for one in commits),
            "first": first.startswith(f"commit:{commit}"),
            "shown_without": any(one.startswith(commit) for one in plain),
            "code_files": len(code), "code_files_without": len(usual_code),
        })  # fmt: skip
    notes = [
        {
            "repository": name, "question": question, "note": told,
            "place": shown_note(engines[name], question, told, weights.NOTES_FACTOR),
            "place_without": shown_note(engines[name], question, told, 1.0),
        }
        for name, question, told in NOTES
    ]  # fmt: skip
    totals = {
        key: sum(row[key] for row in rows)
        for key in ("shown", "first", "shown_without", "code_files", "code_files_without")
    }
    places = [one["place"] for one in notes]
    totals["notes_shown"], totals["notes_first"] = len(places) - places.count(None), places.count(0)
    totals["notes_shown_without"] = sum(one["place_without"] is not None for one in notes)
    stored = {"version": __version__, "budget": BUDGET, "factor": factor, **totals, "questions": rows, "notes": notes}
    keep(stored, given.out)


if __name__ == "__main__":
    main()
