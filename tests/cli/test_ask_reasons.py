"""Every signal of files is explained in words, on the command line and on the page."""

from __future__ import annotations

from satchel.cli.commands.ask import REASONS
from satchel.search import weights
from tests.architecture.tree import ROOT

WITHOUT_WORDS = {"vectors", "table"}
"""Signals that have another name where they are shown."""


def test_each_signal_of_a_file_has_words_on_the_command_line_and_on_the_page() -> None:
    page = (ROOT / "src" / "satchel" / "web" / "page" / "words.js").read_text(encoding="utf-8")
    signals = weights.FILE_WEIGHTS.keys() - WITHOUT_WORDS
    assert signals <= REASONS.keys()
    assert [name for name in signals if f'"{name}":' not in page and f"  {name}:" not in page] == []
