"""The features of the candidates for each mined fix and each development issue, and which of them the fix changed.

    python -m ranker.extract --repos DIR --data fixes.jsonl --issues --out FOLDER

Each instance is indexed at the parent of its fix and asked as the engine asks; the input of the ranker is written to
one file an instance, with what the simulated packer needs (`ranker.packing`). Several processes may share the
work: each takes the repositories that no other has taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from localization.dataset import load_instances, load_scorer

from satchel.engine import Satchel
from satchel.errors import SatchelError
from satchel.evaluation.fixes import Snapshot
from satchel.safety import sanitize
from satchel.search import rank_files, ranker
from satchel.search.query import analyse
from satchel.search.votes import Votes
from satchel.store.protocol import Store
from satchel.system.git import find_repository
from satchel.types import Kind

LARGEST_FILE = 2_000_000


def signals_of(store: Store, instance: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arrays of one instance by name; None if it has no terms or none of its files is indexed."""
    query, lexicon = analyse(sanitize.text(instance["query"], ())), store.lexicon(Kind.CODE)
    ids = {document.key: document.id for document in store.documents(lexicon.columns.document_id.tolist()).values()}
    gold_files = [path for path in instance["gold_files"] if path in ids]
    if not query.terms or not gold_files:
        return None
    asked: list[Any] = []

    def capture(signals: ranker.Signals, spans: Any, values: Any, _: float) -> Any:
        asked.append((signals, spans, values.copy()))
        return values

    ranking = rank_files.rank(query, store, lexicon, Kind.CODE, Votes(query, store), revalue=capture)
    if not asked:
        return None
    signals, spans, values = asked[0]
    order = np.argsort(-values, kind="stable")[: ranker.CANDIDATES]
    spans, values = spans[order], values[order]
    made = ranker.features(signals, spans, values)
    columns = lexicon.columns
    chunk, document = columns.span_chunk[spans], lexicon.span_document[spans]
    first, last = lexicon.chunk_first_span[chunk], lexicon.chunk_first_span[chunk] + lexicon.chunk_span_count[chunk] - 1
    characters = np.bincount(columns.span_chunk, columns.span_characters, len(columns.chunk_row))
    positions = dict(
        zip(gold_files, lexicon.document_positions([ids[path] for path in gold_files]).tolist(), strict=True)
    )
    gold = [(positions[path], *lines) for path in gold_files for lines in instance["gold_lines"].get(path, [])]
    return {
        "names": np.array(list(made)),
        "features": np.stack(list(made.values()), 1).astype(np.float32),
        "value": values,
        "framed": ranking.value[spans] > values + 1e-9,
        "span": np.stack([columns.span_start[spans], columns.span_end[spans], columns.span_characters[spans]], 1),
        "chunk": np.stack([chunk, columns.span_start[first], columns.span_end[last], characters[chunk]], 1),
        "document": document,
        "gold": np.array(gold, dtype=np.int64).reshape(-1, 3),
        "counts": np.array([len(instance["gold_files"]), sum(map(len, instance["gold_lines"].values()))]),
        "strength": np.array([ranking.evidence.strength]),
        "about": np.array([instance["id"], instance["repo"], instance["lang"], instance["source"]]),
    }


def extract(repos: Path, repo: str, rows: list[dict[str, Any]], out: Path) -> int:
    """Write the signals of all instances of a repository, the oldest first; return how many."""
    origin = load_scorer().git_directory(repos, repo)
    if origin is None:
        return 0
    count = 0
    with tempfile.TemporaryDirectory(prefix="satchel-ranker-") as folder:
        work = Path(folder)
        clone = work / "clone"
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(origin), str(clone)], check=True)
        repository = find_repository(clone)
        assert repository is not None
        tree = Snapshot(work / "tree", repository, most_bytes=LARGEST_FILE)
        engine: Satchel | None = None
        times = _times(clone, {row["base_commit"] for row in rows})
        rows = [row for row in rows if row["base_commit"] in times]
        for row in sorted(rows, key=lambda row: (times[row["base_commit"]], row["base_commit"])):
            target = out / f"{row['id'].replace('/', '+')}.npz"
            if target.exists():
                continue
            try:
                tree.move_to(row["base_commit"])
                if engine is None:
                    home = {"SATCHEL_HOME": str(work / "home"), "HOME": str(work / "home")}
                    settings = {"embed.provider": "off", "index.workers": 1}
                    engine = Satchel.open(work / "tree", root=work / "tree", settings=settings, environ=home)
                engine.index()
                arrays = signals_of(engine.store, row)
            except (SatchelError, OSError) as error:
                print(f"{row['id']}: left out, {error}", file=sys.stderr)
                continue
            if arrays is not None:
                unfinished = target.with_suffix(".part.npz")
                np.savez_compressed(unfinished, **arrays)
                unfinished.rename(target)
                count += 1
        if engine is not None:
            engine.close()
    return count


def _times(clone: Path, commits: set[str]) -> dict[str, int]:
    """Return the times of commits, to go through a history in small steps; a stored copy may lack a commit."""
    times: dict[str, int] = {}
    for commit in commits:
        command = ["git", "-C", str(clone), "show", "-s", "--format=%ct", commit]
        done = subprocess.run(command, check=False, capture_output=True)
        if done.returncode == 0:
            times[commit] = int(done.stdout)
    return times


def main() -> int:
    """Extract all instances of the data that have no file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="mined fixes, one JSON object a line")
    parser.add_argument("--issues", action="store_true", help="the development issues, too")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    mined = map(json.loads, options.data.read_text(encoding="utf-8").splitlines())
    for row in [*(load_instances() if options.issues else ()), *mined]:
        rows[row["repo"]].append(dict(row))
    for repo in sorted(rows, key=lambda name: hashlib.sha256(name.encode()).digest()):
        taken = options.out / f".{repo.replace('/', '+')}.taken"
        with suppress(FileExistsError):
            os.close(os.open(taken, os.O_CREAT | os.O_EXCL))
            count = extract(options.repos, repo, rows[repo], options.out)
            print(f"{repo:32s} {count:4d} of {len(rows[repo]):4d}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
