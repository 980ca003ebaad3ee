"""Peripheral files and routine commits step back, unless the question asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.strength import relevance_of
from satchel.testing import TinyRepository
from satchel.types import Hit

FILES = {
    "src/login.py": "def login(password):\n    '''Compare it in a safe time.'''\n    return compare(password)\n",
    "docs/login.md": "# Login\n\nThe password is compared safely.\n",
    "package.json": '{"name": "shop", "exports": {"login": "password compare safe time login"}, "zebra": "gallop"}\n',
    "CHANGELOG.md": "# Changes\n\n## 1.0\n\nThe login compares a password in a safe time.\n",
    "docs/de/login.md": "# Login\n\nlogin password compare safe time auf Deutsch\n",
}


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("peripherals")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        repository = TinyRepository(folder / "shop")
        repository.commit("Compare the password in a safe time", FILES)
        repository.commit("Bump compare of password time from 1.0 to 1.1", {"src/a.py": "a = 1\n"})
        with Satchel.open(repository.root) as opened:
            opened.index()
            yield opened


def by_path(hits: list[Hit]) -> dict[str, Hit]:
    hits_by_path: dict[str, Hit] = {}
    for hit in hits:
        if hit.chunk.location is not None:
            hits_by_path.setdefault(hit.chunk.location.path, hit)
    return hits_by_path


def test_a_manifest_a_changelog_and_a_translation_come_after_the_page_about_it(satchel: Satchel) -> None:
    hits = by_path(satchel.search("login compare password safe time", types=["docs"]))
    assert next(iter(hits)) == "docs/login.md"
    for path in ("package.json", "CHANGELOG.md", "docs/de/login.md"):
        assert hits[path].relevance < relevance_of(1.0, 0.31)
        assert "peripheral" in {signal.name for signal in hits[path].signals}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("what does package.json export for login password compare", "package.json"),
        ("which login change is in the changelog", "CHANGELOG.md"),
        ("german page of the login password", "docs/de/login.md"),
    ],
)
def test_what_a_question_names_counts_in_full(satchel: Satchel, question: str, path: str) -> None:
    hit = by_path(satchel.search(question, types=["docs"]))[path]
    assert "peripheral" not in {signal.name for signal in hit.signals}


def test_a_peripheral_file_answers_what_no_other_file_does(satchel: Satchel) -> None:
    hits = by_path(satchel.search("zebra gallop", types=["docs"]))
    assert hits["package.json"].relevance > relevance_of(0.99)


def test_a_routine_commit_comes_last_and_counts_little(satchel: Satchel) -> None:
    first, second = satchel.search("compare of the password in time", types=["commits"])
    assert first.chunk.title == "Compare the password in a safe time"
    assert second.relevance < relevance_of(1.0, 0.31, 2)
    assert "routine" in {signal.name for signal in second.signals}


def test_a_routine_commit_counts_in_full_where_it_is_asked_for(satchel: Satchel) -> None:
    first = satchel.search("bump of compare", types=["commits"])[0]
    assert first.chunk.title.startswith("Bump")
    assert first.relevance == relevance_of(1.0)


def test_the_brief_shows_no_routine_commits(satchel: Satchel) -> None:
    text = satchel.brief().text
    assert "Compare the password" in text
    assert "Bump compare" not in text


def test_a_brief_of_few_commits_leaves_routine_ones_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    for number in range(6):
        repository.commit(f"Step {number} of the parser", {"a.py": f"a = {number}\n"})
    for number in range(3):
        repository.commit(f"Bump tool from {number} to {number + 1}", {"b.txt": f"{number}\n"})
    with Satchel.open(repository.root) as opened:
        opened.index()
        assert "Bump" not in opened.brief().text
