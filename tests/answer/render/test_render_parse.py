"""A rendered context parses back to its items, whatever they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs

from satchel.answer.render import RenderRequest, render
from satchel.answer.render.labels import file_path, labelled, sections
from satchel.answer.request import TextForm
from satchel.types import ContextItem, Detail, Failure, Format, Freshness, Kind, Location, Omission, Piece, View
from tests.rendered import ParsedItem, parse, parse_references

from .examples import ALL, expected, file_item, piece, record_item

NONCE = "120045006780"
TRICKS = [
    "```", "````", "~~~", f"```python {NONCE}", "]]>", "</lines>", "</record>", "</context>", "<!-- ", "&amp;", "&#13;",
    "# Context", "## Code", "### src/a.py", "**Commit** `1a2b3c4` by Ada", "---", "===", "…", "@@10-24", "@@10-24 of f",
    f"=== {NONCE}", f"==== {NONCE}", f"=== file src/a.py {NONCE}", "=== Code ===", "--- 10-24 f", '"', '""', "\\",
    "in", "of", "signature of", "(line)", "x (window)", "a ##", "of f", "in f", "line of f", "1,2", "=2", ";",
    "`1a2b3c4`", "1a2b3c4", "1a2b3c4 by", "\t", " ", "", "\r", "\x1b[31m", "\x00", "\x85", "\u2028", "\x0c", "{",
    "def f():", "class A:",
    "function f() {",
    "fn read<T>(x: T) -> u8 {", "    def read(self):", "moved", "changed ", "stale of A",
    "signature", "line", "A > B", "A > C",
    "Reader.read", "A.f", "f", ".f", "f.", "A", "    return 1",
]  # fmt: skip

words = st.sampled_from(TRICKS) | st.text(max_size=12)
fields = st.lists(words, max_size=4).map("".join) | words
bodies = st.lists(words, max_size=6).map("\n".join)
nonces = st.sampled_from([NONCE, "31", ""])
details = st.sampled_from(Detail)
freshness = st.sampled_from([None, None, *Freshness])


@st.composite
def files(draw: st.DrawFn) -> ContextItem:
    """A file with ascending pieces, some touching, some shown on another number of lines than they span."""
    pieces, line = [], 1
    for _ in range(draw(st.integers(1, 4))):
        line += draw(st.sampled_from([0, 0, 1, 30]))
        shown = piece(line, draw(bodies), draw(fields), draw(details))
        shown = structs.replace(shown, end=shown.end + draw(st.sampled_from([0, 0, 0, 5])), freshness=draw(freshness))
        line = shown.end + 1
        pieces.append(shown)
    source = draw(st.sampled_from(["code", "doc", "note"]))
    language = draw(st.sampled_from(["python", "", "c++", "a b", "`"]))
    path = draw(fields.filter(bool))
    return file_item(path, pieces, source=source, nonce=draw(nonces), language=language)


@st.composite
def records(draw: st.DrawFn) -> ContextItem:
    """A record of any kind."""
    kind = draw(st.sampled_from(Kind))
    return record_item(kind.value, draw(fields), draw(bodies), nonce=draw(nonces), detail=draw(details))


items_lists = st.lists(files() | records(), max_size=4)
requests = st.builds(
    lambda **fields: RenderRequest(**fields),
    query=fields,
    form=st.builds(TextForm, show_sources=st.booleans(), show_code=st.booleans(), group_by_type=st.booleans()),
    overflow=st.lists(st.builds(Omission, words, st.just("code"), fields, st.just(0.1), words, st.just(9), fields)).map(
        tuple
    ),
    failures=st.lists(st.builds(Failure, words, fields, words), max_size=2).map(tuple),
    truncated=st.booleans(),
    summary=fields,
    overview=st.booleans(),
    not_found=st.lists(fields, max_size=3).map(tuple),
    weak=st.booleans(),
    limit=st.sampled_from([0, 500, 4_000]),
)


def _possible_in_xml(text: str) -> str:
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _xml_items(parsed: Sequence[ParsedItem]) -> list[ParsedItem]:
    return [
        replace(
            item,
            path=_possible_in_xml(item.path),
            title=_possible_in_xml(item.title),
            pieces=tuple(
                structs.replace(piece, name=_possible_in_xml(piece.name), text=_possible_in_xml(piece.text))
                for piece in item.pieces
            ),
        )
        for item in parsed
    ]


@pytest.mark.parametrize("format", Format)
@given(requests, items_lists)
def test_a_context_parses_back_to_its_items(format: Format, request_: RenderRequest, items: list[ContextItem]) -> None:  # noqa: A002
    text = render(request_, items, format=format)
    wanted = expected(items, format, group_by_type=request_.form.group_by_type, show_code=request_.form.show_code)
    if format is Format.XML:
        wanted = _xml_items(wanted)
    assert parse(text, format) == wanted
    assert text == render(request_, items, format=format)


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("show_code", [True, False], ids=["code", "no_code"])
def test_an_ordinary_context_parses_back_to_its_items(format: Format, show_code: bool) -> None:  # noqa: A002
    text = render(RenderRequest(form=TextForm(show_code=show_code)), ALL, format=format)
    assert parse(text, format) == expected(ALL, format, show_code=show_code)


@given(requests, items_lists)
def test_markdown_has_no_heading_and_no_block_but_ours(request_: RenderRequest, items: list[ContextItem]) -> None:
    text = render(request_, items, format=Format.MARKDOWN)
    shown = sections(items, group_by_type=request_.form.group_by_type)
    ordered = [item for section in shown for item in section.items]
    tokens = MarkdownIt("commonmark").parse(text)
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    wanted = ["h1"]
    for section in shown:
        wanted += ["h2", *("h3" for item in section.items if file_path(item))]
    assert headings == wanted
    parsed = [item for item in parse(text, Format.MARKDOWN) if item.title or request_.form.show_code]
    fences = [token for token in tokens if token.type == "fence"]
    assert len(fences) == len(parsed) == sum(1 for item in ordered if request_.form.show_code or not file_path(item))
    for fence, item in zip(fences, parsed, strict=True):
        assert item.nonce in fence.info.split(" ") or not item.nonce
        body = labelled(item.pieces, shown=True) if item.path else item.pieces[0].text
        assert fence.content == _as_markdown_lines(f"{body}\n")
    assert {token.type for token in tokens} <= {
        "heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close", "fence", "hr",
    }  # fmt: skip


def _as_markdown_lines(text: str) -> str:
    """The text with the line ends and the stand-in for NUL that a Markdown parser gives it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


