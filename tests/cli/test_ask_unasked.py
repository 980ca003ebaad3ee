"""`satchel premortem` and `satchel brief` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.cli import streams
from tests.cli.conftest import Satchel
from tests.memory.attempts import attempt
from tests.memory.samples import FALSIFIED, STARTED

pytestmark = pytest.mark.usefixtures("shop")

NOW = "2025-08-01"


@pytest.fixture
def practised(satchel: Satchel, tmp_path: Path) -> Satchel:
    """The command in a folder that remembers forty experiences and a memory of each sort."""
    lines = tmp_path / "attempts.jsonl"
    lines.write_text("".join(json.dumps(attempt(number)) + "\n" for number in range(40)), encoding="utf-8")
    assert satchel("import", str(lines), "--here").code == 0
    satchel("remember", "The proxy was replaced", "--category", "event")
    satchel("remember", "A dropped connection in send_order means the proxy is down", "--category", "error")
    return satchel


def test_premortem_prints_the_text_of_its_envelope(practised: Satchel) -> None:
    arguments = ("premortem", "--domain", "debugging", "--strategy", "research-first", "--now", NOW)
    shown = practised(*arguments)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("# Premortem: debugging with research-first\n")
    envelope = practised(*arguments, "--json").json
    assert envelope["text"] == shown.out
    assert envelope["meta"]["request"]["plan"] == "premortem"
    assert envelope["usage"]["used"] <= envelope["usage"]["limit"] == 1500
    assert {item["section"] for item in envelope["items"]} >= {"Common Failures", "Root Causes to Watch"}


def test_a_saved_premortem_is_the_same_when_it_is_asked_again(practised: Satchel, tmp_path: Path) -> None:
    practised("index", "--quiet")
    saved = tmp_path / "saved.json"
    saved.write_text(practised("premortem", "--domain", "debugging", "--now", NOW, "--json").out, encoding="utf-8")
    again = practised("replay", str(saved))
    assert again.code == 0
    assert "# Premortem: debugging\n" in again.out


def test_the_options_of_packing_are_honoured(practised: Satchel) -> None:
    arguments = ("premortem", "--domain", "debugging", "--now", NOW)
    assert practised(*arguments, "--format", "xml").out.startswith('<context title="Premortem: debugging">')
    assert practised(*arguments, "--limit", "1", "--json").json["meta"]["request"]["limit"] == 1
    small = practised(*arguments, "--max-tokens", "20")
    assert (small.code, small.out.strip()) == (0, "")
    assert "nothing fits into 20 tokens" in small.err
    assert practised(*arguments, "--max-tokens", "20", "--strict").code == 1
    assert practised(*arguments, "--max-tokens", "0").code == 2


def test_a_domain_that_nobody_knows_or_that_is_missing_is_wrong_usage(satchel: Satchel) -> None:
    wrong = satchel("premortem", "--domain", "debuging")
    assert wrong.code == 2
    assert "did you mean debugging?" in wrong.err
    assert satchel("premortem").code == 2


def test_a_folder_that_remembers_nothing_says_what_to_do(satchel: Satchel) -> None:
    for arguments, hint in (
        (("premortem", "--domain", "security"), "satchel experience start"),
        (("brief",), "satchel remember"),
    ):
        ran = satchel(*arguments)
        assert (ran.code, ran.out.strip()) == (0, "")
        assert hint in ran.err
        assert satchel(*arguments, "--strict").code == 1


def test_a_brief_opens_a_session(practised: Satchel) -> None:
    shown = practised("brief")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("# Brief\n")
    assert "The proxy was replaced" in shown.out
    assert practised("brief", "--json").json["text"] == practised("brief").out


def test_a_brief_after_a_failure_reads_a_file_and_finds_attempt_error_and_code(
    practised: Satchel, tmp_path: Path
) -> None:
    begun = [
        f"--{name}={value}" for name, value in (STARTED | {"hypothesis": "send_order keeps the connection"}).items()
    ]
    assert practised("experience", "start", *begun).code == 0
    told = [f"--{name.replace('_', '-')}={value}" for name, value in FALSIFIED.items()]
    assert practised("experience", "resolve", *told).code == 0
    log = tmp_path / "failed.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "shop/client.py", line 6, in send_order\n'
        "ConnectionError: the connection dropped\n",
        encoding="utf-8",
    )
    shown = practised("brief", "--after-failure", str(log), "--now", NOW)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("# Brief after a failure\n")
    assert "send_order keeps the connection" in shown.out
    assert "the proxy is down" in shown.out
    assert "## Where in the code\n\n### shop/client.py\n" in shown.out


def test_a_long_log_is_read_from_its_end(practised: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_BYTES", 60)
    log = tmp_path / "failed.log"
    log.write_text("noise\n" * 100 + "ConnectionError: dropped in send_order\n", encoding="utf-8")
    shown = practised("brief", "--after-failure", str(log), "--no-refresh")
    assert "only its last 60 bytes are read" in shown.err
    assert practised("brief", "--after-failure", str(tmp_path / "none")).code == 1


def test_a_failure_like_no_other_says_so(satchel: Satchel, tmp_path: Path) -> None:
    log = tmp_path / "failed.log"
    log.write_text("zyzzyva quux\n", encoding="utf-8")
    ran = satchel("brief", "--after-failure", str(log), "--no-refresh")
    assert (ran.code, ran.out.strip()) == (0, "")
    assert "nothing here failed like this before" in ran.err
