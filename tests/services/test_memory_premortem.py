"""The premortem: five queries, each experience once, its root cause printed, inside the budget."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Context, ContextAssembler, Satchel
from satchel.errors import UsageError
from satchel.types import Format
from satchel.vocabulary import Domain, Strategy
from tests.e2e.sample import sample_repository
from tests.memory.attempts import NOW, attempt, write_attempts
from tests.memory.lessons import write_story
from tests.memory.samples import CONFIRMED, FALSIFIED, STARTED
from tests.oracle import o200k
from tests.rendered import parse

HEADINGS = [
    "Common Failures", "Strategy Performance", "Unexpected Outcomes", "Root Causes to Watch", "Relevant Principles",
]  # fmt: skip
COUNT = 200


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    """An engine over a small repository, with a memory file of its own."""
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with Satchel.open(sample_repository(tmp_path / "shop").root) as opened:
        yield opened


@pytest.fixture(scope="module")
def practised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine that remembers two hundred experiences. Tests only ask it."""
    folder = tmp_path_factory.mktemp("practised")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        with Satchel.open(sample_repository(folder / "shop").root) as opened:
            write_attempts(opened, COUNT)
            yield opened


def headings(context: Context) -> list[str]:
    """The section titles in the text."""
    return re.findall(r"^## (.+)$", context.text, re.MULTILINE)


def numbers(context: Context) -> list[int]:
    """The experiences that are shown, by their number."""
    return [int(item.id.partition("::")[0].rpartition("_")[2], 16) for item in context.items]


@pytest.mark.parametrize("strategy", [None, "root-cause-analysis"])
@pytest.mark.parametrize("domain", ["debugging", "testing"])
def test_two_hundred_experiences_are_told_in_1500_tokens_each_once_with_its_root_cause(
    practised: Satchel, domain: str, strategy: str | None
) -> None:
    context = practised.premortem(domain, strategy, now=NOW)
    title = f"# Premortem: {domain}" + (f" with {strategy}" if strategy else "")
    assert context.text.startswith(f"{title}\n")
    assert context.usage.used == o200k(context.text) <= 1500
    assert context.usage.utilization > 0.95
    expected = [name for name in HEADINGS[:4] if strategy or name != "Strategy Performance"]
    assert headings(context) == expected
    shown = numbers(context)
    assert len(shown) == len(set(shown)) >= 8
    assert f"*Based on {len(shown)} past experiences;" in context.text
    for number, item in zip(shown, context.items, strict=True):
        output = attempt(number)
        if output.get("root_cause"):
            cause = output["root_cause"]
            entry = f"- **Root cause**: {cause['category']} - {cause['description']}"
            line = f"ailed because {cause['description']}"
            assert (line if item.detail == "line" else entry) in item.content
            if item.detail == "full":
                assert f"- **Takeaway**: {output['lesson']['takeaway']}" in item.content
        if item.section == "Strategy Performance":
            assert output["strategy"] == strategy
        else:
            assert (output["domain"], output["outcome"]["status"]) == (domain, "falsified")


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("limit", [60, 300, 700, 1500])
def test_the_budget_holds_in_every_format_and_the_text_parses_back(
    practised: Satchel, format_: Format, limit: int
) -> None:
    context = practised.premortem("debugging", "research-first", max_tokens=limit, format=format_.value, now=NOW)
    assert context.usage.used == o200k(context.text) <= limit
    if context.text:
        parsed = parse(context.text, format_)
        assert [item.section for item in parsed] == [item.section for item in context.items]
        assert [item.nonce for item in parsed] == [item.nonce for item in context.items]
        assert "Premortem: debugging with research-first" in context.text


def test_what_can_be_relied_on_and_is_new_comes_first_and_says_why(practised: Satchel) -> None:
    context = practised.premortem("debugging", now=NOW)
    for section in {item.section for item in context.items}:
        relevance = [item.relevance for item in context.items if item.section == section]
        assert relevance == sorted(relevance, reverse=True)
    assert [signal.name for signal in context.items[0].signals] == ["match", "recency", "tier"]
    assert context.items[0].metadata["confidence_tier"] == "gold"


def test_equal_premortems_are_equal_bytes_and_another_day_ranks_anew(practised: Satchel) -> None:
    texts = {practised.premortem("debugging", "research-first", now=NOW).text for _ in range(3)}
    assert len(texts) == 1
    assert (
        practised.premortem("debugging", now=NOW + 400 * 86_400).text != practised.premortem("debugging", now=NOW).text
    )


def test_a_section_has_no_more_than_its_limit(practised: Satchel) -> None:
    context = practised.premortem("debugging", "research-first", limit=2, max_tokens=8000, now=NOW)
    sections = [item.section for item in context.items]
    assert {section: sections.count(section) for section in sections} == dict.fromkeys(HEADINGS[:4], 2)


