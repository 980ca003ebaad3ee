"""The relations of tiny repositories, asked by `path::name`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.relations import CallSite, Relations
from satchel.testing import TinyRepository

Open = Callable[[Mapping[str, str]], "Asked"]


class Asked:
    """The relations of a tiny repository, asked by `path::name`."""

    def __init__(self, satchel: Satchel) -> None:
        self._snapshot = satchel.store.snapshot()
        self.relations = Relations(self._snapshot.__enter__())

    def sites(self, target: str) -> list[CallSite]:
        path, _, name = target.partition("::")
        definition = self.relations.named(path, name)
        assert definition is not None, target
        return list(self.relations.callers(definition).sites)

    def callers(self, target: str) -> list[str]:
        """`path:line` of every call."""
        return [f"{site.path}:{site.line}" for site in self.sites(target)]

    def uses(self, target: str) -> list[str]:
        """`path:line how` of everything else that names it."""
        path, _, name = target.partition("::")
        definition = self.relations.named(path, name)
        assert definition is not None, target
        return [f"{site.path}:{site.line} {site.how}" for site in self.relations.uses(definition)]

    def heirs(self, target: str) -> list[str]:
        """`path::name` of everything that inherits from it, implements or overrides it."""
        path, _, name = target.partition("::")
        definition = self.relations.named(path, name)
        assert definition is not None, target
        return [f"{one.path}::{one.qualified}" for one in self.relations.heirs(definition)]

    def unresolved(self, target: str) -> list[str]:
        """`path:line` of every call by text that is not resolved."""
        path, _, name = target.partition("::")
        definition = self.relations.named(path, name)
        assert definition is not None, target
        lines, *_ = self.relations.unresolved(definition, self.relations.callers(definition).sites)
        return [f"{path}:{line}" for path, numbers in lines.items() for line in numbers]

    def callees(self, source: str) -> list[str]:
        """`path::name` of everything that a function calls."""
        path, _, name = source.partition("::")
        definition = self.relations.named(path, name)
        assert definition is not None, source
        return [f"{one.definition.path}::{one.definition.qualified}" for one in self.relations.callees(definition.row)]

    def close(self) -> None:
        self._snapshot.__exit__(None, None, None)


@pytest.fixture
def open_files(tmp_path: Path) -> Iterator[Open]:
    opened: list[tuple[Satchel, Asked]] = []

    def open_(files: Mapping[str, str]) -> Asked:
        repository = TinyRepository(tmp_path / f"repository{len(opened)}")
        repository.commit("Add", files)
        satchel = Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")})
        satchel.index()
        opened.append((satchel, Asked(satchel)))
        return opened[-1][1]

    yield open_
    for satchel, code in opened:
        code.close()
        satchel.close()
