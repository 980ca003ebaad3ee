"""A notebook over a real memory file, with a clock that goes on by a second a call and numbered ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from satchel.memory.scope import EVERYWHERE, Notebook
from satchel.store.sqlite import SqliteStore

HERE = "shop-0123456789abcdef"
ELSEWHERE = "bank-fedcba9876543210"
START = 1_750_000_000.0

MakeNotebook = Callable[..., Notebook]


@pytest.fixture
def make_notebook(tmp_path: Path) -> Iterator[MakeNotebook]:
    """Opens the memory file of a name for a workspace."""
    opened: list[SqliteStore] = []
    seconds, digits = count(START), count(1)

    def make(workspace: str = HERE, name: str = "memory") -> Notebook:
        store = SqliteStore(tmp_path / f"{name}.db", durable=True, workspaces=(workspace, EVERYWHERE))
        opened.append(store)
        return Notebook(store, workspace, (), lambda: next(seconds), lambda: f"{next(digits):06x}")

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def notebook(make_notebook: MakeNotebook) -> Notebook:
    """The memory file as one repository sees it."""
    return make_notebook()
