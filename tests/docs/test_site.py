"""What is made of the documentation: the site and the manual page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest
import yaml

from satchel.cli.application import application
from tests.architecture.test_documented import command_paths
from tests.docs.pages import REPOSITORY


def script(name: str) -> ModuleType:
    """Return a script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Entry: TypeAlias = "str | dict[str, Entry] | list[Entry]"


def leaves(entry: Entry) -> list[str]:
    """Return every page below an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for value in below for page in leaves(value)]


def test_the_navigation_has_every_page_once() -> None:
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    listed = leaves(yaml.safe_load(text)["nav"])
    docs = REPOSITORY / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert sorted(listed) == sorted(page for page in pages if not page.startswith("decisions/0"))


def test_a_link_that_leaves_the_pages_becomes_text_or_leads_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    links = script("site_links")
    docs = Path(links.DOCS)
    assert links.outside("[x](../SECURITY.md)", docs) == "x (`SECURITY.md`)"
    assert links.outside("[x](../vectors.md)", docs / "sources") == "[x](../vectors.md)"
    monkeypatch.setenv("SITE_REPOSITORY", "https://forge.example/satchel/blob/main")
    assert links.outside("[x](../SECURITY.md)", docs) == "[x](https://forge.example/satchel/blob/main/SECURITY.md)"


def test_a_link_to_a_missing_file_outside_the_pages_fails() -> None:
    links = script("site_links")
    with pytest.raises(FileNotFoundError, match=r"links to nowhere\.md, which does not exist"):
        links.outside("[x](../nowhere.md)", links.DOCS)


def test_the_manual_has_every_command_and_its_options() -> None:
    page = script("write_man").manual()
    assert page.startswith('.TH SATCHEL 1 ""')
    for path in command_paths(application, "satchel"):
        assert f"\n.SS {path.replace('-', chr(92) + '-')}\n" in page
    assert "\\-\\-max\\-tokens" in page


def test_no_line_of_the_manual_is_an_accidental_request() -> None:
    module = script("write_man")
    assert module.escaped(".gitignore\n'quoted'") == "\\&.gitignore\n\\&'quoted'"
    requests = {line.split()[0] for line in module.manual().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}
