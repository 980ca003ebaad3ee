"""Questions that are nothing but places of lines, through the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.search.query import analyse
from satchel.testing import TinyRepository

LAMP = (
    "def light(lamp):\n    return lamp.on()\n\n\n"
    "def shop(lamp):\n    # The lamp of a shop burns all night.\n"
    "    # It is said that a dark shop sells nothing at all,\n"
    "    # and that nobody who passes by looks into it.\n    # So it burns.\n    return lamp.burn()\n\n\n"
    "def dark(lamp):\n    return lamp.off()\n"
)


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        repository = TinyRepository(folder / "shop")
        files = {"src/lamp.py": LAMP, "src/shop.py": "from src import lamp\n\n\ndef src():\n    return lamp\n"}
        repository.commit("Light the lamp of src in the shop", files | {"docs/lamp.md": "# Lamp\n\nThe lamp of src.\n"})
        with Satchel.open(repository.root) as opened:
            yield opened


@pytest.mark.parametrize(
    "question",
    [
        "src/lamp.py:8",
        "what happens at src/lamp.py:7-8?",
        "explain lines 6 to 9 of src/lamp.py",
        "https://forge.example.org/ada/shop/blob/main/src/lamp.py#L7-L9",
    ],
)
def test_a_question_that_is_only_a_place_shows_what_is_there_with_its_comments(satchel: Satchel, question: str) -> None:
    (item,) = satchel.assemble(question).items
    assert item.title == "src/lamp.py"
    assert "dark shop sells nothing" in item.content
    assert "def shop(lamp):" in item.content
    assert "lamp.on()" not in item.content
    assert "lamp.off()" not in item.content


def test_a_place_that_is_not_here_is_answered_by_its_words(satchel: Satchel) -> None:
    assert satchel.assemble("src/lantern/lamp_shop.py:8").items


@pytest.mark.parametrize(
    ("question", "is_place"),
    [
        ("src/a.py:12", True),
        ("what does src/a.py:12 do?", True),
        ("src/a.py:12 src/b.py:14-20", True),
        ("why does src/a.py:12 return a lamp", False),
        ("src/a.py", False),
        ("src/a.py:12: error: undefined name", False),
        ('File "src/a.py", line 12, in light', False),
    ],
)
def test_only_a_question_without_other_telling_words_is_only_places(question: str, is_place: bool) -> None:
    assert analyse(question).only_places == is_place
