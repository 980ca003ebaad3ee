"""What an answer says about its budget is true: why it stopped, what another budget would show, and that it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.results.assembler import AssemblyOptions, ContextAssembler
from satchel.testing import TinyRepository

WORDS = ("retry", "backoff", "token", "session", "proxy", "cookie", "redirect", "chunk")
QUESTION = "how does a session retry with backoff after a redirect?"


def module(name: str, number: int) -> str:
    body = "".join(f"    {name}_{step} = read_{name}(attempt, {step})\n" for step in range(6 + number % 4))
    return "\n\n".join(
        f'def {name}_{other}_{number}(attempt):\n    """How a {name} and a {other} work together after a {name}."""\n'
        f"{body}    return attempt + {number}\n"
        for other in WORDS
    )


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("promises")
    repository = TinyRepository(folder / "shop")
    files = {f"src/{name}/{name}_{number}.py": module(name, number) for name in WORDS for number in range(4)}
    repository.commit("Start", files)
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(repository.root, environ=environ) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize("budget", [1_100, 4_000])
def test_an_answer_to_nonsense_is_small_and_weak(satchel: Satchel, budget: int) -> None:
    context = satchel.assemble("purple zebras attempt pancakes", max_tokens=budget)
    assert context.usage.stopped == "weak"
    assert 0 < context.usage.used <= min(budget / 5, 800)
    assert not [row for row in context.overflow if 0 < row.budget <= budget]


@pytest.mark.parametrize("budget", [150, 400, 1_000, 3_000])
@pytest.mark.parametrize("fill", [False, True])
def test_no_row_promises_a_budget_at_or_below_the_one_asked_with(satchel: Satchel, budget: int, fill: bool) -> None:
    for question in (QUESTION, "cookie chunk", "where is read_proxy called?"):
        context = satchel.assemble(question, max_tokens=budget, fill=fill)
        assert context.usage.used <= budget
        assert not [row for row in context.overflow if 0 < row.budget <= budget]


@pytest.mark.parametrize("budget", [400, 700, 1_500, 2_500])
def test_a_filled_budget_is_used_to_at_least_95_percent(satchel: Satchel, budget: int) -> None:
    assert satchel.assemble(QUESTION, max_tokens=budget, fill=True).usage.utilization >= 0.95


@pytest.mark.parametrize("strategy", ["signature-first", "bookend"])
@pytest.mark.parametrize("budget", [260, 350, 500])
def test_a_shortened_function_uses_what_the_budget_leaves(tmp_path: Path, strategy: str, budget: int) -> None:
    lines = "".join(f"    value_{number} = compute({number})\n" for number in range(200))
    (tmp_path / "long.py").write_text(f"def long(a):\n{lines}    return a\n")
    place = {"filePath": "long.py", "startLine": 1, "endLine": 202}
    entity = {"entity": {"name": "long", "type": "function", "metadata": place}, "score": 0.9, "source": "semantic"}
    options = AssemblyOptions(
        project_root=tmp_path, max_tokens=budget, strategy=strategy, include_imports=False, context_lines=0
    )
    assembled = ContextAssembler(options=options).assemble_now([entity])
    assert assembled.usage.used >= 0.7 * budget
