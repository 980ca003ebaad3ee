"""Jupyter notebooks for tests."""

from __future__ import annotations

import json
from typing import Any

PICTURE = "iVBORw0KGgo" + "A" * 3_000

Cell = dict[str, Any]


def cell(kind: str, source: str, outputs: list[Cell] | None = None) -> Cell:
    """A cell as the current format writes it: one string for each line."""
    made: Cell = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return made | ({"execution_count": 1, "outputs": outputs or []} if kind == "code" else {})


OUTPUTS: list[Cell] = [
    {"name": "stdout", "output_type": "stream", "text": [f"zebra number {number}\n" for number in range(80)]},
    {"data": {"image/png": PICTURE}, "metadata": {}, "output_type": "display_data"},
]

CELLS = [
    cell("markdown", "# Churn report\n\nWhy customers leave the shop.\n"),
    cell("code", "%matplotlib inline\nfrom shop.load import load_rows\n"),
    cell("markdown", "## Cleaning the rows\n\nRows without a date are dropped.\n"),
    cell(
        "code",
        'def clean_rows(rows):\n    """Drop."""\n    return [row for row in rows if row["date"]]\n',
        OUTPUTS,
    ),
    cell("code", "rows = clean_rows(load_rows('x.csv'))\n"),
]


def notebook(cells: list[Cell], language: str = "python") -> Cell:
    """A notebook of the current format."""
    return {
        "cells": cells,
        "metadata": {"kernelspec": {"name": f"{language}3"}, "language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written(content: Cell) -> str:
    """The text of a notebook as Jupyter writes it."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
