"""First specification: context from memories, code, experiences, values and commits, and the premortem.

`ac_000_f1` is the first functional criterion; `q` are those of quality, `p` of performance, `x` what the text of the
specification requires besides. What another test shows is in the README beside this file.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import time
import tracemalloc
from collections.abc import Callable, MutableMapping
from typing import Any, get_type_hints

import satchel
from satchel import ContextAssembler, Satchel
from tests.contracts.five import QUESTION, TYPES
from tests.e2e.command import Satchel as Command
from tests.memory.samples import CONFIRMED, FALSIFIED, STARTED
from tests.oracle import o200k
from tests.seeds.conftest import Shop


class Sources:
    """A searcher with rows for each source; a source without rows finds nothing, one in `down` raises."""

    def __init__(self, rows: dict[str, list[dict[str, Any]]], down: str = "") -> None:
        self.rows, self.down, self.asked = rows, down, list[str]()

    def __getattr__(self, name: str) -> Callable[..., list[dict[str, Any]]]:
        if not name.startswith("search_"):
            raise AttributeError(name)
        type_ = name.removeprefix("search_")

        def search(_query: str, limit: int = 20, **_: Any) -> list[dict[str, Any]]:
            self.asked.append(type_)
            if type_ == self.down:
                raise ConnectionError("the store is away")
            return self.rows.get(type_, [])[:limit]

        return search


def memories(*scores: float) -> list[dict[str, Any]]:
    return [
        {"id": f"m{number}", "content": f"{WORDS[number]} is kept in {WORDS[-number - 1]}", "category": "fact",
         "importance": 0.5, "score": score}
        for number, score in enumerate(scores)
    ]  # fmt: skip


WORDS = ("Heron", "Otter", "Badger", "Falcon", "Lynx", "Marten", "Plover", "Sable")


def ask(searcher: object, types: list[str], **options: Any) -> Any:
    return asyncio.run(ContextAssembler(searcher).assemble_context(QUESTION, types, **options))


def fastest(call: Callable[[], object], rounds: int = 3) -> float:
    """Processor seconds of the fastest of several calls: other work on the machine slows some of them."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def test_ac_000_f1_all_requested_sources_are_queried_and_no_other() -> None:
    searcher = Sources({})
    ask(searcher, ["memories", "experiences", "commits"])
    assert sorted(searcher.asked) == ["commits", "experiences", "memories"]


def test_ac_000_f1_all_five_sources_answer_one_question(engine: Satchel) -> None:
    assert list(ask(engine, TYPES).sources_used) == TYPES


def test_ac_000_f2_results_are_ranked_by_relevance_within_a_source() -> None:
    items = ask(Sources({"memories": memories(0.3, 0.9, 0.6)}), ["memories"]).items
    assert [item.relevance for item in items] == sorted((item.relevance for item in items), reverse=True)
    assert [item.id.rpartition(":")[2] for item in items] == ["m1", "m2", "m0"]


def test_ac_000_f2_gold_comes_before_silver_and_what_is_important_first() -> None:
    tiers = ("abandoned", "bronze", "silver", "gold")
    rows = [
        dict(STARTED, id=tier, goal=f"Move the {word}", confidence_tier=tier, outcome_status="confirmed", score=0.5)
        for tier, word in zip(tiers, WORDS, strict=False)
    ]
    assert [
        item.metadata["confidence_tier"] for item in ask(Sources({"experiences": rows}), ["experiences"]).items
    ] == [*reversed(tiers)]
    rows = [row | {"importance": number / 4} for number, row in enumerate(memories(0.5, 0.5, 0.5))]
    assert [item.metadata["importance"] for item in ask(Sources({"memories": rows}), ["memories"]).items] == [
        0.5, 0.25, 0.0,
    ]  # fmt: skip


