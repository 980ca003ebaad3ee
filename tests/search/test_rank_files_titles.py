"""A document is found by the words of its file name and of its title, even where its text has neither."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.postgres import environment

OTHERS = {
    f"docs/note-{number}.md": f"# Notes {number}\n\nThe gateway forwards request {number} to the backend.\n"
    for number in range(6)
}
FILES = OTHERS | {
    "docs/retry-policy.md": "# How we call again\n\nA failed call is made thrice.\n\n## Waiting\n\nThe wait doubles.\n",
    "docs/incident_runbook.md": "First stop the traffic.\n\n## Then\n\nTell everybody.\n",
    "docs/duty.md": (
        '---\ntitle: "Escalation matrix"\nlayout: page\n---\n\nPhones are charged.\n\n'
        "## Nights\n\nThe lead is woken.\n\n## Weekends\n\nNobody is woken.\n"
    ),
    "docs/tapes.rst": "Rotation plan\n=============\n\nDaily.\n\nVault\n=====\n\nThe tape leaves the house.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("titles")
    made = TinyRepository(folder / "handbook")
    made.commit("Begin", FILES)
    with Satchel.open(made.root, environ=environment(folder / "home")) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize(
    ("question", "path", "shown"),
    [
        ("retry policy", "docs/retry-policy.md", "The wait doubles."),
        ("where is the RetryPolicy described", "docs/retry-policy.md", "A failed call is made thrice."),
        ("incident runbook", "docs/incident_runbook.md", "Tell everybody."),
        ("escalation matrix", "docs/duty.md", "Nobody is woken."),
        ("what does the escalation matrix say about nights", "docs/duty.md", "The lead is woken."),
        ("rotation plan", "docs/tapes.rst", "The tape leaves the house."),
    ],
)
def test_a_document_is_found_by_its_name_and_its_title(engine: Satchel, question: str, path: str, shown: str) -> None:
    answer = engine.assemble(question, max_tokens=600)
    assert {item.location.path for item in answer.items if item.location} == {path}
    assert shown in answer.markdown
    assert answer.meta["missing_terms"] == []
