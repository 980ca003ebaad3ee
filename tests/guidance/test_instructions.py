from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.guidance.instructions import (
    Applied,
    Instruction,
    Instructions,
    applied,
    folders_below,
    to_judge,
)
from satchel.guidance.judge import Opinion, Verdict, WordJudge
from satchel.guidance.situation import make_situation
from satchel.safety.sanitize import MAX_NOTES
from satchel.sources.front_matter import rule_fields
from tests.eval_data import data_file
from tests.guidance.conftest import Write


def rows_for(root: Path, *paths: str, task: str = "") -> list[Applied]:
    result, _ = Instructions(root).near(paths)
    conditions = to_judge(result, paths)
    situation = make_situation({"files": list(paths), "task": task})
    opinions = dict(zip(conditions, WordJudge().judge(conditions, situation), strict=True))
    return applied(result, paths, opinions)


def applying(root: Path, *paths: str, task: str = "") -> list[str]:
    return [row.instruction.path for row in rows_for(root, *paths, task=task) if row.applies]


def one(root: Path, path: str, folder: str = "") -> Instruction:
    result, _ = Instructions(root).of_folders([folder])
    return next(instruction for instruction in result if instruction.path == path)


def test_the_nearest_folder_wins_then_the_kind(write: Write) -> None:
    root = write(
        {
            "AGENTS.md": "root agents",
            "CLAUDE.md": "root claude",
            "CLAUDE.local.md": "mine",
            ".claude/rules/style.md": "rules",
            "src/AGENTS.md": "src",
            "src/api/.claude/CLAUDE.md": "api",
            "other/AGENTS.md": "elsewhere",
        }
    )
    assert applying(root, "src/api/a.py") == [
        "src/api/.claude/CLAUDE.md", "src/AGENTS.md", "CLAUDE.local.md", ".claude/rules/style.md", "CLAUDE.md",
        "AGENTS.md",
    ]  # fmt: skip
    assert applying(root) == ["CLAUDE.local.md", ".claude/rules/style.md", "CLAUDE.md", "AGENTS.md"]


def test_rules_with_paths_apply_only_to_what_they_match(write: Write) -> None:
    root = write(
        {
            ".claude/rules/api.md": '---\npaths:\n  - "src/api/**/*.{ts,tsx}"\n  - lib/\n---\nAPI rules',
            ".claude/rules/deep/er/db.md": "---\npaths: db/**, *.sql\n---\nDB rules",
            "web/.cursor/rules/ui.mdc": "---\ndescription: x\nglobs: src/*.css,*.html\nalwaysApply: false\n---\nUI",
            "web/.cursor/rules/always.mdc": "---\nalwaysApply: true\nglobs: *.never\n---\nAlways",
        }
    )
    assert applying(root, "src/api/x/a.tsx") == [".claude/rules/api.md"]
    assert applying(root, "any/where.sql") == [".claude/rules/deep/er/db.md"]
    assert applying(root, "web/src/a.css") == ["web/.cursor/rules/always.mdc", "web/.cursor/rules/ui.mdc"]
    assert applying(root, "src/a.css") == []
    assert rows_for(root, "src/a.css")[0].reason.startswith("no file of the situation below the root matches")


def test_a_rule_with_a_description_alone_is_judged_and_one_with_nothing_is_for_people(write: Write) -> None:
    root = write(
        {
            ".cursor/rules/db.mdc": "---\ndescription: database migrations\nalwaysApply: false\n---\nDown scripts",
            ".cursor/rules/hand.mdc": "---\nalwaysApply: false\n---\nOnly when asked",
            "sub/.cursor/rules/far.mdc": "---\ndescription: database\n---\nfar",
        }
    )
    assert applying(root, task="add a migration to the postgres schema") == [".cursor/rules/db.mdc"]
    assert applying(root, task="fix the css of a button") == []
    reasons = {row.instruction.path: row.reason for row in rows_for(root, "a.py")}
    assert "nothing in it says when it applies" in reasons[".cursor/rules/hand.mdc"]
    result, _ = Instructions(root).of_folders(["", "sub"])
    (far,) = [row for row in applied(result, ["a.py"], {}) if row.instruction.folder == "sub"]
    assert far.reason == "no file of the situation lies below sub/"


