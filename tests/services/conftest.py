from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.e2e.sample import sample_repository
from tests.guidance.conftest import opened as opened
from tests.guidance.conftest import write as write


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    """The sample shop: code, a test, docs and four commits."""
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    """The engine for the shop, with folders of its own."""
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        yield opened
