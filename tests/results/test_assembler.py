"""Search results from anywhere become a context: real lines, each entity once, nothing from outside the root."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from satchel import AssemblyOptions, Context, ContextAssembler, Satchel, engine
from satchel.errors import UsageError
from satchel.system.locations import locate
from satchel.types import Format, View
from tests.e2e.sample import CLIENT, ERRORS, GUIDE
from tests.oracle import o200k
from tests.rendered import parse

LINES = CLIENT.split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of files; no history is needed to assemble what is given."""
    folder = tmp_path / "shop"
    for path, text in (("shop/client.py", CLIENT), ("shop/errors.py", ERRORS), ("docs/guide.md", GUIDE)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def assembled(root: Path, results: list[Any], **options: Any) -> Context:
    return ContextAssembler(options=AssemblyOptions(project_root=root, **options)).assemble_now(results)


def result(name: str, start: int = 0, end: int = 0, score: float = 0.5, **entity: Any) -> dict[str, Any]:
    """A result in the older shape: the location stands in the metadata, in camel case."""
    place = {"filePath": entity.pop("path", "shop/client.py")}
    place |= {"startLine": start} if start else {}
    place |= {"endLine": end} if end else {}
    return {
        "entity": {"name": name, "type": "method", "metadata": place, **entity},
        "score": score,
        "source": "semantic",
    }


def shown(context: Context, path: str = "shop/client.py") -> set[int]:
    item = next(item for item in context.items if item.title == path)
    return {number for start, end in item.spans for number in range(start, end + 1)}


SEND = result("send_order", 14, 20, 0.9, id="send", qualifiedName="shop/client.py::Client.send_order")
BACKOFF = result("backoff", 26, 28, 0.8, id="backoff", type="function")


def test_an_entity_is_shown_by_the_real_lines_of_its_file(root: Path) -> None:
    context = assembled(root, [SEND], context_lines=0, include_imports=False)
    (item,) = context.items
    assert item.spans == ((14, 20),)
    assert item.content == "\n".join(LINES[13:20])
    assert item.relevance == 0.9
    assert context.usage.used == o200k(context.text)


def test_lines_around_and_the_imports_that_are_needed_come_with_it(root: Path) -> None:
    context = assembled(root, [SEND], context_lines=2)
    assert {12, 13, 21, 22} - shown(context) <= {13, 21}  # blank lines at the ends are not shown
    assert {3, 5} <= shown(context)


def test_the_coroutine_gives_the_same_bytes(root: Path) -> None:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    assert asyncio.run(assembler.assemble([SEND, BACKOFF])).text == assembler.assemble_now([SEND, BACKOFF]).text


def test_a_result_may_be_an_object_and_hits_of_ours_are_results(root: Path) -> None:
    @dataclass
    class Thing:
        name: str
        type: str
        file_path: str
        start_line: int
        end_line: int

    @dataclass
    class Found:
        entity: Thing
        score: float

    context = assembled(root, [Found(Thing("backoff", "function", "shop/client.py", 26, 28), 0.7)])
    assert "def backoff" in context.text
    with Satchel.open(root=root) as satchel:
        hits = satchel.search("backoff between attempts")
    context = assembled(root, hits)
    assert "def backoff" in context.text
    assert context.failures == ()


def test_the_best_score_comes_first_and_ties_keep_their_order(root: Path) -> None:
    notes = [
        {"name": f"n{number}", "content": f"note number {number}", "score": score}
        for number, score in enumerate([0.1, 0.5, 0.1, 0.9])
    ]
    assert [item.title for item in assembled(root, notes).items] == ["n3", "n1", "n0", "n2"]


def test_case_16_an_entity_found_by_three_searches_counts_once(root: Path) -> None:
    again = [SEND | {"score": score, "source": source} for score, source in ((0.9, "a"), (0.4, "b"), (0.2, "c"))]
    context = assembled(root, [*again, BACKOFF])
    assert context.meta["given"]["results"] == 4
    assert context.meta["given"]["entities"] == 2
    assert [row["id"] for row in context.items[0].metadata["entities"]] == ["send", "backoff"]


@pytest.mark.parametrize("view", list(View))
def test_case_18_xml_is_well_formed_for_any_content(root: Path, view: View) -> None:
    content = 'if a && b < c { x = "]]>"; }\n</lines></file></context>\n<![CDATA[ &amp;'
    entity = {"id": "x", "name": 'a<b>&"c"', "type": "decision", "content": content}
    context = assembled(root, [{"entity": entity, "score": 1}, SEND], format="xml", view=view, group_by_type=True)
    texts = [piece.text for item in parse(context.text, Format.XML, view) for piece in item.pieces]
    assert content in texts


FILE = {"entity": {"id": "file", "name": "client.py", "type": "file", "filePath": "shop/client.py"}, "score": 0.95}


def test_case_19_a_file_is_dropped_only_if_something_of_it_is_shown(root: Path) -> None:
    beside = assembled(root, [FILE, SEND], include_imports=False, context_lines=0)
    assert shown(beside) == set(range(14, 21))
    assert [omission.reason for omission in beside.overflow] == ["parts"]
    gone = result("vanished", 400, 410, 0.9, id="gone", content="def vanished():\n    return 1")
    alone = assembled(root, [FILE, gone])
    assert {1, 28} <= shown(alone)


def test_a_file_takes_part_again_if_none_of_its_parts_fits(root: Path) -> None:
    long = "def long():\n" + "".join(f"    value_{number} = compute({number})\n" for number in range(400))
    (root / "long.py").write_text("# The head.\nimport os\n\n\n" + long, encoding="utf-8")
    part = result("long", 5, 404, 0.9, path="long.py", type="function", id="part")
    whole = result("long.py", 1, 2, 0.95, path="long.py", type="file", id="file")
    tight = assembled(root, [whole, part], max_tokens=75, include_sources=False, include_imports=False, context_lines=0)
    assert [item.title for item in tight.items] == ["long.py"]


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "shop/../../outside.py", "link.py", ".env", "folder"]
)
def test_case_20_nothing_outside_the_root_is_read(root: Path, path: str) -> None:
    (root.parent / "outside.py").write_text("outside = 1\n", encoding="utf-8")
    (root / "link.py").symlink_to(root.parent / "outside.py")
    (root / ".env").write_text("NAME=value\n", encoding="utf-8")
    (root / "folder").mkdir()
    context = assembled(root, [result("x", 1, 1, path=path, type="file"), SEND])
    assert [item.title for item in context.items] == ["shop/client.py"]
    assert path in context.failures[0].message
    assert "outside = 1" not in context.text


