"""Notebooks are read as the source of their cells, each line at its line of the file."""

from __future__ import annotations

import json

import pytest

from satchel.sources.notebook import readable_notebook
from satchel.sources.outline import outline_file, readable
from satchel.types import Kind, Role
from tests.sources.code.rendering import assert_tiles
from tests.sources.notebooks import CELLS, Cell, cell, notebook, written

SHOWN = """\
# %% [notebook python]
# %% [markdown]
# # Churn report
#
# Why customers leave the shop.
# %%
# %matplotlib inline
from shop.load import load_rows
# %% [markdown]
# ## Cleaning the rows
#
# Rows without a date are dropped.
# %%
def clean_rows(rows):
    \"\"\"Drop.\"\"\"
    return [row for row in rows if row["date"]]
# %%
rows = clean_rows(load_rows('x.csv'))"""


def shown(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line)


def test_every_line_of_source_is_at_its_line_of_the_file_and_outputs_are_blank() -> None:
    text = written(notebook(CELLS))
    read = readable_notebook(text)
    assert shown(read) == SHOWN
    lines = read.split("\n")
    assert len(lines) == len(text.split("\n"))
    for line, raw in zip(lines, text.split("\n"), strict=True):
        if line and "%%" not in line:
            written_line = json.loads(raw.strip().rstrip(",")).rstrip("\n")
            assert line in {written_line, f"# {written_line}".rstrip()}


def test_code_cells_are_outlined_as_code_and_markdown_cells_are_sections() -> None:
    text = readable_notebook(written(notebook(CELLS)))
    kind, outline = outline_file("report.ipynb", text)
    assert_tiles(outline, text)
    assert (kind, outline.language, outline.parsed) == (Kind.CODE, "python", True)
    assert [(part.role, part.name) for part in outline.parts if part.name] == [
        (Role.SECTION, "Churn report"),
        (Role.SECTION, "Churn report > Cleaning the rows"),
        (Role.FUNCTION, "clean_rows"),
    ]
    (imported,) = outline.imports
    assert text.split("\n")[imported.start - 1] == "from shop.load import load_rows"
    (function,) = [one for part in outline.parts for one in part.definitions if one.name == "clean_rows"]
    assert text.split("\n")[function.line - 1] == "def clean_rows(rows):"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(notebook(CELLS)),
        written(notebook([{**one, "source": "".join(one["source"])} for one in CELLS])),
        json.dumps(notebook(CELLS), indent=1).replace('"source": [\n    ', '"source": ['),
    ],
    ids=["one line", "a string for each cell", "brackets on the line of the first string"],
)
def test_a_notebook_without_a_line_for_each_line_of_source_has_the_lines_of_its_cells(text: str) -> None:
    read = readable_notebook(text)
    assert shown(read) == SHOWN
    _, outline = outline_file("report.ipynb", read)
    assert_tiles(outline, read)
    assert "clean_rows" in [part.name for part in outline.parts]


def test_line_ends_of_windows_change_nothing() -> None:
    text = written(notebook(CELLS))
    assert readable_notebook(text.replace("\n", "\r\n")) == readable_notebook(text)
    inside = notebook([{**one, "source": [line.replace("\n", "\r\n") for line in one["source"]]} for one in CELLS])
    assert readable_notebook(written(inside)) == readable_notebook(text)


def test_a_notebook_of_format_3_has_its_cells_in_worksheets() -> None:
    cells: list[Cell] = [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Setup"]},
        {
            "cell_type": "code",
            "input": ["import os\n", "x = 1"],
            "language": "python",
            "outputs": [{"text": ["zebra"]}],
        },
        {"cell_type": "raw", "source": ["as it is"]},
    ]
    text = json.dumps({"metadata": {"name": ""}, "nbformat": 3, "worksheets": [{"cells": cells}]}, indent=1)
    read = readable_notebook(text)
    assert shown(read).split("\n")[1:] == [
        "# %% [markdown]", "# ## Setup", "# %%", "import os", "x = 1", "# %% [raw]", "# as it is",
    ]  # fmt: skip
    assert len(read.split("\n")) == len(text.split("\n"))


@pytest.mark.parametrize(
    ("language", "mark"),
    [("R", "# %% [notebook r]"), ("javascript", "// %% [notebook javascript]"), ("Q#", "# %% [notebook]")],
)
def test_the_kernel_decides_the_language(language: str, mark: str) -> None:
    read = readable_notebook(written(notebook([cell("code", "x = 1\n")], language)))
    assert read.split("\n")[0] == mark
    kind, outline = outline_file("a.ipynb", read)
    assert_tiles(outline, read)
    assert kind is (Kind.DOC if language == "Q#" else Kind.CODE)


def test_what_ipython_runs_in_another_language_is_a_comment() -> None:
    read = readable_notebook(
        written(notebook([cell("code", "%%bash\nls\n"), cell("code", "%%time\n!pip list\nf()\n")]))
    )
    assert shown(read).split("\n")[1:] == ["# %%", "# %%bash", "# ls", "# %%", "# %%time", "# !pip list", "f()"]


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '{"a": 1}', '"cells"', "<<<<<<< HEAD\n{}\n", "[" * 100_000, '{"cells": [' + "[" * 50_000,
        "plain text\n",
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_notebook_stays_as_it_is(text: str) -> None:
    assert readable_notebook(text) == text
    assert_tiles(outline_file("a.ipynb", text)[1], text)


@pytest.mark.parametrize(
    "content",
    [
        {"cells": []},
        {"cells": None, "metadata": []},
        {"cells": [3, None, {}, {"source": 5}, {"cell_type": "code", "source": []}], "metadata": {"kernelspec": 3}},
        {"worksheets": [None, {"cells": 4}]},
        notebook([{"cell_type": "code", "source": [1, "x = 1\n", None]}]),
        notebook([{"cell_type": None, "source": ["a\n", "b"], "level": "x"}]),
        notebook([{"cell_type": "heading", "source": "A", "level": []}]),
        notebook([{"source": ["a\n"], "input": ["b\n"]}]),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_strange_notebook_is_read_without_a_failure(content: Cell, indent: int | None) -> None:
    read = readable_notebook(json.dumps(content, indent=indent))
    assert read.split("\n")[0].startswith("# %% [notebook")
    assert_tiles(outline_file("a.ipynb", read)[1], read)


def test_any_other_file_is_read_as_it_is() -> None:
    text = written(notebook(CELLS))
    assert readable("report.json", text) is text
    assert shown(readable("REPORT.IPYNB", text)) == SHOWN
