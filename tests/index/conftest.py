"""A small repository and its index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.index.indexing import Index


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "root")
    repository.commit("Begin", {"src/a.py": "def apple():\n    return banana()\n", "README.md": "# Title\n\nApples.\n"})
    return repository


@pytest.fixture
def index(repository: TinyRepository, tmp_path: Path) -> Iterator[Index]:
    index = Index(repository.root, tmp_path / "index.db")
    yield index
    index.close()