def test_a_refused_file_leaves_the_content_that_was_given(root: Path) -> None:
    context = assembled(root, [result("x", 1, 2, path="../x.py", content="x = 1\ny = 2", type="function")])
    (item,) = context.items
    assert (item.location, item.content) == (None, "x = 1\ny = 2")
    assert "not as in ../x.py" in item.title
    assert "cannot be read: outside-root" in context.failures[0].message


def test_an_absolute_path_below_the_root_is_the_same_file(root: Path) -> None:
    assert shown(assembled(root, [result("backoff", 26, 28, path=str(root / "shop" / "client.py"))])) >= {26, 27, 28}


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf"), "high", True, [1]])
def test_a_score_that_is_no_number_ranks_last_with_a_note(root: Path, score: object) -> None:
    context = assembled(root, [SEND | {"score": score}, {"name": "n", "content": "a note", "score": 0.1}])
    assert [item.relevance for item in context.items] == [0.1, 0.0]
    assert "result 1: its score is" in context.failures[0].message


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({}, "neither a file nor content"),
        ("text", "neither a file nor content"),
        (None, "neither a file nor content"),
        (result("send_order", -3, 20), "its start line is -3"),
        (result("send_order", 14, 3), "it ends on line 3, before line 14"),
        (result("nobody", 900, 901), "has only 28 lines"),
        (result("nobody", path="shop/nowhere.py"), "shop/nowhere.py cannot be read: vanished"),
        (result("nobody"), "has no such definition"),
        ({"entity": {"name": "x", "file_path": "shop/client.py", "start_line": 2.5}}, "its start line is 2.5"),
    ],
)
def test_a_bad_result_is_a_named_note_and_the_others_answer(root: Path, bad: object, said: str) -> None:
    context = assembled(root, [bad, BACKOFF])
    assert any(said in failure.message for failure in context.failures)
    assert "def backoff" in context.text


