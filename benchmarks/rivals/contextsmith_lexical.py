"""ContextSmith, lexical: its own packed text for the budget, and the lines that this text shows."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable

from answer import Shown, main, print_answer, visible_spans
from contextsmith.engine import Engine

LISTED_FILE = re.compile(r"^- (\S+)  \(", re.MULTILINE)
SECTION = re.compile(r"^### (\S+)$", re.MULTILINE)
OUTLINE_LINE = re.compile(r"  # L(\d+)$", re.MULTILINE)


def index() -> None:
    """A full index, as `ctxsmith index` makes it; the scorer removes it with the next checkout."""
    report = Engine(".").index(semantic=False)
    if not report.files_parsed:
        raise SystemExit("no file was parsed: is tree-sitter-language-pack older than 1?")


def outlined(text: str) -> dict[str, list[int]]:
    """Line numbers that the outlines of each file's section name."""
    pieces = SECTION.split(text)
    return {
        path: [int(number) for number in OUTLINE_LINE.findall(section)]
        for path, section in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def ask(question: str, options: Namespace) -> None:
    """The text of `ctxsmith context`; bodies by its own spans, outlines by the signatures found in the text."""
    pack = Engine(".").context(question, budget=options.max_tokens)
    lines: dict[str, list[int]] = {path: [] for path in LISTED_FILE.findall(pack.text)}
    for path in pack.files:
        lines.setdefault(path, [])
    for path, first, last in pack.spans:
        lines[path].extend(range(first, last + 1))
    for path, numbers in outlined(pack.text).items():
        lines.get(path, []).extend(numbers)
    shown: Shown = [(path, visible_spans(path, numbers, pack.text)) for path, numbers in lines.items()]
    print_answer(pack.text, shown, limit=options.max_tokens, used=pack.tokens)


def warm(_: Namespace) -> Callable[[str, Namespace], None]:
    """Its engine alone, kept: what it takes to say which lines an answer shows is not its time."""
    engine = Engine(".")

    def packed(question: str, options: Namespace) -> None:
        engine.context(question, budget=options.max_tokens)

    return packed


if __name__ == "__main__":
    main(ask, index, warm)
