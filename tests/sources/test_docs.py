"""Sections of prose and configuration, and chunks of everything else."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.docs import FINDERS, MAX_LINES, outline_chunk, title_of
from satchel.types import Role
from tests.sources.code.rendering import assert_tiles


def sections(text: str, language: str) -> list[tuple[int, int, str]]:
    text = dedent(text).lstrip("\n")
    found = outline_chunk(text, language)
    assert_tiles(found, text)
    assert all((part.role is Role.SECTION) == bool(part.name) for part in found.parts)
    return [(part.start, part.end, part.name) for part in found.parts]


def titles(text: str, language: str) -> list[str]:
    return [name for _, _, name in sections(text, language) if name]


MARKDOWN = """
    ---
    title: x
    # no heading
    ---
    Preface.

    # Guide *to* [things](http://a.b) {#anchor}

    Text.

    ## Install ##
    ```sh
    # no heading
    ```

    ~~~~
    ```
    ## no heading either
    ~~~~
    ### On `Linux`
    #hashtag
    <!--
    ## hidden
    -->
    Second
    ======
    a

    ---

    - item
    ---
    Third
    -----
"""


def test_markdown_sections() -> None:
    assert sections(MARKDOWN, "markdown") == [
        (1, 6, ""),
        (7, 10, "Guide *to* things"),
        (11, 19, "Guide *to* things > Install"),
        (20, 24, "Guide *to* things > Install > On Linux"),
        (25, 32, "Second"),
        (33, 34, "Second > Third"),
    ]


def test_anchors_and_pictures_of_html_are_no_part_of_a_title() -> None:
    text = '# <a id="custom"></a>Custom adapters\n\n## <img src="logo.png"> Logo\n\n# The `<a href>` of Vec<T>\n'
    found = titles(text, "markdown")
    assert found == ["Custom adapters", "Custom adapters > Logo", "The <a href> of Vec<T>"]


def test_the_signature_of_a_section_is_its_heading() -> None:
    found = outline_chunk("# A\n\n## B `c`\n", "markdown").parts
    assert [part.signature for part in found] == ["A", "B c"]


def test_blank_lines_before_the_first_heading_belong_to_it() -> None:
    assert sections("\n\n\n# A\n", "markdown") == [(1, 1, "A")]
    assert [(part.start, part.end) for part in outline_chunk("\n\n# A\nb", "markdown").parts] == [(1, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n",
        "    # indented\n",
        "text\n#nospace\n",
        "| a |\n---\n",
        "> quote\n---\n",
    ],
)
def test_markdown_without_headings(text: str) -> None:
    found = outline_chunk(text, "markdown")
    assert [part.role for part in found.parts] == [Role.TEXT]
    assert_tiles(found, text)


RESTRUCTURED = """
    .. _top:

    =====
    Title
    =====

    Intro
    -----
    text

    .. code::

       Not
       ---

    Deeper
    ~~~~~~

    =====  =====
    a      b
    =====  =====

    Next :ref:`one`
    ---------------

    ----

    A sentence that ends
    here
    ---
    Overlined
    =========
"""


def test_restructured_sections() -> None:
    assert sections(RESTRUCTURED, "rst") == [
        (1, 2, ""),
        (3, 6, "Title"),
        (7, 15, "Title > Intro"),
        (16, 22, "Title > Intro > Deeper"),
        (23, 32, "Title > Next one"),
    ]


def test_the_order_of_appearance_gives_the_levels() -> None:
    text = "A\n*****\n\nB\n=====\n\nC\n*****\n\nD\n^^^^^\n"
    assert titles(text, "rst") == ["A", "A > B", "C", "C > D"]


def test_an_adornment_must_be_long_enough() -> None:
    assert titles("Title\n--\n\nText\n", "rst") == []
    assert titles("Longer title\n----\n", "rst") == ["Longer title"]


def test_asciidoc_and_org_sections() -> None:
    assert titles("= A\n\n----\n== no\n----\n== B\n", "asciidoc") == ["A", "A > B"]
    assert titles("* A\n** B\n*bold*\n", "org") == ["A", "A > B"]


def test_toml_tables_take_the_comments_above_them() -> None:
    text = 'a = 1\n\n# about\n[tool."b"]\nc = """\n[no]\n"""\n[[d]]\n'
    assert sections(text, "toml") == [(1, 2, ""), (3, 7, "tool.b"), (8, 8, "d")]


def test_ini_sections() -> None:
    assert sections("; x\n[a]\nb=1\n[c d]\n", "ini") == [(1, 3, "a"), (4, 4, "c d")]


def test_yaml_blocks_are_sections_and_short_keys_stay_together() -> None:
    text = "name: x\non: y\njobs:\n  a:\n    b\n# last\nenv: 1\nvars: 2\nmore:\n- a\n- b\n"
    assert sections(text, "yaml") == [(1, 2, ""), (3, 5, "jobs"), (6, 8, ""), (9, 11, "more")]


def test_an_indented_comment_stays_in_its_yaml_block() -> None:
    text = "a:\n  b: |\n    x\n  # end\nc:\n  d: 1\n  e: 2\n"
    assert sections(text, "yaml") == [(1, 4, "a"), (5, 7, "c")]


def test_json_keys_of_the_outer_object() -> None:
    text = '{\n  "name": "x",\n  "scripts": {\n    "a": "b"\n  },\n  "end": 1\n}\n'
    assert sections(text, "json") == [(1, 2, ""), (3, 5, "scripts"), (6, 7, "")]


def test_json_on_one_line_is_one_chunk() -> None:
    assert sections('{"a": {"b": [1, 2]}}', "json") == [(1, 1, "")]


def test_makefile_targets() -> None:
    text = "X := 1\n\n.PHONY: all\n# builds\nall: a b\n\tcc\n\nb:: c\n\techo 'x: y'\n%.o: %.c\n\tcc\n"
    assert sections(text, "make") == [(1, 2, ""), (3, 7, "all"), (8, 9, "b"), (10, 11, "%.o")]


def test_dockerfile_stages() -> None:
    text = "ARG X\n# build\nFROM --platform=a golang:1 AS build\nRUN x\nFROM scratch\nCOPY a b\n"
    assert sections(text, "dockerfile") == [(1, 1, ""), (2, 4, "build"), (5, 6, "scratch")]


def test_a_text_without_structure_is_cut_between_paragraphs() -> None:
    text = "\n".join(["line\nline\nline\n"] * 40)
    found = outline_chunk(text, "text").parts
    lines = text.split("\n")
    assert len(found) > 3
    assert all(part.end - part.start < MAX_LINES for part in found)
    assert all(not lines[part.end - 1] for part in found[:-1])


def test_comment_lines_of_configuration() -> None:
    assert outline_chunk("# a\n# b\nx = 1 # c\n# d\n", "toml").comment_lines == ((1, 2), (4, 4))
    assert outline_chunk("# a\n", "markdown").comment_lines == ()


LINES = st.sampled_from(
    [
        *("", "# A", "## B", "A", "===", "---", "```", "~~~", "[a]", "[[b]]", "a:", "  b: 1", "- c", '"""', '  "k": {'),
        *("}", "FROM a AS b", "all: x", "\tx", "* o", "= A", "----", "<!--", "-->", "# c", ".. d::", "   i", "é😀"),
    ]
)


