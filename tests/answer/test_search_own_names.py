"""The name of the repository weighs nothing in a question that asks for something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.search import own_names
from satchel.testing import TinyRepository
from satchel.types import Hit

FILES = {
    "src/porter/main.py": "class Porter:\n    def porter(self):\n        return self.porter()\n",
    "src/porter/crates.py": "def lift(crate):\n    return crate.weight\n",
    "pyproject.toml": '[project]\nname = "porter"\nversion = "1"\n',
}


@pytest.mark.parametrize("folder", ["porter", "checkout"])
def test_the_name_of_the_folder_or_of_the_package_weighs_nothing(tmp_path: Path, folder: str) -> None:
    repository = TinyRepository(tmp_path / folder)
    repository.commit("Carry", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()

        def ranked(question: str) -> list[tuple[str, float]]:
            return [_place(hit) for hit in engine.search(question, types=["code"])]

        assert ranked("how does porter lift a crate") == ranked("how does it lift a crate")
        assert ranked("porter")[0][0] == ranked("what is the class Porter")[0][0] == "src/porter/main.py"
        assert "porter" in own_names(engine.opened.lines)


def _place(hit: Hit) -> tuple[str, float]:
    return hit.chunk.location.path if hit.chunk.location else "", hit.score


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ("package.json", '{\n  "name": "@example/porter",\n  "version": "1.0.0"\n}\n'),
        ("Cargo.toml", '[package]\nname = "porter"\n'),
        ("go.mod", "module example.org/tools/porter\n\ngo 1.22\n"),
        ("composer.json", '{\n    "name": "example/porter"\n}\n'),
        ("pyproject.toml", '[build-system]\nrequires = []\n\n[project]\nversion = "1"\n\nname = "porter"\n'),
        ("setup.cfg", "[metadata]\nname = porter\n"),
        ("setup.py", "setup(\n    name='porter',\n)\n"),
    ],
)
def test_manifests_tell_the_name_of_the_package(tmp_path: Path, manifest: str, text: str) -> None:
    repository = TinyRepository(tmp_path / "checkout")
    repository.commit("Carry", {manifest: text})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        assert own_names(engine.opened.lines) == {"porter"}


def test_a_name_in_another_table_is_not_that_of_the_package(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "checkout")
    repository.commit("Carry", {"pyproject.toml": '[[tool.towncrier.type]]\nname = "Removals"\n'})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        assert own_names(engine.opened.lines) == {"checkout"}
