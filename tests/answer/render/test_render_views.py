"""The views: the same items in other layouts, which parse back to them in every format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from satchel.answer.render import RenderRequest, render
from satchel.answer.render.labels import joined_pieces, owners, record_body, record_name
from satchel.answer.request import TextForm
from satchel.safety.sanitize import plain_name
from satchel.types import ContextItem, Detail, Format, Freshness, Piece, Trust, View
from tests.answer.render.examples import ALL, CAPTURE, COMMIT, GUIDE, MEMORY, file_item, piece, record_item
from tests.rendered import ParsedItem, parse

VIEWS = (View.ENTITIES, View.BLOCKS)
SECTION_TITLES = ["Relevant Code", "Related Documentation", "Previous Conversations", "Other Context"]

HARD_TEXT = st.text(
    st.one_of(
        st.sampled_from("`~#*-=:()[]<>&\"'\\ \t\n"),
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn")),
    ),
    max_size=60,
)
HARD_NAME = st.text(
    st.one_of(
        st.sampled_from("`#*-=:()[]<>&\"'\\. "),
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")),
    ),
    max_size=30,
)


def frame(view: View, *, show_code: bool = True) -> RenderRequest:
    return RenderRequest(form=TextForm(view=view, group_by_type=view is View.ENTITIES, show_code=show_code))


def expected(items: tuple[ContextItem, ...], view: View) -> list[ParsedItem]:
    """What reading back gives: the items of the four groups one after the other, or all in their order.

    Lines without a name come back under the name of the entity that shows them.
    """
    titles = {"code": 0, "doc": 1, "commit": 2, "conversation": 2}
    parsed = []
    for item in sorted(items, key=lambda one: titles.get(one.source, 3)) if view is View.ENTITIES else items:
        section = SECTION_TITLES[titles.get(item.source, 3)] if view is View.ENTITIES else ""
        if item.location is not None:
            parsed.append(ParsedItem(section, item.location.path, "", named(item.pieces), item.nonce))
        else:
            shown = Piece(0, 0, "", record_body(item), item.detail)
            parsed.append(ParsedItem(section, "", record_name(item), (shown,), item.nonce))
    return parsed


def named(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces, each under the name of the entity that shows it."""
    shown = [structs.replace(piece, name=plain_name(piece.name)) for piece in pieces]
    whole = [
        structs.replace(one, detail=Detail.FULL) if not one.name and one.detail is Detail.SPAN else one for one in shown
    ]
    owned = [structs.replace(piece, name=name) for piece, name in zip(whole, owners(shown), strict=True)]
    runs = [joined_pieces(run) for _, run in groupby(owned, key=lambda piece: piece.name)]
    return tuple(piece for run in runs for piece in run)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", list(Format))
def test_a_view_parses_back_to_its_items(view: View, layout: Format) -> None:
    text = render(frame(view), ALL, format=layout)
    assert parse(text, layout, view) == expected(ALL, view)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", list(Format))
