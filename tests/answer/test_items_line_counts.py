"""Commits that are shown say how many lines they changed, and their text does not depend on it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.items import counted_hits
from satchel.operations.json import search_envelope
from satchel.operations.operation import Caller
from satchel.operations.registry import OPERATIONS
from satchel.sources.commits import LineCounts
from satchel.testing import TinyRepository

QUESTION = "backoff between attempts"


@pytest.fixture
def shop(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add the client", {"client.py": "def send():\n    pass\n"})
    repository.commit("Wait with backoff between attempts", {"client.py": "def send():\n    wait()\n    again()\n"})
    return repository


@pytest.fixture
def satchel(shop: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    with Satchel.open(shop.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        yield opened


def test_a_shown_commit_says_how_many_lines_it_changed(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["commits", "code"])
    (shown,) = [item for item in context.items if item.source == "commit"]
    assert shown.metadata["insertions"] == 2
    assert shown.metadata["deletions"] == 1
    assert shown.metadata["files_changed"] == ["client.py"]
    assert all("insertions" not in item.metadata for item in context.items if item.source == "code")


def test_what_cannot_be_counted_is_noted_and_changes_no_byte(satchel: Satchel, shop: TinyRepository) -> None:
    satchel.index()
    (shop.root / ".git").rename(shop.root / "away")
    request = satchel.request(QUESTION, types=["commits"])
    uncounted = satchel.answer(request)
    assert [item.metadata["insertions"] for item in uncounted.items] == [None]
    assert [failure.source for failure in uncounted.failures] == ["commits"]
    (shop.root / "away").rename(shop.root / ".git")
    counted = satchel.answer(request)
    assert [item.metadata["insertions"] for item in counted.items] == [2]
    assert (counted.text, counted.failures) == (uncounted.text, ())


@pytest.mark.parametrize("operation", ["context_query", "search"])
def test_an_answer_that_is_shown_as_text_alone_starts_no_git(
    operation: str, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel.index()
    arguments = {"question": QUESTION, "types": ["commits"], "refresh": False}
    shown = OPERATIONS[operation].run(satchel, arguments, Caller()).text
    monkeypatch.delattr(subprocess, "Popen")
    satchel.opened.line_counts = LineCounts(satchel.places.root)
    alone = OPERATIONS[operation].run(satchel, arguments, Caller(shows_data=False))
    assert alone.text.splitlines()[-1] == shown.splitlines()[-1]
    assert "Wait with backoff" in alone.text
    assert alone.envelope["failures"] == []


def test_hits_are_counted_when_they_are_shown(satchel: Satchel) -> None:
    every = satchel.search(QUESTION, types=["commits", "code"], min_score=0.0)
    hits, failures = counted_hits(every, satchel.opened.line_counts.of)
    assert failures == []
    shown = {hit["source"]: hit for hit in search_envelope(QUESTION, hits, failures, "1")["hits"]}
    assert shown["commit"]["metadata"]["insertions"] == 2
    assert shown["commit"]["metadata"]["author"] == "Ada"
    assert shown["code"]["metadata"] == {}


def test_hits_without_commits_ask_no_git(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = satchel.search("send", types=["code"])
    monkeypatch.setattr("satchel.system.git._command", None)
    assert counted_hits(hits, satchel.opened.line_counts.of) == (hits, [])