def test_ac_000_f4_the_budget_is_shared_by_the_weights(shop: Shop) -> None:
    """Experiences have weight 3 and memories 1: with more than enough of both they fill the budget about 3 to 1."""
    engine = shop({"a.py": ""})
    for number in range(60):
        engine.memories.add(f"The heron server number {number} restarts at {number} past {WORDS[number % 8]}")
        engine.experiences.start(**(STARTED | {"goal": f"Restart the heron server {number} with {WORDS[number % 8]}"}))
        engine.experiences.resolve(**CONFIRMED)
    context = engine.assemble("heron server restart", types=["memories", "experiences"], max_tokens=2000, limit=60,
                              fill=True)  # fmt: skip
    tokens = {source: sum(item.tokens for item in context.items if item.source == source)
              for source in ("experience", "memory")}  # fmt: skip
    assert context.usage.utilization > 0.9
    assert 0.6 < tokens["experience"] / sum(tokens.values()) < 0.9


def test_ac_000_f4_what_one_source_cannot_use_goes_to_the_others() -> None:
    rows = [row | {"content": row["content"] * 12} for row in memories(*[0.5] * 8)]
    alone = ask(Sources({"memories": rows}), ["memories", "experiences"], max_tokens=700)
    assert alone.usage.used > 700 / 4 + 100


def test_ac_000_f5_markdown_has_heading_sections_in_order_and_footer(engine: Satchel) -> None:
    text = ask(engine, [*reversed(TYPES)]).markdown
    assert text.startswith("# Context\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Memories", "Code", "Experiences", "Values", "Commits"]
    assert re.search(r"^---\n\*\d+ items from 5 sources;", text, re.MULTILINE)


def test_ac_000_f6_empty_sources_have_no_section() -> None:
    text = ask(Sources({"memories": memories(0.5)}), TYPES).markdown
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Memories"]
    assert "1 item from 1 source" in text


def write(engine: Satchel, goal: str, **changes: Any) -> None:
    started = {key: value for key, value in changes.items() if key in STARTED}
    engine.experiences.start(**(STARTED | {"goal": goal} | started))
    engine.experiences.resolve(**(FALSIFIED | {key: value for key, value in changes.items() if key not in STARTED}))


def test_ac_000_f8_a_premortem_is_of_the_domain_and_of_the_strategy(shop: Shop) -> None:
    engine = shop({"a.py": ""})
    write(engine, "Stop the leak of handles")
    write(engine, "Bisect the slow start", strategy="divide-and-conquer")
    write(engine, "Test the parser", domain="testing", strategy="trial-and-error")
    assembler = ContextAssembler(engine)
    text = asyncio.run(assembler.get_premortem_context("debugging")).markdown
    assert text.startswith("# Premortem: debugging\n")
    assert "Stop the leak of handles" in text
    assert "Test the parser" not in text
    assert "## Strategy Performance" not in text
    text = asyncio.run(assembler.get_premortem_context("feature", "divide-and-conquer")).markdown
    assert text.startswith("# Premortem: feature with divide-and-conquer\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Strategy Performance"]
    assert "Bisect the slow start" in text
    assert "Stop the leak of handles" not in text


def test_ac_000_f8_the_premortem_command_filters_too(shop: Shop, command: Command) -> None:
    engine = shop({"a.py": ""})
    write(engine, "Stop the leak of handles")
    write(engine, "Test the parser", domain="testing")
    done = command("premortem", "--domain", "testing")
    assert done.code == 0, done.err
    assert "Test the parser" in done.out
    assert "leak" not in done.out


def test_ac_000_f10_the_result_has_text_items_count_and_sources(engine: Satchel) -> None:
    context = ask(engine, TYPES)
    assert context.markdown == context.text
    assert sum(context.sources_used.values()) == len(context.items)
    for item in context.items:
        assert item.source in {"memory", "code", "experience", "value", "commit"}
        assert item.content
        assert 0 <= item.relevance <= 1
        assert item.metadata


def test_ac_000_q1_the_token_count_is_exact(engine: Satchel) -> None:
    """Decision F1 replaces four characters a token and the margin of 20 %: a real tokenizer counts the final text."""
    context = ask(engine, TYPES)
    assert context.token_count == o200k(context.markdown)
    assert context.usage.exact


def test_ac_000_q1_the_limit_is_a_ceiling(engine: Satchel) -> None:
    """Decision F1 withdraws the soft limit: no item is shown beyond it, and the result says why it stopped."""
    context = ask(engine, TYPES, max_tokens=400)
    assert o200k(context.markdown) <= 400
    assert context.usage.stopped == "budget"