def test_case_6_a_falsified_experience_on_all_axes_is_printed_once_with_its_root_cause(engine: Satchel) -> None:
    engine.experiences.start(**STARTED)
    engine.experiences.resolve(**FALSIFIED)
    context = engine.premortem("debugging", "root-cause-analysis")
    assert context.text.count("**Experience** debugging | root-cause-analysis") == 1
    assert "- **Root cause**: wrong-assumption - Nobody knew that a finaliser closes as well\n" in context.text
    assert "- **Takeaway**: Never close anything inside a finaliser\n" in context.text
    assert headings(context) == ["Common Failures"]
    assert "*Based on 1 past experience;" in context.text
    assert context.usage.used <= 1500


def test_a_strategy_that_went_well_is_told_too_and_a_failure_before_it(engine: Satchel) -> None:
    for outcome in (CONFIRMED, FALSIFIED, FALSIFIED):
        engine.experiences.start(**(STARTED | {"goal": f"Stop it, {outcome['status']} {engine.memory_store.revision}"}))
        engine.experiences.resolve(**(outcome | {"result": f"{outcome['result']} {engine.memory_store.revision}"}))
    context = engine.premortem("testing", "root-cause-analysis")
    assert headings(context) == ["Strategy Performance"]
    outcomes = [item.metadata["outcome_status"] for item in context.items]
    assert outcomes == sorted(outcomes, key=lambda status: status != "falsified")
    assert "confirmed" in outcomes


def test_values_of_the_domain_are_its_principles(engine: Satchel) -> None:
    pytest.importorskip("sklearn", reason="the extra 'values' is not installed")
    write_story(engine.experiences, "database", 14)
    write_story(engine.experiences, "timezone", 14)
    engine.values.cluster("full")
    proposal = next(row for row in engine.values.propose() if row.validation is not None and row.validation.is_inside)
    engine.values.accept(proposal.text, proposal.cluster.id)
    context = engine.premortem("debugging", "root-cause-analysis", max_tokens=4000)
    assert headings(context)[-1] == "Relevant Principles"
    assert context.items[-1].source == "value"
    assert proposal.text in context.items[-1].content
    assert "Relevant Principles" not in engine.premortem("security").text


def test_a_principle_is_of_the_kind_of_work_that_most_of_its_experiences_are_of(engine: Satchel) -> None:
    pytest.importorskip("sklearn", reason="the extra 'values' is not installed")
    ids = [*write_story(engine.experiences, "database", 14), *write_story(engine.experiences, "timezone", 14)]
    for identity in ids[:2]:
        engine.experiences.correct(identity, domain="security")
    engine.values.cluster("full")
    proposals = [row for row in engine.values.propose() if row.validation is not None and row.validation.is_inside]
    values = [engine.values.accept(row.text, row.cluster.id) for row in proposals]
    assert any(value.domains.get("security") for value in values)
    assert "Relevant Principles" not in engine.premortem("security", max_tokens=4000).text
    assert "Relevant Principles" in engine.premortem("debugging", max_tokens=4000).text


@pytest.mark.parametrize("budget", [90, 120, 200, 400, 1500])
def test_a_failure_is_told_by_its_outcome_or_cause_and_never_by_what_was_tried_alone(
    practised: Satchel, budget: int
) -> None:
    for context in (practised.premortem("debugging", max_tokens=budget, now=NOW), practised.brief(max_tokens=budget)):
        for item in (item for item in context.items if item.source == "experience"):
            first = item.content.split("\n", 1)[0]
            ends = ("- **Root cause**", "- **Outcome**", "Tried ", "Failed because ")
            assert first.startswith(ends) or item.metadata["outcome_status"] != "falsified"
            assert not first.startswith("Tried ") or "failed because " in first


@pytest.mark.parametrize(
    ("domain", "strategy", "stored"), [("debuging", None, Domain), ("debugging", "guess", Strategy)]
)
def test_an_unknown_domain_or_strategy_is_an_error_that_lists_all(
    engine: Satchel, domain: str, strategy: str | None, stored: type[Domain] | type[Strategy]
) -> None:
    with pytest.raises(UsageError) as caught:
        engine.premortem(domain, strategy)
    assert all(member in str(caught.value) for member in stored)


def test_nothing_remembered_is_an_empty_premortem_and_makes_no_file(engine: Satchel) -> None:
    context = engine.premortem("debugging")
    assert (context.text, context.items, context.failures) == ("", (), ())
    assert not engine.places.memory.exists()


def test_the_seeds_method_and_the_twin_give_the_same_text(practised: Satchel) -> None:
    request = practised.premortem_request("debugging", "research-first", now=NOW)
    output = practised.answer(request)
    twin = asyncio.run(practised.apremortem("debugging", "research-first", now=NOW))
    assert twin.text == output.text
    seed = asyncio.run(ContextAssembler(practised).get_premortem_context("debugging", "research-first"))
    assert seed.text == practised.premortem("debugging", "research-first").text
    assert seed.sources_used == {"experiences": len(seed.items)}
