"""BM25 over functions and the code between them, packed in rank order; what does not fit is skipped."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from answer import Shown, main, print_answer, source_files
from bm25_ranking import ranked
from localization.counting import count_tokens
from localization.functions import definitions

CANDIDATES = 200
GAP_LINES = 60
"""A stretch without functions is cut into pieces of this many lines."""

Chunk = tuple[str, int, int]


def chunks(path: str, text: str) -> Iterator[Chunk]:
    """Outermost functions and the gaps between them; lines 1-based and inclusive."""
    last = text.count("\n") + 1
    place = 1
    for item in definitions(path, text.encode("utf-8")):
        if item.is_function and item.depth == 0 and item.start >= place:
            yield from gaps(path, place, item.start - 1)
            yield path, item.start, item.end
            place = item.end + 1
    yield from gaps(path, place, last)


def gaps(path: str, first: int, last: int) -> Iterator[Chunk]:
    """The lines from `first` to `last` in pieces."""
    for start in range(first, last + 1, GAP_LINES):
        yield path, start, min(start + GAP_LINES - 1, last)


def ask(question: str, options: Namespace) -> None:
    """Rank every chunk with its path, show the best under the path of their file."""
    files = source_files(tests=options.tests)
    lines = {path: text.split("\n") for path, text in files.items()}
    every = [chunk for path, text in files.items() for chunk in chunks(path, text)]
    bodies = ["\n".join(lines[path][first - 1 : last]) for path, first, last in every]
    order = ranked([f"{path}\n{body}" for (path, _, _), body in zip(every, bodies, strict=True)], question, CANDIDATES)
    text = ""
    shown: Shown = []
    for n in order:
        path, first, last = every[n]
        longer = f"{text}## {path}:{first}-{last}\n{bodies[n]}\n\n"
        if bodies[n].strip() and count_tokens(longer) <= options.max_tokens:
            text = longer
            shown.append((path, [(first, last)]))
    print_answer(text, shown, limit=options.max_tokens, used=count_tokens(text))


if __name__ == "__main__":
    main(ask)
