"""Draw call sites at random, to be judged by reading before any resolver sees them.

    PYTHONPATH=src python -m benchmarks.relations.sample FOLDER > sites.jsonl

FOLDER has the clones named in `REPOSITORIES`. A site counts where its repository defines the called name at all: the
others (`len`, `println`) say nothing about resolving. Half of the sites are drawn from production code.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from satchel.sources.code.languages import Mark, grammar, language_of
from satchel.sources.code.parse import syntax_tree
from satchel.sources.outline import outline_file
from satchel.sources.roles import is_secondary

SEED = 20260
SITES = {"flask": 16, "requests": 9, "hono": 17, "dayjs": 8, "grpc-go": 25, "ripgrep": 25}
"""Repository -> sites: 25 for each of four languages."""

LANGUAGES = frozenset({"go", "javascript", "python", "rust", "tsx", "typescript"})

MAX_ALIKE = 2
"""Sites of one name in one repository: `t.Fatalf` and `app.get` would be most of the sample otherwise."""


def calls(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """(line, called name) of every call in a file."""
    from tree_sitter import QueryCursor

    source = path.read_bytes()
    language = language_of(name, source[:2000].decode("utf-8", "replace"))
    if language not in LANGUAGES:
        return
    known = grammar(language)
    tree = syntax_tree(source, known, language)
    if tree is None:
        return
    for pattern, captures in QueryCursor(known.query).matches(tree.root_node):
        if known.marks[pattern] is Mark.CALL:
            for node in captures["call"]:
                yield node.start_point[0] + 1, source[node.start_byte : node.end_byte].decode()


def sites(repository: Path, count: int) -> list[dict[str, object]]:
    """Random call sites of one repository, in the order in which they were drawn."""
    listed = subprocess.run(["git", "ls-files"], cwd=repository, check=True, capture_output=True, text=True).stdout
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    found, defined = [], set()
    for name in listed.split("\n"):
        path = repository / name
        if not name or not path.is_file() or language_of(name) not in LANGUAGES:
            continue
        outline = outline_file(name, path.read_text(encoding="utf-8", errors="replace"))[1]
        defined |= {one.name for part in outline.parts for one in part.definitions}
        found += [(name, line, called) for line, called in calls(path, name)]
    drawn: list[dict[str, object]] = []
    chance = random.Random(SEED)
    for secondary, wanted in ((False, (count + 1) // 2), (True, count // 2)):
        pool = [one for one in found if one[2] in defined and is_secondary(one[0]) is secondary]
        chance.shuffle(pool)
        taken: list[tuple[str, int, str]] = []
        for one in pool:
            if sum(one[2] == other[2] for other in taken) < MAX_ALIKE and len(taken) < wanted:
                taken.append(one)
        drawn += [
            {"repository": repository.name, "commit": head.stdout.strip(), "path": path, "line": line, "name": name}
            for path, line, name in taken
        ]
    return drawn


def main() -> None:
    """Print the sites of all repositories, one JSON object a line."""
    folder = Path(sys.argv[1])
    for repository, count in SITES.items():
        for site in sites(folder / repository, count):
            print(json.dumps(site))


if __name__ == "__main__":
    main()
