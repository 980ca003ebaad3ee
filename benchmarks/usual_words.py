"""The words that every project uses, with the share of pieces of 30 lines in which they occur: for hooks/answers.py.

    python benchmarks/usual_words.py --repositories FOLDER

The folder has bare repositories. A word is kept by its stem if it occurs in at least three of them and in .002 of their
pieces on average; its share is rounded to a power of 2. Read are at most 1,500 text files of each repository at HEAD.
"""

from __future__ import annotations

import argparse
import io
import math
import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from satchel import text
from satchel.hooks.answers import USUAL_WORDS

PIECE_LINES = 30
MAX_FILES, MAX_BYTES = 1_500, 200_000
LEAST_SHARE = 0.002
FEWEST = 3
LEFT_OUT = re.compile(r"node_modules|vendor/|\.min\.|yarn\.lock|\.(?:svg|po|json|lock)$")


def files(repository: Path) -> Iterator[str]:
    """The texts of a repository at HEAD."""
    command = ["git", "-c", "safe.directory=*", "--git-dir", str(repository), "archive", "HEAD"]
    command += ["--", ".", *(f":(exclude)*.{ending}" for ending in ("gif", "png", "jpg", "ico"))]
    packed = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        wanted = [m for m in archive if m.isfile() and m.size <= MAX_BYTES and not LEFT_OUT.search(m.name)]
        for member in wanted[:MAX_FILES]:
            file = archive.extractfile(member)
            raw = file.read() if file is not None else b""
            if b"\0" not in raw:
                yield raw.decode("utf-8", "replace")


def shares(repository: Path) -> dict[str, float]:
    """For each stem, the share of the pieces of a repository in which it occurs."""
    count, pieces, known = Counter[str](), 0, dict[str, tuple[str, ...]]()
    for content in files(repository):
        lines = content.split("\n")
        for start in range(0, len(lines), PIECE_LINES):
            pieces += 1
            terms = set[str]()
            for word in set(text.words("\n".join(lines[start : start + PIECE_LINES]))):
                if word not in known:
                    known[word] = text.terms_of(word)
                terms.update(known[word])
            count.update(terms)
    return {term: number / pieces for term, number in count.items() if number > 1}


def usual(tables: Sequence[Mapping[str, float]]) -> dict[int, list[str]]:
    """The words in the shares of several repositories, by power of 1/2."""
    occurs = Counter(term for table in tables for term in table)
    rows: dict[int, list[str]] = {}
    for term in sorted(occurs):
        mean = sum(table.get(term, 0.0) for table in tables) / len(tables)
        if occurs[term] >= FEWEST and mean >= LEAST_SHARE and term.isascii() and term.isalpha() and len(term) > 1:
            rows.setdefault(-round(math.log2(mean)), []).append(term)
    return rows


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=Path, required=True)
    tables = [shares(one) for one in sorted(parser.parse_args().repositories.iterdir())]
    rows = usual(tables)
    USUAL_WORDS.write_text("".join(f"{power} {' '.join(row)}\n" for power, row in sorted(rows.items())))
    print(f"{sum(map(len, rows.values()))} words of {len(tables)} repositories")


if __name__ == "__main__":
    main()