def test_a_view_without_code_parses_back_to_places(view: View, layout: Format) -> None:
    parsed = parse(render(frame(view, show_code=False), ALL, format=layout), layout, view)
    assert [(item.path, item.title) for item in parsed] == [(one.path, one.title) for one in expected(ALL, view)]
    pieces = [(one.start, one.end, one.name) for item in parsed if item.path for one in item.pieces]
    assert pieces == [(one.start, one.end, one.name) for item in (CAPTURE, GUIDE) for one in named(item.pieces)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", list(Format))
@given(
    path=HARD_NAME.filter(lambda text: bool(text.strip())),
    names=st.lists(HARD_NAME, min_size=1, max_size=3),
    text=HARD_TEXT,
    title=HARD_NAME,
    kind=HARD_NAME,
    detail=st.sampled_from(Detail),
    freshness=st.sampled_from([None, *Freshness]),
)
def test_any_content_name_path_and_type_comes_back(
    view: View, layout: Format, path: str, names: list[str], text: str, title: str, kind: str, detail: Detail,
    freshness: Freshness | None,
) -> None:  # fmt: skip
    pieces, line = [], 1
    for name in names:
        made = structs.replace(piece(line, text, "" if name == path else name, detail), freshness=freshness)
        pieces.append(made)
        line = made.end + 3
    row = {
        "id": "1",
        "name": "n",
        "type": kind,
        "qualified_name": names[0],
        "start_line": 1,
        "end_line": 2,
        "score": 0.25,
    }
    items = (
        file_item(path, pieces, metadata={"entities": [row], "type": kind}),
        record_item("memory", title, text, detail=detail, metadata={"type": kind}),
    )
    parsed = parse(render(frame(view), items, format=layout), layout, view)
    assert sorted(item.path for item in parsed) == sorted([path, ""])
    found = next(item for item in parsed if item.path)
    assert found.pieces == named(pieces)
    record = next(item for item in parsed if not item.path)
    wanted = plain_name(title) if title and title != text.split("\n")[0] else "Memory"
    assert (record.title, record.pieces) == (wanted, (Piece(0, 0, "", text, detail),))


def test_entities_have_a_heading_each_under_the_four_titles() -> None:
    text = render(frame(View.ENTITIES), ALL, format=Format.MARKDOWN)
    headings = [line for line in text.split("\n") if line.startswith("## ")]
    assert headings == [f"## {title}" for title in SECTION_TITLES]
    assert "### 1a2b3c4 by Ada on 2024-05-01\n*commit*" in text
    assert "### CaptureManager.read\n*src/_pytest/capture.py:40-41*" in text
    assert "*src/_pytest/capture.py:70 (window); 90 (window)*" in text or "70,90 (window)" in text


def test_blocks_name_type_and_score() -> None:
    row = {
        "id": "1",
        "name": "main",
        "type": "function",
        "qualified_name": "main",
        "start_line": 120,
        "end_line": 140,
        "score": 0.891,
    }
    item = replace(CAPTURE, metadata={"entities": [row]})
    text = render(frame(View.BLOCKS), (item, COMMIT), format=Format.MARKDOWN)
    assert "### function: main\n*src/_pytest/capture.py:120 (signature)* (score: 0.89)\n\n**Imports:** 3\n" in text
    assert text.index("### function: main") < text.index("### code: CaptureManager.read\n")
    assert '<location file="src/_pytest/capture.py" start="120" end="140"/>' in render(
        frame(View.BLOCKS), (item,), format=Format.XML
    )


def test_blocks_may_be_grouped_too() -> None:
    request = RenderRequest(form=TextForm(view=View.BLOCKS, group_by_type=True))
    text = render(request, (MEMORY, CAPTURE), format=Format.PLAIN)
    assert text.index("=== Relevant Code ===") < text.index("=== Other Context ===")


@pytest.mark.parametrize("view", VIEWS)
def test_a_damaged_view_is_an_error(view: View) -> None:
    for layout in (Format.MARKDOWN, Format.PLAIN):
        text = render(frame(view), ALL, format=layout)
        with pytest.raises(ValueError, match="is not closed"):
            parse(text[: text.rindex(ALL[-1].nonce)] + "-", layout, view)
    with pytest.raises(ValueError, match="no location"):
        parse("### function: x\n\nno place", Format.MARKDOWN, view)
    with pytest.raises(ValueError, match=r"no (type|place)"):
        parse("=== x 12\n---:\ny\n=== 12\n", Format.PLAIN, view)


def test_no_items_are_no_sections() -> None:
    for layout in Format:
        assert parse(render(frame(View.BLOCKS), (), format=layout), layout, View.BLOCKS) == []


IMPORTS = piece(1, "import sys\nimport os")
MAIN = piece(9, "# runs\n", detail=Detail.SPAN), piece(11, "def main():\n    ...", "main")
REST = piece(20, "main()", detail=Detail.SPAN)
SCRIPT = file_item("src/run.py", (IMPORTS, *MAIN, REST))


def test_a_block_shows_imports_apart_and_its_code() -> None:
    text = render(frame(View.BLOCKS), (SCRIPT,), format=Format.MARKDOWN)
    assert "### code: main\n*src/run.py:9-12,20* (score: 0.50)\n\n" in text
    assert "**Imports:** 1-2\n```python 493817264028\nimport sys\nimport os\n```\n\n**Code:**\n```python " in text
    assert '<imports range="1-2">' in render(frame(View.BLOCKS), (SCRIPT,), format=Format.XML)
    assert '"imports":[{"start":1,' in render(frame(View.BLOCKS), (SCRIPT,), format=Format.JSON)
    places = render(frame(View.BLOCKS, show_code=False), (SCRIPT,), format=Format.MARKDOWN)
    assert "**Imports:** 1-2\n\n---" in places


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", list(Format))
def test_lines_without_a_name_make_no_entity_of_their_own(view: View, layout: Format) -> None:
    text = render(frame(view), (SCRIPT,), format=layout)
    assert '""' not in text
    (parsed,) = parse(text, layout, view)
    assert parsed.pieces == named(SCRIPT.pieces)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", list(Format))
def test_a_file_of_which_nothing_has_a_name_is_an_entity_by_its_path(view: View, layout: Format) -> None:
    item = file_item("src/run.py", (IMPORTS, REST))
    text = render(frame(view), (item,), format=layout)
    assert '""' not in text
    assert text.count("src/run.py") == 2
    assert parse(text, layout, view)[0].pieces == named(item.pieces)


def test_what_is_to_be_followed_says_so_in_its_name() -> None:
    rule = record_item("context", "AGENTS.md", "Use tabs", trust=Trust.GUIDANCE)
    assert "### Guidance AGENTS.md\n" in render(frame(View.ENTITIES), (rule,), format=Format.MARKDOWN)
