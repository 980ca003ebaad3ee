"""BM25 over whole files: the ranked paths, then the files in rank order until the budget is spent."""

from __future__ import annotations

from argparse import Namespace

from answer import Shown, main, print_answer, source_files
from bm25_ranking import Ranking
from localization.counting import count_tokens

LISTED = 10


def _longest_head(lines: list[str], room: int) -> int:
    """How many first lines fit into `room` tokens."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens("\n".join(lines[:middle])) <= room else (low, middle - 1)
    return low


def ask(question: str, options: Namespace) -> None:
    """Rank every file, show the best from their first line on; the last one is cut where the budget ends."""
    files = source_files(tests=options.tests)
    paths = list(files)
    ranking = Ranking([f"{path}\n{files[path]}" for path in paths])
    order = [paths[n] for n in ranking.best(question, LISTED)]
    text = "".join(f"- {path}\n" for path in order)
    shown: Shown = []
    full = False
    for path in order:
        lines = files[path].removesuffix("\n").split("\n")
        head = f"\n## {path}\n"
        count = 0 if full else _longest_head(lines, options.max_tokens - count_tokens(text + head) - 2)
        full = full or count < len(lines)
        shown.append((path, [(1, count)] if count else []))
        if count:
            text += head + "\n".join(lines[:count]) + "\n"
    print_answer(text, shown, limit=options.max_tokens, used=count_tokens(text))


if __name__ == "__main__":
    main(ask)
