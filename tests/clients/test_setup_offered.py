"""`satchel setup` finds clients, and starts the server once as the client will."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from satchel.cli import streams
from satchel.clients import setup
from satchel.clients.records import CLIENTS
from satchel.clients.targets import ClientPlaces, all_targets
from tests.clients.conftest import Satchel, World

REAL = ("--command", f"'{sys.executable}' -m satchel")


@pytest.fixture(autouse=True)
def no_programs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is on the PATH; Cursor and Codex have folders of settings."""
    monkeypatch.setenv("PATH", str(world.home))
    for name in (".cursor", ".codex"):
        (world.home / name).mkdir()


def test_without_a_client_the_command_for_each_installed_one_is_printed(world: World, satchel: Satchel) -> None:
    listed = satchel("setup")
    assert (listed.code, listed.out) == (0, "codex   satchel setup codex\ncursor  satchel setup cursor\n")
    assert satchel("setup", "cursor").code == 0
    rows = {row["client"]: row["is_set_up"] for row in satchel("setup", "--json").json["clients"]}
    assert rows == {"cursor": True, "codex": False}
    (world.home / "claude").write_text("#!/bin/sh\n")
    (world.home / "claude").chmod(0o755)
    listed = satchel("setup")
    assert listed.out.startswith("claude-code  satchel setup claude-code\n")
    assert "a terminal is needed to set up all at once" in listed.err


def test_editors_are_found_by_their_settings(world: World, satchel: Satchel) -> None:
    places = ClientPlaces(world.home, world.root, os.environ)
    for client in [one for one in CLIENTS if one not in ("claude-code", "codex", "cursor", "vscode")]:
        all_targets(client, [*CLIENTS[client].files][-1], places)[0].file.parent.mkdir(parents=True)
        assert f"\n{client} " in satchel("setup").out
    rows = satchel("setup", "--json").json["clients"]
    assert {row["client"] for row in rows} == set(CLIENTS) - {"claude-code"}, "Cline lies in the folder of its host"


def test_on_a_terminal_each_client_that_is_not_set_up_is_offered(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert satchel("setup", "cursor").code == 0
    asked: list[str] = []
    answers = [False, True]
    settings = world.home / ".codex" / "config.toml"

    def confirm(question: str, *_: object, **__: object) -> bool:
        asked.append(question)
        assert not settings.exists(), "nothing is written before the answer"
        return answers.pop(0)

    monkeypatch.setattr(streams, "is_terminal", lambda _stream: True)
    monkeypatch.setattr("satchel.cli.commands.connect.click.confirm", confirm)
    refused = satchel("setup")
    assert "+[mcp_servers.satchel]" in refused.out, "the change is shown before the question"
    assert not settings.exists()
    offered = satchel("setup")
    assert asked == ["Add satchel to codex for you everywhere?"] * 2
    assert "cursor is set up already" in offered.err
    assert settings.is_file()


def test_where_no_client_is_installed_the_error_names_all(world: World, satchel: Satchel) -> None:
    for name in (".cursor", ".codex"):
        (world.home / name).rmdir()
    refused = satchel("setup")
    assert refused.code == 2
    assert "one of claude-code, codex, cursor, vscode, zed" in refused.err


def test_setup_starts_the_written_server_and_counts_its_tools(satchel: Satchel) -> None:
    done = satchel("setup", "cursor", *REAL)
    assert done.code == 0
    assert "started the server once: it answers and lists 8 tools" in done.err
    assert satchel("setup", "codex", "--json", *REAL).json["started"] == {"tools": 8, "fault": ""}


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (f"'{sys.executable}' -c 'raise SystemExit(\"no such thing\")'", "ended with 1 and listed no tools: no such"),
        ("satchel-that-is-missing", "satchel-that-is-missing cannot be started"),
        (f"'{sys.executable}' -c 'input(); print(1)'", "ended with 0 and listed no tools"),
    ],
)
def test_a_server_that_starts_badly_is_named_and_ends_with_3(satchel: Satchel, command: str, fault: str) -> None:
    done = satchel("setup", "cursor", "--command", command)
    assert done.code == 3
    assert fault in done.err
    assert "to see that it works" not in done.err


def test_a_server_that_starts_and_never_answers_is_a_fault(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "START_SECONDS", 0.3)
    done = satchel(
        "setup", "cursor", "--command", f"'{sys.executable}' -c 'import threading; threading.Event().wait()'"
    )
    assert done.code == 3
    assert "does not answer within 0 s" in done.err


DROPS = """
import json, select, sys
for _ in range(3):
    sys.stdin.buffer.raw.readline()
if select.select([0], [], [], 0.2)[0]:
    sys.exit("nobody listens")
print(json.dumps({"id": 2, "result": {"tools": ["one"]}}), flush=True)
"""
"""A server that owes no answers to a client that closed its side."""


def test_a_server_that_starts_is_listened_to_until_it_has_answered(satchel: Satchel, tmp_path: Path) -> None:
    (tmp_path / "drops.py").write_text(DROPS)
    done = satchel("setup", "cursor", "--command", f"'{sys.executable}' '{tmp_path}/drops.py'")
    assert done.code == 0, done.err


def test_nothing_starts_in_a_dry_run(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "start_once", None)
    assert satchel("setup", "cursor", "--dry-run").code == 0


def test_doctor_names_the_clients(satchel: Satchel) -> None:
    checks = {check["name"]: check["message"] for check in satchel("doctor", "--json").json["checks"]}
    shown = "codex (not set up: satchel setup codex), cursor (not set up: satchel setup cursor)"
    assert checks["clients"] == shown
