"""One context in the shapes of several specifications: the numbers add up in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import AssemblyOptions, Context, ContextAssembler, Satchel, as_blocks, as_sources
from satchel.answer.shapes import is_truncated
from satchel.types import Format, View
from tests.e2e.sample import CLIENT, sample_repository
from tests.oracle import o200k
from tests.rendered import parse
from tests.results.test_assembler import BACKOFF, FILE, SEND, result
from tests.results.test_assembler import root as root

QUESTION = "why does sending an order wait so long between attempts, the backoff seems wrong"
LINES = CLIENT.split("\n")


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    repository = sample_repository(tmp_path_factory.mktemp("views") / "shop")
    with Satchel.open(repository.root, settings={"embed.provider": "off"}) as opened:
        yield opened


def assembled(root: Path, results: list[Any], **options: Any) -> Context:
    return ContextAssembler(options=AssemblyOptions(project_root=root, **options)).assemble_now(results)


def test_the_numbers_of_a_context_are_those_of_its_text(satchel: Satchel) -> None:
    formatted = satchel.assemble(QUESTION)
    assert formatted.token_count == o200k(formatted.markdown)
    assert sum(formatted.sources_used.values()) == len(formatted.items)


def test_blocks_hold_the_real_code_and_the_numbers_add_up(root: Path) -> None:
    nobody = result("nobody", 900, 901, 0.1)
    context = assembled(
        root, [SEND, BACKOFF, nobody, {"name": "n", "content": "a note", "score": 0.2}], context_lines=1
    )
    view = as_blocks(context)
    assert view.total_tokens == context.token_count
    assert [block.entity.id for block in view.blocks][:2] == ["send", "backoff"]
    assert view.summary.entities_included == len(view.blocks) == 3
    assert view.summary.entities_excluded == 1
    assert view.summary.files_read == 1
    assert view.summary.truncated
    send = view.blocks[0]
    assert (send.entity.name, send.entity.qualified_name, send.entity.type) == (
        "send_order",
        "shop/client.py::Client.send_order",  # as it was given
        "method",
    )
    assert send.location is not None
    assert (send.location.path, send.location.start_line, send.location.end_line) == ("shop/client.py", 14, 20)
    assert "\n".join(LINES[13:20]) in send.code
    assert "def backoff" not in send.code
    assert send.context.imports.split("\n")[0] == "import time"
    assert view.blocks[2].location is None


def test_blocks_name_related_definitions_where_they_were_asked_for(satchel: Satchel) -> None:
    view = as_blocks(satchel.assemble(QUESTION, types=["code"], related=True))
    send = next(block for block in view.blocks if block.entity.name == "send_order")
    assert any("backoff (shop/client.py:26)" in name for name in send.context.related)


def test_a_shortened_block_says_so_in_its_code(root: Path) -> None:
    long = "def long(a):\n" + "".join(f"    value_{number} = compute({number})\n" for number in range(200))
    (root / "long.py").write_text(long, encoding="utf-8")
    context = assembled(root, [result("long", 1, 201, path="long.py", type="function")], max_tokens=400)
    (block,) = as_blocks(context).blocks
    assert block.code.startswith("def long(a):\n    value_0 = compute(0)")
    assert "lines left out" in block.code
    assert is_truncated(context)


def test_sources_name_file_and_line_of_every_entity(root: Path) -> None:
    context = assembled(
        root, [SEND, BACKOFF, {"id": "n", "name": "n", "type": "decision", "content": "why", "score": 0.1}]
    )
    view = as_sources(context)
    assert view.context == context.text
    assert view.token_count == context.token_count
    assert [(one.entity_id, one.type, one.file, one.line, one.relevance) for one in view.sources] == [
        ("send", "method", "shop/client.py", 14, 0.9),
        ("backoff", "function", "shop/client.py", 26, 0.8),
        ("n", "decision", None, None, 0.1),
    ]
    assert (view.truncated, view.summary) == (False, None)


def test_what_was_shortened_or_left_out_is_in_the_summary(root: Path) -> None:
    notes = [{"name": f"n{number}", "content": f"Note {number}. " * 40} for number in range(9)]
    view = as_sources(assembled(root, notes, max_tokens=500))
    assert view.truncated
    assert view.summary is not None
    assert "left out" in view.summary


def test_a_file_beside_its_parts_is_counted_as_left_out(root: Path) -> None:
    summary = as_blocks(assembled(root, [FILE, SEND])).summary
    assert (summary.entities_included, summary.entities_excluded) == (1, 1)


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("layout", list(Format))
def test_a_question_is_answered_in_every_view_within_the_budget(satchel: Satchel, layout: Format, view: View) -> None:
    for budget in (50, 150, 400, 2000):
        context = satchel.assemble(QUESTION, view=view, format=layout, max_tokens=budget)
        assert context.usage.used == o200k(context.text) <= budget
        if context.text:
            parsed = parse(context.text, layout, view)
            assert sorted(item.path or item.title for item in parsed) == sorted(
                item.location.path if item.location is not None else parsed_title(parsed, item.title)
                for item in context.items
            )


def parsed_title(parsed: list[Any], title: str) -> str:
    """The title under which a record was rendered: a commit shows its hash and author instead of its subject."""
    return next(item.title for item in parsed if not item.path) if title else ""


def test_blocks_of_a_question_have_its_relevance(satchel: Satchel) -> None:
    view = as_blocks(satchel.assemble(QUESTION, types=["code"]))
    assert {block.entity.type for block in view.blocks} >= {"function", "method"}
    assert all(0 < block.score <= 1 for block in view.blocks)


@pytest.mark.parametrize("layout", list(Format))
def test_case_30_tokenizer_counts_and_failures_stand_in_the_footer_on_request(satchel: Satchel, layout: Format) -> None:
    context = satchel.assemble(QUESTION, format=layout, show_meta=True, max_tokens=330, searches=["lexical", "dense"])
    assert "o200k_base, exact" in context.text
    assert f"{context.sources_used['code']} code" in context.text
    assert "strategy dense" in context.text
    assert "left out" in context.text
    assert "truncated" in context.text
    assert context.usage.used == o200k(context.text) <= 330
    assert "search_ms" in context.meta["timings"]
    assert "search_ms" not in context.text
    assert "o200k_base" not in satchel.assemble(QUESTION, format=layout).text
