"""What the user pins is shown first, whatever else is found, and never over the budget."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.pins import Pin, parse_pin
from satchel.config import load_settings
from satchel.errors import UsageError
from satchel.testing import TinyRepository
from tests.e2e.sample import sample_repository
from tests.oracle import o200k

QUESTION = "how long does backoff wait"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "pin"),
    [
        ("src/a.py", Pin("src/a.py")),
        ("./src/a.py:12", Pin("src/a.py", 12, 12)),
        ("src/a.py:10-20", Pin("src/a.py", 10, 20)),
        ("notes:draft.md", Pin("notes:draft.md")),
        ("C:\\x.py:3", Pin("C:/x.py", 3, 3)),
    ],
)
def test_a_pin_is_a_path_with_or_without_lines(text: str, pin: Pin) -> None:
    assert parse_pin(text) == pin


@pytest.mark.parametrize("text", ["", "  ", "a.py:0-3", "a.py:9-3"])
def test_what_names_no_lines_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"include|names no lines"):
        parse_pin(text)


def test_a_pinned_range_is_shown_before_what_was_found(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["code"], include=["shop/prices.py:1-2"], max_tokens=400)
    assert context.items[0].title == "shop/prices.py"
    assert context.items[0].spans == ((1, 2),)
    assert context.items[0].signals[0].name == "pin"
    assert "0.1 * 2**attempt" in context.text


def test_a_pin_joins_what_was_found_of_its_file(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["code"], include=["shop/client.py:1-3"])
    (item,) = [item for item in context.items if item.title == "shop/client.py"]
    assert item.spans[0][0] == 1
    assert context.text.count("### shop/client.py") == 1


def test_a_pinned_chunk_gets_a_section_of_its_own(satchel: Satchel, repository: TinyRepository) -> None:
    repository.commit("Plan", {"PLAN.md": "# Plan\n\nNothing that anybody asks for.\n"})
    context = satchel.assemble(QUESTION, types=["code"], include=["PLAN.md"])
    assert context.sources_used["docs"] == 1
    assert "Nothing that anybody asks for." in context.text


PRIVATE = "only-for-me"


@pytest.mark.parametrize("path", [".git/config", ".git/logs/HEAD", "local/notes.py", ".hidden/notes.txt"])
def test_only_indexed_files_can_be_pinned(satchel: Satchel, repository: TinyRepository, path: str) -> None:
    place = repository.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{PRIVATE}\n", encoding="utf-8")
    repository.write({".gitignore": "local/\n"})
    context = satchel.assemble(QUESTION, include=[path])
    (failure,) = context.failures
    assert failure.source == "include"
    assert "not in the index" in failure.message
    assert PRIVATE not in context.text


def test_a_repository_can_neither_pin_nor_hide_files(repository: TinyRepository) -> None:
    own = '[context]\ninclude = [".git/config", "README.md"]\nexclude = ["shop/client.py"]\n'
    repository.write({".satchel.toml": own})
    with Satchel.open(repository.root) as satchel:
        context = satchel.assemble(QUESTION, types=["code"])
    assert "shop/client.py" in {item.title for item in context.items}
    assert not any(signal.name == "pin" for item in context.items for signal in item.signals)
    notes = " ".join(note.message for note in load_settings(repository.root).notes)
    assert "context.include is ignored" in notes
    assert "context.exclude is ignored" in notes


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("../outside.py", "outside-root"),
        ("nowhere.py", "there is no such file"),
        ("nothing/here", "there is no such file"),
        ("shop/prices.py:400-500", "it has only"),
        (".env", "secret-file"),
    ],
)
def test_a_pin_that_cannot_be_shown_is_a_named_failure(
    satchel: Satchel, repository: TinyRepository, pin: str, said: str
) -> None:
    repository.write({".env": "NAME=value\n"})
    context = satchel.assemble(QUESTION, include=[pin])
    (failure,) = context.failures
    assert failure.source == "include"
    assert said in failure.message
    assert "0.1 * 2**attempt" in context.text


def test_a_pin_that_is_too_large_is_shown_from_its_beginning(satchel: Satchel, repository: TinyRepository) -> None:
    repository.commit("Long", {"long.py": "".join(f"value_{n} = {n}\n" for n in range(900))})
    context = satchel.assemble(QUESTION, types=["code"], include=["long.py"], max_tokens=600)
    pinned = context.items[0]
    assert pinned.title == "long.py"
    assert pinned.spans[0][0] == 1
    assert o200k(context.text) <= 600
    assert context.usage.utilization > 0.5


def test_a_pack_needs_no_question_where_something_is_included(satchel: Satchel, repository: TinyRepository) -> None:
    with pytest.raises(UsageError, match="the question is empty"):
        satchel.assemble("")
    repository.write({"README.md": "# Shop\n\nOrders of books.\n"})
    context = satchel.assemble("", include=["README.md", "shop"], max_tokens=8_000)
    files = sorted(str(path.relative_to(repository.root)) for path in (repository.root / "shop").iterdir())
    shown = [item.title for item in context.items]
    assert shown == [*(path for path in files if path.endswith(".py")), "README.md"]
    assert context.usage.used <= 8_000
    for item in context.items:
        assert (repository.root / item.title).read_text().strip() in item.content
    assert all(signal.name == "pin" for item in context.items for signal in item.signals)


def test_a_folder_that_does_not_fit_is_shown_from_its_first_file(satchel: Satchel) -> None:
    context = satchel.assemble("", include=["shop/"], max_tokens=200)
    assert 0 < context.usage.used <= 200
    assert context.usage.stopped == "budget"
    assert [one.title for one in context.overflow]


def test_a_pin_in_another_spelling_is_the_only_file_like_it(repository: TinyRepository, satchel: Satchel) -> None:
    apart = unicodedata.normalize("NFD", "docs/Käse.md")
    repository.commit("Add", {apart: "# Cheese\n\nKept cold.\n", "Web/Page.py": "def page():\n    return 1\n"})
    satchel.index()
    named = ["Shop/Prices.py:1-2", "docs/käse.md", "web"]
    context = satchel.assemble(QUESTION, types=["code", "docs"], include=named, max_tokens=900)
    assert not context.failures
    shown = {item.title for item in context.items if any(signal.name == "pin" for signal in item.signals)}
    assert shown == {"shop/prices.py", "Web/Page.py", apart}
    repository.commit("Add", {"shop/PRICES.py": "x = 1\n"})
    satchel.index()
    both = satchel.assemble(QUESTION, types=["code"], include=["Shop/Prices.py"], max_tokens=900)
    assert [failure.message for failure in both.failures] == ["Shop/Prices.py: there is no such file"]
