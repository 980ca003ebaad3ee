from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from satchel.engine import Satchel
from satchel.web.middleware import Access
from tests.e2e.sample import sample_repository
from tests.web.asking import client_of, environment
from tests.web.page_fixtures import opened_page, page, page_home, page_state  # noqa: F401 - fixtures of test_page*


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository and folders of satchel of its own, for one module."""
    folder = tmp_path_factory.mktemp("web")
    sample_repository(folder / "shop")
    return folder


@pytest.fixture(scope="module")
def engine(home: Path) -> Iterator[Satchel]:
    """An engine on the small repository."""
    with Satchel.open(root=home / "shop", environ=environment(home)) as opened:
        yield opened


@pytest.fixture
def access() -> Access:
    """Who may ask, with a ticket that nobody used."""
    return Access("of-the-tests-" * 3, 8123)


@pytest.fixture
def client(engine: Satchel, access: Access) -> Iterator[TestClient]:
    """A program with the token, talking to the application in this process."""
    with client_of(engine, access) as opened:
        yield opened
