"""Build the static table of satchel.embed.static anew: `make meaning`, about ten minutes of one core.

    python -m scripts.meaning --work build/meaning [--processes 2]

The text comes from this machine (scripts/meaning/corpus.py), the teacher is the MiniLM of the development environment.
Another machine or another library of matrices gives another table that is about as good: the files in the package are
the ones that count, and their digest is part of every fingerprint.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from satchel.embed.minilm import VOCABULARY_FILE, built
from satchel.embed.static import CELL_BYTES, DIGEST_FILE, DIMENSION, LARGEST, TABLE_FILE, WORDS_FILE, Entries
from scripts.meaning.corpus import Sentence, sentences
from scripts.meaning.solve import solve
from scripts.meaning.teacher import taught
from scripts.meaning.vocabulary import entries

ORDER_FILE = "sentences.txt"


def main() -> int:
    """Collect the sentences, ask the teacher, solve, and write the files of the package."""
    parser = argparse.ArgumentParser(description="Build the static table of meaning.")
    parser.add_argument("--work", type=Path, required=True, help="a folder for the sentences and the teacher's vectors")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    listed = _sentences(options.work / ORDER_FILE)
    print(f"{len(listed)} sentences: {dict(Counter(sentence.origin for sentence in listed))}")
    texts = [sentence.text for sentence in listed]
    vectors = taught(texts, options.work, options.processes)

    listed_entries = entries(texts, built(options.work) / VOCABULARY_FILE)
    print(f"{len(listed_entries)} entries, {sum(entry.startswith('##') for entry in listed_entries)} of them pieces")
    alone = taught(listed_entries, options.work, options.processes)

    cells = b"".join(entry.encode().ljust(CELL_BYTES) + b"\n" for entry in listed_entries)
    numbers = Entries(np.frombuffer(cells, dtype=f"S{CELL_BYTES + 1}")).numbers(texts)
    solution = solve(numbers, vectors, alone)
    print(
        f"cosine to the teacher: {solution.at_start:.3f}, solved {solution.solved:.3f}, rounded {solution.rounded:.3f}"
    )

    shifted = (solution.rows + (LARGEST + 1)).astype(np.uint8)
    packed = shifted[:, : DIMENSION // 2] | shifted[:, DIMENSION // 2 :] << 4
    WORDS_FILE.write_bytes(cells)
    TABLE_FILE.write_bytes(packed.tobytes())
    digest = hashlib.sha256(WORDS_FILE.read_bytes() + TABLE_FILE.read_bytes()).hexdigest()
    DIGEST_FILE.write_text(f"{digest}\n", encoding="ascii")
    print(f"{TABLE_FILE.name}: {len(packed)} rows, digest {digest[:12]}")
    return 0


def _sentences(path: Path) -> list[Sentence]:
    """Return the sentences of an earlier run, else those of this machine, which are kept for the next one."""
    if not path.is_file():
        lines = [f"{origin}\t{text}\n" for origin, text in sentences()]
        path.write_text("".join(lines), encoding="utf-8")
    return [Sentence(*line.split("\t", 1)) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
