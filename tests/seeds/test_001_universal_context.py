"""Second specification: the contexts that apply in a situation, by their injection rules, for tools and agents.

`ac_001_1_rules` is the part about rules of AC-007-1; `ac_001_unit_4` is the fourth of the unit tests that the
specification lists, `ac_001_integration_2` the second of the integration tests, `ac_001_tools` its tools with context.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from satchel import Context, Satchel, create_context_aware_tools
from tests.e2e.command import Satchel as Command
from tests.oracle import o200k
from tests.rendered import parse
from tests.seeds.conftest import Shop

TREE = {
    "context.yaml": (
        "metadata: {name: Shop, type: project}\n"
        "intent_context: {business_goal: Sell more, intent_type: business_growth}\n"
        "behavior_rules: [{trigger: any payment, action: ask the auditor}]\n"
        "injection_rules:\n"
        "  - {name: always, inject: guides/style}\n"
        "  - {name: money, condition: the task is about payments, inject: [guides/money, guides/style]}\n"
    ),
    "pay/context.yaml": (
        "metadata: {name: Payments, type: team}\n"
        "intent_context: {business_goal: No double charge, extends: ..}\n"
        "behavior_rules: [{trigger: a retry, action: send the same key}]\n"
        "injection_rules:\n"
        "  - {name: complex, condition: task is complex, inject: [guides/complexity, guides/gone]}\n"
    ),
    "guides/style/context.yaml": "metadata: {name: Style, type: guide}\nadvice: Short names\n",
    "guides/money/context.yaml": "metadata: {name: Money, type: guide}\nadvice: Never round\n",
    "guides/complexity/context.yaml": "metadata: {name: Complexity, type: guide}\nadvice: Draw it first\n",
    "pay/card.py": "def charge_card(card):\n    return card\n",
}
SITUATION = {"tool": "edit_file", "task": "charge the card", "files": ["pay/card.py"]}


class Answers:
    """A language model for tests: it knows which conditions hold, and remembers what it was asked."""

    def __init__(self, *true: str) -> None:
        self.true, self.asked = true, list[str]()

    def judge(self, conditions: Sequence[str], situation: Any) -> list[bool]:
        assert situation.task == SITUATION["task"]
        self.asked += conditions
        return [condition in self.true for condition in conditions]


def assembled(shop: Shop, *true: str, files: Mapping[str, str] = TREE, **options: Any) -> tuple[Context, Answers]:
    judge: Any = Answers(*true)
    return shop(files).situation(SITUATION, context="pay", judge=judge, **options), judge


def verdicts(context: Context) -> dict[str, str]:
    return {row["rule"]: row["verdict"] for row in context.meta["rules"]}


def titles(context: Context) -> list[str]:
    return [item.title for item in context.items if item.source == "context"][1:]


# AC-007-1: rule evaluation


def test_ac_001_1_rules_a_judge_decides_which_rules_apply(shop: Shop) -> None:
    context, judge = assembled(shop, "task is complex")
    assert sorted(judge.asked) == ["task is complex", "the task is about payments"]
    assert verdicts(context) == {"always": "true", "money": "false", "complex": "true"}


def test_ac_001_1_contexts_those_of_the_rules_that_apply_are_in_it(shop: Shop) -> None:
    context, _ = assembled(shop, "task is complex")
    assert {"Complexity (guide)", "Style (guide)"} <= {*titles(context)}
    assert "Money (guide)" not in titles(context)


def test_ac_001_1_semantics_without_a_model_conditions_go_by_meaning(shop: Shop) -> None:
    """Decision B4: the default judge needs no model, and a rule of the parent counts for the child."""
    engine = shop(TREE)
    about = engine.situation({"task": "refund an invoice that was charged twice"}, context="pay")
    assert verdicts(about)["money"] == "true"
    other = engine.situation({"task": "translate the welcome page"}, context="pay")
    assert verdicts(other)["money"] != "true"
    assert verdicts(other)["always"] == "true"


def test_ac_001_1_strict_only_true_is_true(shop: Shop) -> None:
    """Decision B4 replaces `includes('true')`: an answer that is neither true nor false leaves the verdict to words."""
    vague: Any = lambda conditions, _: ["not true"] * len(conditions)  # noqa: E731
    context = shop(TREE).situation(SITUATION, context="pay", judge=vague)
    assert verdicts(context)["complex"] != "true"
    assert any("not true" in failure.message for failure in context.failures)


# AC-007-2: context gathering


def test_ac_001_2_loaded_all_contexts_are_loaded_and_a_missing_one_is_a_warning(shop: Shop) -> None:
    context, _ = assembled(shop, "task is complex", "the task is about payments")
    assert titles(context)[0] == "Payments (team)"
    assert {*titles(context)} == {
        "Payments (team)", "Shop (project)", "Complexity (guide)", "Money (guide)", "Style (guide)",
    }  # fmt: skip
    assert ["guides/gone" in failure.message for failure in context.failures] == [True]


def test_ac_001_2_inheritance_is_resolved(shop: Shop) -> None:
    context, _ = assembled(shop)
    own = next(item for item in context.items if item.title == "Payments (team)")
    assert "Goal: No double charge" in own.content
    assert "Sell more" not in own.content
    assert "Intent: business_growth" in own.content
    assert "- any payment: ask the auditor" in own.content
    assert "- a retry: send the same key" in own.content


def test_ac_001_2_duplicates_a_context_of_two_rules_is_there_once(shop: Shop) -> None:
    context, _ = assembled(shop, "the task is about payments")
    assert titles(context).count("Style (guide)") == 1
    assert context.text.count("Short names") == 1


# AC-007-3: token optimization

LARGE = TREE | {
    "guides/money/context.yaml": "metadata: {name: Money, type: guide}\nstory: " + "coins and notes " * 800 + "\n"
}


def test_ac_001_3_redundant_what_nearer_contexts_say_is_not_repeated(shop: Shop) -> None:
    context, _ = assembled(shop)
    assert context.text.count("any payment: ask the auditor") == 1
    assert context.text.count("business_growth") == 1


@pytest.mark.parametrize("budget", [60, 150, 300, 800])
def test_ac_001_3_relevant_the_current_context_is_kept_and_the_budget_holds(shop: Shop, budget: int) -> None:
    context, _ = assembled(shop, "the task is about payments", "task is complex", files=LARGE, max_tokens=budget)
    assert o200k(context.text) == context.usage.used <= budget
    assert budget < 150 or titles(context)[0] == "Payments (team)"


def test_ac_001_3_reduced_a_large_context_is_shortened_and_smaller_ones_follow(shop: Shop) -> None:
    """Decision B6 replaces the end of the loop at the first context that does not fit."""
    judge: Any = Answers("the task is about payments", "task is complex")
    whole = shop(LARGE).situation(SITUATION, context="pay", judge=judge, max_tokens=8000)
    less = shop(LARGE).situation(SITUATION, context="pay", judge=judge, max_tokens=500)
    assert less.usage.used < whole.usage.used
    assert {"Money (guide)", "Style (guide)", "Complexity (guide)"} <= {*titles(less)}


# AC-007-4: assembly output


def test_ac_001_4_guidance_is_that_of_the_situation(shop: Shop) -> None:
    context, _ = assembled(shop, "task is complex")
    assert "Task: charge the card\nTool: edit_file\nFiles: pay/card.py" in context.text
    assert "advice: Draw it first" in context.text.replace("Advice", "advice")
    assert "Never round" not in context.text


def test_ac_001_4_history_what_was_done_and_learned_is_included(shop: Shop) -> None:
    engine = shop(TREE)
    engine.memories.add("A card was charged twice because the key was new", category="error")
    context = engine.situation(SITUATION, context="pay")
    assert {"memory", "commit"} <= {item.source for item in context.items}
    assert "charged twice" in context.text


@pytest.mark.parametrize("format_", ["markdown", "xml", "plain", "json"])
def test_ac_001_4_format_is_made_for_a_model_to_read(shop: Shop, format_: str) -> None:
    context, _ = assembled(shop, format=format_)
    assert [item.nonce for item in parse(context.text, format_)] == [item.nonce for item in context.items]
    assert "o200k_base, exact" in context.text


# The tests that the specification lists


def test_ac_001_unit_4_tokens_are_counted_exactly(shop: Shop) -> None:
    """Decision F1 replaces the estimate of four characters a token."""
    context, _ = assembled(shop)
    assert context.token_count == o200k(context.text)


def test_ac_001_example_1_a_rule_is_evaluated_by_the_model_that_was_given(shop: Shop) -> None:
    rule = "metadata: {name: Test Context}\ninjection_rules: [{name: complexity_check, condition: task is complex, "
    files = {"context.yaml": rule + "inject: [helpers/complexity-guide]}]\n",
             "helpers/complexity-guide/context.yaml": "metadata: {name: Guide}\n"}  # fmt: skip
    judge: Any = Answers("task is complex")
    context = shop(files).situation(SITUATION, judge=judge)
    assert judge.asked == ["task is complex"]
    assert "Guide" in titles(context)


def test_ac_001_example_2_the_critical_context_comes_first_within_500_tokens(shop: Shop) -> None:
    files = {
        "context.yaml": "metadata: {name: Critical}\ninjection_rules: [{inject: [small, large]}]\n",
        "small/context.yaml": "metadata: {name: Small}\n",
        "large/context.yaml": f"metadata: {{name: Large}}\nintent_context: {{business_goal: {'word ' * 900}}}\n",
    }
    context = shop(files).situation(SITUATION, max_tokens=500)
    assert titles(context)[0] == "Critical"
    assert "Small" in titles(context)
    assert o200k(context.text) <= 500


def test_ac_001_integration_1_the_command_assembles_several_rules_and_contexts(shop: Shop, command: Command) -> None:
    shop(TREE)
    done = command("situation", "--task", "refund the payment of an invoice", "--files", "pay/card.py", "--json")
    assert done.code == 0, done.err
    names = [row["name"] for row in done.json["meta"]["contexts"]]
    assert names[:2] == ["Payments", "Shop"]
    assert {"Money", "Style"} <= {*names}
    assert json.loads(done.out)["usage"]["limit"] == 4000


def test_ac_001_integration_2_an_assembly_takes_less_than_200_ms(shop: Shop) -> None:
    engine = shop(TREE)
    seconds = []
    for number in range(4):
        start = time.process_time()
        engine.situation(SITUATION | {"task": f"charge the card {number}"}, context="pay")
        seconds.append(time.process_time() - start)
    assert min(seconds[1:]) < 0.2


def edit(path: str, *, _context: Context | None = None) -> dict[str, Any]:
    """A tool that reads its context."""
    assert _context is not None
    return {"path": path, "seen": _context.text, "_meta": {"own": 1}}


async def look(path: str) -> str:
    """A tool that takes no context, and whose result can carry none."""
    return path


def test_ac_001_tools_each_call_has_the_context_of_its_situation(shop: Shop) -> None:
    engine = shop(TREE)
    tools: Any = create_context_aware_tools(engine, {"edit_file": edit, "look": look}, deadline_seconds=60)
    first = tools["edit_file"](str(engine.places.root / "pay/card.py"))
    assert "Tool: edit_file\nFiles: pay/card.py" in first["seen"]
    assert "No double charge" in first["seen"]
    assert first["_meta"]["own"] == 1
    used = first["_meta"]["contextUsed"]
    assert "context:pay" in [row["id"] for row in used["items"]]
    assert 0 < used["tokens"] <= used["limit"] == 4000
    assert "No double charge" not in tools["edit_file"]("guides/a.md")["seen"]
    assert asyncio.run(tools["look"]("pay/card.py")) == "pay/card.py"


def test_ac_001_tools_an_assembly_that_fails_does_not_break_the_tool() -> None:
    class Broken:
        def situation(self, _: object) -> object:
            raise OSError("the disk is away")

    tools: Any = create_context_aware_tools(Broken(), {"edit_file": edit})
    result = tools["edit_file"]("a.py")
    assert result["path"] == "a.py"
    assert "the disk is away" in result["_meta"]["contextUsed"]["warnings"][0]


def test_ac_001_registered_a_rule_injects_what_a_program_registered(engine: Satchel, shop: Shop) -> None:
    """Decision B3 adds keys to the paths of contexts that a rule may inject."""
    own = shop({"context.yaml": "metadata: {name: Shop}\ninjection_rules: [{inject: [{key: team.duty}]}]\n"})
    own.register("team.duty", lambda _: ["Grace is on duty"])
    assert "Grace is on duty" in own.situation(SITUATION).text
    assert "Grace" not in engine.situation(SITUATION).text