def test_ac_000_q4_an_error_says_what_is_wrong_and_what_is_right(shop: Shop, command: Command) -> None:
    shop({"a.py": ""})
    done = command("context", "anything", "--types", "memorys")
    assert (done.code, done.out) == (2, "")
    assert "memorys" in done.err
    assert "memories" in done.err
    done = command("premortem", "--domain", "cooking")
    assert done.code == 2
    assert "cooking" in done.err
    assert "debugging" in done.err


def test_ac_000_q5_a_failing_source_is_named_logged_and_does_not_stop_the_others(
    log_lines: list[MutableMapping[str, Any]],
) -> None:
    """Also `q8`: what is logged is structured, and the error case of a searcher that fails."""
    context = ask(Sources({"memories": memories(0.5)}, down="commits"), ["memories", "commits"])
    assert dict(context.sources_used) == {"memories": 1}
    assert [failure.source for failure in context.failures] == ["commits"]
    assert "the store is away" in context.failures[0].message
    (line,) = [line for line in log_lines if line["log_level"] == "warning"]
    assert "commits" in line.values()


def test_ac_000_q6_the_public_interface_has_type_hints() -> None:
    for name in ("assemble_context", "get_premortem_context", "assemble", "format"):
        method = getattr(ContextAssembler, name)
        signature = inspect.signature(method)
        hints = get_type_hints(method, vars(satchel) | vars(inspect.getmodule(method)))
        assert {*signature.parameters} - {"self"} | {"return"} <= hints.keys(), name


def test_ac_000_p1_five_sources_are_assembled_within_a_second(engine: Satchel) -> None:
    assert fastest(lambda: ask(engine, TYPES)) < 1.0


def test_ac_000_p2_a_premortem_is_assembled_within_a_second_and_a_half(engine: Satchel) -> None:
    assembler = ContextAssembler(engine)
    assert fastest(lambda: asyncio.run(assembler.get_premortem_context("debugging", "root-cause-analysis"))) < 1.5


def test_ac_000_p4_an_assembly_takes_less_than_50_mb(engine: Satchel) -> None:
    ask(engine, TYPES)
    tracemalloc.start()
    try:
        ask(engine, TYPES, max_tokens=2100)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_ac_000_x1_a_text_is_formatted_within_a_tenth_of_a_second(engine: Satchel) -> None:
    context = ask(engine, TYPES)
    assert fastest(lambda: ContextAssembler(engine).format(context, "xml")) < 0.1


def test_ac_000_x2_each_kind_has_the_fields_of_its_format(engine: Satchel) -> None:
    """The canonical layout replaces the look of an item: one label line, then the text of the record as data."""
    text = ask(engine, TYPES).markdown
    for pattern in (
        r"^\*\*Memory\*\* Category: fact, Importance: 0\.8, \d{4}-\d\d-\d\d$",
        r"^### shop/pool\.py$",
        r"^\*\*Experience\*\* debugging \| root-cause-analysis$",
        r"^- \*\*Goal\*\*: .+\n- \*\*Hypothesis\*\*: .+\n- \*\*Action\*\*: .+\n- \*\*Prediction\*\*: ",
        r"^- \*\*Outcome\*\*: confirmed - .+$",
        r"^\*\*Value\*\* \(full, cluster size: \d+\)",
        r"^\*\*Commit\*\* `[0-9a-f]{7}` by Ada on 2023-11-1\d",
        r"^Files: shop/\w+\.py$",
    ):
        assert re.search(pattern, text, re.MULTILINE), pattern


def test_ac_000_x3_an_item_above_a_quarter_of_its_share_is_cut_with_a_note() -> None:
    """Decision A6: the cap acts where several kinds share the budget, and the note has the id of the record."""
    rows = memories(0.9, 0.8, 0.7)
    rows[0]["content"] = "\n".join(f"The heron has room {number} for its guests" for number in range(300))
    commit = {"content": "Close the pool", "score": 0.5, "metadata": {"sha": "0123456789abcdef"}}
    items = ask(Sources({"memories": rows, "commits": [commit]}), ["memories", "commits"], max_tokens=1600).items
    assert {item.id.rpartition(":")[2] for item in items if item.source == "memory"} == {"m0", "m1", "m2"}
    cut = next(item for item in items if item.id.endswith("m0"))
    assert cut.content.endswith("… (truncated, full memory ID: m0)")
