"""The security page names tests that exist, and the licence of every package that satchel needs."""

from __future__ import annotations

import json
import re
import tomllib

from scripts import licences
from tests.docs.pages import REPOSITORY

PAGE = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_of_the_table_exists() -> None:
    rows = re.findall(r"^\| [A-Z]\d+ \|.*", PAGE, re.MULTILINE)
    assert len(rows) > 100
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"def test_{name}(" in (REPOSITORY / "tests" / path).read_text(encoding="utf-8"), (path, name)


def test_the_tests_of_what_is_decided_exist() -> None:
    named = re.findall(r"`tests/([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) == 6
    for path, name in named:
        assert f"def {name}(" in (REPOSITORY / "tests" / path).read_text(encoding="utf-8"), (path, name)


def test_the_page_says_what_each_test_did_without_its_guard() -> None:
    stored = json.loads((REPOSITORY / "benchmarks" / "results" / "guards.json").read_text(encoding="utf-8"))
    told: dict[str, dict[str, None]] = {}
    for one in stored:
        name = one["test"].rpartition("::test_")[2]
        assert f"::{name}`" in re.search(rf"^\| {one['row']} \|.*", PAGE, re.MULTILINE)[0]  # type: ignore[index]
        told.setdefault(one["row"], {})["fails" if one["outcome"] == "failed" else f"passes: {one['also']}"] = None
    assert len(told) >= 60
    for row, last in re.findall(r"^\| ([A-Z]\d+) \|.*\| ([^|]*)\|$", PAGE, re.MULTILINE):
        assert last.strip() == "; ".join(told.get(row, {})), row


def test_every_dependency_has_its_licence() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[>=<]", dependency)[0] for dependency in project["dependencies"]}
    missing = [name for name in names if name not in PAGE and not name.startswith("tree-sitter-")]
    assert missing == []


def test_the_script_of_licences_finds_one_for_every_package_and_the_page_names_what_the_server_brings() -> None:
    assert licences.main() == 0
    needed = licences.closure()
    assert {"cryptography", "pyjwt", "python-multipart", "sse-starlette"} <= needed.keys()
    for name in ("cryptography", "pyjwt", "python-multipart", "sse-starlette", "httpx2"):
        assert name in PAGE.lower()


def test_jobs_of_ci_use_each_action_by_the_digest_of_a_commit() -> None:
    for file in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))
        assert used, file
        assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", one)] == []


def test_jobs_of_ci_have_no_rights_but_those_they_name() -> None:
    for file in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        text = file.read_text(encoding="utf-8")
        assert "\npermissions: {}\n" in text
        assert set(re.findall(r"^ {4,6}(?:permissions: \{ )?([a-z-]+: (?:write|read))", text, re.M)) <= {
            "contents: read", "id-token: write",
        }  # fmt: skip
