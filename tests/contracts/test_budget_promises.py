"""What an answer says about its budget is true: why it stopped, what another budget would show, and that it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import AssemblyOptions, ContextAssembler, Satchel
from satchel.testing import TinyRepository
from tests.postgres import own_home

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
    environ = {**own_home(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(repository.root, environ=environ) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize("budget", [1_100, 4_000])
def test_an_answer_to_nonsense_is_small_and_weak(satchel: Satchel, budget: int) -> None:
    context = satchel.assemble("purple zebras attempt pancakes", max_tokens=budget)
    assert context.usage.stopped == "weak"
    assert 0 < context.usage.used <= min(budget / 5, 800)
    assert not [row for row in context.overflow if 0 < row.budget <= budget]


@pytest.mark.parametrize("words", ["giraffe pancake monday", "purple zebra attempt giraffe"])
def test_a_weak_answer_for_an_agent_has_no_more_of_its_best_function(tmp_path: Path, words: str) -> None:
    repository = TinyRepository(tmp_path / "shop")
    steps = "".join(f"    pancake_{number} = mix(flour_{number}, 'zebra milk {number}')\n" for number in range(40))
    files = {f"src/{name}/{name}_{number}.py": module(name, number) for name in WORDS for number in range(4)}
    repository.commit("Start", {**files, "src/bake.py": f"def bake(attempt):\n{steps}    return attempt\n"})
    environ = {**own_home(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(repository.root, environ=environ) as opened:
        context = opened.assemble(words, max_tokens=4_000, purpose="find")
    assert context.usage.stopped == "weak"
    assert 0 < context.usage.used <= 500


@pytest.mark.parametrize("budget", [700, 1_000, 1_500, 4_000])
def test_an_answer_that_leaves_room_does_not_say_that_it_is_full(satchel: Satchel, budget: int) -> None:
    for question in (QUESTION, "where is read_proxy called?", "proxy_cookie_3", "session token"):
        context = satchel.assemble(question, max_tokens=budget, purpose="find")
        said = context.text.rstrip().rpartition("; ")[2]
        assert not said.startswith("full") or context.usage.utilization > 0.9


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


STEPS = [f"    value_{number} = compute({number})" for number in range(120)]
SHAPES = {
    "statements.py": ["def long(a):", *STEPS, "    return a"],
    "doc.py": [
        "def long(a):",
        '    """Say it.',
        "",
        *(f"    Word {number} of it." for number in range(90)),
        '    """',
        *STEPS,
    ],
    "loop.py": ["def long(a):", "    for one in a:", *(f"    {step}" for step in STEPS), "    return a"],
    "entries.py": ["def long(a):", "    table = {", *(f"        {number}: 'word'," for number in range(120)), "    }"],
    "methods.py": ["class Long:", *(f"    def m{one}(self):\n{STEPS[one]}\n    {STEPS[one]}\n" for one in range(60))],
    "loop.js": ["function long(a) {", "  for (const one of a) {", *(f"  {step};" for step in STEPS), "  }", "}"],
}
"""Code that is far larger than a budget, by what its largest statement is."""


@pytest.mark.parametrize("strategy", ["signature-first", "bookend"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_shortened_definition_uses_what_the_budget_leaves(tmp_path: Path, strategy: str, name: str) -> None:
    text = "\n".join(SHAPES[name])
    (tmp_path / name).write_text(text)
    place = {"filePath": name, "startLine": 1, "endLine": text.count("\n") + 1}
    entity = {"entity": {"name": "long", "type": "function", "metadata": place}, "score": 0.9, "source": "semantic"}
    used = []
    for budget in (260, 350, 500, 800):
        options = AssemblyOptions(
            project_root=tmp_path, max_tokens=budget, strategy=strategy, include_imports=False, context_lines=0
        )
        assembled = ContextAssembler(options=options).assemble_now([entity])
        assert assembled.usage.used <= budget
        assert "left out" in assembled.text
        used.append(assembled.usage.utilization)
    assert sum(used) / len(used) >= 0.85