def test_files_of_copilot_gemini_cursor_and_windsurf_count_too(write: Write) -> None:
    root = write(
        {
            ".github/copilot-instructions.md": "Copilot", ".cursorrules": "Cursor", ".windsurfrules": "Windsurf",
            "GEMINI.md": "Gemini\n@docs/style.md", "docs/style.md": "style", "web/GEMINI.md": "Web",
            ".github/instructions/ts.instructions.md": '---\napplyTo: "**/*.ts,**/*.{js,jsx}"\n---\nTS',
            ".github/instructions/deep/all.instructions.md": '---\napplyTo: "**"\ndescription: all\n---\nAll',
            ".github/instructions/hand.instructions.md": "---\ndescription: database\n---\nHand",
            ".github/instructions/notes.md": "not an instruction file",
        }
    )  # fmt: skip
    always = ["GEMINI.md", ".github/instructions/deep/all.instructions.md", ".github/copilot-instructions.md",
              ".cursorrules", ".windsurfrules"]  # fmt: skip
    assert applying(root, "a.py", task="a database migration") == always
    assert applying(root) == always
    assert ".github/instructions/ts.instructions.md" in applying(root, "web/a.jsx")
    assert applying(root, "web/a.css")[0] == "web/GEMINI.md"
    assert one(root, "GEMINI.md").text == "Gemini\nstyle"


def test_skills_apply_when_their_description_does(write: Write) -> None:
    skill = "---\nname: {0}\ndescription: {1}\n---\nDo {0}"
    root = write(
        {
            ".claude/skills/migrate/SKILL.md": skill.format("migrate", "database migrations"),
            ".claude/skills/migrate/reference.md": "not a skill",
            ".claude/skills/style/SKILL.md": skill.format("style", "css and buttons"),
        }
    )
    assert applying(root, task="add a migration to the postgres schema") == [".claude/skills/migrate/SKILL.md"]


def test_imports_are_followed_five_deep_and_each_comes_once(write: Write) -> None:
    files = {f"docs/{number}.md": f"level {number}\n@{number + 1}.md" for number in range(1, 8)}
    root = write(
        {"CLAUDE.md": "top\n- @docs/1.md\nsee @docs/1.md and @docs/style.md please", "docs/style.md": "style", **files}
    )
    result = one(root, "CLAUDE.md")
    assert "level 5" in result.text
    assert "level 6" not in result.text
    assert result.imports[:2] == ("docs/1.md", "docs/2.md")
    assert result.text.count("level 1") == 1
    assert result.text.endswith("style")
    assert "@docs/1.md" not in result.text.split("\n")[1]
    assert [note.message for note in result.notes] == ["docs/5.md:2: @6.md: more than 5 imports deep"]


def test_what_only_looks_like_an_import_is_left_alone(write: Write) -> None:
    text = "mail me@docs.md, use @types/node and `@docs/a.md`\n```\n@docs/a.md\n```\n@decorator works"
    result = one(write({"CLAUDE.md": text, "docs/a.md": "A"}), "CLAUDE.md")
    assert result.text == text
    assert result.imports == ()
    assert result.notes == ()


@pytest.mark.parametrize(
    ("name", "problem"),
    [("../../etc/passwd.md", "outside the root"), ("~/x.md", "outside the root"), ("gone.md", "no such file"),
     ("image.png", "cannot be read")],
)  # fmt: skip
def test_an_import_that_cannot_be_had_is_noted_with_its_line(write: Write, name: str, problem: str) -> None:
    root = write({"CLAUDE.md": f"one\n@{name}"})
    (root / "image.png").write_bytes(b"\x89PNG\0\0")
    (note,) = one(root, "CLAUDE.md").notes
    assert note.message.startswith(f"CLAUDE.md:2: @{name}")
    assert problem in note.message


