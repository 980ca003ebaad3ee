"""What comes with results is kept: options, names, summaries and handles; and wrong types are answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from satchel import AssemblyOptions, ContextAssembler, Satchel, as_blocks
from satchel.errors import UsageError
from satchel.types import Format, View
from tests.e2e.command import Satchel as Command
from tests.e2e.sample import sample_repository
from tests.oracle import o200k
from tests.results.test_assembler import BACKOFF, LINES, SEND, assembled, result
from tests.results.test_assembler import root as root

SUMMARY = "Sends an order, and waits longer after each attempt."


@pytest.mark.parametrize("options", [{"max_tokens": 120}, {"maxTokens": 120}, AssemblyOptions(max_tokens=120)])
def test_options_may_be_a_mapping(root: Path, options: Any) -> None:
    assembler = ContextAssembler(options={"projectRoot": root, "format": "plain"})
    context = assembler.assemble_now([SEND, BACKOFF], options if isinstance(options, dict) else {"max_tokens": 120})
    assert context.usage.limit == 120
    assert context.format is Format.PLAIN
    assert context.usage.used == o200k(context.text) <= 120


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_token": 5}, "unknown option max_token: choose from max_tokens, format"),
        ({"max_tokens": "500"}, "max_tokens is '500'"),
        ({"include_sources": "no"}, "include_sources is 'no': give true or false"),
        (500, "options is 500: give AssemblyOptions, or a mapping"),
    ],
)
def test_wrong_options_are_answered_with_what_is_right(root: Path, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ContextAssembler(options=AssemblyOptions(project_root=root)).assemble_now([SEND], options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": "3"}, "limit is '3': give 1 to 100,000 results"),
        ({"min_score": "0.2"}, "min_score is '0.2'"),
        ({"show_sources": "no"}, "show_sources is 'no': give true or false"),
        ({"now": "yesterday"}, "now is 'yesterday': give a date"),
    ],
)
def test_a_question_answers_wrong_types_in_the_same_way(tmp_path: Path, options: Any, message: str) -> None:
    with Satchel.open(sample_repository(tmp_path / "shop").root) as satchel:
        with pytest.raises(UsageError, match=message):
            satchel.assemble("backoff", **options)
        dated = satchel.assemble("linear wait hammered the server", types="commits", now="2026-01-01")
        assert dated.items
        assert dated.failures == ()
        pinned = satchel.assemble("backoff", include="docs/guide.md")
        assert pinned.failures == ()
        assert "docs/guide.md" in [item.title for item in pinned.items]


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("layout", list(Format))
@pytest.mark.parametrize("shows_code", [True, False])
def test_the_summary_of_an_entity_is_shown(root: Path, layout: Format, view: View, shows_code: bool) -> None:
    rows = [{**SEND, "entity": {**SEND["entity"], "summary": SUMMARY}}]
    rows += [{"name": "Guide", "type": "document", "content": "Long text.", "summary": "Short.", "score": 0.3}]
    context = assembled(root, rows, format=layout, view=view, include_code_content=shows_code)
    assert context.text.count(SUMMARY) == 1
    assert context.text.count("Short.") == 1
    assert ("raise RetryError" in context.text) is (shows_code and "raise RetryError" in "\n".join(LINES[10:24]))
    assert context.usage.used == o200k(context.text)


def test_views_show_the_best_entity_first_with_the_lines_above_it_and_no_groups_unasked(root: Path) -> None:
    """Context lines above a definition are its own, also where another entity of the file is shown above them."""
    best = result("backoff", 26, 30, type="function")
    context = assembled(root, [SEND, best | {"score": 0.99}], view="blocks", include_imports=False)
    names = [block.entity.name for block in as_blocks(context).blocks]
    assert names == ["backoff", "send_order"]
    assert context.text.index("### function: backoff") < context.text.index("### method: Client.send_order")
    first = context.text.partition("### function: backoff\n")[2].partition("### ")[0]
    assert re.search(r"^\*shop/client\.py:(\d+)-\d+\* \(score: 0\.99\)\n", first), first
    entities = assembled(root, [SEND], view="entities").text
    assert not re.search(r"^## ", entities, re.MULTILINE)
    assert "\n## Relevant Code\n" in assembled(root, [SEND], view="entities", group_by_type=True).text


def test_each_shown_entity_is_a_source(root: Path) -> None:
    rows = [SEND, BACKOFF, {"name": "Guide", "type": "document", "content": "Long text.", "score": 0.3}]
    listed = "Sources: send_order (shop/client.py:14); backoff (shop/client.py:26); Doc Guide"
    assert listed in assembled(root, rows).text
    xml = ElementTree.fromstring(assembled(root, rows, format="xml").text)
    assert [row.text for row in xml.iterfind("sources/source")] == listed.removeprefix("Sources: ").split("; ")


def test_a_definition_that_has_nothing_to_leave_out_shows_as_much_as_fits(root: Path) -> None:
    doc = "".join(f"    Line {number} tells what the answer is about.\n" for number in range(60))
    (root / "long.py").write_text(f'def answer():\n    """Answer.\n\n{doc}    """\n    return 42\n', encoding="utf-8")
    context = assembled(root, [result("answer", 1, 65, path="long.py", type="function")], max_tokens=400)
    assert "    Line 15 tells" in context.text
    assert "return 42" not in context.text
    assert 300 <= context.usage.used == o200k(context.text) <= 400
    assert context.usage.stopped == "budget"


def test_names_stay_as_they_came(root: Path) -> None:
    context = assembled(root, [SEND], view="entities")
    block = as_blocks(context).blocks[0]
    assert block.entity.qualified_name == "shop/client.py::Client.send_order"
    assert block.entity.name == "send_order"
    assert "### Client.send_order\n" in context.text
    assert '### ""' not in context.text


def test_the_kind_precedes_the_name_of_a_record_and_its_title_stays(root: Path) -> None:
    context = assembled(root, [{"name": "Name7", "type": "document", "content": "Long text.", "score": 0.3}])
    assert context.items[0].title == "Name7"
    assert "**Doc** Name7\n" in context.text


def test_handles_of_given_results_can_be_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = sample_repository(tmp_path / "shop")
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_KEY", "07" * 32)
    for folder, path in ((repository.root, "shop/client.py"), (repository.root / "shop", "client.py")):
        (item,) = assembled(folder, [result("send_order", 14, 20, path=path)], context_lines=0).items
        expanded = Command(repository.root, tmp_path / "home")("expand", item.handle)
        assert (expanded.code, expanded.err) == (0, "")
        assert "\n".join(LINES[:5]) in expanded.out
        assert "### shop/client.py" in expanded.out


def test_related_entities_of_given_results_are_named(tmp_path: Path, root: Path) -> None:
    with Satchel.open(sample_repository(tmp_path / "indexed").root) as satchel:
        context = ContextAssembler(satchel).assemble_now([SEND, BACKOFF], {"include_related": True})
        assert "Related: Client.send_order: in Client (shop/client.py:8); calls " in context.text
        assert "tested by test_backoff_doubles (tests/test_client.py:5)" in context.text
        assert "callees: backoff (shop/client.py:26)" in as_blocks(context).blocks[0].context.related
        assert context.usage.used == o200k(context.text)
        elsewhere = ContextAssembler(satchel).assemble_now([SEND], {"include_related": True, "project_root": root})
    assert "is not the folder of the searcher" in elsewhere.failures[0].message


def test_a_record_that_is_in_no_store_has_no_handle(root: Path) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    records = [
        {"entity": {"id": name, "type": "memory", "name": name, "content": f"{name} {words}"}, "score": 0.9}
        for name in ("first", "second")
    ]
    context = assembled(root, [*records, SEND], max_tokens=4_000)
    short = assembled(root, records, max_tokens=1_000)
    for answer, source, has_handle in ((short, "memory", False), (context, "memory", False), (context, "code", True)):
        handles = [item.handle for item in answer.items if item.source == source]
        handles += [omission.handle for omission in answer.overflow if omission.source == source]
        assert {bool(handle) for handle in handles} == {has_handle}
    assert "expand HANDLE" not in short.text
