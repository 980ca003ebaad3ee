"""A week of a user: transcripts are reviewed, a fact changes, a failure returns, and a value emerges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from values import lines  # benchmarks/ is on the path

from satchel.testing import TinyRepository
from tests.e2e.command import Satchel
from tests.e2e.sample import sample_repository

FAILURE = "tests/test_cart.py:12: in test_total E   AssertionError: assert 19.99 == 20.00 1 failed, 12 passed in 0.80s"
LESSON = "The total was rounded for each item; it is rounded once now, at the end of the sum."
MONDAY: Sequence[Any] = (
    "From now on always use pnpm, never npm, in this repository.",
    "We decided to use NATS instead of RabbitMQ for orders.",
    "The contact of the payments team is Jana Weiss.",
    "Do we always need the tenant in the key?",
    ("The cart tests are red, fix them.", LESSON),
)
TUESDAY: Sequence[Any] = ("The contact of the payments team is Omar Haddad.", "Never mind the linter this time.")


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Satchel:
    return Satchel(repository.root, tmp_path / "home")


def transcript(folder: Path, root: Path, day: int, turns: Sequence[Any]) -> Path:
    """The transcript of a day; a pair is a prompt with a repaired check and what was said in the end."""
    rows: list[tuple[str, Any]] = []
    for turn in turns:
        said, reply = turn if isinstance(turn, tuple) else (turn, "")
        rows.append(("user", said))
        if reply:
            for number, (tool, argument, result, failed) in enumerate(
                (
                    ("Bash", {"command": "pytest tests/test_cart.py -q"}, FAILURE, True),
                    ("Edit", {"file_path": "shop/cart.py"}, "ok", False),
                    ("Bash", {"command": "pytest tests/test_cart.py -q"}, "13 passed in 0.75s", False),
                )
            ):
                rows.append(("assistant", [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": argument}]))
                given = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": failed, "content": result}
                rows.append(("user", [given]))
        rows.append(("assistant", reply or "Understood."))
    path = folder / f"day{day}.jsonl"
    path.write_text("".join(
        json.dumps({
            "type": kind, "uuid": f"{day}{number:07d}", "sessionId": f"day{day}", "cwd": str(root),
            "timestamp": f"2026-05-0{day}T10:{number:02d}:00Z", "message": {"role": kind, "content": content},
        }) + "\n"
        for number, (kind, content) in enumerate(rows)
    ))  # fmt: skip
    return path


def test_a_week_of_a_user(satchel: Satchel, tmp_path: Path) -> None:
    # Monday: what was said waits, and nothing of it counts yet.
    proposed = satchel("memory", "review", "--from", str(transcript(tmp_path, satchel.root, 1, MONDAY)), "--json").json
    texts = {row["text"]: row for row in proposed["candidates"]}
    assert sorted(row["kind"] for row in texts.values()) == ["decision", "experience", "fact", "preference"]
    assert satchel("memory", "list").out == ""
    ids = {row["kind"]: row["id"] for row in texts.values()}
    corrected = satchel("memory", "review", ids["preference"], "--accept", "--text", "Use pnpm, never npm")
    assert corrected.code == 0
    accepted = satchel("memory", "review", "--all", "--accept")
    assert "remembered 3" in accepted.err
    assert satchel("memory", "review").out == ""

    # Tuesday: another contact. Both stay; the newer one comes first and is said to contradict the older one.
    path = transcript(tmp_path, satchel.root, 2, TUESDAY)
    (only,) = satchel("memory", "review", "--from", str(path), "--json").json["candidates"]
    changed = satchel("memory", "review", only["id"], "--accept")
    assert "it differs from mem_" in changed.err
    contact = satchel("context", "who is the contact of the payments team").out
    assert contact.index("Omar Haddad") < contact.index("Jana Weiss")
    assert "newer: mem_" in contact
    older, newer = (
        row["id"] for row in reversed(satchel("memory", "search", "contact payments", "--json").json["memories"])
    )
    assert satchel("memory", "supersede", older, newer).code == 0
    assert "Jana" not in satchel("context", "who is the contact of the payments team").out
    assert "Jana Weiss" in satchel("memory", "list", "--superseded").out

    # Wednesday and Thursday: the same failure, twice. What was learned on Monday comes back.
    output = tmp_path / "failure.txt"
    output.write_text(FAILURE)
    for _ in range(2):
        again = satchel("brief", "--after-failure", str(output)).out
        assert LESSON in again

    # Friday: many experiences of the team arrive, and a value emerges.
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines()[0]))
    assert satchel("import", str(journal), "--here").code == 0
    assert satchel("values", "cluster").code == 0
    proposals = satchel("values", "propose", "--axis", "full", "--json").json["proposals"]
    best = next(one for one in proposals if one["validation"] and one["validation"]["is_inside"])
    value = satchel("values", "accept", best["text"], "--cluster", best["cluster"])
    assert value.code == 0, value.err

    # Saturday: the brief of the next day has the value, the decision and the lesson; a broad question has the theme.
    brief = satchel("brief", "--max-tokens", "1500").out
    for text in (best["text"], "NATS instead of RabbitMQ", "Use pnpm, never npm"):
        assert text in brief, brief
    assert "Jana Weiss" not in brief
    known = satchel("context", "what do I know about Omar Haddad").out
    assert "Omar Haddad" in known
    lessons = satchel("context", "lessons about flaky tests", "--types", "experiences", "--json").json
    assert len(lessons["items"]) >= 12