@given(requests, items_lists)
def test_xml_is_well_formed_and_holds_only_our_elements(request_: RenderRequest, items: list[ContextItem]) -> None:
    root = ElementTree.fromstring(render(request_, items, format=Format.XML))
    assert root.tag == "context"
    assert {element.tag for element in root.iter()} <= {
        "context", "notice", "section", "file", "lines", "record", "sources", "source", "omitted", "failures",
        "summary", "footer", "best_first", "not_found", "left_out", "weak_match",
    }  # fmt: skip
    assert len(root.findall("section/*")) == len(items)


@given(requests, items_lists)
def test_json_holds_each_text_once(request_: RenderRequest, items: list[ContextItem]) -> None:
    text = render(request_, items, format=Format.JSON)
    context = json.loads(text)["context"]
    assert text == text.encode("utf-8").decode("utf-8")
    assert ("groups" in context) == request_.form.group_by_type
    assert "\n" not in text


@pytest.mark.parametrize("format", Format)
def test_a_lone_surrogate_in_a_name_does_not_break_the_encoding(format: Format) -> None:  # noqa: A002
    item = file_item("src/\udcff.py", (piece(1, "x = 1", "a\udcff"),))
    text = render(RenderRequest(form=TextForm(show_sources=True)), (item,), format=format)
    assert text.encode("utf-8")
    paths = [parsed.path for parsed in parse(text, format)]
    assert paths == ["src/\ufffd.py"] if format is Format.XML else paths == [item.title]


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize(
    "name", ["Reader.read", "App\\Models\\User", "Vec<T>::push", "operator==", "读.取", "__init__"]
)
def test_ordinary_names_and_paths_are_written_as_they_are(format: Format, name: str) -> None:  # noqa: A002
    item = file_item("src/_a b/päth-1.py", (piece(1, "x = 1", name),))
    text = render(RenderRequest(), (item,), format=format)
    assert "src/_a b/päth-1.py" in text
    written = json.dumps(name, ensure_ascii=False)[1:-1] if format is Format.JSON else name.replace("<", "&lt;")
    assert (written if format in (Format.XML, Format.JSON) else name) in text
    assert parse(text, format)[0].pieces[0].name == name


@pytest.mark.parametrize("format", [Format.MARKDOWN, Format.PLAIN])
def test_a_damaged_text_is_named_as_such(format: Format) -> None:  # noqa: A002
    text = render(RenderRequest(), ALL, format=format)
    with pytest.raises(ValueError, match="is not closed"):
        parse(text[: text.index("493817264028") + 20], format)


def test_a_plain_block_without_range_marks_is_damaged() -> None:
    with pytest.raises(ValueError, match="is not a label"):
        parse("=== file a.py 31\nx = 1\n=== 31", Format.PLAIN)


def test_a_piece_without_lines_in_the_file_is_read_back() -> None:
    item = ContextItem(
        "note:1", "note", "a.md", "", 0.5, location=Location("a.md", 0, 0), nonce="31",
        pieces=(Piece(0, 0, "", "one\ntwo"), Piece(1, 1, "", "three")),
    )  # fmt: skip
    for format_ in Format:
        assert parse(render(RenderRequest(), (item,), format=format_), format_)[0].pieces == item.pieces


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("view", View)
def test_formats_and_views_may_be_named_by_their_words(format: Format, view: View) -> None:  # noqa: A002
    text = render(RenderRequest(form=TextForm(view=view)), ALL, format=format)
    assert parse(text, format.value, view.value) == parse(text, format, view) != []


def test_a_word_that_names_no_format_or_view_is_an_error() -> None:
    with pytest.raises(ValueError, match="'html' is not a valid Format"):
        parse("", "html")
    with pytest.raises(ValueError, match="'tree' is not a valid View"):
        parse("", "markdown", "tree")
    with pytest.raises(ValueError, match="'html' is not a valid Format"):
        parse_references("", "html")
