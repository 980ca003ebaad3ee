"""Why a note of a vault is in an answer or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.workspaces import open_vault

NOTES = {
    "Zitat.md": "# Zitat\n\nDer Satz des Tages ist kurz.\n",
    "Plan.md": "---\ntags: [work]\n---\n# Plan\n\nThe rocket flies.\n\n## Paint\n\nRed and white.\n",
}


def test_a_note_that_is_shown_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with open_vault(tmp_path / "vault", NOTES) as satchel:
        for target, question in (("Zitat.md", "Der Satz des Tages"), ("Plan.md", "when does the rocket fly")):
            assert any(item.id.startswith(f"note:{target}") for item in satchel.assemble(question).items)
            (standing,) = satchel.why(target, question)
            assert standing.is_shown
            assert standing.rank == 1


def test_a_note_without_a_word_of_the_question_is_said_to_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with open_vault(tmp_path / "vault", NOTES) as satchel:
        (standing,) = satchel.why("Plan.md", "Der Satz des Tages")
        assert (standing.is_shown, standing.reason) == (False, "no match")
