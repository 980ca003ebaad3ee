"""What a context looks like, in each format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from satchel.assemble.render import (
    RenderRequest,
    render,
    render_head,
    render_item,
    render_parts,
    render_section,
    render_tail,
)
from satchel.tokens import counter
from satchel.types import ContextItem, Detail, Failure, Format, Kind, Location, Omission, Piece

from .examples import ALL, CAPTURE, COMMIT, GUIDE, MEMORY, file_item, piece, record_item

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {Format.MARKDOWN: "md", Format.XML: "xml", Format.PLAIN: "txt", Format.JSON: "json"}
FRAMES = {
    "default": RenderRequest(),
    "everything": RenderRequest(
        query="how is output captured",
        show_sources=True,
        group_by_type=True,
        overflow=(
            Omission("code:src/a.py::f", "code", "f", 0.4, "budget", 900, "src/a.py", 10, 24),
            Omission("code:src/b.py", "code", "src/b.py", 0.4, "budget", 900, "src/b.py"),
            Omission("commit:2", "commit", "9f8e7d6 by Bo on 2024-01-02", 0.3, "budget", 900),
        ),
        failures=(Failure("docs", "timed out", "raise the deadline"), Failure("notes", "no vectors yet")),
        truncated=True,
        summary="2 items were shortened.",
    ),
    "without_code": RenderRequest(show_code=False),
    "empty": RenderRequest(),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("format", Format)
def test_a_context_looks_like_its_golden_file(name: str, format: Format) -> None:  # noqa: A002
    items = () if name == "empty" else ALL
    text = render(FRAMES[name], items, format=format)
    assert text == (GOLDEN / f"{name}.{ENDINGS[format]}").read_text(encoding="utf-8").removesuffix("\n")


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("format", Format)
def test_the_text_is_its_parts_joined(name: str, format: Format) -> None:  # noqa: A002
    request = FRAMES[name]
    title = "Relevant Code" if request.group_by_type else "Code"
    parts = list(render_parts(request, ALL, format))
    assert "".join(parts) == render(request, ALL, format=format)
    assert parts[0] == render_head(request, format)
    assert parts[-1] == render_tail(request, ALL, format)
    shown = [render_item(item, format, show_code=request.show_code) for item in ALL]
    assert all(any(part.endswith(text) for part in parts) for text in shown)
    assert any(part.endswith(render_section(request, title, format)[0]) for part in parts)


def test_the_tokens_of_a_markdown_context_are_the_sum_of_its_parts() -> None:
    count = counter("o200k_base").count
    for request in FRAMES.values():
        parts = list(render_parts(request, ALL, Format.MARKDOWN))
        assert sum(map(count, parts)) == count("".join(parts))


def test_the_frame_of_a_markdown_context_stays_lean() -> None:
    count = counter("o200k_base").count
    frame = count(render(RenderRequest(), (), format=Format.MARKDOWN))
    lines = "\n".join(f"    value_{number} = read({number})" for number in range(20))
    one = file_item("src/satchel/reader.py", (piece(101, lines, "Reader.read"),))
    costs = count(render_item(one, Format.MARKDOWN)) - count(lines)
    assert frame <= 21
    assert costs - count("src/satchel/reader.py") - count("101-120 Reader.read") <= 13


def test_a_name_is_left_out_where_the_lines_say_it() -> None:
    shown = render_item(CAPTURE, Format.MARKDOWN).split("\n")
    assert shown[1:7] == [
        "3,10-12",
        "40-44 in CaptureManager",
        "70,90 of CaptureManager.dump",
        "120 signature of main",
        "130 line of handler",
        "```python 493817264028",
    ]


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
    cut = replace(COMMIT, detail=Detail.WINDOW)
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
        ({"sha": "1a2b3c4d5e", "timestamp": 0}, "1a2b3c4 on 1970-01-01"),
        ({"sha": "1a2b3c4d5e"}, "1a2b3c4"),
        ({}, "Subject"),
    ],
)
def test_a_commit_is_titled_by_what_is_known_of_it(metadata: dict[str, object], title: str) -> None:
    shown = render_item(record_item("commit", "Subject", "Subject", metadata=metadata), Format.PLAIN)
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
        assert f"\n## {title}\n" in render(RenderRequest(group_by_type=True), (item,), format=Format.MARKDOWN)


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
    text = render(RenderRequest(group_by_type=True), (record_item(kind, "a", "b"),), format=Format.PLAIN)
    assert f"=== {title} ===" in text


@pytest.mark.parametrize("format", Format)
def test_the_sources_footer_names_ten_and_counts_the_rest(format: Format) -> None:  # noqa: A002
    items = [file_item(f"src/{number}.py", (piece(5, "x = 1"),)) for number in range(14)]
    text = render_tail(RenderRequest(show_sources=True), items, format)
    assert all(f"src/{number}.py:5" in text for number in range(10))
    assert "src/10.py" not in text
    assert "and 4 more" in text
    assert "more" not in render_tail(RenderRequest(show_sources=True), items[:10], format)


@pytest.mark.parametrize(
    ("items", "line"),
    [((), "0 items from 0 sources"), ((GUIDE,), "1 item from 1 source"), (ALL, "4 items from 4 sources")],
)
def test_the_footer_counts_items_and_kinds(items: tuple[ContextItem, ...], line: str) -> None:
    assert render_tail(RenderRequest(), items, Format.MARKDOWN) == f"---\n*{line}*"


def test_a_long_question_is_not_repeated() -> None:
    assert render_head(RenderRequest(query="why " * 60), Format.JSON) == render_head(RenderRequest(), Format.JSON)


def test_an_item_without_language_or_nonce_still_has_its_marks() -> None:
    bare = replace(MEMORY, nonce="")
    assert render_item(bare, Format.MARKDOWN).split("\n")[1] == "```text"
    assert render_item(bare, Format.PLAIN).startswith("=== Memory preference, importance 0.8 -\n")
    assert "nonce" not in render_item(bare, Format.XML)
    assert "nonce" not in render_item(bare, Format.JSON)
    assert render_item(replace(CAPTURE, language="```"), Format.MARKDOWN).count("```") == 2
