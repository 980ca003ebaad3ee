"""Vaults and exports through the real index: what is stored, linked, updated and removed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from satchel import Satchel
from satchel.config import Folders
from satchel.errors import NoIndexError, UsageError
from satchel.index import notes
from satchel.index.run import BROKEN_LINKS, LINKS_DUE
from satchel.search.query import analyse
from satchel.search.rank_records import search_records
from satchel.system.locations import Registry, WorkspaceType
from satchel.types import EdgeType, Kind
from tests.index.indexing import Index, differences, stopping_at
from tests.index.vaults import RandomVault, VaultIndex, fresh_vault_contents
from tests.sources.exports import export, field, node, tagged

RANDOM_EDITS = 40

NOTES = {
    "Projects/Alpha.md": "---\nowner: '[[Alice]]'\n---\n# Alpha\n\nRocket launch. See [[Beta#Goals|goals]] "
    "#space/moon\n\n## Budget\n\nAsk [[bob]]. ![[Missing]]\n\n### Details\n\n[her](../people/Alice.md#work)\n",
    "Projects/Beta.md": "# Beta\n\n## Goals\n\nWin. ^g1\n\n## Goals\n\nTwice.\n",
    "people/Robert.md": "---\naliases: [Bob]\n---\nLikes rockets. [[Alpha]] [[Beta#^g1]] [[photo.png]]\n",
    "people/Alice.md": "# Alice\n\n## Work\n\nRuns it. [[Alice]]\n",
    "Empty.md": "",
    "script.py": "def launch():\n    pass\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VaultIndex]:
    write(tmp_path / "vault", NOTES)
    index = VaultIndex(tmp_path / "vault", tmp_path / "index.db")
    yield index
    index.close()


def edges_of(index: Index, kind: EdgeType) -> set[tuple[str, str]]:
    """(chunk, target) of the edges of one type; chunks are named by key and section."""
    rows = {(row[1], row[2], row[3]): row for row in index.contents()["chunks"]}
    assert rows
    return {
        (f"{row[1]}::{row[3]}" if row[3] else row[1], row[-2]) for row in index.contents()["edges"] if row[-3] == kind
    }


def test_a_vault_has_edges_of_every_type_with_keys_as_targets(vault: VaultIndex) -> None:
    vault.run()
    assert vault.faults() == []
    counts = vault.store.statistics().edges
    assert {EdgeType.CHILD, EdgeType.PARENT, EdgeType.REFERENCE, EdgeType.FIELD} <= set(counts)
    assert counts[EdgeType.CHILD] == counts[EdgeType.PARENT] == 9
    assert edges_of(vault, EdgeType.FIELD) == {("Projects/Alpha.md", "people/Alice.md")}
    assert edges_of(vault, EdgeType.REFERENCE) == {
        ("Projects/Alpha.md", "Projects/Beta.md::Goals"),
        ("Projects/Alpha.md::Budget", "people/Robert.md"),
        ("Projects/Alpha.md::Budget", "Missing"),
        ("Projects/Alpha.md::Budget > Details", "people/Alice.md::Work"),
        ("people/Robert.md", "Projects/Alpha.md"),
        ("people/Robert.md", "Projects/Beta.md::Goals"),
        ("people/Alice.md::Work", "people/Alice.md"),
    }
    assert ("Projects/", "Projects/Alpha.md") in edges_of(vault, EdgeType.CHILD)
    assert ("Projects/Alpha.md::Budget", "Projects/Alpha.md::Budget > Details") in edges_of(vault, EdgeType.CHILD)
    assert ("Projects/Beta.md", "Projects/Beta.md::Goals~2") in edges_of(vault, EdgeType.CHILD)


def test_notes_carry_tags_fields_and_titles_and_other_files_stay_what_they_are(vault: VaultIndex) -> None:
    vault.run()
    alpha = vault.store.document(Kind.NOTE, "Projects/Alpha.md")
    assert alpha is not None
    assert (alpha.title, alpha.tags) == ("Alpha", ("space/moon", "space"))
    assert alpha.fields["fields"] == {"owner": [{"name": "Alice", "target": "Alice"}]}
    assert vault.store.document(Kind.CODE, "script.py") is not None
    assert set(vault.store.kinds()) == {Kind.NOTE, Kind.CODE}


def test_broken_links_are_counted_and_a_note_that_appears_mends_them(vault: VaultIndex) -> None:
    vault.run()
    noted = json.loads(vault.store.meta(BROKEN_LINKS) or "")
    assert noted == {"count": 1, "examples": [["Projects/Alpha.md", "Missing"]]}
    write(vault.root, {"missing.md": "here\n"})
    vault.run()
    assert ("Projects/Alpha.md::Budget", "missing.md") in edges_of(vault, EdgeType.REFERENCE)
    assert json.loads(vault.store.meta(BROKEN_LINKS) or "")["count"] == 0


def test_a_run_without_changes_writes_nothing(vault: VaultIndex) -> None:
    vault.run()
    before = vault.store.revision
    report = vault.run()
    assert report.is_fresh
    assert vault.store.revision == before


def test_a_renamed_note_leaves_an_index_equal_to_a_fresh_one(vault: VaultIndex, tmp_path: Path) -> None:
    vault.run()
    (vault.root / "Projects/Alpha.md").rename(vault.root / "people/Omega.md")
    vault.run()
    assert ("people/Robert.md", "Alpha") in edges_of(vault, EdgeType.REFERENCE)
    assert differences(vault.contents(), fresh_vault_contents(vault.root, tmp_path)) == {}


def test_a_killed_run_looks_at_the_links_next_time(vault: VaultIndex, tmp_path: Path) -> None:
    vault.run(stopping_at(3))
    assert vault.store.meta(LINKS_DUE) != ""
    vault.run()
    assert vault.store.meta(LINKS_DUE) == ""
    assert differences(vault.contents(), fresh_vault_contents(vault.root, tmp_path)) == {}


def test_a_folder_that_is_no_vault_any_more_holds_docs_again(vault: VaultIndex) -> None:
    vault.run()
    vault.options = replace(vault.options, reading=replace(vault.options.reading, vault=False))
    vault.run()
    assert set(vault.store.kinds()) == {Kind.DOC, Kind.CODE}
    assert vault.faults() == []
    assert vault.store.meta(BROKEN_LINKS) == ""


def test_random_edits_leave_an_index_equal_to_a_fresh_one(tmp_path: Path) -> None:
    changing = RandomVault(tmp_path / "vault", random.Random(7))
    index = VaultIndex(changing.root, tmp_path / "index.db")
    try:
        for _ in range(RANDOM_EDITS):
            what = changing.change()
            index.run()
            assert differences(index.contents(), fresh_vault_contents(changing.root, tmp_path)) == {}, what
        assert index.faults() == []
    finally:
        index.close()


BOOKS = (
    node("home", "Home", "", "n", "m"),
    node("n", "Rocket launch", "home", "f", meta="n-meta", props={"created": 1_700_000_000_000}),
    *tagged("n", ("SYS_A13", "task")),
    node("task", "task", "", type="tagDef"),
    node("owner", "Owner", "", type="attrDef"),
    field("f", "n", "owner", "m"),
    node("m", 'Mary <span data-inlineref-node="n"></span>', "home"),
)


@pytest.fixture
def tana(tmp_path: Path) -> Iterator[Index]:
    (tmp_path / "export.json").write_bytes(export(*BOOKS))
    index = Index(tmp_path / "export.json", tmp_path / "index.db")
    yield index
    index.close()


def test_an_export_has_edges_of_every_type(tana: Index) -> None:
    report = tana.run()
    assert (report.files, report.added) == (5, 5)
    assert tana.faults() == []
    assert tana.store.statistics().edges == {
        EdgeType.CHILD: 2, EdgeType.PARENT: 2, EdgeType.REFERENCE: 1, EdgeType.FIELD: 1,
    }  # fmt: skip
    note = tana.store.document(Kind.NOTE, "n")
    assert note is not None
    assert (note.title, note.tags, note.created) == ("Rocket launch", ("task",), 1_700_000_000)
    assert tana.store.edges_to(["m"], [EdgeType.FIELD]) == [(note.first_chunk, EdgeType.FIELD, "m")]


def test_an_unchanged_export_is_not_opened_and_a_touched_one_writes_no_note(
    tana: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    tana.run()
    os.utime(tana.root, (1, 1))
    assert tana.run().unchanged == 5
    monkeypatch.setattr(notes, "_read", lambda *_: pytest.fail("the export was opened"))
    assert tana.run().is_fresh


def test_only_notes_that_differ_are_written(tana: Index, tmp_path: Path) -> None:
    tana.run()
    changed = [one for one in BOOKS if one["id"] != "owner"] + [node("new", "New", "home")]
    changed[1] = node("n", "Rocket start", "home", "f", meta="n-meta")
    tana.root.write_bytes(export(*changed))
    report = tana.run()
    assert (report.added, report.removed, report.files) == (1, 1, 5)
    assert report.changed == 3  # the note, its parent that has a child more, and the one whose text holds its name
    fresh = Index(tana.root, tmp_path / "fresh.db")
    fresh.run()
    assert differences(tana.contents(), fresh.contents()) == {}
    fresh.close()


def test_a_stopped_import_is_completed_by_the_next_run(tana: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "PUBLISH_NOTES", 2)
    assert tana.run(stopping_at(2)).interrupted
    report = tana.run()
    assert not report.interrupted
    assert (report.files, report.added) == (5, 3)


def test_secrets_and_hidden_characters_never_enter(tana: Index) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    tana.root.write_bytes(
        export(
            node("n", f"Key {secret}\u200b", "", "f", meta="n-meta", props={"description": "be\u202eware"}),
            node("owner", f"Ow\u200bner {secret}", "", type="attrDef"),
            field("f", "n", "owner", "v"),
            node("v", secret, "f"),
            *tagged("n", ("SYS_A13", "t")),
            node("t", f"tag\u200b {secret}", type="tagDef"),
        )
    )
    report = tana.run()
    assert report.redacted > 0
    assert report.cleaned > 0
    said = repr(tana.contents())
    assert secret not in said
    assert "\u200b" not in said


def test_what_is_no_export_is_an_error_with_its_path(tana: Index) -> None:
    for text, message in (("{", "this is not JSON"), ("[]", "there is no list 'docs'")):
        tana.root.write_text(text)
        with pytest.raises(UsageError, match=rf"export\.json: {message}"):
            tana.run()
    tana.options = replace(tana.options, export_bytes=1)
    with pytest.raises(NoIndexError, match="at most 1 bytes are read"):
        tana.run()


def test_an_export_without_notes_says_so(tana: Index) -> None:
    tana.root.write_bytes(export())
    assert "contains no notes" in tana.run().notes[0].message


def assembled(root: Path, question: str, **options: Any) -> str:
    with Satchel.open(root=root) as satchel:
        return satchel.assemble(question, max_tokens=500, **options).text


def test_front_matter_that_cannot_be_read_is_named_by_the_status(
    vault: VaultIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    (vault.root / "Odd.md").write_text("---\ntags: [a\nb: [\n---\n# Odd\n\nA quokka.\n")
    Registry(Folders.from_environment()).add("main", vault.root, WorkspaceType.VAULT)
    with Satchel.open(root=vault.root) as satchel:
        satchel.index()
        (failure,) = satchel.status().failures
        assert failure.source == "notes"
        assert failure.message.startswith("Odd.md: front matter, line 3: ")
        assert "A quokka." in satchel.assemble("quokka").text
        (vault.root / "Odd.md").write_text("---\ntags: [a]\n---\n# Odd\n\nA quokka.\n")
        satchel.index()
        assert satchel.status().failures == ()


def test_a_question_is_answered_from_an_export(tana: Index) -> None:
    text = assembled(tana.root, "rocket launch owner")
    assert "Rocket launch\nOwner: Mary Rocket launch" in text
    assert "## Notes" in text


def test_a_question_is_answered_from_a_vault_with_real_lines(
    vault: VaultIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with Satchel.open(root=vault.root) as satchel:
        assert satchel.assemble("rocket launch", types=["docs"]).items[0].source == "doc"
    Registry(Folders.from_environment()).add("main", vault.root, WorkspaceType.VAULT)
    with Satchel.open(root=vault.root) as satchel:
        context = satchel.assemble("rocket launch of alpha")
        item = context.items[0]
        assert (item.source, item.id, item.location and item.location.path) == (
            "note", "note:Projects/Alpha.md", "Projects/Alpha.md",
        )  # fmt: skip
        assert item.spans[0] == (1, 6)
        status = satchel.status()
        assert status.broken_links == 1
        assert status.freshness.is_fresh
        assert not satchel.trusted
        work = vault.root / "people/Alice.md"
        work.write_text("# Alice\n\nnew line\n\n## Work\n\nRuns the whole of it.\n")
        text = satchel.assemble("alice runs work", refresh=False).text
        assert "changed Work" in text
        assert "Runs the whole of it." in text
        assert satchel.status().freshness.changed == 1


def test_a_long_note_shows_the_span_that_matches(vault: VaultIndex) -> None:
    filler = "".join(
        f"line {number} says little of interest to anybody who looks for things\n" for number in range(150)
    )
    write(vault.root, {"Long.md": f"{filler}\nThe zebra crossed the savannah.\n{filler}"})
    vault.run()
    hits = search_records(vault.store, Kind.NOTE, analyse("zebra savannah"), candidates=5).hits
    assert hits[0].chunk.id == "note:Long.md"
    assert hits[0].spans[0].start <= 152 <= hits[0].spans[0].end


def test_a_workspace_is_opened_by_its_name(tana: Index) -> None:
    Registry(Folders.from_environment()).add("ideas", tana.root)
    with Satchel.open(workspace="ideas") as satchel:
        assert satchel.search("rocket")[0].chunk.id == "note:n"
    with pytest.raises(UsageError, match="unknown workspace 'nope': there are ideas"):
        Satchel.open(workspace="nope")
