"""A Markdown file becomes notes: its sections, front matter, fields, tags, links and blocks."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.front_matter import front_matter_lines
from satchel.sources.vault import Facts, read_note
from satchel.types import EdgeType


def facts_of(text: str, path: str = "folder/Note.md") -> Facts:
    return read_note(path, text)[1]


def links_of(text: str) -> list[tuple[int, str, str]]:
    return [(link.part, str(link.type), link.target) for link in facts_of(text).links]


def sections_of(text: str) -> list[tuple[str, int, int]]:
    return [(part.name, part.start, part.end) for part in read_note("Note.md", text)[0].parts]


def test_a_file_is_a_note_with_a_section_for_each_heading_below_its_title() -> None:
    text = "# Title\n\nIntro\n\n## One\ntext\n### Deep\n## Two\n"
    assert sections_of(text) == [("", 1, 4), ("One", 5, 6), ("One > Deep", 7, 7), ("Two", 8, 8)]
    assert facts_of(text).title == "Title"


def test_several_first_level_headings_are_sections_and_the_file_is_named_by_its_name() -> None:
    assert sections_of("# A\ntext\n# B\n") == [("", 1, 2), ("B", 3, 3)]
    assert sections_of("intro\n# A\n") == [("", 1, 1), ("A", 2, 2)]
    assert facts_of("# A\n# B\n").title == "Note"


def test_underlined_headings_and_headings_without_a_title_count_and_those_in_quotes_and_code_do_not() -> None:
    text = "intro\n\nOne\n---\n\n> ## quoted\n\n```\n# code\n```\n##\nend\n"
    assert sections_of(text) == [("", 1, 2), ("One", 3, 10), ("(untitled)", 11, 12)]


def test_an_empty_file_is_a_note() -> None:
    assert sections_of("") == [("", 1, 1)]
    assert facts_of("").title == "Note"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[[Alice]]", [(0, "reference", "Alice")]),
        ("see [[Alice|her]] and ![[Plan#Goals]]", [(0, "reference", "Alice"), (0, "reference", "Plan#Goals")]),
        ("[[Note#^b1]] [[#Here]]", [(0, "reference", "Note#^b1"), (0, "reference", "#Here")]),
        ("[her](a%20b/Alice.md#work)", [(0, "reference", "a b/Alice.md#work")]),
        ("[web](https://x.y) <mailto:a@b.c> [x]: y", []),
        ("`[[no]]`\n\n    [[no]]\n\n```\n[[no]]\n```", []),
        ("| a | b |\n|---|---|\n| [[Alice\\|her]] | x |", [(0, "reference", "Alice")]),
        ("[[]] [[ ]] [[a\nb]] [[unfinished", []),
        ("**[[Bold *name*]]**", [(0, "reference", "Bold *name*")]),
        ("intro\n## H\n[[In section]]", [(1, "reference", "In section")]),
        ("owner:: [[Alice]]", [(0, "field", "Alice")]),
        ("- [ ] task [owner:: [[Alice]]] [[Bob]]", [(0, "field", "Alice"), (0, "reference", "Bob")]),
    ],
)
def test_links_are_found_where_they_are_links(text: str, links: list[tuple[int, str, str]]) -> None:
    assert links_of(text) == links


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("status:: done", {"status": ["done"]}),
        ("- due date:: 2026-05-01", {"due date": ["2026-05-01"]}),
        ("with:: [[A]], [[B|b]]", {"with": [{"name": "A", "target": "A"}, {"name": "b", "target": "B"}]}),
        ("by:: [[A]] at noon", {"by": ["A at noon"]}),
        ("text (size:: 3) and [color:: red]", {"size": ["3"], "color": ["red"]}),
        ("std::vector a::b `k:: v`", {}),
        ("empty::", {"empty": []}),
        ("---\ndue: 2026-05-01\nok: true\nnone:\nn: 1.5\nlist: [a, 2]\nmap: {a: 1}\n---\n",
         {"due": ["2026-05-01"], "ok": ["yes"], "n": ["1.5"], "list": ["a", "2"], "map": ['{"a": 1}']}),
        ('---\nowner: "[[Alice|Al]]"\n---\n', {"owner": [{"name": "Al", "target": "Alice"}]}),
    ],
)  # fmt: skip
def test_fields_come_from_lines_brackets_and_front_matter(text: str, fields: dict[str, Any]) -> None:
    assert facts_of(text).fields == fields


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a #one and (#two/deep)", ("one", "two/deep", "two")),
        ("# heading\n\n#tag", ("tag",)),
        ("#123 #1a a#b https://x/#y `#code`", ("1a",)),
        ("---\ntags: [x, '#y/z']\n---\n", ("x", "y/z", "y")),
        ("---\ntags: x, y\n---\n#x", ("x", "y")),
    ],
)
def test_tags_and_the_tags_above_them(text: str, tags: tuple[str, ...]) -> None:
    assert facts_of(text).tags == tags


def test_names_come_from_front_matter() -> None:
    facts = facts_of("---\ntitle: Real\naliases:\n- One\n- Two\n---\n# Other\ntext ^b1\n")
    assert (facts.title, facts.aliases, facts.blocks) == ("Real", ("One", "Two"), {"b1": 0})


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("a: [", "line 2"),
        ("a: &x 1\nb: *x", "alias"),
        ("- a", "not a list of keys"),
        ("a: !!python/object/apply:os.system [ls]", "line 2"),
        ("{{title}}: x", ""),
        ("a: 2026-13-45", ""),
        ("x: " + "y" * 70_000, "characters"),
        ("a: " + "[" * 5_000, ""),
    ],
    ids=["unfinished", "alias", "list", "tag", "template", "date", "large", "deep"],
)
def test_broken_front_matter_is_named_and_the_note_is_read(lines: str, problem: str) -> None:
    facts = facts_of(f"---\n{lines}\n---\n[[A]]")
    assert [link.target for link in facts.links] == ["A"]
    assert problem in facts.problem
    assert facts.problem


def test_front_matter_ends_somewhere_or_is_none() -> None:
    assert front_matter_lines(["---", "a: 1"]) == 0
    assert front_matter_lines(["---", "...", "x"]) == 2
    assert front_matter_lines(["text"]) == 0


def test_a_bomb_of_aliases_takes_no_time() -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    started = time.process_time()
    assert "alias" in facts_of("\n".join(["---", *rows, "---", ""])).problem
    assert time.process_time() - started < 5


@given(st.text(alphabet=st.sampled_from("#[]!|^:-> \n`ab()*_"), max_size=60))
def test_parts_tile_every_text_and_nothing_raises(text: str) -> None:
    outline, facts = read_note("Note.md", text)
    assert outline.parts[0].start == 1
    assert all(one.end + 1 == other.start for one, other in zip(outline.parts, outline.parts[1:], strict=False))
    assert all(0 <= link.part < len(outline.parts) for link in facts.links)
    assert all(link.type in {EdgeType.REFERENCE, EdgeType.FIELD} for link in facts.links)
