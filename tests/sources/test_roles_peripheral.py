"""Files and commits that keep a project going, told by paths, subjects and authors."""

from __future__ import annotations

import pytest

from satchel.sources.roles import (
    Peripheral,
    asked_peripherals,
    asks_for_routine,
    is_routine_commit,
    language_of_page,
    peripheral_role,
)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("package.json", Peripheral.MANIFEST),
        ("crates/core/Cargo.toml", Peripheral.MANIFEST),
        ("pkg/go.mod", Peripheral.MANIFEST),
        ("requirements-dev.txt", Peripheral.MANIFEST),
        ("app/App.csproj", Peripheral.MANIFEST),
        ("yarn.lock", Peripheral.LOCK),
        ("package-lock.json", Peripheral.LOCK),
        ("tsconfig.build.json", Peripheral.CONFIGURATION),
        (".github/workflows/run-tests.yml", Peripheral.CONFIGURATION),
        (".editorconfig", Peripheral.CONFIGURATION),
        (".eslintrc.json", Peripheral.CONFIGURATION),
        ("CHANGELOG.md", Peripheral.CHANGELOG),
        ("docs/changes.rst", Peripheral.CHANGELOG),
        ("doc/changes/7.3.rst", Peripheral.CHANGELOG),
        ("doc/en/announce/release-3.6.4.rst", Peripheral.CHANGELOG),
        ("LICENSE-MIT", Peripheral.LICENCE),
        ("COPYING", Peripheral.LICENCE),
        ("CODE_OF_CONDUCT.md", Peripheral.COMMUNITY),
        ("SECURITY.md", Peripheral.COMMUNITY),
        ("docs/zh-cn/README.zh-CN.md", Peripheral.TRANSLATION),
        ("README.ja.md", Peripheral.TRANSLATION),
        ("i18n/de/guide.md", Peripheral.TRANSLATION),
        ("locale/de/messages.po", Peripheral.TRANSLATION),
        ("tests/data/sample.json", Peripheral.TEST_DATA),
        ("src/__snapshots__/a.snap", Peripheral.TEST_DATA),
        ("tests/README.md", Peripheral.TEST_DATA),
    ],
)
def test_peripheral_prose(path: str, role: Peripheral) -> None:
    assert peripheral_role(path, is_prose=True) is role


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/security.rst",
        "docs/guide.md",
        "docs/en/guide.md",
        "docs/web-security.rst",
        "examples/chat/README.md",
        "config/routes.yaml",
        "docs/io.md",
        "changes/schema.sql",
    ],
)
def test_ordinary_prose(path: str) -> None:
    assert peripheral_role(path, is_prose=True) is None


@pytest.mark.parametrize(("path", "role"), [("setup.py", "manifest"), ("vitest.config.ts", "configuration")])
def test_code_that_only_configures_is_peripheral(path: str, role: str) -> None:
    assert peripheral_role(path) == role


@pytest.mark.parametrize(
    "path",
    ["src/history.py", "src/license.ts", "src/changes/diff.go", "tests/test_a.py", "src/locale/de.js", "config.py"],
)
def test_code_with_such_a_name_is_a_source(path: str) -> None:
    assert peripheral_role(path) is None


def test_the_language_of_a_translated_page() -> None:
    assert language_of_page("docs/pt-br/API.md") == "pt"
    assert language_of_page("docs/API.md") == ""


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("which licence applies?", Peripheral.LICENCE),
        ("what does the changelog say about cookies", Peripheral.CHANGELOG),
        ("in which version was the flag added", Peripheral.CHANGELOG),
        ("which dependency versions are needed", Peripheral.MANIFEST),
        ("how does the release workflow publish", Peripheral.CONFIGURATION),
        ("where is the Japanese documentation", Peripheral.TRANSLATION),
        ("which fixtures exist for the parser", Peripheral.TEST_DATA),
    ],
)
def test_a_question_names_what_it_asks_for(title: str, role: Peripheral) -> None:
    assert role in asked_peripherals(title)


def test_other_questions_ask_for_no_peripheral_file() -> None:
    assert asked_peripherals("how is the lock released after a timeout") == frozenset()


@pytest.mark.parametrize(
    ("subject", "author"),
    [
        ("Bump actions/cache from 3.2.4 to 3.2.6", "somebody"),
        ("build(deps): bump tox from 3.17.0 to 3.17.1", "somebody"),
        ("update dev dependencies", "somebody"),
        ("Merge pull request #12 from a/b", "somebody"),
        ("Merge branch 'stable'", "somebody"),
        ("release v1.2.3", "somebody"),
        ("2.0.1", "somebody"),
        ("Fix the parser", "dependabot[bot]"),
    ],
)
def test_routine_commits(subject: str, author: str) -> None:
    assert is_routine_commit(subject, author)


@pytest.mark.parametrize(
    "subject", ["Release the lock after a timeout", "Update the session cookie", "Merge headers of both responses"]
)
def test_commits_that_change_something(subject: str) -> None:
    assert not is_routine_commit(subject, "Ada")


def test_a_question_may_ask_for_routine_commits() -> None:
    assert asks_for_routine("when was the parser dependency upgraded")
    assert not asks_for_routine("why was the session changed")
