"""Fourth specification: what a search found is shown by the real lines of the real files.

`ac_003_1` to `ac_003_5` are the five points of its solution, `example` its tests, `metric` its measures of success in
their order, `risk` its risks, `truncation` its strategies.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from satchel import AssemblyOptions, Context, ContextAssembler, Satchel, as_blocks
from satchel.testing import TinyRepository
from tests.e2e.command import Satchel as Command
from tests.mcp.serving import spoken
from tests.oracle import o200k
from tests.seeds.conftest import Shop

PAYMENTS = """import { charge } from "./bank";
import { log } from "./log";

// Payments of the shop.

const LIMIT = 9;

// Takes one payment.

export async function processPayment(amount: number, card: string): Promise<string> {
  if (amount <= 0 || amount > LIMIT) {
    throw new Error("nothing to pay");
  }
  const receipt = await charge(amount, card);
  return receipt;
}

export function refundPayment(receipt: string): string {
  log(receipt);
  return receipt;
}
"""
BANK = '"""The bank."""\n\nimport decimal\n\n' + "\n\n".join(
    f"def step_{number}(amount):\n    total = decimal.Decimal(amount) * {number}\n    return total\n"
    for number in range(30)
)
FILES = {"src/payments.ts": PAYMENTS, "src/bank.py": BANK}
PAY = {
    "entity": {
        "id": "1",
        "name": "processPayment",
        "type": "function",
        "qualifiedName": "src/payments.ts::processPayment",
        "content": "Async function taking 2 parameter(s) returning Promise<PaymentResult>",
        "metadata": {"filePath": "src/payments.ts", "startLine": 10, "endLine": 16},
    },
    "score": 0.9,
    "source": "semantic",
}
BODY = "\n".join(PAYMENTS.split("\n")[9:16])


def steps(count: int) -> list[dict[str, Any]]:
    """Results for functions of the bank, as many as wanted."""
    lines = BANK.split("\n")
    starts = [lines.index(f"def step_{number}(amount):") + 1 for number in range(count)]
    return [
        {"name": f"step_{number}", "type": "function", "file_path": "src/bank.py", "start_line": start,
         "end_line": start + 2, "score": 0.9 - number / 100}
        for number, start in enumerate(starts)
    ]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    TinyRepository(tmp_path / "shop").commit("Begin", FILES)
    return tmp_path / "shop"


def assembled(root: Path, results: list[dict[str, Any]], **options: Any) -> Context:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root, **options))
    return asyncio.run(assembler.assemble(results))


def test_ac_003_1_and_2_the_exact_lines_are_read_from_the_file(root: Path) -> None:
    (block,) = as_blocks(assembled(root, [PAY], context_lines=0, include_imports=False)).blocks
    assert block.code.strip("\n") == BODY
    assert "Async function taking 2 parameter" not in block.code
    assert block.location is not None
    assert (block.location.path, block.location.start_line, block.location.end_line) == ("src/payments.ts", 10, 16)
    assert (block.entity.name, block.entity.type, block.entity.qualified_name, block.score) == (
        "processPayment", "function", "src/payments.ts::processPayment", 0.9,
    )  # fmt: skip


def test_ac_003_3_imports_and_three_lines_around_are_the_default(root: Path) -> None:
    """Decision D1: of the imports those lines that bind names of the shown code."""
    context = assembled(root, [PAY])
    (block,) = as_blocks(context).blocks
    assert 'import { charge } from "./bank";' in block.context.imports
    assert "// Takes one payment." in context.text
    assert "export function refundPayment" in context.text
    assert "// Payments of the shop." not in assembled(root, [PAY], context_lines=0, include_imports=False).text


def test_ac_003_3_related_functions_are_named(shop: Shop) -> None:
    engine = shop({"a.py": "def work():\n    return helper()\n\n\ndef helper():\n    return 1\n"})
    engine.index()
    result = {"name": "work", "type": "function", "file_path": "a.py", "start_line": 1, "end_line": 2, "score": 1}
    context = ContextAssembler(engine).assemble_now([result], {"include_related": True, "context_lines": 0})
    (block,) = as_blocks(context).blocks
    assert any("helper (a.py:5)" in line for line in block.context.related)


@pytest.mark.parametrize("format_", ["markdown", "xml", "plain", "json"])
@pytest.mark.parametrize("budget", [30, 100, 250, 1000])
def test_ac_003_4_the_budget_is_never_exceeded(root: Path, format_: str, budget: int) -> None:
    """Also the third measure of success. Decision D2: the numbers of the summary add up."""
    context = assembled(root, [PAY, *steps(20)], max_tokens=budget, format=format_)
    view = as_blocks(context)
    assert o200k(context.text) == view.total_tokens <= budget
    assert view.summary.entities_included + view.summary.entities_excluded == 21
    assert view.summary.entities_included == len(view.blocks)
    assert view.summary.truncated is (view.summary.entities_excluded > 0 or bool(context.items[0].cuts))


def test_ac_003_5_markdown_has_type_place_score_and_code_of_a_block(root: Path) -> None:
    """The view `blocks` is the layout of the specification."""
    text = assembled(root, [PAY], view="blocks", include_imports=False, context_lines=0).text
    assert re.search(
        r"^### function: processPayment\n\*src/payments\.ts:10-16\* \(score: 0\.90\)\n\n\*\*Code:\*\*\n```typescript",
        text,
        re.MULTILINE,
    )


def test_ac_003_5_xml_and_plain_text_have_the_same_parts(root: Path) -> None:
    elements = ElementTree.fromstring(assembled(root, [PAY], view="blocks", format="xml").text)
    (entity,) = elements.iter("entity")
    assert (entity.get("type"), entity.get("name"), entity.get("score")) == ("function", "processPayment", "0.90")
    (place,) = entity.iter("location")
    assert (place.get("file"), place.get("start")) == ("src/payments.ts", "10")
    assert any("await charge(amount, card)" in "".join(code.itertext()) for code in entity.iter("code"))
    plain = assembled(root, [PAY], view="blocks", format="plain").text
    for line in ("=== function: processPayment ", "File: src/payments.ts", "Score: 0.90", "await charge(amount, card)"):
        assert line in plain


def test_ac_003_example_1_code_is_extracted_from_source_files(root: Path) -> None:
    view = as_blocks(assembled(root, [PAY]))
    assert len(view.blocks) == 1
    assert "function processPayment" in view.blocks[0].code
    assert view.total_tokens > 0


def test_ac_003_example_2_a_very_small_budget_is_respected(root: Path) -> None:
    view = as_blocks(assembled(root, steps(10), max_tokens=100))
    assert view.total_tokens <= 100
    assert view.summary.truncated is True


def test_ac_003_example_3_output_is_formatted_as_markdown(root: Path) -> None:
    text = assembled(root, [PAY], format="markdown").text
    assert "###" in text
    assert "```typescript" in text


QUERY = "processPayment amount card"


def test_ac_003_query_has_context_results_summary_and_count(shop: Shop) -> None:
    answer = shop(FILES).context_query(QUERY, include_types=["function"], limit=10)
    assert answer.query == QUERY
    assert BODY in answer.context
    assert answer.token_count == o200k(answer.context) <= 4000
    first = answer.results[0]
    assert (first.entity.name, first.entity.type) == ("processPayment", "function")
    assert first.location is not None
    assert (first.location.path, first.location.start_line) == ("src/payments.ts", 10)
    assert all(len(row.preview) <= 203 for row in answer.results)
    assert first.preview.startswith(FILES["src/payments.ts"].split("\n")[9])  # after its context lines
    assert len(answer.results) == answer.summary.entities_included <= 10
    assert answer.summary.files_read == 1


def test_ac_003_query_min_score_and_strategies_restrict_what_is_found(shop: Shop) -> None:
    """Decision D6: the score is absolute, and by default the calibrated floor takes the place of 0.3."""
    engine = shop(FILES)
    assert all(row.score >= 0.99 for row in engine.context_query(QUERY, min_score=0.99).results)
    assert engine.context_query("walrus migration in winter").results == ()
    assert engine.context_query(QUERY, strategies=["names"]).results
    engine.clear_cache()
    assert engine.context_query(QUERY).context == engine.context_query(QUERY).context


def test_ac_003_query_tool_gives_the_code_over_the_protocol(root: Path) -> None:
    with spoken(root) as server:
        answer = server.call("context_query", question=QUERY, max_tokens=900)
    assert not answer.get("isError"), answer
    assert "await charge(amount, card)" in json.dumps(answer)


def test_ac_003_query_command_shows_the_code(shop: Shop, command: Command) -> None:
    shop(FILES)
    done = command("context", QUERY, "--for", "read", "--max-tokens", "400", "--format", "plain")
    assert done.code == 0, done.err
    assert BODY in done.out
    assert o200k(done.out) <= 401  # the newline at the end


def test_ac_003_metric_1_more_than_95_of_100_entities_give_their_code(root: Path) -> None:
    """Lines that are wrong by some do not count as a failure: the definition is found by its name (decision D5)."""
    results = [row | {"start_line": row["start_line"] + number % 3, "end_line": row["end_line"] + number % 3}
               for number, row in enumerate(steps(30))]  # fmt: skip
    blocks = {block.entity.name: block for block in as_blocks(assembled(root, results, max_tokens=20_000)).blocks}
    right = [f"def step_{number}(amount):\n    total = decimal.Decimal(amount) * {number}\n"
             in getattr(blocks.get(f"step_{number}"), "code", "") for number in range(30)]  # fmt: skip
    assert sum(right) / len(right) > 0.95


def test_ac_003_metric_2_ten_entities_take_less_than_100_ms(root: Path) -> None:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    seconds = []
    for _ in range(4):
        start = time.process_time()
        assembler.assemble_now(steps(10))
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1


def test_ac_003_metric_4_no_content_breaks_the_format(root: Path) -> None:
    nasty = "def nasty():\n    return '''\n```\n</code></entity>]]>\n@@1-9\n'''\n"
    (root / "nasty.py").write_text(nasty, encoding="utf-8")
    result = {"name": "nasty", "type": "function", "file_path": "nasty.py", "start_line": 1, "end_line": 6, "score": 1}
    elements = ElementTree.fromstring(assembled(root, [result], format="xml", view="blocks").text)
    assert nasty.strip() in "".join(elements.itertext())
    fence = re.search(r"^(`{4,})python", assembled(root, [result]).text, re.MULTILINE)
    assert fence is not None
    assert f"\n{fence[1]}\n" in assembled(root, [result]).text


def test_ac_003_risk_1_a_file_that_is_gone_leaves_the_stored_content(root: Path) -> None:
    (root / "src/payments.ts").unlink()
    context = assembled(root, [PAY, *steps(1)])
    assert "Async function taking 2 parameter(s)" in context.text
    assert "processPayment (as given, not as in src" in context.text
    assert "def step_0" in context.text
    assert "src/payments.ts" in context.failures[0].message


def test_ac_003_risk_2_a_file_is_read_again_only_if_it_changed(root: Path) -> None:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    before = assembler.assemble_now([PAY]).text
    assert assembler.assemble_now([PAY]).text == before
    (root / "src/payments.ts").write_text(PAYMENTS.replace("receipt;", "receipt + 1;"), encoding="utf-8")
    assert "return receipt + 1;" in assembler.assemble_now([PAY]).text
    assembler.clear_cache()
    assert "return receipt + 1;" in assembler.assemble_now([PAY]).text


@pytest.mark.parametrize("more", [-2, -1, 1, 3, 40])
def test_ac_003_risk_3_lines_out_of_step_are_noticed_and_corrected(root: Path, more: int) -> None:
    text = "// A new line.\n" * more + PAYMENTS if more > 0 else "\n".join(PAYMENTS.split("\n")[-more:])
    (root / "src/payments.ts").write_text(text, encoding="utf-8")
    (block,) = as_blocks(assembled(root, [PAY], context_lines=0, include_imports=False)).blocks
    assert block.code.strip("\n") == BODY
    assert block.location is not None
    assert (block.location.start_line, block.location.end_line) == (10 + more, 16 + more)


@pytest.mark.parametrize("more", [-4, -2, -1, 1, 3, 40])
def test_ac_003_risk_3_a_class_out_of_step_is_shown_with_its_methods(root: Path, more: int) -> None:
    own = ["class Shop:", "    def open(self):", "        return 1", "", "    def close(self):", "        return 2"]
    lines = ["# Shops.", "", "", "", *own, "", "", "def other():", "    return 3", ""]
    (root / "a.py").write_text("\n".join(["#"] * more + lines if more > 0 else lines[-more:]), encoding="utf-8")
    result = {"name": "Shop", "type": "class", "file_path": "a.py", "start_line": 5, "end_line": 10, "score": 1}
    (block,) = as_blocks(assembled(root, [result], context_lines=0)).blocks
    assert block.code.strip("\n") == "\n".join(own)
    assert block.location is not None
    assert (block.location.start_line, block.location.end_line) == (5 + more, 10 + more)


def test_ac_003_risk_3_an_answer_from_an_old_index_shows_no_wrong_lines(shop: Shop) -> None:
    engine: Satchel = shop(FILES)
    engine.index()
    path = engine.places.root / "src/payments.ts"
    path.write_text("// A new line.\n" * 40 + PAYMENTS, encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    stale = engine.assemble(QUERY, types=["code"], refresh=False)
    assert "processPayment" in stale.text
    for piece in (piece for item in stale.items for piece in item.pieces):
        assert piece.freshness == "stale" or piece.text == "\n".join(lines[piece.start - 1 : piece.end])


LONG = "def long(amount):\n" + "".join(f"    value_{n} = compute({n})\n" for n in range(200)) + "    return amount\n"


@pytest.mark.parametrize(("strategy", "has_end"), [("signature-first", False), ("bookend", True)])
def test_ac_003_truncation_keeps_the_signature_and_the_end_where_asked_for(
    root: Path, strategy: str, has_end: bool
) -> None:
    """Decision D3: the mark is a comment of the language, and what is cut are whole statements."""
    (root / "long.py").write_text(LONG, encoding="utf-8")
    result = {"name": "long", "type": "function", "file_path": "long.py", "start_line": 1, "end_line": 202, "score": 1}
    context = assembled(root, [result], max_tokens=400, strategy=strategy)
    (block,) = as_blocks(context).blocks
    assert block.code.startswith("def long(amount):\n    value_0 = compute(0)\n")
    assert ("return amount" in block.code) is has_end
    assert re.search(r"^ *# .*lines left out", block.code, re.MULTILINE)
    assert "//" not in block.code
    assert context.token_count <= 400


def test_ac_003_outside_a_path_out_of_the_root_is_refused(root: Path) -> None:
    (root.parent / "secret.py").write_text("def secret():\n    return 'hidden words'\n", encoding="utf-8")
    result = {"name": "secret", "type": "function", "file_path": "../secret.py", "start_line": 1, "end_line": 2}
    context = assembled(root, [result | {"score": 1}])
    assert "hidden words" not in context.text
    assert context.failures
