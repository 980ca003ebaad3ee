"""Notebooks through the whole index: their functions and headings are found, their outputs are not in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from satchel.types import Kind
from tests.postgres import environment
from tests.sources.notebooks import CELLS, PICTURE, cell, notebook, written

REPORT = written(notebook(CELLS))
FILES = {
    "analysis/report.ipynb": REPORT,
    "analysis/small.ipynb": json.dumps(notebook([cell("code", "def blend(tea):\n    return tea\n")])),
    "analysis/broken.ipynb": REPORT.replace("load_rows", "pear_rows")
    .replace('"cells"', "cells")
    .replace("zebra", "gnu"),
    "analysis/empty.ipynb": "",
    "shop/__init__.py": "",
    "shop/load.py": "def load_rows(path):\n    return list(open(path))\n",
}


@pytest.fixture
def made(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", FILES)
    return repository


@pytest.fixture
def engine(made: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    with Satchel.open(made.root, environ=environment(tmp_path / "home")) as opened:
        opened.index()
        yield opened


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


@pytest.mark.parametrize(
    ("question", "path", "shown"),
    [
        ("where are rows without a date dropped by clean_rows", "analysis/report.ipynb", "def clean_rows(rows):"),
        ("`clean_rows`", "analysis/report.ipynb", "def clean_rows(rows):"),
        ("churn report", "analysis/report.ipynb", "# Why customers leave the shop."),
        ("cleaning the rows", "analysis/report.ipynb", "# Rows without a date are dropped."),
        ("blend tea", "analysis/small.ipynb", "def blend(tea):"),
        ("pear_rows", "analysis/broken.ipynb", "from shop.load import pear_rows"),
    ],
)
def test_a_question_finds_the_function_and_the_heading(engine: Satchel, question: str, path: str, shown: str) -> None:
    answer = engine.assemble(question, max_tokens=1_000)
    first = answer.items[0].location
    assert first is not None
    assert first.path == path
    assert shown in answer.markdown


def test_the_lines_of_an_answer_are_those_of_the_file(engine: Satchel) -> None:
    answer = engine.assemble("`clean_rows`", max_tokens=1_000)
    number = line_of(REPORT, "def clean_rows")
    location = answer.items[0].location
    assert location is not None
    assert location.start_line <= number <= location.end_line
    assert REPORT.split("\n")[number - 1].strip() == '"def clean_rows(rows):\\n",'


def test_outputs_are_not_in_the_index(engine: Satchel) -> None:
    document = engine.store.document(Kind.CODE, "analysis/report.ipynb")
    assert document is not None
    text = engine.store.text(document.id)
    assert document.language == "python"
    assert "zebra" not in text
    assert PICTURE[:20] not in text
    assert engine.assemble("zebra number").meta["missing_terms"] == ["zebra"]


def test_calls_between_notebooks_and_modules_are_resolved(engine: Satchel) -> None:
    answer = engine.assemble("who calls load_rows", max_tokens=1_000).markdown
    assert "Call sites of load_rows: 1 in 1 file" in answer
    assert f"analysis/report.ipynb: {line_of(REPORT, 'rows = clean_rows')}; " in answer
    assert "Call sites of clean_rows: 1 in 1 file" in engine.assemble("who calls clean_rows", max_tokens=1_000).markdown


def test_a_cell_that_was_edited_is_shown_as_it_is_now(engine: Satchel, made: TinyRepository) -> None:
    edited = REPORT.replace('row[\\"date\\"]', 'row[\\"day\\"]').replace("zebra", "giraffe")
    assert edited != REPORT
    made.write({"analysis/report.ipynb": edited})
    answer = engine.assemble("`clean_rows`", max_tokens=1_000).markdown
    assert 'row["day"]' in answer
    assert 'row["date"]' not in answer
    engine.index()
    assert 'row["day"]' in engine.assemble("`clean_rows`", max_tokens=1_000).markdown


def test_a_cell_that_moved_is_found_at_its_new_lines(engine: Satchel, made: TinyRepository) -> None:
    made.write({"analysis/report.ipynb": written(notebook([cell("markdown", "# Before\n"), *CELLS]))})
    text = (made.root / "analysis/report.ipynb").read_text(encoding="utf-8")
    location = engine.assemble("`clean_rows`", max_tokens=1_000).items[0].location
    assert location is not None
    assert location.start_line <= line_of(text, "def clean_rows") <= location.end_line


def test_a_notebook_is_expanded_and_searched_by_pattern_as_cells(engine: Satchel) -> None:
    number = line_of(REPORT, "def clean_rows")
    shown = engine.expand(["analysis/report.ipynb:clean_rows"]).markdown
    assert '    return [row for row in rows if row["date"]]' in shown
    assert "zebra" not in shown
    shown = engine.expand([f"analysis/report.ipynb:{number}-{number}"]).markdown
    assert "def clean_rows(rows):" in shown
    assert "Drop." not in shown
    found = engine.search_pattern(r"def clean_\w+\(rows\):").text
    assert (
        f"### analysis/report.ipynb\n@@{number - 1}-{number + 2} clean_rows\n{number}\tdef clean_rows(rows):" in found
    )
    assert not engine.search_pattern("zebra number 7").matches
