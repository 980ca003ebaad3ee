"""What a context looks like, in each format."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from satchel.answer.render import RenderRequest, Stop, body_parts, render, render_with_usage
from satchel.answer.request import TextForm
from satchel.tokens import counter
from satchel.types import ContextItem, Detail, Failure, Format, Kind, Location, Omission, Piece

from .examples import (
    ALL,
    CAPTURE,
    COMMIT,
    GUIDE,
    MEMORY,
    file_item,
    piece,
    record_item,
    render_head,
    render_item,
    render_tail,
)

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {Format.MARKDOWN: "md", Format.XML: "xml", Format.PLAIN: "txt", Format.JSON: "json"}
FRAMES = {
    "default": RenderRequest(),
    "everything": RenderRequest(
        query="how is output captured",
        form=TextForm(show_sources=True, group_by_type=True),
        overflow=(
            Omission("code:src/a.py::f", "code", "f", 0.4, "budget", 900, "src/a.py", 10, 24),
            Omission("code:src/b.py", "code", "src/b.py", 0.4, "budget", 900, "src/b.py"),
            Omission("commit:2", "commit", "9f8e7d6 by Bo on 2024-01-02", 0.3, "budget", 900),
        ),
        failures=(Failure("docs", "timed out", "raise the deadline"), Failure("notes", "no vectors yet")),
        truncated=True,
        summary="2 items were shortened.",
    ),
    "without_code": RenderRequest(form=TextForm(show_code=False)),
    "empty": RenderRequest(),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("format", Format)
def test_a_context_looks_like_its_golden_file(name: str, format: Format) -> None:  # noqa: A002
    items = () if name == "empty" else ALL
    text = render(FRAMES[name], items, format=format)
    assert text == (GOLDEN / f"{name}.{ENDINGS[format]}").read_text(encoding="utf-8").removesuffix("\n")


def test_the_tokens_of_a_markdown_context_are_the_sum_of_its_parts() -> None:
    count = counter("o200k_base").count
    for request in FRAMES.values():
        parts = [*body_parts(request, ALL, Format.MARKDOWN), render_tail(request, ALL, Format.MARKDOWN)]
        assert "".join(parts) == render(request, ALL, format=Format.MARKDOWN)
        assert sum(map(count, parts)) == count("".join(parts))


def test_the_frame_of_a_markdown_context_stays_lean() -> None:
    count = counter("o200k_base").count
    frame = count(render(RenderRequest(), (), format=Format.MARKDOWN))
    lines = "\n".join(f"    value_{number} = read({number})" for number in range(20))
    one = file_item("src/satchel/reader.py", (piece(101, lines, "Reader.read"),))
    costs = count(render_item(one, Format.MARKDOWN)) - count(lines)
    assert frame <= 21
    assert costs - count("src/satchel/reader.py") - count("101-120 Reader.read") <= 16


@pytest.mark.parametrize("format", [Format.MARKDOWN, Format.PLAIN])
def test_lines_and_name_stand_above_each_piece_inside_its_block(format: Format) -> None:  # noqa: A002
    shown = render_item(CAPTURE, format).split("\n")
    first = shown.index("@@3")
    assert shown[first : first + 4] == ["@@3", "import sys", "@@10-12 CaptureManager", "class CaptureManager:"]
    assert [line for line in shown if line.startswith("@@")] == [
        "@@3",
        "@@10-12 CaptureManager",
        "@@40-44 of CaptureManager: read, close",
        "@@70 of CaptureManager.dump",
        "@@90 of CaptureManager.dump",
        "@@120 signature of main",
        "@@130 line of handler",
    ]


def test_the_fence_of_a_file_says_its_language_first() -> None:
    assert "\n```python 493817264028\n@@3\n" in render_item(CAPTURE, Format.MARKDOWN)


def test_a_fence_is_longer_than_any_run_of_backticks_inside() -> None:
    body = "`````\n``` ~~~~~~~~\n"
    assert render_item(record_item("memory", "fact", body), Format.MARKDOWN) == (
        f"**Memory** fact\n``````120045006780\n{body}\n``````\n\n"
    )


def test_a_plain_block_that_holds_its_own_end_mark_gets_a_longer_one() -> None:
    shown = render_item(record_item("memory", "fact", "a\n=== 31\nb", nonce="31"), Format.PLAIN)
    assert shown == "==== Memory fact 31\na\n=== 31\nb\n==== 31\n\n"


def test_a_file_below_full_detail_says_so_in_its_header_and_a_record_in_its_title() -> None:
    assert "12-13 signature of Reader.read" in render_item(
        file_item("a.py", (Piece(12, 13, "Reader.read", "reads\nit", Detail.SIGNATURE),)),
        Format.MARKDOWN,
    )
    cut = replace(COMMIT, detail=Detail.SPAN)
    assert render_item(cut, Format.MARKDOWN).startswith("**Commit** `1a2b3c4` by Ada on 2024-05-01 (window)\n```")


def test_a_commit_names_five_files_and_counts_the_rest() -> None:
    metadata = {**COMMIT.metadata, "files_changed": [f"{number}.py" for number in range(7)], "file_count": 40}
    shown = render_item(replace(COMMIT, metadata=metadata), Format.PLAIN)
    assert "\nFiles: 0.py, 1.py, 2.py, 3.py, 4.py and 35 more\n" in shown
    assert "Files" not in render_item(replace(COMMIT, metadata=metadata, detail=Detail.LINE), Format.PLAIN)


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"sha": "1a2b3c4d5e", "author": "Ada", "timestamp": "2024-05-01T08:00:00"}, "1a2b3c4 by Ada on 2024-05-01"),
        ({"sha": "1a2b3c4d5e", "timestamp": 0}, "1a2b3c4"),
        ({"sha": "1a2b3c4d5e"}, "1a2b3c4"),
        ({}, "Subject"),
    ],
)
def test_a_commit_is_titled_by_what_is_known_of_it(metadata: dict[str, object], title: str) -> None:
    shown = render_item(record_item("commit", "Subject", "Why", metadata=metadata), Format.PLAIN)
    assert shown.startswith(f"=== Commit {title} 120045006780\n")


def test_an_item_that_has_a_location_but_no_pieces_is_a_record() -> None:
    note = record_item("note", "Plans", "text", location=Location("notes/plans.md", 1, 3))
    assert render_item(note, Format.MARKDOWN) == "**Note** Plans\n```120045006780\ntext\n```\n\n"


def test_sections_follow_the_order_of_the_context_types_and_items_keep_theirs() -> None:
    items = [record_item(kind.value, f"{kind.value} {number}", "x") for number in (2, 1) for kind in reversed(Kind)]
    text = render(RenderRequest(), items, format=Format.MARKDOWN)
    headings = [line for line in text.split("\n") if line.startswith("## ")]
    titles = ["Memories", "Code", "Experiences", "Values", "Commits", "Docs", "Notes", "Conversations", "Contexts"]
    assert headings == [f"## {title}" for title in titles]
    assert text.index("**Memory** memory 2") < text.index("**Memory** memory 1") < text.index("**Code**")


@pytest.mark.parametrize(
    ("types", "title"),
    [
        ("function method class interface type file module", "Relevant Code"),
        ("document section requirement feature", "Related Documentation"),
        ("session message decision", "Previous Conversations"),
        ("person topic", "Other Context"),
    ],
)
def test_every_type_lands_in_its_group(types: str, title: str) -> None:
    for name in types.split():
        item = record_item("note", "a", "b", metadata={"type": name})
        assert f"\n## {title}\n" in render(
            RenderRequest(form=TextForm(group_by_type=True)), (item,), format=Format.MARKDOWN
        )


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("code", "Relevant Code"),
        ("doc", "Related Documentation"),
        ("commit", "Previous Conversations"),
        ("conversation", "Previous Conversations"),
        *((kind, "Other Context") for kind in ("memory", "experience", "value", "note", "context")),
    ],
)
def test_every_kind_lands_in_its_group(kind: str, title: str) -> None:
    text = render(RenderRequest(form=TextForm(group_by_type=True)), (record_item(kind, "a", "b"),), format=Format.PLAIN)
    assert f"=== {title} ===" in text


@pytest.mark.parametrize("format", Format)
def test_the_sources_footer_names_ten_and_counts_the_rest(format: Format) -> None:  # noqa: A002
    items = [file_item(f"src/{number}.py", (piece(5, "x = 1"),)) for number in range(14)]
    text = render_tail(RenderRequest(form=TextForm(show_sources=True)), items, format)
    assert all(f"src/{number}.py:5" in text for number in range(10))
    assert "src/10.py" not in text
    assert {Format.JSON: '"sources_more":4', Format.XML: '<sources more="4">'}.get(format, "; and 4 more") in text
    assert "more" not in render_tail(RenderRequest(form=TextForm(show_sources=True)), items[:10], format)


@pytest.mark.parametrize(
    ("items", "line"),
    [((), "0 items from 0 sources"), ((GUIDE,), "1 item from 1 source"), (ALL, "4 items from 4 sources")],
)
def test_the_footer_counts_items_and_kinds(items: tuple[ContextItem, ...], line: str) -> None:
    assert render_tail(RenderRequest(), items, Format.MARKDOWN) == f"---\n*{line}*"


def test_the_sources_footer_points_to_the_entity_and_not_to_its_imports() -> None:
    pieces = (piece(1, "import sys"), piece(40, "    x = 1", "Reader.read", Detail.SPAN))
    row = {"qualified_name": "Reader.read", "start_line": 31}
    request = RenderRequest(form=TextForm(show_sources=True))
    assert "Sources: a.py:40" in render_tail(request, (file_item("a.py", pieces),), Format.PLAIN)
    item = file_item("a.py", pieces, metadata={"entities": [{"qualified_name": "gone", "start_line": 3}, row]})
    assert "Sources: a.py:31" in render_tail(request, (item,), Format.PLAIN)
    assert "Sources: a.py:1" in render_tail(request, (file_item("a.py", pieces[:1]),), Format.PLAIN)


def omission(number: int, *, path: str = "", title: str = "") -> Omission:
    path = path or f"src/satchel/module_{number}.py"
    return Omission("1", "code", title, 0.4, "budget", 900, path, 10, 24, handle=f"a2b3c4d{number}")


def test_the_best_of_what_was_left_out_is_named_with_its_handles_and_the_rest_counted() -> None:
    overflow = (omission(1, title="Reader.read"), *(omission(number, title="Reader.close") for number in range(2, 9)))
    tail = render_tail(RenderRequest(overflow=overflow), (CAPTURE,), Format.MARKDOWN)
    assert tail.endswith(
        "\nLeft out (satchel expand HANDLE): src/satchel/module_1.py:10-24 Reader.read a2b3c4d1; and 7 more"
    )
    count = counter("o200k_base").count
    assert count(tail) - count(render_tail(RenderRequest(), (CAPTURE,), Format.MARKDOWN)) <= 40
    shown = json.loads(render(RenderRequest(overflow=overflow), (CAPTURE,), format=Format.JSON))["context"]
    assert (len(shown["omitted"]), shown["omitted_more"]) == (1, 7)


def test_one_omission_is_named_however_long_its_path_is() -> None:
    overflow = (omission(1, path="a" * 300), omission(2))
    tail = render_tail(RenderRequest(overflow=overflow), (CAPTURE,), Format.MARKDOWN)
    assert f"{'a' * 300}:10-24 a2b3c4d1; and 1 more" in tail


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("limit", [4_000, 999, 100_000])
def test_the_footer_states_the_tokens_of_the_text_itself(format: Format, limit: int) -> None:  # noqa: A002
    count = counter("o200k_base").count
    text, used = render_with_usage(RenderRequest(limit=limit, stopped=Stop.NOT_WORTH_IT), ALL, format, count)
    assert count(text) == used
    assert f"; {used:,} of {limit:,} tokens; the rest was not worth it" in text


@pytest.mark.parametrize("extra", range(12))
def test_the_number_is_true_where_it_gains_a_digit(extra: int) -> None:
    for body in ("x" * (820 + extra), "x" * (40 + extra)):
        text, used = render_with_usage(
            RenderRequest(limit=4_000), (record_item("memory", "a", body),), Format.PLAIN, len
        )
        assert used == len(text)
        assert f"; {used:,} of 4,000 tokens" in text


def test_the_footer_states_no_number_where_none_is_true_or_there_is_no_limit() -> None:
    numbers = count(1)
    text, used = render_with_usage(RenderRequest(limit=4_000), ALL, Format.PLAIN, lambda _: next(numbers))
    assert "tokens" not in text
    assert used == 4
    assert render_with_usage(RenderRequest(), ALL, Format.PLAIN, len)[0] == render(
        RenderRequest(), ALL, format=Format.PLAIN
    )


def test_a_long_question_is_not_repeated() -> None:
    long, none = RenderRequest(query="why " * 60), RenderRequest()
    assert render_head(long, (), Format.JSON) == render_head(none, (), Format.JSON)


def test_an_item_without_language_or_nonce_still_has_its_marks() -> None:
    bare = replace(MEMORY, nonce="")
    assert render_item(bare, Format.MARKDOWN).split("\n")[1] == "```text"
    assert render_item(bare, Format.PLAIN).startswith("=== Memory preference, importance 0.8 -\n")
    assert "nonce" not in render_item(bare, Format.XML)
    assert "nonce" not in render_item(bare, Format.JSON)
    assert render_item(replace(CAPTURE, language="```"), Format.MARKDOWN).count("```") == 2
