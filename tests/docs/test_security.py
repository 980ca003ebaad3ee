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


def test_every_pinned_version_has_the_hashes_of_its_files_and_names_no_host() -> None:
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"==", text)) > 100
    assert {"pip", "setuptools", "apsw", "rs-bpe", "mcp"} <= {name for name, *_ in pins}
    assert not re.search(r"://|@", text)


def test_whatever_installs_the_pinned_versions_compares_hashes() -> None:
    for name in ("Makefile", "Dockerfile", "action.yml", "scripts/release_check.sh"):
        text = re.sub(r"\\\n\s*", "", (REPOSITORY / name).read_text(encoding="utf-8"))
        pinned = [line for line in text.splitlines() if re.search(r"--constraint \S*\bconstraints\.txt", line)]
        pinned = [line for line in pinned if "integrations/" not in line]
        assert pinned, name
        assert [line for line in pinned if "--no-require-hashes" not in line] == []
        assert "build_tools.sh" in text, name


def test_a_release_keeps_its_bill_of_materials() -> None:
    release = (REPOSITORY / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "release-check" in release
    assert "path: satchel.cdx.json" in release
    assert "scripts/sbom.py satchel.cdx.json" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")


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
