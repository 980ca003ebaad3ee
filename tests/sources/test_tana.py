"""A Tana export becomes notes: what is a note, its tags, fields, links and times."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from satchel.errors import UsageError
from satchel.sources.notes import field_lines
from satchel.sources.tana import UNTITLED, TanaWorkspace, read_nodes
from satchel.types import EdgeType
from tests.eval_data import data_file
from tests.sources.exports import export, field, node, notes_of, tagged

CHILD, PARENT, REFERENCE, FIELD = EdgeType.CHILD, EdgeType.PARENT, EdgeType.REFERENCE, EdgeType.FIELD


def test_parents_and_children_are_linked_both_ways() -> None:
    notes = notes_of(node("home", "Home", "", "a", "b"), node("a", "First", "home"), node("b", "Second", "home"))
    assert notes["home"].links == ((CHILD, "a"), (CHILD, "b"))
    assert notes["a"].links == ((PARENT, "home"),)


def test_an_owner_is_derived_where_the_export_names_none() -> None:
    notes = notes_of({"id": "home", "props": {"name": "Home"}, "children": ["a"]}, {"id": "a", "props": {"name": "A"}})
    assert notes["a"].links == ((PARENT, "home"),)


def test_a_child_that_belongs_elsewhere_is_a_reference() -> None:
    notes = notes_of(node("x", "X", "", "a"), node("y", "Y", "", "a"), node("a", "Shared", "y"))
    assert notes["x"].links == ((REFERENCE, "a"),)
    assert (CHILD, "a") in notes["y"].links


def test_supertags_are_inherited_and_marked_and_circles_end() -> None:
    notes = notes_of(
        node("n", "Launch", "", meta="n-meta"), *tagged("n", ("SYS_A13", "task")),
        node("task", "task", "", type="tagDef", meta="task-meta"), *tagged("task", ("SYS_A13", "SYS_T01", "todo")),
        node("todo", "todo", "", type="tagDef", meta="todo-meta"), *tagged("todo", ("SYS_A13", "SYS_T01", "task")),
    )  # fmt: skip
    assert (notes["n"].tags, notes["n"].inherited) == (("task", "todo"), ("todo",))
    assert notes["task"].links == ((REFERENCE, "todo"),)
    assert notes["task"].tags == ()


def test_a_definition_of_a_field_is_no_tag() -> None:
    notes = notes_of(node("n", "N", "", meta="n-meta"), *tagged("n", ("SYS_A13", "SYS_T02", "x")), node("x", "X"))
    assert notes["n"].tags == ()


def test_fields_have_values_by_name_and_references_by_name_and_id() -> None:
    notes = notes_of(
        node("n", "Book", "", "f1", "f2"), node("author", "Author", type="attrDef"),
        node("pages", "Pages", type="attrDef"),
        field("f1", "n", "author", "mary"), field("f2", "n", "pages", "v"), node("v", "280", "f2"),
        node("mary", "Mary <b>Shelley</b>"),
    )  # fmt: skip
    assert notes["n"].fields == {"Author": [{"name": "Mary Shelley", "id": "mary"}], "Pages": ["280"]}
    assert notes["n"].links == ((FIELD, "mary"),)
    assert "v" not in notes
    assert field_lines(notes["n"].fields) == ["Author: Mary Shelley", "Pages: 280"]


def test_a_value_that_is_only_an_inline_reference_is_that_note() -> None:
    span = '<span data-inlineref-node="mary"></span>'
    notes = notes_of(
        node("n", "Book", "", "f"), node("a", "Author", type="attrDef"), field("f", "n", "a", "v"),
        node("v", span, "f"), node("mary", "Mary"),
    )  # fmt: skip
    assert notes["n"].fields == {"Author": [{"name": "Mary", "id": "mary"}]}
    assert notes["n"].links == ((FIELD, "mary"),)


def test_a_value_with_lines_of_its_own_is_a_note_below_its_node() -> None:
    notes = notes_of(
        node("n", "N", "", "f"), node("a", "Log", type="attrDef"), field("f", "n", "a", "v"),
        node("v", "Day", "f", "w"), node("w", "Line", "v"),
    )  # fmt: skip
    assert notes["v"].links == ((PARENT, "n"), (CHILD, "w"))
    assert set(notes["n"].links) == {(CHILD, "v"), (FIELD, "v")}


def test_the_type_of_a_field_is_told_by_its_definition() -> None:
    notes = notes_of(
        node("due", "Due", "", "row", type="attrDef"),
        node("row", "typeChoice", "due", "SYS_T06", "SYS_D03", type="tuple", props={"_sourceId": "SYS_A02"}),
    )
    assert notes["due"].fields == {"Field type": ["date"]}


def test_system_fields_and_done_have_names() -> None:
    notes = notes_of(
        node("n", "N", "", "f", "g", props={"_done": 1_700_000_000_000}), field("f", "n", "SYS_A61", "v"),
        node("v", '<span data-inlineref-date="{&quot;dateTimeString&quot;:&quot;2026-01-02&quot;}"></span>', "f"),
        field("g", "n", "SYS_A999", "w"), node("w", "unknown", "g"), node("m", "M", "", props={"_done": True}),
    )  # fmt: skip
    assert notes["n"].fields == {"Due date": ["2026-01-02"], "Done": ["2023-11-14"]}
    assert notes["m"].fields == {"Done": ["yes"]}


def test_a_tuple_with_more_than_fifty_children_is_no_field() -> None:
    values = [f"v{number}" for number in range(60)]
    notes = notes_of(
        node("n", "N", "", "f"), node("a", "A", type="attrDef"), field("f", "n", "a", *values),
        *(node(value, value, "f") for value in values),
    )  # fmt: skip
    assert notes["n"].fields == {}


def test_inline_references_are_resolved_to_names_before_marks_are_removed() -> None:
    span = '<span data-inlineref-node="{}"></span>'
    notes = notes_of(
        node("n", f"Ask {span.format('bob')} &amp; <i>{span.format('gone')}</i>", "",
             props={"description": span.format("bob")}),
        node("bob", f"Bob of {span.format('acme')}"), node("acme", f"Acme {span.format('bob')}"),
    )  # fmt: skip
    assert notes["n"].title == "Ask Bob of Acme Bob of acme & gone"
    assert notes["n"].links == ((REFERENCE, "bob"), (REFERENCE, "gone"))
    assert len(notes["n"].body.split("\n")) == 2


def test_trash_is_left_out_however_deep() -> None:
    notes = notes_of(
        node("w", "Root", "", "w_TRASH", "kept"), node("w_TRASH", "Deleted", "w", "a"), node("a", "A", "w_TRASH", "b"),
        node("b", "B", "a", "c"), node("c", "C", "b"), node("kept", "Kept", "w", "c"),
    )  # fmt: skip
    assert set(notes) == {"w", "kept"}
    assert notes["kept"].links == ((PARENT, "w"),)


def test_machinery_and_what_is_below_it_are_no_notes() -> None:
    notes = notes_of(
        node("n", "N", "", meta="m"), node("m", None, "n", "deep", type="metanode"), node("deep", "Deep", "m"),
        node("v", "Default", "n", type="viewDef"), node("SYS_X", "System"), node("c", "Command", "n", type="command"),
    )  # fmt: skip
    assert set(notes) == {"n"}


def test_empty_lines_are_no_notes_but_null_names_with_children_are() -> None:
    notes = notes_of(node("n", None, "", "a", "b"), node("a", None, "n"), node("b", "B", "n"))
    assert set(notes) == {"n", "b"}
    assert notes["n"].title == UNTITLED


def test_circles_of_owners_end() -> None:
    notes = notes_of(node("a", "A", "b", "b"), node("b", "B", "a", "a"))
    assert set(notes) == {"a", "b"}


@pytest.mark.parametrize("modified", [[0, 1_700_000_000_000], "[1700000000000]"], ids=["list", "text"])
def test_times_are_in_seconds(modified: Any) -> None:
    notes = notes_of(node("n", "N", "", props={"created": 1_600_000_000_000}, modifiedTs=modified))
    assert (notes["n"].created, notes["n"].updated) == (1_600_000_000, 1_700_000_000)


def test_damaged_nodes_are_read_as_far_as_they_make_sense() -> None:
    nodes = read_nodes(
        export(
            {"id": "n", "props": {"name": 3, "created": "x"}, "children": [1, "a"], "modifiedTs": "{"}, {"id": 4}, {}
        )
    )
    assert list(nodes) == ["n"]
    assert (nodes["n"].name, nodes["n"].children, nodes["n"].updated) == (None, ("a",), 0)


def test_an_export_may_be_wrapped() -> None:
    assert list(read_nodes(export(node("n", "N"), wrapped=True))) == ["n"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"docs": 1}', b'{"docs": [{"id": "a"}', b'{"a": tru'])
def test_what_is_no_export_is_refused(raw: bytes) -> None:
    with pytest.raises(UsageError, match=r"this is no|there is no"):
        read_nodes(raw)


Docs = dict[str, dict[str, Any]]


def owner_of(by: Docs, key: str) -> str:
    return str(by.get(key, {}).get("props", {}).get("_ownerId", ""))


def inline_targets(by: Docs, key: str) -> list[str]:
    return re.findall(r'inlineref-node="([^"]+)"', by[key]["props"].get("name") or "")


def below(by: Docs, starts: set[str]) -> set[str]:
    """These nodes and all that they own, found by walking down."""
    owned: dict[str, list[str]] = {}
    for key in by:
        owned.setdefault(owner_of(by, key), []).append(key)
    found, pending = set(starts), list(starts)
    while pending:
        fresh = set(owned.get(pending.pop(), [])) - found
        found |= fresh
        pending += fresh
    return found


MACHINES = {"metanode", "viewDef", "associatedData", "command", "settings"}


def independent_notes(by: Docs) -> set[str]:
    kind = {key: one["props"].get("_docType") for key, one in by.items()}
    tuples = {key for key in by if kind[key] == "tuple"}
    excluded = tuples | below(by, {key for key in by if "TRASH" in key or kind[key] in MACHINES})
    referred = {c for t in tuples for c in by[t].get("children", [])[1:] if owner_of(by, c) != t}
    referred |= {target for key in by for target in inline_targets(by, key)}
    lines = {key for key, one in by.items() if any(kind.get(c, "tuple") not in MACHINES | {"tuple"}
                                                   for c in one.get("children", []))}  # fmt: skip
    says = {key for key, one in by.items() if one["props"].get("name") or one["props"].get("description")} | lines
    hidden = {key for key in says if owner_of(by, key) in tuples} - lines - referred
    return says - excluded - hidden


def independent_counts(by: Docs) -> Counter[str]:
    """Nodes, tags, fields and references of an export, counted another way than the importer does."""
    notes = independent_notes(by)
    trash = below(by, {key for key in by if "TRASH" in key})
    counts: Counter[str] = Counter(notes=len(notes))
    for key in notes:
        children = by[key].get("children", [])
        for row in by.get(by[key]["props"].get("_metaNodeId", ""), {}).get("children", []):
            ids = by.get(row, {}).get("children", [])
            is_applied = "SYS_A13" in ids and not {"SYS_T01", "SYS_T02"} & set(ids)
            counts["tags"] += sum(not one.startswith("SYS") and one not in trash for one in ids) * is_applied
        rows = [by[c]["children"] for c in children if c in by and by[c]["props"].get("_docType") == "tuple"]
        counts["fields"] += len({r[0] for r in rows if len(r) <= 50 and r[0] in by and by[r[0]]["props"].get("name")
                                 and any(by.get(v, {}).get("props", {}).get("name") for v in r[1:])})  # fmt: skip
        owner = owner_of(by, key)
        owner = owner_of(by, owner) if by.get(owner, {}).get("props", {}).get("_docType") == "tuple" else owner
        counts["child"] += owner in notes
        targets = {*inline_targets(by, key), *(c for c in children if c in by and owner_of(by, c) != key)}
        counts["reference"] += sum(target in notes or target not in by for target in targets)
    return counts


def test_the_sample_export_has_the_counts_of_an_independent_look() -> None:
    raw = data_file("tana_sample_workspace.json").read_bytes()
    expected = independent_counts({one["id"]: one for one in json.loads(raw)["docs"]})
    workspace = TanaWorkspace(read_nodes(raw))
    notes = list(workspace.notes())
    links = Counter(kind for note in notes for kind, _ in note.links)
    assert len(notes) == expected["notes"] > 3_000
    assert sum(len(note.tags) - len(note.inherited) for note in notes) == expected["tags"] > 50
    assert (links[CHILD], links[PARENT]) == (expected["child"], expected["child"])
    assert links[REFERENCE] == expected["reference"] > 0
    assert sum(len(note.fields) for note in notes) == expected["fields"] > 100
    assert links[FIELD] > 0
    references = sum(isinstance(value, dict) for note in notes for values in note.fields.values() for value in values)
    assert 0 < references <= links[FIELD]
    assert {target for note in notes for _, target in note.links} <= workspace.keys
