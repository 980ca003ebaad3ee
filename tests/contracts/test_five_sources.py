"""Five sources and one question, from the real writers to the text.

The cases with a number are scenarios that failed in a system that was shipped before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Context, ContextAssembler, Satchel
from satchel.testing import TinyRepository
from satchel.types import Detail, Format
from satchel.vocabulary import Axis
from tests.contracts.five import QUESTION, TYPES, remember, repository
from tests.oracle import o200k
from tests.postgres import move_home, own_home
from tests.rendered import parse


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine that knows something of all five kinds. Tests only ask it."""
    folder = tmp_path_factory.mktemp("five")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, folder / "home")
        with Satchel.open(repository(folder / "shop").root) as opened:
            opened.index()
            remember(opened)
            yield opened


@pytest.fixture
def context(engine: Satchel) -> Context:
    """The answer to the question that needs all five."""
    return engine.assemble(QUESTION, types=TYPES, max_tokens=2000, now=1_800_000_000)


def by_source(context: Context) -> dict[str, list[str]]:
    """Ids of the items by kind."""
    found: dict[str, list[str]] = {}
    for item in context.items:
        found.setdefault(item.source, []).append(item.id)
    return found


def test_every_section_is_filled_in_the_order_of_the_specification(context: Context) -> None:
    headings = re.findall(r"^## (.+)$", context.text, re.MULTILINE)
    assert headings == ["Memories", "Code", "Experiences", "Values", "Commits"]
    assert context.text.startswith("# Context\n")
    assert f"*{len(context.items)} items from 5 sources;" in context.text
    assert list(context.sources_used) == TYPES
    assert context.failures == ()


def test_case_3_each_source_has_three_items_in_2000_tokens(engine: Satchel) -> None:
    context = engine.assemble(QUESTION, types=TYPES, max_tokens=2000, fill=True, now=1_800_000_000)
    assert context.usage.used == o200k(context.text) <= 2000
    counts = {source: len(ids) for source, ids in by_source(context).items()}
    assert min(counts.values()) >= 3, counts
    shares: dict[str, int] = {}
    for item in context.items:
        shares[item.source] = shares.get(item.source, 0) + item.tokens
    assert shares["experience"] > max(shares["memory"], shares["value"])


def test_case_5_what_a_writer_stores_is_in_the_text_with_the_metadata_of_its_kind(context: Context) -> None:
    names = {
        "memory": {"id", "category", "importance", "created_at"},
        "code": {"file_path", "start_line", "end_line", "language", "qualified_name"},
        "experience": {"id", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"},
        "value": {"id", "axis", "cluster_id", "cluster_size", "similarity_to_centroid"},
        "commit": {"sha", "author", "timestamp", "files_changed", "insertions", "deletions"},
    }
    for item in context.items:
        assert names[item.source] <= set(item.metadata), item.id
        assert item.pieces[0].text in context.text
    for label in ("**Memory** Category: fact, Importance: 0.8", "**Experience** debugging | root-cause-analysis",
                  "**Value** (full, cluster size: ", "**Commit** `", "def take_connection"):  # fmt: skip
        assert label in context.text


@pytest.mark.parametrize("axis", Axis)
def test_every_axis_is_searched_and_shown(engine: Satchel, axis: Axis) -> None:
    context = engine.assemble(QUESTION, types=["experiences"], filters={"axis": axis.value}, max_tokens=2000)
    assert context.items
    assert all(item.id.partition("::")[0] in item.handle + item.id for item in context.items)
    assert "**Experience** debugging | root-cause-analysis" in context.text


def test_tier_importance_and_recency_stand_in_the_explanation(context: Context) -> None:
    signals = {item.source: {signal.name for signal in item.signals} for item in context.items}
    assert signals["memory"] >= {"words", "importance", "recency"}
    assert signals["experience"] >= {"words", "tier", "recency"}
    assert signals["commit"] >= {"words", "recency"}


@pytest.mark.parametrize("format_", Format)
def test_all_five_are_in_every_format_and_parse_back(engine: Satchel, format_: Format) -> None:
    context = engine.assemble(QUESTION, types=TYPES, max_tokens=2500, format=format_.value, now=1_800_000_000)
    assert set(context.sources_used) == set(TYPES)
    assert context.usage.used == o200k(context.text) <= 2500
    assert [item.nonce for item in parse(context.text, format_)] == [item.nonce for item in context.items]


def test_case_1_two_functions_of_one_file_are_both_kept(engine: Satchel) -> None:
    context = engine.assemble("take_connection give_connection", types=["code"], max_tokens=1000)
    (item,) = [item for item in context.items if item.title == "shop/pool.py"]
    assert {"take_connection", "give_connection"} <= {row["qualified_name"] for row in item.metadata["entities"]}
    given = ContextAssembler(engine).assemble_now(
        [{"name": "take_connection", "type": "function", "file_path": "shop/pool.py", "start_line": 4, "score": 0.9},
         {"name": "give_connection", "type": "function", "file_path": "shop/pool.py", "start_line": 11, "score": 0.8}]
    )  # fmt: skip
    assert "def take_connection" in given.text
    assert "def give_connection" in given.text


def test_case_2_a_code_item_that_is_cut_still_parses_and_names_its_real_lines(tmp_path: Path) -> None:
    body = "".join(f"    total += weigh({number}, '```')\n" for number in range(300))
    source = f"\n\ndef weigh_everything(total: int) -> int:\n    '''Weigh with ``` in it.'''\n{body}    return total\n"
    root = tmp_path / "shop"
    made = TinyRepository(root)
    made.commit("Weigh everything", {"weigh.py": source})
    with Satchel.open(root, environ=own_home(tmp_path / "home")) as opened:
        for format_ in Format:
            context = opened.assemble("weigh_everything total", types=["code"], max_tokens=500, format=format_.value)
            (parsed,) = parse(context.text, format_)
            (item,) = context.items
            lines = source.split("\n")
            assert item.cuts
            for piece in parsed.pieces:
                assert piece.text == "\n".join(lines[piece.start - 1 : piece.end])
            assert context.usage.used <= 500


def test_a_record_that_is_cut_says_where_all_of_it_is(tmp_path: Path) -> None:
    with Satchel.open(repository(tmp_path / "shop").root, environ=own_home(tmp_path / "home")) as opened:
        long = "\n".join(f"The heron server has room {number} for guests" for number in range(200))
        stored = opened.memories.add(long).memory
        opened.memories.add("A heron is no server")
        context = opened.assemble("heron server room guests", types=["memories"], max_tokens=900)
        cut = next(item for item in context.items if item.id == f"memory:{stored.id}")
        assert cut.detail == "window"
        assert cut.content.endswith(f"(truncated, full memory ID: {stored.id})")
        assert context.usage.used <= 900


@pytest.mark.parametrize(("most", "least"), [(180, 1), (230, 2), (250, 2), (280, 3), (320, 3)])
def test_case_4_a_first_item_larger_than_the_budget_starves_no_smaller_one(
    tmp_path: Path, most: int, least: int
) -> None:
    with Satchel.open(repository(tmp_path / "shop").root, environ=own_home(tmp_path / "home")) as opened:
        opened.memories.add("heron server restart " * 300)
        for number in range(4):
            opened.memories.add(f"The heron server {number} has its restart at {number} in the morning")
        context = opened.assemble("heron server restart", types=["memories"], max_tokens=most)
        details = sorted(item.detail for item in context.items)
        assert details.count(Detail.FULL) >= least
        assert details[-1] == Detail.SPAN
        assert context.usage.used <= most
