from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import UsageError
from satchel.memory import portable
from satchel.memory.model import LineProblem
from satchel.memory.portable import ELSEWHERE, import_transcript, import_transcripts, put_exchanges, transcript_files
from satchel.memory.scope import EVERYWHERE, Notebook
from satchel.sources.conversations import Action, Exchange
from satchel.types import Kind
from tests.memory.conftest import MakeNotebook
from tests.sources.test_conversations_transcripts import call, line, result, said

PROMPT = line("user", "Why does the cart lose items?", uuid="u1")
REPLY = line("assistant", [said("A race in add_item."), call("t1", "Bash", command="make test")], uuid="a1")
DONE = line("user", [result("t1", "2 failed", failed=True)], uuid="u2")
LATER = line("user", "And the coupon?", uuid="u3", timestamp="2026-05-01T11:00:00Z")


def raw(*lines: Any) -> list[bytes]:
    """Lines as they stand in a file."""
    return [json.dumps(row).encode() for row in lines]


def texts(notebook: Notebook) -> list[str]:
    """Every stored exchange, by key."""
    store = notebook.store
    results = sorted(
        store.documents(store.document_ids(Kind.CONVERSATION, store.keys(Kind.CONVERSATION)).values()).items()
    )
    return [store.text(identity) for identity, _ in results]


def test_an_exchange_is_stored_with_what_it_tells(notebook: Notebook) -> None:
    report = import_transcript(raw(PROMPT, REPLY, DONE), notebook)
    assert (report.added, report.updated, report.unchanged, report.problems) == (1, 0, 0, ())
    document = notebook.store.document(Kind.CONVERSATION, "s1/20260501T103000.250-u1")
    assert document is not None
    assert document.fields == {
        "session": "s1",
        "exchange": "u1",
        "created_at": "2026-05-01T10:30:00.250Z",
        "branch": "main",
        "tools": {"Bash": 1},
        "failed_tools": 1,
    }
    assert (document.title, document.origin, document.workspace) == (
        "Why does the cart lose items?",
        "claude-code",
        notebook.workspace,
    )
    (text,) = texts(notebook)
    assert text == (
        "User: Why does the cart lose items?\n\nAssistant: A race in add_item.\n\n"
        "Tools:\n- Bash make test\n  failed: 2 failed"
    )


def test_the_same_file_again_adds_only_what_is_new(notebook: Notebook) -> None:
    import_transcript(raw(PROMPT), notebook)
    grown = import_transcript(raw(PROMPT, REPLY, DONE, LATER), notebook)
    assert (grown.added, grown.updated, grown.unchanged) == (1, 1, 0)
    revision = notebook.store.revision
    again = import_transcript(raw(PROMPT, REPLY, DONE, LATER), notebook)
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)
    assert notebook.store.revision == revision


def test_a_broken_line_is_named_and_the_rest_imported(notebook: Notebook) -> None:
    report = import_transcript([b"{", *raw(PROMPT, {"type": "progress"})], notebook)
    assert report.added == 1
    assert [problem.line for problem in report.problems] == [1]
    assert report.passed_over == {"progress": 1}


def test_secrets_do_not_enter_even_where_the_text_is_cut(notebook: Notebook) -> None:
    secret = "ghp_" + hashlib.sha256(b"token").hexdigest()[:36]
    long = "x" * 280 + " " + secret + " " + "y" * 400
    report = import_transcript(
        raw(
            line("user", f"My token is {secret}", uuid="u1", gitBranch=secret),
            line("assistant", [said(f"Use {secret}"), call("t1", "Bash", command="curl " + "z" * 120 + " " + secret)]),
            line("user", [result("t1", long)]),
        ),
        notebook,
    )
    assert report.added == 1
    document = next(iter(notebook.store.documents([1]).values()))
    assert "ghp_" not in texts(notebook)[0] + repr(document)
    assert "[REDACTED" in texts(notebook)[0]


