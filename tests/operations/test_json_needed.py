"""What an answer without items says about the budget that it needs, and notes beside a small answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.operations.json import no_items
from satchel.operations.operation import Spelling
from satchel.types import Context

Ask = Callable[[int], Context]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Satchel]:
    root = tmp_path / "root"
    root.mkdir()
    (root / "context.yaml").write_text("metadata: {name: Shop}\nintent_context: {business_goal: Sell shoes}\n")
    (root / "AGENTS.md").write_text("# Rules\n\n" + "\n".join(f"- Rule {one} about shoes" for one in range(300)))
    (root / "pool.py").write_text("def pool_size():\n" + "".join(f"    size = {one}\n" for one in range(60)))
    environ = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off", "SATCHEL_KEY": "07" * 32}
    with Satchel.open(root=root, environ=environ) as opened:
        for number in range(4):
            opened.experiences.start(
                domain="debugging", strategy="check-assumptions", goal=f"Speed up page {number}", action="raise it",
                hypothesis=f"the pool {number} is too small", prediction="it is fast",
            )  # fmt: skip
            opened.experiences.resolve(
                status="falsified", result=f"still slow {number}", surprise="the lock", root_cause="wrong-assumption",
                root_cause_description=f"The lock {number} was held.",
            )  # fmt: skip
        yield opened


ASKED: dict[str, Callable[[Satchel], Ask]] = {
    "situation": lambda engine: lambda budget: engine.situation({"task": "sell"}, max_tokens=budget),
    "premortem": lambda engine: lambda budget: engine.premortem("debugging", max_tokens=budget),
    "context": lambda engine: lambda budget: engine.assemble("pool size", max_tokens=budget),
    "brief": lambda engine: lambda budget: engine.brief(max_tokens=budget),
    "premortem in JSON": lambda engine: lambda budget: engine.premortem("debugging", max_tokens=budget, format="json"),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_budget_that_an_empty_answer_names_is_enough_and_much_less_is_not(engine: Satchel, name: str) -> None:
    ask = ASKED[name](engine)
    nothing = ask(20)
    assert nothing.items == ()
    (why,) = no_items(nothing, "", Spelling())
    match = re.search(r"nothing fits into 20 tokens: the smallest item needs about ([\d,]+)", why)
    assert match is not None
    needed = int(match[1].replace(",", ""))
    assert ask(needed).items
    assert ask(int(needed * 0.75)).items == ()


def test_notes_do_not_push_out_the_answer(engine: Satchel) -> None:
    lines = [f"  - {{inject: 'files:some_folder_without_files_of_this_name_{one}.py'}}" for one in range(17)]
    path = engine.places.root / "context.yaml"
    rules = "behavior_rules:\n  - {trigger: selling, action: be kind}\ninjection_rules:\n"
    path.write_text(rules + "\n".join(lines))
    context = engine.situation({"task": "selling"}, max_tokens=500)
    assert len(context.failures) == 17
    assert "- selling: be kind" in context.text
    assert re.search(r"and 1\d more\n", context.text)
    assert context.usage.used <= 500
    small = engine.situation({"task": "selling"}, max_tokens=90)
    assert "Incomplete: 17 problems" in small.text
    whole = engine.situation({"task": "selling"}, max_tokens=8_000)
    assert whole.text.count("nothing is there") == 17