def test_links_stand_for_what_they_lead_to_and_are_shown_once(write: Write) -> None:
    root = write({"AGENTS.md": "rules", "sub/AGENTS.md": "sub", "sub/CLAUDE.md": "AGENTS.md", "docs/x.md": "far"})
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / "CLAUDE.local.md").symlink_to("/etc/passwd")
    result, notes = Instructions(root).of_folders([""])
    assert [(row.path, row.stands_for, row.text) for row in result] == [
        ("CLAUDE.md", "AGENTS.md", "rules"),
        ("AGENTS.md", "", "rules"),
    ]
    assert [note.message for note in notes] == ["CLAUDE.local.md: cannot be read: outside-root"]
    assert applying(root, "sub/a.py") == ["sub/CLAUDE.md", "CLAUDE.md"]
    twins = [row.reason for row in rows_for(root, "sub/a.py") if not row.applies]
    assert twins == ["says the same as CLAUDE.md, which applies", "says the same as sub/CLAUDE.md, which applies"]


def test_a_file_that_leads_to_one_that_is_gone_is_noted(write: Write) -> None:
    result, notes = Instructions(write({"CLAUDE.md": ".agents/rules/base.md"})).of_folders([""])
    assert result == []
    assert (
        notes[0].message == "CLAUDE.md: cannot be read: vanished: it leads to .agents/rules/base.md, which is not there"
    )


def test_a_folder_of_rules_that_is_a_link_is_not_entered(write: Write, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "evil.md").write_text("obey")
    root = write({"a.py": ""})
    (root / ".claude").mkdir()
    (root / ".claude/rules").symlink_to(outside, target_is_directory=True)
    assert Instructions(root).of_folders([""]) == ([], [])


def test_patterns_that_cannot_be_used_apply_to_nothing(write: Write) -> None:
    root = write({".claude/rules/a.md": "---\npaths: ../x/**\n---\ntext"})
    assert applying(root, "a.py", "x/y") == []
    _, notes = Instructions(root).of_folders([""])
    assert "the pattern '../x/**' leads outside its folder" in notes[0].message


def test_front_matter_is_read_as_people_write_it() -> None:
    fields, body, line = rule_fields(
        "---\nglobs: *.ts, \"a/{b,c}.js\"\npaths: [x/**, 'y']\n# c\ndescription: a, b: c\n---\nBody\n"
    )
    assert fields == {"globs": ["*.ts", "a/{b,c}.js"], "paths": ["x/**", "y"], "description": ["a, b: c"]}
    assert (body, line) == ("Body\n", 7)
    assert rule_fields("no front") == ({}, "no front", 1)


def test_folders_of_others_are_passed_over(write: Write) -> None:
    root = write({"a/b/x": "", "node_modules/c/x": "", ".git/d/x": "", "sub/.git": "gitdir: x", "sub/e/x": ""})
    assert folders_below(root) == (["", "a", "a/b"], [])


def test_an_undecided_description_does_not_apply(write: Write) -> None:
    root = write({".cursor/rules/a.mdc": "---\ndescription: d\n---\nx"})
    result, _ = Instructions(root).near([])
    (row,) = applied(result, [], {"d": Opinion(Verdict.UNDECIDED, "no idea", "j")})
    assert not row.applies
    assert row.reason == "its description is judged undecided (no idea)"


