"""Files of other programs, through the command line: imported twice, found, and exported where there is a format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.conftest import Satchel

pytestmark = pytest.mark.usefixtures("shop")

MEM0 = {
    "results": [
        {"id": "1", "memory": "Deploys go out on Tuesdays", "user_id": "ann", "created_at": "2026-03-01T10:00:00Z",
         "updated_at": "2026-03-02T10:00:00Z", "categories": ["decisions", "release"], "metadata": {"importance": 0.9}},
        {"id": "2", "memory": "Prefers pnpm", "agent_id": "coder", "categories": ["preference"]},
        {"id": "3", "memory": "Never dated", "created_at": "not a date"},
        {"id": "4", "memory": ""},
    ]
}  # fmt: skip
GRAPH = {
    "edges": [
        {"uuid": "e1", "name": "WORKS_AT", "fact": "Jana works at Acme", "created_at": "2026-01-01T00:00:00Z",
         "valid_at": "2024-05-01T00:00:00Z", "invalid_at": "2026-02-01T00:00:00Z"},
        {"uuid": "e2", "name": "OWNS", "fact": "Jana owns the billing service", "created_at": "2026-01-01T00:00:00Z"},
    ],
    "nodes": [{"uuid": "n1", "name": "Jana", "summary": "Lead of payments", "created_at": "2026-01-01T00:00:00Z"}],
    "episodes": [{"content": "raw"}],
}  # fmt: skip
LETTA = {
    "agents": [{"name": "a", "core_memory": [{"label": "persona", "value": "I keep answers short"}]}],
    "blocks": [{"id": "b1", "label": "human", "value": "Wants tests first", "limit": 5000},
               {"id": "b2", "label": "empty", "value": ""}],
    "passages": [{"text": "The staging host is blue", "tags": ["hosts"], "created_at": "2026-01-01T00:00:00Z"}],
}  # fmt: skip
CHATGPT = [
    {
        "title": "Retries", "conversation_id": "c1", "create_time": 1_770_000_000.5, "current_node": "d",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
            "a": {"message": {"author": {"role": "user"}, "create_time": 1_770_000_001.0,
                              "content": {"content_type": "text", "parts": ["How long do we back off?"]}},
                  "parent": "root", "children": ["b", "c"]},
            "b": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["An older branch"]}},
                  "parent": "a"},
            "c": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Two seconds, then double"]}},
                  "parent": "a", "children": ["d"]},
            "d": {"message": {"author": {"role": "user"}, "content": {"parts": ["Thanks", {"asset": 1}]}},
                  "parent": "c"},
        },
    }
]  # fmt: skip
CURSOR = """\
# Queue design
_Exported on 2026/2/28 at 10:28:33 from Cursor (2.4.27)_

---

**User**

Which broker do we use?

---

**Cursor**

RabbitMQ, with one queue per tenant.

---

**User**

