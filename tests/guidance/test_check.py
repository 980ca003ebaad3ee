from __future__ import annotations

from collections.abc import Callable

import pytest

from satchel import Satchel
from satchel.guidance.check import contradictions, repeats, rule_lines
from satchel.guidance.instructions import Form, Instruction

Opened = Callable[..., Satchel]


def lines_of(*texts: str) -> list[object]:
    return [
        line
        for number, text in enumerate(texts)
        for line in rule_lines(Instruction(f"{number}.md", "", Form.AGENTS, text))
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always use tabs for indentation in Python files.", "Use spaces for indentation in Python files."),
        ("Never commit generated files to the repository.", "Always commit generated files to the repository."),
        ("- Do not mock the database in integration tests", "1. Mock the database in integration tests, you should"),
        ("Use npm to install the packages of the web folder", "Use pnpm to install the packages of the web folder"),
        ("Prefer single quotes for strings in all code", "Prefer double quotes for strings in all code"),
    ],
)
def test_opposite_demands_on_one_subject_contradict(one: str, other: str) -> None:
    (finding,) = contradictions(lines_of(one, other))  # type: ignore[arg-type]
    assert (finding.path, finding.other_path, finding.line) == ("0.md", "1.md", 1)
    assert not list(repeats(lines_of(one, other)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always run the tests before a commit.", "Never push to the main branch directly."),
        ("Never use print, use the logger instead.", "Always use the logger for messages."),
        ("Use tabs for indentation in Makefiles.", "Use spaces for everything that is Python code."),
        ("Never log passwords of users.", "Never log the passwords of users."),
        ("Avoid mocks.", "Use mocks."),
        ("Use single quotes for strings.", "Use tabs or spaces, single or double quotes: nobody cares."),
    ],
)
def test_what_only_looks_like_a_contradiction_is_none(one: str, other: str) -> None:
    assert not list(contradictions(lines_of(one, other)))  # type: ignore[arg-type]


FENCED = """\
```
Run the whole test suite before you commit anything.
```
* Run the whole test suite before you commit any change.
"""


def test_lines_that_say_nearly_the_same_are_repeats() -> None:
    (finding,) = repeats(
        lines_of(  # type: ignore[arg-type]
            "# Title\n\nRun the whole test suite before you commit anything.\n",
            FENCED,
        )
    )
    assert (finding.line, finding.other_line, finding.message) == (3, 4, "says the same as")


FILES = {
    "AGENTS.md": (
        "# Rules\n\nAlways use tabs for indentation in Python code.\nSee `src/gone.py`, `src/app.py:3` and `docs/`.\n"
        "Call `Reader.close()` and `Reader.open`, not `requests.get` or `parse_head()`; `json_dumps()` is gone.\n"
        "Paths such as `node_modules/x/y.js`, `../other/z.py` and `missing.py` too.\n"
    ),
    "web/CLAUDE.md": (
        "Use spaces for indentation in Python code.\nRun the whole test suite before you commit a change.\n"
    ),
    "CLAUDE.local.md": "Run the whole test suite before you commit any change.\n",
    ".claude/rules/go.md": "---\npaths: '**/*.go'\n---\nGo only.\n",
    ".cursor/rules/hand.mdc": "---\nalwaysApply: false\n---\nBy hand.\n",
    "src/app.py": (
        "class Reader:\n    def open(self):\n        return parse_head()\n\n\ndef parse_head():\n    return 1\n"
    ),
    "docs/a.md": "# A\n",
    "context.yaml": "injection_rules: [{name: r, when: {paths: 'src/**'}, inject: web}]\n",
    "web/context.yaml": "metadata: {name: Web}\nintent_context: {extends: ..}\n",
    "bad/context.yaml": "a: 1\na: 2\n",
}


def test_a_report_names_what_applies_and_what_is_wrong(opened: Opened) -> None:
    with opened(FILES) as satchel:
        report = satchel.guidance.check_rules(["src/app.py"])
    assert [row.instruction.path for row in report.instructions if row.applies] == ["CLAUDE.local.md", "AGENTS.md"]
    assert [(row.rule.name, row.verdict) for row in report.evaluated] == [("r", "true")]
    assert [finding.path for finding in report.never] == [".claude/rules/go.md", ".cursor/rules/hand.mdc"]
    assert [(one.path, one.other_path) for one in report.contradictions] == [("AGENTS.md", "web/CLAUDE.md")]
    assert [(one.path, one.line, one.other_path) for one in report.repeats] == [("CLAUDE.local.md", 1, "web/CLAUDE.md")]
    assert [finding.message for finding in report.missing] == [
        "names `src/gone.py`, which is not there",
        "names `Reader.close()`, but Reader has no close any more",
        "names `json_dumps()`, which nothing defines or calls",
        "names `missing.py`, which is not there",
    ]
    assert len(report.findings) == 8
    assert {finding.line for finding in report.missing} == {4, 5, 6}


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


def test_without_any_file_there_is_nothing_to_report(opened: Opened) -> None:
    with opened({"a.py": "x = 1\n"}) as satchel:
        report = satchel.guidance.check_rules()
    assert (report.instructions, report.findings, report.notes) == ((), (), ())
