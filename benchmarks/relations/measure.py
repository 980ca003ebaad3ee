"""Precision and recall of the resolver on call sites that were judged by reading (`sites.jsonl`).

    python -m benchmarks.relations.measure FOLDER [--output benchmarks/results/relations.json]

FOLDER has the clones, at the commits that the sites name.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from satchel import Satchel
from satchel.search.resolve.code import Code, Definition
from satchel.search.resolve.names import Names

HERE = Path(__file__).parent


def linked(names: Names, site: dict) -> list[Definition]:
    file = names.code.file(site["path"])
    nodes = [n for n in file.calls(site["line"], site["line"]) if file.text(n) == site["name"]] if file else []
    if not nodes:
        print("NO NODE", site)
        return []
    meant = names.meaning(file, nodes[0])
    if not meant:
        got = names.guess(file, nodes[0])
        print("   guess", site["name"], [d.key for d in got])
        return got
    return [d for d in meant if isinstance(d, Definition)]


def main() -> None:
    sites = [json.loads(line) for line in (HERE / "sites.jsonl").read_text().splitlines()]
    by = defaultdict(list)
    for s in sites: by[s["repository"]].append(s)
    tp = fp = fn = 0
    for repo, own in by.items():
        with Satchel.open(Path(sys.argv[1]) / repo) as s, s.store.snapshot() as store:
            names = Names(Code(store))
            for site in own:
                got = linked(names, site)
                keys = {f"{d.path}::{d.qualified}" for d in got}
                want = site["callee"]
                ok = want in keys
                if ok: tp += 1
                elif keys: fp += 1
                if want and not ok: fn += 1
                if (want and not ok) or (keys and not ok):
                    print("WRONG", repo, f'{site["path"]}:{site["line"]}', site["name"], "want", want, "got", sorted(keys)[:4])
    print(tp, fp, fn, "precision", tp / (tp + fp), "recall", tp / (tp + fn))


main()