def test_many_bad_results_share_one_last_note(root: Path) -> None:
    context = assembled(root, [{}] * 50)
    assert len(context.failures) == 11
    assert context.failures[-1].message == "40 more notes of this kind"


def test_what_is_no_list_of_results_is_refused(root: Path) -> None:
    for wrong in ("text", SEND):
        with pytest.raises(UsageError, match="give a list of results"):
            assembled(root, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"max_tokens": 10**9}, "max_tokens is 1000000000"),
        ({"format": "html"}, "choose from markdown, xml, plain, json"),
        ({"view": "tree"}, "choose from sections, entities, blocks"),
        ({"strategy": "half"}, "choose from ladder, signature-first, bookend"),
        ({"tokenizer": "words"}, "use one of o200k_base"),
        ({"context_lines": -1}, "context_lines is -1"),
        ({"project_root": "no/such/folder"}, "give a folder"),
    ],
)
def test_impossible_options_are_answered_with_the_possible_ones(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        AssemblyOptions(**options)


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("layout", list(Format))
@pytest.mark.parametrize("budget", [1, 40, 90, 160, 300, 700, 10_000_000])
def test_the_budget_holds_in_every_format_and_view(root: Path, layout: Format, view: View, budget: int) -> None:
    results = [SEND, BACKOFF, FILE, {"name": "choice", "type": "decision", "content": "We wait longer. " * 30}]
    options = {"format": layout, "view": view, "include_meta": True, "max_tokens": budget}
    context = assembled(root, results, **options)
    assert context.usage.used == o200k(context.text) <= budget
    assert len(parse(context.text, layout, view) if context.text else []) == len(context.items)


def test_moved_code_is_found_again_and_changed_code_is_marked(root: Path) -> None:
    body = "\n".join(LINES[13:20])
    (root / "shop" / "client.py").write_text("# one\n# two\n" + CLIENT, encoding="utf-8")
    moved = assembled(
        root, [SEND | {"entity": SEND["entity"] | {"content": body}}], context_lines=0, include_imports=False
    )
    assert moved.items[0].spans == ((16, 22),)
    assert moved.items[0].metadata["freshness"] == "moved"
    (root / "shop" / "client.py").write_text(CLIENT.replace('"sent"', '"done"'), encoding="utf-8")
    changed = assembled(root, [SEND | {"entity": SEND["entity"] | {"content": body}}])
    assert changed.items[0].metadata["freshness"] == "changed"
    assert 'return "done"' in changed.text
    (root / "shop" / "client.py").write_text("pass\n", encoding="utf-8")
    gone = assembled(root, [SEND | {"entity": SEND["entity"] | {"content": body}}])
    assert gone.items[0].location is None
    assert gone.items[0].metadata["freshness"] == "stale"
    assert 'return "sent"' in gone.text


def test_an_entity_without_lines_is_found_by_its_name(root: Path) -> None:
    assert {14, 20} <= shown(assembled(root, [result("send_order")]))


def test_an_entity_without_an_end_ends_where_its_definition_does(root: Path) -> None:
    context = assembled(root, [result("backoff", 26)], context_lines=0, include_imports=False)
    assert context.items[0].spans == ((26, 28),)


def test_a_method_inside_a_shown_class_is_an_entity_of_its_own(root: Path) -> None:
    client = result("Client", 8, 23, 0.9, type="class", id="class")
    context = assembled(root, [client, SEND | {"score": 0.5}], context_lines=0, include_imports=False)
    assert shown(context) == set(range(8, 24))
    assert [row["id"] for row in context.items[0].metadata["entities"]] == ["class", "send"]


def test_types_land_in_their_groups(root: Path) -> None:
    types = ["function", "interface", "requirement", "section", "session", "decision", "concept", "ticket"]
    results = [{"name": kind, "type": kind, "content": f"about {kind}"} for kind in types]
    context = assembled(root, results, group_by_type=True)
    sections = {item.title.rpartition(" ")[2]: item.section for item in parse(context.text, Format.MARKDOWN)}
    assert [sections[kind] for kind in types] == [
        "Relevant Code", "Relevant Code", "Related Documentation", "Related Documentation",
        "Previous Conversations", "Previous Conversations", "Other Context", "Other Context",
    ]  # fmt: skip


def test_without_code_only_places_are_named(root: Path) -> None:
    context = assembled(root, [SEND], include_code_content=False)
    assert "shop/client.py" in context.text
    assert "time.sleep" not in context.text


def test_secrets_and_hidden_characters_never_come_out(root: Path) -> None:
    secret = "ghp_" + b64encode(sha256(b"not a real token").digest()).decode().translate({43: 65, 47: 66})[:36]
    (root / "token.py").write_text(f'TOKEN = "{secret}"\n', encoding="utf-8")
    results = [
        result("TOKEN", 1, 1, path="token.py"),
        {"name": f"n\u202e {secret}", "content": f"use {secret}\u200b now", "score": 1},
    ]
    text = assembled(root, results).text
    assert secret not in text
    assert "\u202e" not in text
    assert "\u200b" not in text


def test_the_footer_lists_ten_sources_and_says_how_many_more(root: Path) -> None:
    notes = [{"name": f"note {number}", "content": f"text {number}"} for number in range(13)]
    for layout in Format:
        text = assembled(root, notes, format=layout).text
        more = {Format.JSON: '"sources_more":3', Format.XML: '<sources more="3">'}.get(layout, "; and 3 more")
        assert more in text
        assert more not in assembled(root, notes, format=layout, include_sources=False).text


def test_a_context_can_be_written_again_in_another_format(root: Path) -> None:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    context = assembler.assemble_now([SEND])
    assert assembler.format(context) is context.text
    assert json.loads(assembler.format(context, "json"))["context"]["items"]
    assert "### method: Client.send_order" in assembler.format(context, view="blocks")
    assert assembler.format(assembler.assemble_now([]), "xml") == ""


def test_a_changed_file_is_read_again_with_and_without_the_cache(root: Path) -> None:
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    assembler.assemble_now([BACKOFF])
    (root / "shop" / "client.py").write_text(CLIENT.replace("0.1 * 2", "0.3 * 2"), encoding="utf-8")
    assert "return 0.3 * 2" in assembler.assemble_now([BACKOFF]).text
    assembler.clear_cache()
    assert "return 0.3 * 2" in assembler.assemble_now([BACKOFF]).text


def test_an_entity_that_is_too_large_is_shortened_by_the_strategy(root: Path) -> None:
    long = (
        "def long(a):\n"
        + "".join(f"    value_{number} = compute({number})\n" for number in range(200))
        + "    return a\n"
    )
    (root / "long.py").write_text(long, encoding="utf-8")
    entity: Mapping[str, Any] = result("long", 1, 202, path="long.py", type="function")
    first = assembled(root, [entity], max_tokens=400, strategy="signature-first").text
    assert "def long(a):" in first
    assert "lines left out" in first
    assert "return a" not in first
    ends = assembled(root, [entity], max_tokens=400, strategy="bookend").text
    assert "def long(a):" in ends
    assert "return a" in ends


def test_the_root_of_the_handles_is_located_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    located: list[Path] = []

    def counted(path: Path, *rest: Any) -> Any:
        located.append(path)
        return locate(path, *rest)

    monkeypatch.setattr(engine, "locate", counted)
    assembler = ContextAssembler(options=AssemblyOptions(project_root=root))
    for _ in range(3):
        assembler.assemble_now([result("Client", 1, 9)])
    assert located == [root.resolve()]