def test_turns_of_python_are_redacted_before_they_are_cut(notebook: Notebook) -> None:
    secret = "ghp_" + hashlib.sha256(b"token").hexdigest()[:36]
    turn = Exchange(
        "s", "1", 0.0, "x " * 5_455 + secret + " y" * 5_000, (f"{secret}",), (Action(secret, "", ""),), "Ada"
    )
    put_exchanges([turn], notebook, origin="talk")
    document = next(iter(notebook.store.documents([1]).values()))
    assert "ghp_" not in texts(notebook)[0] + repr(document)
    assert document.fields["speaker"] == "Ada"


def test_a_conversation_belongs_to_the_workspace_that_imported_it_last(make_notebook: MakeNotebook) -> None:
    here, everywhere = make_notebook("shop-1"), make_notebook(EVERYWHERE)
    import_transcript(raw(PROMPT), here)
    assert import_transcript(raw(PROMPT), everywhere).updated == 1
    document = here.store.document(Kind.CONVERSATION, "s1/20260501T103000.250-u1")
    assert document is not None
    assert document.workspace == EVERYWHERE


def project(folder: Path, name: str, *lines: Any) -> Path:
    """A transcript below a folder of projects."""
    path = folder / name / "session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(raw(*lines)) + b"\n")
    return path


def test_of_a_folder_only_what_was_said_in_this_root_is_imported(notebook: Notebook, tmp_path: Path) -> None:
    root, projects = tmp_path / "shop", tmp_path / "projects"
    root.mkdir()
    project(projects, "other", line("user", "Elsewhere", uuid="o1", cwd="/home/ada/bank", sessionId="o"))
    project(
        projects, "shop",
        line("user", "Here", uuid="h1", cwd=str(root / "sub")), line("user", "Gone", uuid="h2", cwd="/home/ada/bank"),
    )  # fmt: skip
    report = import_transcripts([projects], notebook, root)
    assert (report.added, report.passed_over) == (1, {ELSEWHERE: 2})
    assert texts(notebook) == ["User: Here"]


def test_a_file_that_is_named_is_imported_whole(notebook: Notebook, tmp_path: Path) -> None:
    path = project(tmp_path, "bank", line("user", "Elsewhere", uuid="o1", cwd="/home/ada/bank"), [1])
    report = import_transcripts([path, path], notebook, tmp_path)
    assert report.added == 1
    assert report.problems == (LineProblem(2, "session.jsonl: not a JSON object but list"),)


def test_a_folder_name_that_no_file_system_takes_is_not_here(notebook: Notebook, tmp_path: Path) -> None:
    project(
        tmp_path / "p",
        "x",
        line("user", "Odd", cwd="/a\x00b"),
        line("user", "Odder", cwd='/a\\"b'),
        line("user", "No", cwd=""),
    )
    assert import_transcripts([tmp_path / "p"], notebook, tmp_path).passed_over == {ELSEWHERE: 1}


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_imported(
    notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = project(tmp_path, "a", PROMPT), project(tmp_path, "b", LATER, LATER, LATER)
    monkeypatch.setattr(portable, "TRANSCRIPT_BYTES", small.stat().st_size)
    report = import_transcripts([small, large], notebook, tmp_path)
    assert report.added == 1
    assert [(problem.line, problem.message.split(":")[0]) for problem in report.problems] == [(0, "session.jsonl")]


def test_a_place_without_transcripts_is_an_error_that_says_where_they_are(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"does not exist: Claude Code keeps its transcripts below ~/\.claude/projects"
    ):
        transcript_files([tmp_path / "none"])
    with pytest.raises(UsageError, match=r"contains no \*\.jsonl file"):
        transcript_files([tmp_path])


def test_nothing_to_write_writes_nothing(notebook: Notebook) -> None:
    assert put_exchanges([], notebook, origin="talk").added == 0
    assert notebook.store.keys(Kind.CONVERSATION) == set()
