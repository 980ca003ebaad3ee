"""What stands above the items: words that were not found, a weak match, the list of the best files."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from satchel.answer.render import RenderRequest, render
from satchel.answer.request import TextForm
from satchel.tokens import counter
from satchel.types import ContextItem, Detail, Format, Signal, View
from tests.rendered import parse

from .examples import COMMIT, MEMORY, file_item, piece, record_item, render_head


def file(number: int, *signals: str) -> ContextItem:
    """A file whose best part is not its first one."""
    return file_item(
        f"src/module_{number}/reader.py",
        (
            piece(1, "import sys"),
            piece(9, "    def read(self):", "Reader.read", Detail.SPAN),
            piece(12, "        a = 1\n        return a", "Reader.read", Detail.SPAN),
        ),
        metadata={"names": ["Reader.read", "Reader"]},
        signals=tuple(Signal(name, 1.0, 1.0) for name in signals),
    )


FILES = tuple(file(number, "name", "history") for number in range(1, 11))


def head(items: tuple[ContextItem, ...], format: Format = Format.MARKDOWN, **fields: object) -> list[str]:  # noqa: A002
    return render_head(RenderRequest(**fields), items, format).split("\n")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", [Format.MARKDOWN, Format.PLAIN])
def test_more_than_two_files_are_listed_best_first_with_name_lines_and_reason(format: Format) -> None:  # noqa: A002
    assert head(FILES[:3], format)[2:] == [
        "Best first:",
        "1 src/module_1/reader.py: Reader.read (12-13), name",
        "2 src/module_2/reader.py: Reader.read (12-13), name",
        "3 src/module_3/reader.py: Reader.read (12-13), name",
        "",
        "",
    ]


def test_the_list_has_eight_lines_and_counts_the_others() -> None:
    lines = head(FILES)
    assert lines[10].startswith("8 src/module_8/reader.py")
    assert lines[11:] == ["and 2 more", "", ""]


def test_two_files_and_records_need_no_list() -> None:
    assert head((*FILES[:2], COMMIT, MEMORY)) == head(())
    assert head(FILES, overview=False) == head(())
    assert head(FILES, form=TextForm(view=View.BLOCKS)) == head(())


def test_a_small_budget_gets_a_lean_list_or_none() -> None:
    count = counter("o200k_base").count
    for limit in (1_000, 2_000, 4_000, 8_000):
        lines = "\n".join(head(FILES, limit=limit)[2:-1])
        assert count(lines) <= limit * 0.013 + 8  # names with digits cost more than words
    lean = head(FILES, limit=4_000)
    assert lean[4].endswith("(12-13), name")
    assert lean[5:7] == ["3 src/module_3/reader.py", "and 7 more"]
    assert head(FILES, limit=1_000) == head(())


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        (("history", "path mention", "trace"), "trace"),
        (("symbol mention",), "names it"),
        (("whole file", "file score"), "words"),
        ((), "words"),
    ],
)
def test_the_reason_is_the_most_telling_signal(signals: tuple[str, ...], reason: str) -> None:
    assert head((file(1, *signals), *FILES[:2]))[3].endswith(f"(12-13), {reason}")


def test_a_section_is_listed_by_its_last_heading_and_a_gap_by_its_lines() -> None:
    guide = file_item("docs/a.md", (piece(3, "Use", "Guide > Use"),), source="doc")
    bare = file_item("b.py", (piece(3, "x = 1"),))
    assert head((guide, bare, FILES[0]))[3:5] == ["1 docs/a.md: Use (3), words", "2 b.py: 3, words"]


def test_xml_has_the_list_as_an_element_and_json_none() -> None:
    root = ElementTree.fromstring(render(RenderRequest(), FILES[:3], format=Format.XML))
    assert (root.findtext("best_first") or "").split("\n")[1] == ("1 src/module_1/reader.py: Reader.read (12-13), name")
    assert "best_first" not in render(RenderRequest(), FILES[:3], format=Format.JSON)


@pytest.mark.parametrize("format", [Format.MARKDOWN, Format.PLAIN])
def test_what_was_not_found_and_a_weak_match_stand_below_the_notice(format: Format) -> None:  # noqa: A002
    assert head((), format, not_found=("websocket", "reconnect"), weak=True)[2:4] == [
        "Not found here: websocket, reconnect.",
        "Weak match: nothing here answers this well; the best few are shown.",
    ]


def test_structured_formats_have_what_was_not_found_in_fields_of_their_own() -> None:
    request = RenderRequest(not_found=("a<b", "c"), weak=True)
    root = ElementTree.fromstring(render(request, (MEMORY,), format=Format.XML))
    assert root.findtext("not_found") == "a<b, c"
    assert root.findtext("weak_match") == "nothing here answers this well; the best few are shown"
    context = json.loads(render(request, (MEMORY,), format=Format.JSON))["context"]
    assert context["not_found"] == ["a<b", "c"]
    assert context["weak_match"].startswith("nothing here")


def test_words_of_the_question_cannot_break_out_of_their_line() -> None:
    words = ("`x`\n## Code", "\u202eevil", "```", "\x1b[31m", "w" * 300)
    text = render(RenderRequest(not_found=words), (MEMORY,), format=Format.MARKDOWN)
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "w" * 41 not in text
    assert len([token for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]) == 1
    assert parse(text, Format.MARKDOWN) == parse(render(RenderRequest(), (MEMORY,), format=Format.MARKDOWN), "markdown")


@pytest.mark.parametrize("path", ["## Code", "- a", "```", "---", "> a", "===", "1. a", "**Memory** x", "=== a ==="])
def test_a_path_in_the_list_makes_no_markup(path: str) -> None:
    items = tuple(file_item(path, (piece(1, "x = 1", path),)) for _ in range(3))
    for format_ in (Format.MARKDOWN, Format.PLAIN):
        assert [one.path for one in parse(render(RenderRequest(), items, format=format_), format_)] == [path] * 3
    tokens = MarkdownIt("commonmark").parse(render(RenderRequest(), items, format=Format.MARKDOWN))
    kinds = [token.type for token in tokens]
    assert "list_item_open" not in kinds
    assert "blockquote_open" not in kinds
    assert kinds.count("fence") == 3


def test_a_record_that_begins_with_its_title_says_it_once() -> None:
    note = record_item("note", "Plans", "Plans\nfor the week")
    assert "**Note**\n```" in render(RenderRequest(), (note,), format=Format.MARKDOWN)
    assert render(RenderRequest(), (note,), format=Format.PLAIN).count("Plans") == 1
    sources = render(RenderRequest(form=TextForm(show_sources=True)), (note,), format=Format.MARKDOWN)
    assert sources.endswith("Sources: Note Plans")
