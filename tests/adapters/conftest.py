"""Each framework is tested in an environment of its own (`make check-adapters`); elsewhere its tests do not exist."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from tests.e2e.sample import sample_repository

PACKAGES = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}


def run_documented(framework: str, root: Path) -> dict[str, Any]:
    """Run the program of docs/adapters.md for a framework in a folder; returns its variables."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (program,) = (one for one in programs if f"satchel.adapters.{framework} " in one)
    variables: dict[str, Any] = {}
    with contextlib.chdir(root):
        exec(compile(program, "docs/adapters.md", "exec"), variables)
    return variables


QUESTION = "how is an order sent again when the connection drops, with exponential backoff?"

collect_ignore = [f"test_{name}.py" for name, package in PACKAGES.items() if find_spec(package) is None]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """The sample shop. Tests only ask it."""
    folder = tmp_path_factory.mktemp("adapters")
    root = sample_repository(folder / "shop").root
    with Satchel.open(root, environ={"SATCHEL_HOME": str(folder / "home")}) as opened:
        opened.index()
        yield opened
