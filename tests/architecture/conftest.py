"""The syntax trees of the whole repository, which go with these tests: later ones would pay for them at every sweep."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.tree import modules


@pytest.fixture(scope="package", autouse=True)
def trees() -> Iterator[None]:
    yield
    modules.cache_clear()
