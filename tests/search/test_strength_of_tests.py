"""Words of a question that only tests and examples have: nothing else answers it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.search.query import analyse
from satchel.search.strength import words_of_tests
from satchel.testing import TinyRepository
from satchel.types import Kind

FILES = {
    "src/kiln.py": "def heat(kiln):\n    return kiln.clay\n",
    "tests/test_kiln.py": "def test_telemetry_of_a_kiln():\n    assert send_glaze() == 'porcelain'\n",
    "tests/fixtures/x.cabal": "name: zebra\n",
    "docs/kiln.md": "# Kilns\n\nGiraffes are fired at noon.\n",
}


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("of_tests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        repository = TinyRepository(folder / "shop")
        repository.commit("Fire the kiln", FILES)
        with Satchel.open(repository.root) as opened:
            opened.index()
            yield opened


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("telemetry: does the kiln send data", ("telemetry",)),
        ("where is Porcelain made, with zebras", ("porcelain", "zebras")),
        ("how is the kiln heated with giraffes", ()),
        ("which tests cover telemetry", ()),
        ("who calls send_glaze", ()),
        ("does the kiln have wheels", ()),
    ],
)
def test_plain_words_that_no_other_file_has_are_named(satchel: Satchel, question: str, words: tuple[str, ...]) -> None:
    assert words_of_tests(analyse(question), [(satchel.store, Kind.CODE), (satchel.store, Kind.DOC)]) == words


def test_the_answer_says_it_and_is_short(satchel: Satchel) -> None:
    context = satchel.assemble("telemetry: does the kiln send data", max_tokens=4000)
    assert "Only in tests and examples: telemetry." in context.markdown
    assert context.meta["only_in_tests"] == ["telemetry"]