And for tests?
"""


def memories(satchel: Satchel) -> dict[str, Mapping[str, Any]]:
    rows = satchel("memory", "list", "--limit", "50", "--json").json["memories"]
    return {row["content"]: row for row in rows}


def imported(satchel: Satchel, file: Path, form: str, *options: str) -> dict[str, Any]:
    """Import a file twice: the second time nothing changes. Returns the report of the first."""
    first = satchel("import", str(file), "--as", form, *options, "--json").json
    again = satchel("import", str(file), "--as", form, *options, "--json").json
    assert (again["added"], again["updated"]) == (0, 0)
    assert again["unchanged"] == first["added"]
    assert again["problems"] == first["problems"]
    result: dict[str, Any] = first
    return result


def write(tmp_path: Path, name: str, content: object) -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_memories_of_mem0_keep_their_category_tags_date_and_author(satchel: Satchel, tmp_path: Path) -> None:
    report = imported(satchel, write(tmp_path, "mem0.json", MEM0), "mem0")
    assert report["added"] == 3
    assert [problem["line"] for problem in report["problems"]] == [3, 4]
    assert "created_at is 'not a date'" in report["problems"][0]["message"]
    assert report["problems"][0]["message"].endswith("imported without it")
    listed = memories(satchel)
    assert set(listed) == {"Deploys go out on Tuesdays", "Prefers pnpm", "Never dated"}
    tuesday = listed["Deploys go out on Tuesdays"]
    assert (tuesday["category"], tuesday["tags"], tuesday["importance"]) == ("decision", ["release"], 0.9)
    assert (tuesday["created_at"], tuesday["origin"], tuesday["author"]) == ("2026-03-01T10:00:00.000Z", "mem0", "ann")
    assert listed["Prefers pnpm"]["author"] == "coder"
    assert "Deploys go out on Tuesdays" in satchel("context", "when do deploys go out").out


def test_what_mem0_gets_can_be_imported_again(satchel: Satchel, tmp_path: Path) -> None:
    imported(satchel, write(tmp_path, "mem0.json", MEM0), "mem0")
    file = tmp_path / "again.json"
    assert satchel("export", str(file), "--as", "mem0").err == f"wrote {file}\n"
    before = memories(satchel)
    satchel("memory", "forget", "--origin", "mem0", "--yes")
    assert memories(satchel) == {}
    assert satchel("import", str(file), "--as", "mem0", "--json").json["added"] == 3
    kept = ("category", "tags", "importance", "created_at", "author")
    after = memories(satchel)
    assert {text: [row[name] for name in kept] for text, row in after.items()} == {
        text: [row[name] for name in kept] for text, row in before.items()
    }


def test_facts_of_a_graph_say_when_they_were_true(satchel: Satchel, tmp_path: Path) -> None:
    report = imported(satchel, write(tmp_path, "graph.json", GRAPH), "graphiti")
    assert (report["added"], report["passed_over"]) == (3, {"episodes, whose facts are there": 1})
    listed = memories(satchel)
    ended = listed["Jana works at Acme"]
    assert (ended["tags"], ended["valid_from"][:10], ended["valid_to"][:10]) == (
        ["WORKS_AT"],
        "2024-05-01",
        "2026-02-01",
    )
    assert listed["Jana: Lead of payments"]["category"] == "context"
    assert listed["Jana owns the billing service"]["category"] == "fact"


def test_blocks_and_passages_of_an_agent_file_become_memories(satchel: Satchel, tmp_path: Path) -> None:
    assert imported(satchel, write(tmp_path, "agent.af", LETTA), "letta")["added"] == 3
    listed = memories(satchel)
    assert listed["Wants tests first"]["category"] == "preference"
    assert listed["I keep answers short"]["category"] == "context"
    assert listed["The staging host is blue"]["tags"] == ["hosts"]


def test_passages_and_blocks_are_read_from_lists_as_the_api_returns_them(satchel: Satchel, tmp_path: Path) -> None:
    passages = [
        {"id": "passage-1", "text": "The queue is drained at night", "tags": ["queue"],
         "created_at": "2026-01-01T00:00:00Z"},
        {"id": "passage-2", "text": "Tenants share one broker", "embedding": [0.1]},
    ]  # fmt: skip
    assert imported(satchel, write(tmp_path, "passages.json", passages), "letta")["added"] == 2
    found = {"results": [{"content": "Invoices are immutable", "timestamp": "2026-02-01T00:00:00Z"}], "count": 1}
    assert imported(satchel, write(tmp_path, "found.json", found), "letta")["added"] == 1
    blocks = [{"id": "b9", "label": "human", "value": "Reads diffs first"}]
    assert imported(satchel, write(tmp_path, "blocks.json", blocks), "letta")["added"] == 1
    listed = memories(satchel)
    assert listed["The queue is drained at night"]["tags"] == ["queue"]
    assert listed["Invoices are immutable"]["created_at"].startswith("2026-02-01")
    assert listed["Reads diffs first"]["category"] == "preference"


def test_an_expiry_of_mem0_ends_the_validity_and_relations_are_counted(satchel: Satchel, tmp_path: Path) -> None:
    content = {
        "results": [
            {"id": "1", "memory": "The freeze of releases applies", "created_at": "2026-01-01T00:00:00Z",
             "expiration_date": "2026-02-01"},
            {"id": "2", "memory": "Releases need two approvals", "expiration_date": "soon"},
        ],
        "relations": [{"source": "ann", "relationship": "owns", "target": "billing"}] * 2,
    }  # fmt: skip
    report = imported(satchel, write(tmp_path, "mem0.json", content), "mem0")
    assert (report["added"], report["passed_over"]) == (2, {"relations of its graph": 2})
    assert ["valid_to is 'soon'" in problem["message"] for problem in report["problems"]] == [True]
    assert memories(satchel)["The freeze of releases applies"]["valid_to"].startswith("2026-02-01")
    written = json.loads(satchel("export", "-", "--as", "mem0").out)["results"]
    assert {row["memory"]: row.get("expiration_date") for row in written} == {
        "The freeze of releases applies": "2026-02-01", "Releases need two approvals": None,
    }  # fmt: skip
    answer = satchel("context", "which freeze of releases applies", "--types", "memories").out
    assert "until 2026-02-01" in answer


def test_a_wrong_field_is_left_out_and_named_and_its_line_is_imported(satchel: Satchel, tmp_path: Path) -> None:
    names = "content,category,importance,tags,created_at"
    table = f"{names}\nkeep kiwis,fact,high,fruit,2026-01-02\nkeep plums,fact,7,,sometime\n"
    file = write(tmp_path, "k.csv", table)
    report = imported(satchel, file, "csv")
    assert report["added"] == 2
    messages = [(problem["line"], problem["message"]) for problem in report["problems"]]
    assert [line for line, _ in messages] == [1, 2, 2]
    assert all(message.endswith(": imported without it") for _, message in messages)
    kiwis = memories(satchel)["keep kiwis"]
    assert (kiwis["importance"], kiwis["tags"], kiwis["created_at"][:10]) == (0.5, ["fruit"], "2026-01-02")
    assert satchel("import", str(file), "--as", "csv").code == 3


@pytest.mark.parametrize(("form", "content"), [("csv", "content\nkeep kiwis\n"), ("chatgpt", CHATGPT)])
def test_a_file_that_another_repository_has_imported_is_imported_here_too(
    satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, content: object
) -> None:
    file = write(tmp_path, "file", content)
    added = imported(satchel, file, form)["added"]
    shop, words = Path.cwd(), "how long do we keep kiwis or back off"
    answer = satchel("context", words, "--types", "memories,conversations").out
    second = tmp_path / "second"
    second.mkdir()
    monkeypatch.chdir(second)
    assert imported(satchel, file, form)["added"] == added
    wanted = "keep kiwis" if form == "csv" else "Two seconds, then double"
    assert wanted in answer
    assert wanted in satchel("context", words, "--types", "memories,conversations").out
    monkeypatch.chdir(shop)
    assert satchel("context", words, "--types", "memories,conversations").out == answer


def test_what_a_repository_has_imported_is_moved_when_it_is_for_every_one(
    satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "k.csv", "content\nkeep kiwis\n")
    imported(satchel, file, "csv")
    second = tmp_path / "second"
    second.mkdir()
    monkeypatch.chdir(second)
    report = satchel("import", str(file), "--as", "csv", "--everywhere", "--json").json
    assert (report["added"], report["updated"]) == (0, 1)
    assert set(memories(satchel)) == {"keep kiwis"}
    again = satchel("import", str(file), "--as", "csv", "--json").json
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, 1)


def database(path: Path, project: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, "
        "title TEXT, narrative TEXT, facts TEXT, concepts TEXT, created_at TEXT, created_at_epoch INTEGER)"
    )
    connection.execute(
        "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT, learned TEXT,"
        " completed TEXT, next_steps TEXT, created_at TEXT, created_at_epoch INTEGER)"
    )
    observed = ("s", project, "bugfix", "The pool leaked", "A connection stayed open", '["max is 20"]', '["pool"]')
    for place, name in enumerate((project, "elsewhere")):
        row = (place + 1, observed[0], name, *observed[2:], "2026-03-01T10:00:00Z", 1_772_359_200_000)
        connection.execute(f"INSERT INTO observations VALUES ({', '.join('?' * 10)})", row)
    summary = (1, project, "Fix the pool", "Pools need limits", "Limit set", None, "", 1_772_359_200_000)
    connection.execute("INSERT INTO session_summaries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", summary)
    connection.close()


def test_observations_of_claude_mem_come_from_its_database(satchel: Satchel, tmp_path: Path) -> None:
    project = satchel("status", "--json").json["root"].rsplit("/", 1)[-1]
    database(tmp_path / "claude-mem.db", project)
    report = imported(satchel, tmp_path / "claude-mem.db", "claude-mem")
    assert (report["added"], report["passed_over"]) == (2, {"of another project": 1})
    listed = memories(satchel)
    leak = listed["The pool leaked\nA connection stayed open\n- max is 20"]
    assert (leak["category"], leak["tags"], leak["created_at"]) == ("error", ["pool"], "2026-03-01T10:00:00.000Z")
    assert listed["Request: Fix the pool\nLearned: Pools need limits\nCompleted: Limit set"]["category"] == "event"
    every = satchel("import", str(tmp_path / "claude-mem.db"), "--as", "claude-mem", "--everywhere", "--json").json
    assert (every["added"], every["passed_over"]) == (1, {})


def test_conversations_of_chatgpt_follow_the_last_branch(satchel: Satchel, tmp_path: Path) -> None:
    assert imported(satchel, write(tmp_path, "conversations.json", CHATGPT), "chatgpt")["added"] == 2
    answer = satchel("context", "how long do we back off", "--types", "conversations").out
    assert "Two seconds, then double" in answer
    assert "An older branch" not in answer


def test_chats_that_cursor_exported_are_found(satchel: Satchel, tmp_path: Path) -> None:
    assert imported(satchel, write(tmp_path, "chat.md", CURSOR * 2), "cursor")["added"] == 2
    answer = satchel("context", "which broker do we use", "--types", "conversations").out
    assert "RabbitMQ, with one queue per tenant." in answer
    assert "1970" not in answer


def test_a_table_is_read_with_its_own_columns_and_written(satchel: Satchel, tmp_path: Path) -> None:
    table = (
        'Note;Kind;Weight;Labels;When\n"Use tabs; never spaces";Preference;0,8;"style,editor";2026-01-02\nplain;;;;\n'
    )
    columns = {"content": "Note", "category": "kind", "importance": "Weight", "tags": "Labels", "created_at": "When"}
    options = [part for field, name in columns.items() for part in ("--map", f"{field}={name}")]
    assert imported(satchel, write(tmp_path, "notes.csv", table), "csv", *options)["added"] == 2
    row = memories(satchel)["Use tabs; never spaces"]
    assert (row["category"], row["importance"], row["tags"]) == ("preference", 0.8, ["style", "editor"])
    assert row["created_at"].startswith("2026-01-02")
    written = satchel("export", "-", "--as", "csv").out.splitlines()
    assert written[0] == "content,category,importance,tags,author,created_at,updated_at,id"
    assert any(line.startswith('Use tabs; never spaces,preference,0.8,"style, editor",') for line in written)


def test_a_long_memory_comes_in_parts_that_end_with_a_paragraph(satchel: Satchel, tmp_path: Path) -> None:
    block = "\n\n".join(f"Paragraph {number}: " + "word " * 300 for number in range(10))
    file = write(tmp_path, "long.json", [{"id": "1", "memory": block, "created_at": "2026-01-01T00:00:00Z"}])
    report = imported(satchel, file, "mem0")
    assert report["added"] == 2
    assert all(text.startswith("Paragraph") and len(text) <= 10_000 for text in memories(satchel))


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [("mem0", "{", "the file is not JSON"), ("mem0", "{}", "there are no memories in this file: is it mem0?"),
     ("graphiti", "[1]", "there are no facts in this file"), ("letta", '"x"', "there are no memory blocks"),
     ("claude-mem", "text", "is not a SQLite database"), ("chatgpt", "[]", "there are no conversations"),
     ("cursor", "# Notes", "is not a chat that Cursor exported"), ("csv", "a,b\n1,2\n", "no column for content"),
     ("csv", "", "no column for content")],
)  # fmt: skip
def test_a_file_of_another_format_is_refused_with_the_reason(
    satchel: Satchel, tmp_path: Path, form: str, content: str, message: str
) -> None:
    ran = satchel("import", str(write(tmp_path, "file", content)), "--as", form)
    assert ran.code == 2
    assert message in ran.err
    assert memories(satchel) == {}


def test_a_damaged_database_is_refused_and_a_wrong_column_named(satchel: Satchel, tmp_path: Path) -> None:
    damaged = tmp_path / "x.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"\1" * 5_000)
    assert "the database cannot be read" in satchel("import", str(damaged), "--as", "claude-mem").err
    apsw.Connection(str(tmp_path / "other.db")).execute("CREATE TABLE x (y)")
    assert "has no table observations" in satchel("import", str(tmp_path / "other.db"), "--as", "claude-mem").err
    table = write(tmp_path, "a.csv", "content\nx\n")
    assert "no column for tags=Labels" in satchel("import", str(table), "--as", "csv", "--map", "tags=Labels").err
    ran = satchel("import", str(table), "--as", "csv", "--map", "colour=x")
    assert (ran.code, "with a field of content, category" in ran.err) == (2, True)