REAL = {
    "pydantic/pydantic-ai": {
        ".github/workflows/ci.yml": [".github/workflows/CLAUDE.md", "CLAUDE.md"],
        "docs/agents.md": ["docs/CLAUDE.md", "CLAUDE.md"],
        "docs/realtime/guide.md": ["docs/realtime/CLAUDE.md", "docs/CLAUDE.md", "CLAUDE.md"],
        "pydantic_ai_slim/pydantic_ai/models/openai.py": [
            "pydantic_ai_slim/pydantic_ai/models/CLAUDE.md",
            "pydantic_ai_slim/pydantic_ai/CLAUDE.md",
            "CLAUDE.md",
        ],
        "pydantic_ai_slim/pydantic_ai/toolsets/function.py": [
            "pydantic_ai_slim/pydantic_ai/toolsets/AGENTS.md",
            "pydantic_ai_slim/pydantic_ai/CLAUDE.md",
            "CLAUDE.md",
        ],
        "pydantic_ai_slim/pydantic_ai/agent.py": ["pydantic_ai_slim/pydantic_ai/CLAUDE.md", "CLAUDE.md"],
        "pydantic_ai_slim/pyproject.toml": ["CLAUDE.md"],
        "tests/test_agent.py": ["tests/CLAUDE.md", "CLAUDE.md"],
        "README.md": ["CLAUDE.md"],
    },
    "sqlfluff/sqlfluff": {
        "src/sqlfluff/dialects/dialect_ansi.py": [
            "src/sqlfluff/dialects/AGENTS.md",
            "src/sqlfluff/AGENTS.md",
            "AGENTS.md",
        ],
        "src/sqlfluff/core/linter.py": ["src/sqlfluff/AGENTS.md", "AGENTS.md"],
        "src/sqlfluffrs_other/x.rs": ["AGENTS.md"],
        "sqlfluffrs/src/lib.rs": ["sqlfluffrs/AGENTS.md", "AGENTS.md"],
        "docs/source/index.rst": ["docs/AGENTS.md", "AGENTS.md"],
        "test/core/linter_test.py": ["test/AGENTS.md", "AGENTS.md"],
        "setup.cfg": ["AGENTS.md"],
        "plugins/x/y.py": ["AGENTS.md"],
    },
    "yamadashy/repomix": {
        "browser/entrypoints/background.ts": ["browser/CLAUDE.md", "CLAUDE.md"],
        "src/index.ts": ["CLAUDE.md"],
        "website/client/a.vue": ["CLAUDE.md"],
    },
}
"""Which files apply to which path, worked out by hand from the folders of three real projects."""


@pytest.mark.parametrize(("project", "path"), [(project, path) for project, paths in REAL.items() for path in paths])
def test_the_files_of_real_projects_apply_where_they_should(write: Write, project: str, path: str) -> None:
    data = json.loads(data_file("agents_md.json").read_text(encoding="utf-8"))
    # The links of one project lead to a file that the snapshot leaves out.
    root = write({**data[project]["files"], ".agents/rules/base.md": "Base rules of the project."})
    assert applying(root, path) == REAL[project][path]


def test_a_file_that_only_imports_another_stands_for_it(write: Write) -> None:
    root = write({"AGENTS.md": "Keep it short. @docs/more.md", "CLAUDE.md": "@AGENTS.md\n", "docs/more.md": "More."})
    rows = rows_for(root, "a.py")
    assert [(row.instruction.path, row.applies) for row in rows] == [("CLAUDE.md", True), ("AGENTS.md", False)]
    assert "Keep it short." in rows[0].instruction.text
    assert "More." in rows[0].instruction.text
    assert Instructions(root).near(["a.py"])[1] == []
    (root / "CLAUDE.md").write_text("@docs/gone.md")
    _, notes = Instructions(root).near(["a.py"])
    assert [note.message for note in notes] == ["CLAUDE.md:1: @docs/gone.md: there is no such file"]


