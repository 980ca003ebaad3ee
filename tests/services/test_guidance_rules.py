from __future__ import annotations

from collections.abc import Callable

from satchel import Satchel

Opened = Callable[..., Satchel]

FILES = {
    "AGENTS.md": "# Rules\n\nAlways use tabs for indentation in Python code.\n",
    "web/CLAUDE.md": "Use spaces for indentation in Python code.\n",
    "CLAUDE.local.md": "Run the whole test suite before you commit any change.\n",
    ".claude/rules/go.md": "---\npaths: '**/*.go'\n---\nGo only.\n",
    ".cursor/rules/hand.mdc": "---\nalwaysApply: false\n---\nBy hand.\n",
    "context.yaml": "injection_rules: [{name: r, when: {paths: 'src/**'}, inject: web}]\n",
    "web/context.yaml": "metadata: {name: Web}\nintent_context: {extends: ..}\n",
    "bad/context.yaml": "a: 1\na: 2\n",
}


def test_everything_is_listed_with_when_it_applies(opened: Opened) -> None:
    with opened(FILES) as satchel:
        rows, contexts, notes = satchel.guidance.list_rules()
    assert {row.instruction.path: row.reason for row in rows} == {
        "CLAUDE.local.md": "everywhere",
        ".claude/rules/go.md": "for **/*.go everywhere",
        "AGENTS.md": "everywhere",
        ".cursor/rules/hand.mdc": "only by hand",
        "web/CLAUDE.md": "below web/",
    }
    assert [one.context.path for one in contexts] == ["", "web"]
    assert [note.message for note in notes] == ["bad/context.yaml:2: has 'a' twice, first on line 1: leave one"]


def test_without_any_file_nothing_is_listed(opened: Opened) -> None:
    with opened({"a.py": "x = 1\n"}) as satchel:
        assert satchel.guidance.list_rules() == ([], [], [])
