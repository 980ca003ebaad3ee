"""No answer shows an attempt without its end, whatever the budget, the door and the form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Context, Satchel
from satchel.types import Format
from tests.e2e.sample import sample_repository
from tests.memory.samples import CONFIRMED, STARTED

GOAL = "Halve the time of the nightly price export before the shops open in the north"
ACTION = "Fetch all warehouses at once with forty parallel connections from the export worker"
HYPOTHESIS = "The warehouses answer slowly because the export asks one of them after the other"
RESULT = "The gateway of the carrier closed our account for a whole day"
CAUSE = "The contract allows three connections and nobody in the team had read its third annex"
LESSON = "Keep three connections and begin the export an hour earlier"
QUESTIONS = (GOAL, ACTION, HYPOTHESIS, f"zzqx {GOAL}", "fetch the warehouses in parallel", "nightly price export")


def _attempt(engine: Satchel, status: str, number: int = 0) -> None:
    text = f" in hall {number}" if number else ""
    engine.experiences.start(
        domain="performance", strategy="trial-and-error", goal=GOAL + text, hypothesis=HYPOTHESIS + text,
        action=ACTION + text, prediction="The export takes half an hour " * 8,
    )  # fmt: skip
    learned: dict[str, Any] = {"lesson": LESSON, "takeaway": "Read the contract"}
    if status == "falsified":
        learned |= {"surprise": "They count per account", "root_cause": "missing-knowledge"}
        learned |= {"root_cause_description": CAUSE}
    engine.experiences.resolve(status=status, result=RESULT, **learned)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine that remembers failed attempts, long enough to be cut. Tests only ask it."""
    folder = tmp_path_factory.mktemp("endings")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        with Satchel.open(sample_repository(folder / "shop").root) as opened:
            for number in range(6):
                _attempt(opened, "falsified", number)
            _attempt(opened, "abandoned")
            opened.index()
            yield opened


def check(context: Context) -> None:
    """Every item with a word of the attempt has its end, and the end comes first."""
    shown = [item for item in context.items if item.source == "experience"]
    for item in shown:
        text = item.content
        attempt = [place for part in (GOAL, ACTION, HYPOTHESIS) if (place := text.find(part[:32])) >= 0]
        ends = [place for part in (RESULT, CAUSE, LESSON) if (place := text.find(part[:24])) >= 0]
        assert ends, text
        if not text.startswith(("Tried ", "Given up: ")):
            assert min(ends) < min(attempt, default=len(text)), text
    for row in context.overflow:
        is_attempt = any(part[:32] in row.title for part in (GOAL, ACTION, HYPOTHESIS))
        assert row.source != "experience" or not is_attempt or RESULT[:12] in row.title, row.title


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_shows_no_attempt_without_its_end(engine: Satchel, question: str, format_: Format) -> None:
    for budget in range(60, 900, 70):
        for options in ({}, {"types": ["experiences"]}, {"types": ["memories", "experiences", "values"], "fill": True}):
            check(engine.assemble(question, max_tokens=budget, format=format_.value, refresh=False, **options))


def test_neither_does_a_premortem_a_brief_a_situation_or_a_search(engine: Satchel) -> None:
    for budget in range(60, 900, 70):
        check(engine.premortem("performance", "trial-and-error", max_tokens=budget))
        check(engine.brief(max_tokens=budget))
        check(engine.brief(f"export failed: {RESULT}", max_tokens=budget, refresh=False))
        check(engine.situation({"task": GOAL}, max_tokens=budget, refresh=False))
    titles = [hit.chunk.title for hit in engine.search(GOAL, types=["experiences"], refresh=False)]
    assert titles
    assert all(title.startswith(("Tried ", "Failed because ", "Given up: ")) for title in titles)


def test_in_little_space_a_failure_is_one_line_with_its_day(engine: Satchel) -> None:
    context = engine.assemble(GOAL, types=["experiences"], max_tokens=130, refresh=False)
    (item,) = context.items
    assert item.detail == "line"
    assert "\n" not in item.content
    assert item.content.startswith(("Tried ", "Failed because "))
    assert f"ailed because {CAUSE[:40]}" in item.content
    assert re.search(r"; do: .+ \(20\d\d-\d\d-\d\d\)$", item.content)


def test_the_whole_experience_begins_with_its_end_at_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with Satchel.open(sample_repository(tmp_path / "shop").root) as engine:
        engine.experiences.start(**STARTED)
        engine.experiences.resolve(**CONFIRMED, lesson="Trace close")
        context = engine.assemble("who closed the session twice", types=["experiences"], max_tokens=2_000)
        (item,) = context.items
        assert item.content.startswith("- **Outcome**: confirmed - Two calls, both from the pool\n- **Lesson**: Trace")
        expanded = engine.expand([item.handle]).text
        assert expanded.index("Two calls, both") < expanded.index("closed twice")
