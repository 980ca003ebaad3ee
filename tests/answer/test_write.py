"""The counted text is never over the limit, large texts are cut to what matters, and the best hit is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from satchel.types import Context, Format
from tests.oracle import o200k

TOPICS = ["weather", "gardens", "ships", "music", "bridges", "bread", "clocks", "paper", "rivers", "chess"]


def sentences(count: int, special: dict[int, str]) -> str:
    """A paragraph on one line, about this and that."""
    rows = (
        special.get(number, f"Chapter {number} tells at some length about {TOPICS[number % 10]} and how they change.")
        for number in range(count)
    )
    return " ".join(rows)


FRAME = "The websocket frame is masked with a random key before it is sent."
FILES = {
    "README.md": f"# Reader\n\n{sentences(110, {70: FRAME})}\n",
    "shop/pool.py": "def take_connection(pool):\n    while not pool:\n        wait(pool)\n    return pool.pop()\n",
    "shop/report.py": "import os\n\n\ndef close_report(day):\n"
    + "".join(f"    total_{number} = add(day, {number})\n" for number in range(40))
    + "    return os.fspath(day)\n",
}


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("pack")
    repository = TinyRepository(folder / "reader")
    repository.commit("Write it", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as opened:
        opened.index()
        yield opened


def ask(satchel: Satchel, question: str, max_tokens: int, **options: Any) -> Context:
    context = satchel.assemble(question, max_tokens=max_tokens, refresh=False, **options)
    assert context.usage.used == o200k(context.text) <= max_tokens
    return context


@pytest.mark.parametrize("budget", [200, 400, 1_000])
def test_of_a_paragraph_on_one_line_the_sentences_that_match_are_shown(satchel: Satchel, budget: int) -> None:
    assert o200k(FILES["README.md"]) > 1_430
    context = ask(satchel, "how is a websocket frame masked?", budget)
    assert FRAME in context.text
    assert "Chapter 1 tells" not in context.text
    assert context.usage.utilization > 0.6


def test_a_long_memory_uses_the_room(satchel: Satchel) -> None:
    text = sentences(150, {90: "The zeppelin must be tied to the northern mast."})
    assert len(text) > 9_800
    satchel.memories.add(text, category="fact", importance=0.9)
    context = ask(satchel, "where is the zeppelin tied?", 1_500, types=["memories"], fill=True)
    assert "tied to the northern mast" in context.text
    assert context.usage.used > 1_000


@pytest.mark.parametrize("layout", list(Format))
@pytest.mark.parametrize("budget", [130, 200, 350, 700, 1_500, 5_000])
def test_the_best_hit_is_there_at_every_budget(satchel: Satchel, budget: int, layout: Format) -> None:
    context = ask(satchel, "take_connection from the pool", budget, format=layout)
    assert context.items[0].id == "code:shop/pool.py"


def test_more_room_shows_more_of_a_function_and_then_its_imports(satchel: Satchel) -> None:
    question = "total_20 of close_report"
    shown = [
        {line for start, end in item.spans for line in range(start, end + 1)}
        for budget in (150, 300, 1_500)
        for item in ask(satchel, question, budget, types=["code"], fill=True).items
        if item.id == "code:shop/report.py"
    ]
    assert len(shown) == 3
    assert len(shown[0]) < len(shown[1]) < len(shown[2])
    assert shown[2] >= {1, *range(4, 46)}


@pytest.mark.parametrize(
    ("question", "is_shown"),
    [
        pytest.param("the escapement of a chronometer", False, id="imports alone answer nothing"),
        pytest.param("who imports the escapement of a chronometer", True, id="unless imports are asked for"),
    ],
)
def test_lines_that_only_import_are_shown_with_the_code_that_needs_them(
    question: str, is_shown: bool, tmp_path: Path
) -> None:
    """Named as imports beside the code, and never alone: `from __future__` and its like are noise."""
    needs = "from clocks import escapement\n\n\ndef wind(chronometer):\n    return escapement(chronometer)\n"
    only = "from __future__ import annotations\n\nfrom clocks import escapement, chronometer\n\n\n"
    names = "\n\n".join(f"def run_{number}(day):\n    return day * {number}\n" for number in range(3))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Write it", {"needs.py": needs, "only.py": only + names})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        items = {item.id: item for item in opened.assemble(question, types=["code"], max_tokens=2_000).items}
    assert ("code:only.py" in items) is is_shown
    pieces = {piece.name: piece.text for piece in items["code:needs.py"].pieces}
    assert "escapement(chronometer)" in pieces["wind"]
    assert is_shown or pieces["imports"].strip() == "from clocks import escapement"


def test_the_answer_says_why_it_stopped(satchel: Satchel) -> None:
    question = "close_report for a day, or wait for the pool"
    assert ask(satchel, question, 150, fill=True).usage.stopped == "budget"
    assert ask(satchel, question, 5_000, limit=1, fill=True).usage.stopped == "limit"
    assert ask(satchel, question, 5_000, types=["code"], fill=True).usage.stopped == ""
    found = ask(satchel, "close_report, pool or websocket frame", 5_000, purpose="find")
    assert found.usage.stopped == "places"
    assert "more matches are listed under Places" in found.text


def test_an_answer_without_items_names_what_occurs_nowhere_if_there_is_room(satchel: Satchel) -> None:
    context = ask(satchel, "quaternion eigenvalues", 300)
    assert context.items == ()
    assert "Not found here: quaternion, eigenvalues." in context.text
    assert ask(satchel, "quaternion eigenvalues", 15).text == ""
    assert ask(satchel, "what is the of and", 300).text == ""
