"""A secret goes in by every door, and comes out by none: not stored, not shown, and counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import AssemblyOptions, ContextAssembler, Satchel
from satchel.memory.model import Memory, Value
from satchel.memory.records import document_of
from satchel.operations.json import context_envelope
from satchel.sources.conversations import Exchange
from satchel.testing import TinyRepository
from satchel.types import Format
from tests.postgres import move_home
from tests.safety.test_sanitize_redact import TOKENS, key_block

KEY = TOKENS["github-token"]
OLD_KEY = TOKENS["npm-token"]
BLOCK = "\n".join(key_block(lines=6))
TOPIC = "marmalade"
WIDE: dict[str, Any] = {"max_tokens": 100_000, "limit": 100, "min_score": 0.0, "now": 1_800_000_000.0}

FILES = {
    "src/code.py": f'def {TOPIC}() -> str:\n    return "{KEY}"\n',
    "src/multi.py": f'{TOPIC.upper()}_PEM = """\n{BLOCK}\n"""\n',
    "config/app.json": json.dumps({TOPIC: KEY, "nested": {"password": "Tr" + "0ub4dor" + "&3x"}}, indent=1) + "\n",
    "config/app.yaml": f"{TOPIC}:\n  value: {KEY}\n",
    "deploy/variables.txt": f"{TOPIC.upper()}={KEY}\nURL=postgres://app:{'s3cr3' + 'tPa55'}@db/app\n",
    "docs/guide.md": f"# {TOPIC}\n\nUse {KEY} for it.\n",
    f"fixtures/{KEY}/{TOPIC}.py": f"def {TOPIC}_path(): ...\n",
    ".env": f"{TOPIC.upper()}={KEY}\n",
    "certs/server.key": BLOCK + "\n",
}


@pytest.fixture
def satchel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    """A root in which everything that can hold a secret holds one."""
    move_home(monkeypatch, tmp_path / "home")
    repository = TinyRepository(tmp_path / "shop")
    repository.commit(f"{TOPIC}: use {KEY}\n\nThe old one was {KEY}.\n{BLOCK}\n", FILES)
    with Satchel.open(repository.root) as opened:
        opened.index()
        write_records(opened)
        yield opened


def write_records(satchel: Satchel) -> None:
    """By the front door, where all is made fit, and as an older version may have left it."""
    said = f"{TOPIC} needs {KEY}"
    satchel.memories.add(said, tags=[KEY], origin=f"import {KEY}")
    satchel.experiences.start(
        domain="debugging", strategy="root-cause-analysis", goal=said, hypothesis=said, action=said, prediction=said
    )
    satchel.experiences.note(said)
    satchel.experiences.resolve(
        status="falsified", result=said, surprise=said, root_cause="wrong-assumption", root_cause_description=said,
        lesson=said, takeaway=said,
    )  # fmt: skip
    satchel.memory.remember_exchanges([Exchange("talk", "1", 1.0, said, (said,), (), KEY, KEY)], origin="import")
    workspace = satchel.memory.notebook.workspace
    old = Memory(
        "mem_old", f"{TOPIC} once had {OLD_KEY}", tags=(OLD_KEY,), origin=OLD_KEY, workspace=workspace, created=1.0
    )
    value = Value(
        id="val_old", text=f"{TOPIC} had {OLD_KEY}", axis="full", cluster_id="full_1", cluster_size=3,
        similarity_to_centroid=0.9, member_ids=("ghap_1",), domains={"debugging": 3}, strategies={}, label=OLD_KEY,
        workspace=workspace, created=1.0,
    )  # fmt: skip
    with satchel.memory_store.write() as writer:
        writer.put([document_of(old), document_of(value)])
        writer.merge(lambda: False)


def leaks(shown: object) -> list[str]:
    """The secrets that can be read in something shown."""
    text = shown if isinstance(shown, str) else repr(shown)
    return [secret for secret in (KEY, OLD_KEY, BLOCK.split("\n")[2], "s3cr3" + "tPa55") if secret in text]


@pytest.mark.parametrize("layout", Format)
def test_no_answer_and_no_envelope_shows_a_secret(satchel: Satchel, layout: Format) -> None:
    request = satchel.request(
        f"{TOPIC} with {KEY}", format=layout.value, show_sources=True, show_handles=True, fill=True, **WIDE
    )
    context = satchel.answer(request)
    assert {item.source for item in context.items} == {
        "code", "doc", "commit", "memory", "experience", "conversation", "value",
    }  # fmt: skip
    assert leaks(context) == []
    assert leaks(json.dumps(context_envelope(context, request), default=str)) == []
    assert context.meta["redacted"]["github-token"] > 5
    assert context.meta["redacted"]["npm-token"] >= 1


def test_nothing_that_is_read_shows_a_secret(satchel: Satchel) -> None:
    hits = satchel.search(f"{TOPIC} {KEY}", limit=100, min_score=0.0)
    assert {hit.chunk.kind.value for hit in hits} >= {"code", "commit", "memory", "value"}
    assert leaks(hits) == []
    assert leaks(satchel.file_history("src/code.py")) == []
    assert leaks(satchel.churn(now=1_700_000_000.0)) == []
    assert leaks(satchel.memories.listed()) == []
    assert leaks(satchel.memories.get("mem_old")) == []
    assert leaks(satchel.experiences.listed()) == []
    assert leaks(satchel.values.listed()) == []


def test_nothing_is_stored_with_a_secret(satchel: Satchel) -> None:
    """Also in the tables as they are, and not only in what is read from them."""
    store = satchel.store
    for table, rows in store.tables():
        assert leaks(rows) == [], table
    for kind in store.kinds():
        for document in store.document_ids(kind, store.keys(kind)).values():
            assert leaks(store.text(document)) == []


def test_redaction_is_counted_and_keeps_the_lines(satchel: Satchel) -> None:
    statistics = satchel.status().statistics
    assert statistics.redacted >= 10
    code = satchel.assemble(TOPIC, types=["code"], include=["src/multi.py"], **WIDE)
    (item,) = [item for item in code.items if item.title == "src/multi.py"]
    (plain,) = [item for item in code.items if item.title == "src/code.py"]
    assert plain.metadata["redacted"] == 1
    assert item.content.count("\n") == FILES["src/multi.py"].count("\n") - 1


def test_files_of_secrets_and_paths_with_one_are_never_read(satchel: Satchel) -> None:
    skipped = satchel.status().skipped
    assert skipped["secret-file"] == 3
    for path in (".env", "certs/server.key", f"fixtures/{KEY}/{TOPIC}.py"):
        context = satchel.assemble(TOPIC, include=[path], **WIDE)
        assert any(failure.message.endswith("secret-file") for failure in context.failures), path
        assert leaks(context) == []


def test_given_results_show_no_secret(satchel: Satchel) -> None:
    results = [
        {"name": f"x {KEY}", "type": "memory", "content": f"{TOPIC} '{KEY}'", "score": 1.0},
        {"name": TOPIC, "file_path": "src/code.py", "start_line": 1, "type": "function", "score": 0.9},
        {"name": "PEM", "file_path": ".env", "start_line": 1, "score": 0.8},
        {"name": "PEM", "file_path": f"fixtures/{KEY}/{TOPIC}.py", "start_line": 1, "score": 0.8},
    ]
    context = ContextAssembler(options=AssemblyOptions(project_root=satchel.places.root)).assemble_now(results)
    assert len(context.items) == 2
    assert leaks(context) == []


def test_an_allowed_secret_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_home(monkeypatch, tmp_path / "home")
    repository = TinyRepository(tmp_path / "shop")
    repository.write({"src/code.py": FILES["src/code.py"]})
    for allow, is_shown in (((), False), (("^ghp_",), True), ((), False)):
        with Satchel.open(repository.root, settings={"redact.allow": list(allow)}) as satchel:
            assert (KEY in satchel.assemble(TOPIC, **WIDE).text) == is_shown
