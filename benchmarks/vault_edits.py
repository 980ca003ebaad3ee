"""Edit, rename and delete the notes of a vault at random, and compare the index with a fresh one after each change.

    .venv/bin/python -m benchmarks.vault_edits [--edits 500] [--seed 1]

Equal means all that search and answers can see: chunks, words, fields, tags and relations. Writes
`benchmarks/results/vault_edits.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from tests.index.vaults import RandomVault, VaultIndex, fresh_vault_contents

RESULT = Path(__file__).parent / "results" / "vault_edits.json"


def main() -> int:
    """Run the edits and store what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        vault = RandomVault(base / "vault", random.Random(options.seed))
        index = VaultIndex(vault.root, base / "index.db")
        wrong, seconds, edges = [], [], 0
        for number in range(options.edits):
            what = vault.change()
            started = time.perf_counter()
            index.run()
            seconds.append(time.perf_counter() - started)
            contents = index.contents()
            edges = max(edges, len(contents["edges"]))
            if contents != fresh_vault_contents(vault.root, base):
                wrong.append({"edit": number, "what": what})
        index.close()
    result = {
        "edits": options.edits,
        "seed": options.seed,
        "different_from_fresh": len(wrong),
        "examples": wrong[:5],
        "most_edges": edges,
        "update_ms_median": round(statistics.median(seconds) * 1000, 1),
        "update_ms_p95": round(sorted(seconds)[int(len(seconds) * 0.95)] * 1000, 1),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