@pytest.mark.parametrize(
    "globs",
    ['"src/**/*.ts, src/**/*.js"', "'src/**/*.ts,src/**/*.js'", "src/**/*.ts, src/**/*.js",
     '["src/**/*.ts", "src/**/*.js"]', '"src/**/*.{ts,js}"',
     '\n  - "src/**/*.ts, src/**/*.js"', "\n  - src/**/*.ts\n  - src/**/*.js"],
)  # fmt: skip
def test_globs_are_read_as_people_quote_them(write: Write, globs: str) -> None:
    root = write({".cursor/rules/web.mdc": f"---\nglobs: {globs}\nalwaysApply: false\n---\nUse strict types."})
    for path in ("src/a.ts", "src/deep/b.js"):
        assert applying(root, path) == [".cursor/rules/web.mdc"]
    assert applying(root, "src/a.py") == []


@pytest.mark.parametrize("form", ["import", "name", "link"])
def test_nothing_below_git_is_read(write: Write, form: str) -> None:
    root = write({"CLAUDE.md": "Before\n@.git/config.txt\n" if form == "import" else ".git/config.txt"})
    (root / ".git").mkdir(exist_ok=True)
    (root / ".git" / "config.txt").write_text("only-for-me")
    if form == "link":
        (root / "CLAUDE.md").unlink()
        (root / "CLAUDE.md").symlink_to(".git/config.txt")
    result, notes = Instructions(root).of_folders([""])
    told = " ".join(str(note) for instruction in result for note in instruction.notes) + str(notes)
    assert "only-for-me" not in f"{[instruction.text for instruction in result]} {told}"
    assert "secret-file" in told


def test_many_missing_imports_are_few_notes(write: Write) -> None:
    root = write({"CLAUDE.md": "Be brief.\n" + "".join(f"@m{number}.md\n" for number in range(5_000))})
    assert len(one(root, "CLAUDE.md").notes) <= MAX_NOTES + 1


def test_imports_are_not_read_beyond_their_limit(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"part{number}.md" for number in range(40)]
    root = write({"CLAUDE.md": "".join(f"@{name}\n" for name in names), **dict.fromkeys(names, "x" * 100_000)})
    read: list[str] = []
    text = Instructions._text

    def counted(self: Instructions, path: str) -> str:
        read.append(path)
        return text(self, path)

    monkeypatch.setattr(Instructions, "_text", counted)
    assert "the rest is cut" in one(root, "CLAUDE.md").notes[-1].hint
    assert len(read) <= 8


@pytest.mark.parametrize(
    ("line", "imports"),
    [
        ("Read @docs/a.md.", ("docs/a.md",)),
        ("Read @docs/a.md, then ask...", ("docs/a.md",)),
        (r"See @docs/my\ notes.md for more.", ("docs/my notes.md",)),
        ("<!-- @docs/a.md -->", ()),
        ("<!-- begins\n@docs/a.md\nends --> and @docs/b.md", ("docs/b.md",)),
        ("`` @docs/a.md ` `` and @docs/b.md", ("docs/b.md",)),
        ("````\n```\n@docs/a.md\n```\n````\n@docs/b.md", ("docs/b.md",)),
        ("~~~ text\n@docs/a.md\n~~~ not the end\n@docs/a.md\n~~~", ()),
    ],
)
def test_an_import_is_a_name_in_prose_whatever_follows_it(write: Write, line: str, imports: tuple[str, ...]) -> None:
    root = write({"CLAUDE.md": line, "docs/a.md": "A", "docs/b.md": "B", "docs/my notes.md": "mine"})
    result = one(root, "CLAUDE.md")
    assert result.imports == imports
    assert result.notes == ()


def test_a_file_of_a_folder_applies_where_the_folder_itself_is_named(write: Write) -> None:
    root = write({"AGENTS.md": "root", "src/api/AGENTS.md": "api", "src/api/a.py": "", "src/other/AGENTS.md": "no"})
    assert applying(root, "src/api") == applying(root, "src/api/") == ["src/api/AGENTS.md", "AGENTS.md"]
    assert applying(root, "src/api/new.py") == ["src/api/AGENTS.md", "AGENTS.md"]
