from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel
from tests.memory.samples import calm_line

pytestmark = pytest.mark.usefixtures("shop")


def filled(satchel: Satchel) -> str:
    """A memory file with a memory, and its export."""
    satchel("remember", "Retries back off exponentially", "--category", "decision")
    return satchel("export").out


def test_an_export_comes_back_byte_for_byte(satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = filled(satchel)
    file = tmp_path / "memory.jsonl"
    ran = satchel("export", str(file))
    assert (ran.code, ran.out, ran.err) == (0, "", f"wrote 1 record to {file}\n")
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "new"))
    assert satchel("import", str(file)).err == "imported: 1 new, 0 updated, 0 unchanged\n"
    assert satchel("export").out == text
    assert satchel("import", str(file), "--json").json == {
        "added": 0,
        "updated": 0,
        "unchanged": 1,
        "problems": [],
        "passed_over": {},
    }
    assert len(satchel("memory", "list").out.splitlines()) == 1


def test_a_file_that_exists_is_not_written_over_by_accident(satchel: Satchel, tmp_path: Path) -> None:
    text = filled(satchel)
    file = tmp_path / "memory.jsonl"
    file.write_text("precious", encoding="utf-8")
    ran = satchel("export", str(file))
    assert (ran.code, file.read_text(encoding="utf-8")) == (2, "precious")
    assert "--force" in ran.err
    assert satchel("export", str(file), "--force").code == 0
    assert file.read_text(encoding="utf-8") == text
    assert satchel("export", str(tmp_path / "no" / "folder.jsonl")).code == 1


def test_a_broken_line_is_named_and_the_rest_is_imported(satchel: Satchel, tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    lines = [json.dumps(calm_line()), "{broken", json.dumps(calm_line(id="g2", domain="cooking"))]
    file.write_text("\n".join(lines), encoding="utf-8")
    ran = satchel("import", str(file), "--as", "calm-ghap")
    assert ran.code == 3
    assert "imported: 1 new" in ran.err
    assert "line 2: not JSON" in ran.err
    assert "line 3: unknown domain 'cooking'" in ran.err
    shown = satchel("context", "a cache outside the database survived between workers", "--types", "experiences").out
    assert "**Experience** testing | systematic-elimination" in shown


def test_lines_come_from_standard_input_too(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO(json.dumps(calm_line()).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    assert satchel("import", "-", "--as", "calm-ghap").code == 0
    monkeypatch.setattr(sys, "stdin", None)
    assert satchel("import", "-").code == 2


def test_several_files_say_which_one_is_broken_and_how_often(satchel: Satchel, tmp_path: Path) -> None:
    broken, fine = tmp_path / "broken.jsonl", tmp_path / "fine.jsonl"
    broken.write_text("no\n" * 25, encoding="utf-8")
    fine.write_text(json.dumps(calm_line()), encoding="utf-8")
    ran = satchel("import", str(broken), str(fine), "--as", "calm-ghap", "--everywhere")
    assert ran.code == 3
    assert f"{broken} line 1: not JSON" in ran.err
    assert "and 5 more lines that cannot be used" in ran.err


def test_transcripts_are_imported_from_files_and_folders(
    satchel: Satchel, shop: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        ("user", "how long does the heron server keep sessions"),
        ("assistant", "For nine days, says its settings."),
    ]
    common = {"sessionId": "s1", "cwd": str(shop.root), "timestamp": "2026-05-01T10:00:00Z"}
    lines = [
        {"type": role, "uuid": role, "message": {"role": role, "content": content}, **common} for role, content in said
    ]
    text = "\n".join(map(json.dumps, lines))
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert satchel("import", "--as", "claude-code").err.startswith("imported: 1 new")
    assert satchel("import", str(folder), "--as", "claude-code", "--json").json["unchanged"] == 1
    assert "nine days" in satchel("context", "how long does heron keep sessions", "--types", "conversations").out
    (folder / "s1.jsonl").write_text(text.replace(str(shop.root), "/elsewhere"), encoding="utf-8")
    assert "passed over: " in satchel("import", "--as", "claude-code").err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert satchel("import", "-", "--as", "claude-code").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is nothing to import"),
        (("x", "--here", "--everywhere"), "exclude each other"),
        (("x", "--as", "diary"), "satchel"),
        (("no-such-folder", "--as", "claude-code"), "does not exist"),
        ((".", "--as", "claude-code", "--everywhere"), "leave it out"),
    ],
    ids=str,
)
def test_a_wrong_import_says_what_is_possible(satchel: Satchel, arguments: tuple[str, ...], said: str) -> None:
    ran = satchel("import", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_a_file_that_is_not_there_is_an_error(satchel: Satchel) -> None:
    ran = satchel("import", "no-such-file.jsonl")
    assert ran.code == 1
    assert "no-such-file.jsonl" in ran.err


@pytest.mark.parametrize("text", ["content\nshort\n{long}\n", 'content\n"{long}\n', "{long}\nx\n"])
def test_a_cell_without_end_is_an_error_that_names_its_line(satchel: Satchel, tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.csv"
    file.write_text(text.replace("{long}", "x" * 140_000))
    ran = satchel("import", "--as", "csv", str(file))
    assert ran.code == 2
    assert "is not CSV (field larger than field limit (131072))" in ran.err


def test_a_device_is_not_imported(satchel: Satchel) -> None:
    ran = satchel("import", "/dev/zero")
    assert ran.code == 2
    assert "/dev/zero is a device" in ran.err


def test_a_decision_is_answered_with_the_exchange_before_and_after_it_and_the_day(
    satchel: Satchel, tmp_path: Path
) -> None:
    told = (
        ("Deliveries to the partner fail at night.", "They answer 503 while they deploy."),
        ("Should we add a retry queue or a loop with backoff?", "A queue needs an operator; a loop is forty lines."),
        ("Then the second one, nobody here runs brokers.", "Done: five attempts, then a row in dead_letters."),
        ("Rename the wool cupboard.", "It is the yarn cupboard now."),
        ("What is for lunch?", "Soup."),
        ("Paint the door.", "It is blue."),
    )
    lines = []
    for number, said in enumerate(told):
        for minute, (role, content) in enumerate(zip(("user", "assistant"), said, strict=True)):
            common = {"sessionId": "s1", "uuid": f"{role}{number}", "timestamp": f"2026-05-01T10:{number}{minute}:00Z"}
            lines.append(json.dumps({"type": role, "message": {"role": role, "content": content}, **common}))
    file = tmp_path / "s1.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert satchel("import", str(file), "--as", "claude-code").err.startswith("imported: 6 new")
    answer = satchel("context", "what did we decide about the retry queue, and why?", "--types", "conversations").out
    places = [
        answer.find(text) for text in ("503 while they deploy", "a retry queue or a loop", "nobody here runs brokers")
    ]
    assert -1 not in places
    assert places == sorted(places)
    assert "2026-05-01" in answer
    assert "Paint the door" not in answer.partition("---")[0]
