"""A question for a reason begins with the commit that gives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.query import analyse
from satchel.testing import TinyRepository

CODE = "def parse(text):\n    return cronexpr.parse(text)\n\n\ndef vendored():\n    return ['cronexpr']\n"


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder: Path = tmp_path_factory.mktemp("reasons")
    repository = TinyRepository(folder / "clock")
    repository.commit("Parse schedules", {"clock/schedule.py": CODE, "Makefile": "vendor:\n\tgo mod vendor\n"})
    repository.commit("Vendor test dependencies", {"vendor.txt": "a\n"})
    repository.commit("Vendor cronexpr in-tree\n\nUpstream deleted the repository.", {"vendor.txt": "b\n"})
    repository.commit("Vendor more test dependencies", {"vendor.txt": "c\n"})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize("purpose", ["read", "find"])
@pytest.mark.parametrize(
    "question", ["why is cronexpr vendored?", "what is the reason for vendoring cronexpr", "warum cronexpr vendored"]
)
def test_the_commit_that_gives_the_reason_comes_first(satchel: Satchel, question: str, purpose: str) -> None:
    context = satchel.assemble(question, purpose=purpose)
    assert context.items[0].source == "commit"
    assert "Upstream deleted the repository." in context.items[0].content
    assert any(item.source == "code" for item in context.items)


@pytest.mark.parametrize("question", ["where is cronexpr vendored", "why does parse return nothing for a schedule"])
def test_other_questions_and_reasons_that_no_commit_gives_begin_with_code(satchel: Satchel, question: str) -> None:
    assert satchel.assemble(question).items[0].source == "code"


def test_a_long_text_that_begins_with_why_is_an_issue_and_no_question() -> None:
    assert analyse("why is it vendored").asks_why
    assert not analyse("why is it vendored " + "and then it fails " * 20).asks_why
