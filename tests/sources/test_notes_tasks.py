"""Tasks of notes as Tasks and Dataview write them, and conditions on them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.config import Folders
from satchel.errors import UsageError
from satchel.sources.notes import TaskFilter, fields_of
from satchel.system.locations import Registry, WorkspaceType

TODAY = date(2026, 11, 24)
SIGNS = "- [ ] Call the bank 📅 2026-11-20 ⏫ #money"
FIELDS = "- [ ] Tell the customers [due:: 2026-12-01] [priority:: low] (owner:: Ada)"
UNDER_WAY, DONE, BARE = "\t* [/] Write 📅 2026-11-24", "1. [x] Order ✅ 2026-11-01", "> - [ ] Ask again"
EVERY = (SIGNS, FIELDS, UNDER_WAY, DONE, BARE, "- [-] Dropped 📅 2026-11-01", "- no task 📅 2026-11-01", "[ ] x", "")


def chosen(condition: str) -> list[str]:
    found = TaskFilter(condition, TODAY)
    return [line for line in EVERY if found.search(line)]


def test_both_forms_have_the_same_fields() -> None:
    signs, fields = fields_of(SIGNS), fields_of(FIELDS)
    assert signs is not None
    assert fields is not None
    assert (signs["due"], signs["priority"], signs["tags"]) == (["2026-11-20"], ["high"], ["money"])
    assert (fields["due"], fields["priority"], fields["owner"]) == (["2026-12-01"], ["low"], ["Ada"])
    assert fields_of("- plain") is None


@pytest.mark.parametrize(
    ("condition", "lines"),
    [
        ("due < today", [SIGNS]),
        ("due <= today", [SIGNS, UNDER_WAY]),
        ("due < today+8d and priority = low", [FIELDS]),
        ("due > yesterday", [FIELDS, UNDER_WAY]),
        ("due = tomorrow", []),
        ("due", [SIGNS, FIELDS, UNDER_WAY]),
        ("not due", [BARE]),
        ("priority >= high", [SIGNS]),
        ("priority < normal", [FIELDS]),
        ("status = done", [DONE]),
        ("status = cancelled", ["- [-] Dropped 📅 2026-11-01"]),
        ("status != open", [UNDER_WAY, DONE, "- [-] Dropped 📅 2026-11-01"]),
        ("tag = money, due < today", [SIGNS]),
        ("owner = 'ada'", [FIELDS]),
        ("owner != ada", [SIGNS, UNDER_WAY, BARE]),
        ("done >= 2026-11-01 and status = done", [DONE]),
    ],
)
def test_a_condition_chooses_its_tasks(condition: str, lines: list[str]) -> None:
    assert chosen(condition) == lines


@pytest.mark.parametrize("condition", ["", "due <", "due << today", "and due", "not due != today", "1 < 2"])
def test_anything_else_is_refused_with_an_example(condition: str) -> None:
    with pytest.raises(UsageError, match="due < today"):
        TaskFilter(condition, TODAY)


def test_the_tasks_of_a_vault_are_told_as_they_are_now(tmp_path: Path) -> None:
    vault, environ = tmp_path / "vault", {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    vault.mkdir()
    (vault / "Plan.md").write_text("# Money\n\n" + "\n".join(EVERY) + "\n")
    (vault / "code.py").write_text(f"'''\n{SIGNS}\n'''\n")
    Registry(Folders.from_environment(environ)).add("vault", vault, WorkspaceType.VAULT)
    with Satchel.open(vault, environ=environ) as engine:
        asked = engine.search_pattern(where="due < today", now="2026-11-24T09:00:00Z")
        assert [(one.path, one.line, one.text) for one in asked.matches] == [("Plan.md", 3, SIGNS)]
        assert SIGNS in asked.text
        (vault / "Plan.md").write_text(EVERY[0].replace("[ ]", "[x]") + "\n")
        assert engine.search_pattern(where="due < today", now="2026-11-24T09:00:00Z").matches == ()
