"""Real code in any amount, for benchmarks of size: the Python files of installed packages, and copies of them.

In a copy every identifier that few files have gets another name, so common words stay as common and rare words as rare
as they are in real code. Questions are first sentences of doc strings, and whole issues from the evaluation data.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from localization.dataset import load_instances
from msgspec.structs import replace

from satchel import text as words
from satchel.sources.outline import outline_file
from satchel.store.extract import extract
from satchel.store.records import NewDocument
from satchel.system import files
from satchel.types import Kind, Outline

POOL_FILES = 1_200
POOL_BYTES = (2_000, 60_000)
RARE_FILES = 2
"""An identifier in at most so many files of the pool is renamed in every copy."""
MAX_TOKENS = 4000
SENTENCES, ISSUES = 60, 20
SEED = 20
IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the pool, the outline of its text, and the identifiers in it that are renamed."""

    path: str
    text: str
    outline: Outline
    rare: frozenset[str]


def load_pool(folder: Path) -> list[Source]:
    """A sample of the Python files below a folder, in an order that is random but always the same."""
    found = [path for path in sorted(folder.rglob("*.py")) if POOL_BYTES[0] <= path.stat().st_size <= POOL_BYTES[1]]
    random.Random(SEED).shuffle(found)
    texts = {}
    for path in found[:POOL_FILES]:
        texts[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    identifiers = {name: set(IDENTIFIER.findall(text)) for name, text in texts.items()}
    holders = Counter(word for found_words in identifiers.values() for word in found_words)
    pool = []
    for name, text in texts.items():
        _, outline = outline_file(name, text)
        rare = frozenset(word for word in identifiers[name] if holders[word] <= RARE_FILES)
        if outline.parts:
            pool.append(Source(name, text, outline, rare))
    return pool


def syllables(number: int) -> str:
    """A made-up ending for copy `number`: letters only, so that the word stays one word."""
    letters = ""
    while number:
        number, digit = divmod(number, 100)
        letters += "bcdfghjklmnpqrstvwxz"[digit // 5] + "aeiou"[digit % 5]
    return letters


def renamed(source: Source, copy: int) -> tuple[str, str, Outline]:
    """Path, text and outline of a copy; copy 0 is the file itself. Lines keep their numbers."""
    if not copy:
        return f"copy0/{source.path}", source.text, source.outline
    ending, rare = syllables(copy), source.rare

    def change(text: str) -> str:
        return IDENTIFIER.sub(lambda match: match[0] + ending if match[0] in rare else match[0], text)

    parts = tuple(
        replace(
            part,
            name=change(part.name),
            signature=change(part.signature),
            definitions=tuple(replace(found, name=change(found.name)) for found in part.definitions),
            references=tuple(replace(found, target=change(found.target)) for found in part.references),
        )
        for part in source.outline.parts
    )
    return f"copy{copy}/{source.path}", change(source.text), replace(source.outline, parts=parts)


def documents(
    pool: Sequence[Source], chunks: int, root: Path, key: bytes, *, on_disk: bool = True
) -> Iterator[NewDocument]:
    """Files until there are so many chunks, each as the index makes it and, with `on_disk`, below `root`."""
    count = copy = 0
    while True:
        for source in pool:
            path, text, outline = renamed(source, copy)
            raw = text.encode()
            if on_disk:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(raw)
            yield NewDocument(
                kind=Kind.CODE,
                key=path,
                text=text,
                extraction=extract(text, outline),
                path_terms=words.count_terms(words.words(path)),
                content_hash=files.content_hash(raw, key),
                size=len(raw),
                title=path,
                origin="file",
            )
            count += len(outline.parts)
            if count >= chunks:
                return
        copy += 1


def questions(pool: Sequence[Source]) -> dict[str, list[str]]:
    """First sentences of doc strings, and issues if the evaluation data is there."""
    summaries = sorted(
        {part.summary for source in pool for part in source.outline.parts if part.summary.count(" ") > 3}
    )
    chosen = random.Random(SEED).sample(summaries, SENTENCES)
    try:
        rows = load_instances()
    except FileNotFoundError:
        return {"sentences": chosen}
    return {"sentences": chosen, "issues": [row["query"] for row in rows[:: len(rows) // ISSUES]][:ISSUES]}
