"""Layouts, strategies and the longer footer on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Satchel
from tests.oracle import o200k

pytestmark = pytest.mark.usefixtures("shop")

QUESTION = "how long does backoff wait between attempts"


def test_a_view_is_chosen_by_name(satchel: Satchel) -> None:
    entities = satchel("context", QUESTION, "--view", "entities").out
    assert "## " not in entities.replace("### ", "")
    assert "## Relevant Code" in satchel("context", QUESTION, "--view", "entities", "--group-by-type").out
    assert "### backoff\n*shop/client.py:" in entities
    blocks = satchel("context", QUESTION, "--view", "blocks").out
    assert "### function: backoff\n*shop/client.py:" in blocks
    assert "(score: 0." in blocks


def test_the_json_of_a_view_counts_its_text(satchel: Satchel) -> None:
    envelope = satchel("context", QUESTION, "--view", "blocks", "--format", "xml", "--meta", "--json").json
    assert envelope["usage"]["used"] == o200k(envelope["text"])
    assert envelope["meta"]["request"]["view"] == "blocks"
    assert "<tokenizer>o200k_base, exact</tokenizer>" in envelope["text"]


def test_the_footer_says_on_request_how_it_was_counted(satchel: Satchel) -> None:
    assert "Counted with: o200k_base, exact" in satchel("context", QUESTION, "--meta").out
    assert "Counted with" not in satchel("context", QUESTION).out


def test_an_unknown_strategy_or_view_is_answered_with_all(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--strategy", "half")
    assert ran.code == 2
    assert "choose from ladder, signature-first, bookend" in ran.err
    ran = satchel("context", QUESTION, "--view", "tree")
    assert ran.code == 2
    assert "'sections', 'entities', 'blocks'" in ran.err


def test_a_strategy_says_what_it_left_out(satchel: Satchel) -> None:
    body = "".join(f"    wait_{number} = attempt * {number} + backoff({number})\n" for number in range(90))
    Path("shop/long.py").write_text(f"def backoff_between_attempts(attempt):\n{body}    return attempt\n")
    text = satchel("context", QUESTION, "--types", "code", "--strategy", "bookend").out
    assert "# " in text
    assert "lines left out (" in text
    assert "    return attempt" in text