@given(st.sampled_from([*sorted(FINDERS), "text", "xml"]), st.lists(LINES, max_size=120).map("\n".join))
def test_any_chunk_is_tiled(language: str, text: str) -> None:
    assert_tiles(outline_chunk(text, language), text)


@given(st.sampled_from([*sorted(FINDERS), "text"]), st.text(max_size=300))
def test_any_text_is_tiled(language: str, text: str) -> None:
    assert_tiles(outline_chunk(text, language), text)


@pytest.mark.parametrize(
    ("text", "language", "title"),
    [
        ("---\nlayout: page\ntitle: 'Escalation [matrix](a.md)'\n---\n# Nights\n", "markdown", "Escalation matrix"),
        ('+++\ntitle = "Releases"\n+++\ntext\n', "markdown", "Releases"),
        ("# One\n\n## Inside\n", "markdown", ""),
        ("# One\n\n# Two\n", "markdown", "One"),
        ("# One\n", "markdown", ""),
        ("plain\n", "markdown", ""),
        ("[one]\na = 1\n[two]\nb = 1\n", "toml", ""),
    ],
)
def test_a_document_has_a_title_of_its_own_where_its_sections_do_not_name_it(
    text: str, language: str, title: str
) -> None:
    assert title_of(text, outline_chunk(text, language)) == title
