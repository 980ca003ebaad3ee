"""Names, documents and memories with letters of other scripts, through the real index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.postgres import environment

FILES = {
    "src/maße.py": (
        "class Größe:\n    def größe_berechnen(self, länge):\n        return länge * 2\n\n\n"
        "def 名前を取得(id):\n    return id\n\n\n"
        "def получитьИмя(число):\n    return число\n"
    ),
    "src/main.py": (
        "from maße import Größe, 名前を取得, получитьИмя\n\n\n"
        "def main():\n    print(Größe().größe_berechnen(3), 名前を取得(1))\n    return получитьИмя(2)\n"
    ),
    "docs/people.md": "# People\n\nThe invoices are checked by Müller before noon.\n",
    "docs/plain.md": "# Offices\n\nThe printer is repaired by Muller in the second office.\n",
    "docs/hooks.md": "# Hooks\n\n组件用useState管理状态。用useEffect读取数据。\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("scripts")
    made = TinyRepository(folder / "shop")
    made.commit("Begin", FILES)
    with Satchel.open(made.root, environ=environment(folder / "home")) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("Grosse", "src/maße.py", 2),
        ("what does Größe do", "src/maße.py", 2),
        ("`名前を取得`", "src/maße.py", 6),
        ("where is 名前を取得 defined", "src/maße.py", 6),
        ("what does получитьИмя return", "src/maße.py", 10),
        ("masse.py", "src/maße.py", 2),
        ("useEffect", "docs/hooks.md", 1),
        ("数据", "docs/hooks.md", 1),
    ],
)
def test_a_name_is_found_as_it_is_written_and_without_accents(
    engine: Satchel, question: str, path: str, line: int
) -> None:
    first = engine.assemble(question, max_tokens=600).items[0].location
    assert first is not None
    assert first.path == path
    assert first.start_line <= line <= first.end_line


@pytest.mark.parametrize("name", ["größe_berechnen", "名前を取得", "получитьИмя"])
def test_the_calls_of_a_name_in_any_script_are_listed(engine: Satchel, name: str) -> None:
    answer = engine.assemble(f"who calls {name}", max_tokens=900).markdown
    assert f"{name}: 1 in 1 file" in answer


def test_both_spellings_find_both_and_the_exact_one_comes_first(engine: Satchel) -> None:
    written, plain = (
        [hit.chunk.title for hit in engine.search(f"what does {name} do")] for name in ("Müller", "Muller")
    )
    assert written == ["People", "Offices"]
    assert sorted(plain) == ["Offices", "People"]


def test_a_memory_is_found_and_forgotten_without_its_accents(engine: Satchel) -> None:
    stored = engine.memories.add("La contraseña de producción está en el cofre").memory
    for question in ("contrasena de produccion", "contraseña"):
        assert [found.memory.id for found in engine.memories.search(question)] == [stored.id]
        assert [memory.id for memory in engine.memories.containing(question)] == [stored.id]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Wo ist die Überweisung und wo ist Müller?", ["Überweisung"]),
        ("useState的量子在哪里", ["量子"]),
        ("状态管理", []),
        ("where is the naïve_parser", ["naïve_parser"]),
        ("呼び出すのは誰", []),
        ("어디에서 만들어집니까", []),
    ],
)
def test_a_word_of_another_script_is_only_called_not_found_where_it_has_no_other_form(
    engine: Satchel, question: str, missing: list[str]
) -> None:
    assert engine.assemble(question).meta.get("missing_terms", []) == missing
