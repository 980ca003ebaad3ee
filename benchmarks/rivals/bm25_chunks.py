"""BM25 over functions and the code between them, packed in rank order; what does not fit is skipped."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from answer import Ask, Shown, main, print_answer, source_files
from bm25_ranking import Ranking
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


def warm(options: Namespace) -> Ask:
    """Every chunk, indexed with its path, and how many tokens each has; what asks shows the best in rank order."""
    files = source_files(tests=options.tests)
    lines = {path: text.split("\n") for path, text in files.items()}
    every = [chunk for path, text in files.items() for chunk in chunks(path, text)]
    bodies = ["\n".join(lines[path][first - 1 : last]) for path, first, last in every]
    ranking = Ranking([f"{path}\n{body}" for (path, _, _), body in zip(every, bodies, strict=True)])
    counts: dict[int, int] = {}

    def ask(question: str, options: Namespace) -> None:
        pieces, used, shown = list[str](), 0, Shown()
        for n in ranking.best(question, CANDIDATES):
            path, first, last = every[n]
            piece = f"## {path}:{first}-{last}\n{bodies[n]}\n\n"
            tokens = counts[n] = counts.get(n) or count_tokens(piece)
            if bodies[n].strip() and used + tokens <= options.max_tokens:
                pieces.append(piece)
                used += tokens
                shown.append((path, [(first, last)]))
        print_answer("".join(pieces), shown, limit=options.max_tokens, used=used)

    return ask


if __name__ == "__main__":
    main(lambda question, options: warm(options)(question, options), warm=warm)
