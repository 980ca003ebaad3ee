"""One small shop that all of these tests may ask, and the real command on a repository of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.contracts.five import remember, repository
from tests.e2e.command import Satchel as Command
from tests.postgres import own_home

Shop = Callable[[Mapping[str, str]], Satchel]


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine with memories, code, experiences, values and commits about three things. Tests only ask it."""
    folder = tmp_path_factory.mktemp("specifications")
    environ = {**own_home(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(repository(folder / "shop").root, environ=environ) as opened:
        opened.index()
        remember(opened)
        yield opened


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Opens a repository with these files in one commit, and closes it afterwards."""
    opened: list[Satchel] = []

    def open_shop(files: Mapping[str, str]) -> Satchel:
        TinyRepository(tmp_path / "shop").commit("Begin", files)
        environ = {**own_home(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
        opened.append(Satchel.open(root=tmp_path / "shop", environ=environ))
        return opened[-1]

    yield open_shop
    for satchel in opened:
        satchel.close()


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The real command, in the repository that `shop` opens."""
    (tmp_path / "shop").mkdir(exist_ok=True)
    return Command(tmp_path / "shop", tmp_path / "home")
