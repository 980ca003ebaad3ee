"""Two agents in one repository, each with a name of its own, through the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Satchel

pytestmark = [pytest.mark.usefixtures("shop"), pytest.mark.files("on a server the author is the user of the database")]

STARTED = (
    "--domain", "testing", "--strategy", "research-first", "--goal", "A green suite", "--hypothesis",
    "The fixture closes the session twice", "--action", "Close it once", "--prediction", "The suite is green",
)  # fmt: skip


def test_each_agent_has_an_experience_and_a_name(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("coder", "reviewer"):
        monkeypatch.setenv("SATCHEL_MEMORY_AUTHOR", name)
        assert satchel("experience", "start", *STARTED).code == 0
        satchel("remember", f"The deploy of {name} runs on Tuesdays")
    rows = satchel("experience", "list", "--json").json["experiences"]
    assert {(row["session_id"], row["author"]) for row in rows} == {("coder", "coder"), ("reviewer", "reviewer")}
    assert "is still active" in satchel("experience", "list").err
    ended = satchel("experience", "resolve", "--status", "confirmed", "--result", "green", "--json").json
    assert ended["session_id"] == "reviewer"
    assert (
        satchel("memory", "list", "--author", "coder")
        .out.splitlines()[0]
        .endswith("The deploy of coder runs on Tuesdays")
    )
    assert len(satchel("memory", "list").out.splitlines()) == 2
    matches = satchel("search", "deploy runs on Tuesdays", "--types", "memories", "--author", "coder").out
    assert "deploy of coder" in matches
    assert "deploy of reviewer" not in matches


def test_the_session_of_the_host_is_that_of_its_commands(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "host-1")
    assert satchel("experience", "start", *STARTED, "--json").json["session_id"] == "host-1"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "host-2")
    assert satchel("experience", "start", *STARTED, "--json").json["session_id"] == "host-2"
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    monkeypatch.setenv("CODEX_THREAD_ID", "thread-1")
    assert satchel("experience", "start", *STARTED, "--json").json["session_id"] == "thread-1"
    monkeypatch.setenv("SATCHEL_SESSION", "mine")
    assert satchel("experience", "start", *STARTED, "--json").json["session_id"] == "mine"
    monkeypatch.delenv("SATCHEL_SESSION")
    monkeypatch.delenv("CODEX_THREAD_ID")
    assert satchel("experience", "start", *STARTED, "--json").json["session_id"] == "default"
    assert "has an active experience" in satchel("experience", "start", *STARTED).err


def test_a_pinned_memory_is_first_in_the_brief_until_it_is_unpinned(satchel: Satchel) -> None:
    for number in range(12):
        satchel("remember", f"An important rule of this place, number {number}", "--importance", "1")
    identity = satchel("remember", "Never push to main", "--importance", "0.1").out.strip()
    assert satchel("memory", "pin", identity).code == 0
    assert "## Pinned\n" in satchel("brief").out
    assert "Never push to main" in satchel("brief", "--max-tokens", "200").out
    assert satchel("memory", "list", "--tag", "pinned", "--json").json["memories"][0]["id"] == identity
    satchel("memory", "unpin", identity)
    assert "Pinned" not in satchel("brief").out
    assert satchel("memory", "pin", "mem_missing").code == 2


def test_memories_are_found_by_author_and_scope_at_every_door(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploys = {
        "user": ("Ada", "Deploys of the shop need a green build"),
        "agent": ("coder", "Deploys of the shop take four minutes"),
        "team": ("Ada", "Deploys of the shop end on Fridays"),
    }
    options = {"agent": ("--provenance", "agent"), "team": ("--visibility", "team")}
    for scope, (author, text) in deploys.items():
        monkeypatch.setenv("SATCHEL_MEMORY_AUTHOR", author)
        satchel("remember", text, *options.get(scope, ()))
    doors = (("memory", "list"), ("memory", "search", "deploys"), ("search", "deploys", "--types", "memories"))
    for door in doors:
        for scope, (_, text) in deploys.items():
            listed = [line.partition("Deploys") for line in satchel(*door, "--scope", scope).out.splitlines()]
            assert [end for _, found, end in listed if found] == [
                text.partition("Deploys")[2] + ("  (team, by Ada)" if scope == "team" and door[0] == "memory" else "")
            ]
        assert satchel(*door, "--author", "ada").out.count("Deploys") == 2
    assert "choose from user, agent, team" in satchel("memory", "list", "--scope", "all").err
