"""`satchel workspace`, and `--workspace` in place of `--root`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel import engine
from satchel.config import Folders
from satchel.errors import NoIndexError, StoreError, UsageError
from satchel.operations.ask import GRAPH_CONTEXT
from satchel.operations.operation import Caller
from satchel.system import locations
from satchel.system.locations import Registry, Workspace, WorkspaceType
from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel
from tests.sources.exports import export, node


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / ".obsidian").mkdir(parents=True)
    (root / "Alpha.md").write_text("# Alpha\n\nThe rocket launch. [[Nobody]]\n")
    return root


@pytest.fixture
def tana(tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    path.write_bytes(export(node("n", "Rocket launch"), node("m", "Landing", "n")))
    return path


def test_what_a_workspace_is_is_guessed(satchel: Satchel, vault: Path, tana: Path, shop: TinyRepository) -> None:
    for name, path in (("main", vault), ("ideas", tana), ("shop", shop.root)):
        assert satchel("workspace", "add", name, str(path)).code == 0
    listed = satchel("workspace", "list", "--json").json["workspaces"]
    assert [(one["name"], one["type"], one["exists"]) for one in listed] == [
        ("ideas", "tana", True),
        ("main", "vault", True),
        ("shop", "repository", True),
    ]
    assert f"main   vault       {vault}" in satchel("workspace", "list").out


def test_a_question_is_answered_from_the_workspace_that_is_named(satchel: Satchel, vault: Path, tana: Path) -> None:
    satchel("workspace", "add", "main", str(vault))
    satchel("workspace", "add", "ideas", str(tana))
    found = satchel("context", "rocket launch", "--workspace", "main", "--json").json
    assert [item["id"] for item in found["items"]] == ["note:Alpha.md"]
    assert "Rocket launch" in satchel("--workspace", "ideas", "context", "rocket launch").out
    status = satchel("status", "--workspace", "main", "--json").json
    assert status["broken_links"] == {"count": 1, "examples": [{"note": "Alpha.md", "link": "Nobody"}]}
    assert "broken links  1: Alpha.md -> Nobody" in satchel("status", "--workspace", "main").out
    assert satchel("status", "--workspace", "ideas", "--json").json["edges"] == {"child": 1, "parent": 1}
    os.utime(tana, (1, 1))
    assert satchel("status", "--workspace", "ideas", "--json").json["freshness"]["changed"] == 1


def test_an_unknown_name_lists_those_that_exist(satchel: Satchel, vault: Path) -> None:
    assert "there is none yet" in satchel("status", "--workspace", "main").err
    satchel("workspace", "add", "main", str(vault))
    for command in (("status", "--workspace", "mian"), ("workspace", "remove", "mian")):
        ran = satchel(*command)
        assert ran.code == 2
        assert "unknown workspace 'mian': there are main" in ran.err


def test_several_names_answer_together_where_that_means_something(satchel: Satchel, vault: Path, tana: Path) -> None:
    satchel("workspace", "add", "main", str(vault))
    satchel("workspace", "add", "ideas", str(tana))
    found = satchel("context", "rocket launch", "--workspace", "main,ideas", "--json").json
    assert {item["id"] for item in found["items"]} == {"note:main/Alpha.md", "note:ideas/n"}
    for command in (("status",), ("why", "Alpha.md", "x"), ("index",)):
        ran = satchel(*command, "--workspace", "main,ideas")
        assert (ran.code, "this command works on one workspace" in ran.err) == (2, True)
    assert "unknown workspace 'idea': there are ideas, main" in satchel("graph", "x", "--workspace", "main,idea").err
    assert "--workspace NAME[,NAME]" in satchel("context", "--help").out
    assert "give one of them" in satchel("status", "--workspace", "main", "--root", str(vault)).err


def test_every_door_names_a_workspace_by_its_alias(satchel: Satchel, tana: Path) -> None:
    satchel("workspace", "add", "ideas", str(tana))
    asked = ("rocket", "--now", "2026-01-01")
    alone = satchel("graph", *asked, "--workspace", "ideas").out
    assert "*workspace ideas, " in alone
    assert satchel("graph", *asked, "--root", str(tana)).out == alone
    for path, name in ((".", "ideas"), (tana, None)):
        with engine.Satchel.open(path, root=tana if name is None else None, workspace=name) as opened:
            context = opened.graph("rocket", now=1_767_225_600.0)
            assert GRAPH_CONTEXT.run(opened, {"query": "rocket", "now": 1_767_225_600.0}, Caller()).text == context.text
        assert context.text.rstrip("\n") == alone.rstrip("\n")


def test_a_removed_name_is_free_again_and_its_files_stay(satchel: Satchel, vault: Path, tana: Path) -> None:
    satchel("workspace", "add", "main", str(vault))
    taken = satchel("workspace", "add", "main", str(tana))
    assert taken.code == 2
    assert "`satchel workspace remove main` frees the name" in taken.err
    assert satchel("workspace", "add", "main", str(vault), "--json").json["workspace"]["type"] == "vault"
    assert satchel("workspace", "remove", "main", "--json").json["removed"]["path"] == str(vault)
    assert (vault / "Alpha.md").exists()
    assert satchel("workspace", "list").out == ""
    assert satchel("workspace", "add", "main", str(tana)).code == 0
    assert "main was the tana" in satchel("workspace", "remove", "main").err


def test_a_type_can_be_chosen_but_must_fit(satchel: Satchel, vault: Path, tana: Path, tmp_path: Path) -> None:
    assert satchel("workspace", "add", "main", str(vault), "--type", "repository", "--json").json["workspace"][
        "type"
    ] == ("repository")
    assert "is the repository 'main' already" in satchel("workspace", "add", "other", str(vault)).err
    assert "cannot be a tana" in satchel("workspace", "add", "x", str(vault), "--type", "tana").err
    assert "cannot be a vault" in satchel("workspace", "add", "x", str(tana), "--type", "vault").err
    (tmp_path / "package.json").write_text('{"name": "x"}')
    assert "is not a Tana export" in satchel("workspace", "add", "x", str(tmp_path / "package.json")).err
    assert satchel("workspace", "add", "x", str(tmp_path / "gone")).code == 10


@pytest.mark.parametrize("name", ["", "-x", "a,b", "a b", "a/b", "x" * 70])
def test_an_impossible_name_is_refused(name: str, vault: Path, tmp_path: Path) -> None:
    registry = Registry(folders(tmp_path))
    with pytest.raises(UsageError, match="is not a valid name"):
        registry.add(name, vault)


def folders(base: Path) -> Folders:
    return Folders(base / "c", base / "d", base / "s", base / "x")


def test_a_root_that_nobody_named_is_a_repository_and_a_file_an_export(tmp_path: Path, vault: Path, tana: Path) -> None:
    registry = Registry(folders(tmp_path))
    assert registry.at(vault) == Workspace(vault.name, vault, WorkspaceType.REPOSITORY)
    assert registry.at(tana).type is WorkspaceType.TANA
    registry.add("main", vault)
    assert registry.at(vault).type is WorkspaceType.VAULT


def test_a_damaged_registry_is_named_with_what_to_do(tmp_path: Path, vault: Path) -> None:
    registry = Registry(folders(tmp_path))
    registry.add("main", vault)
    path = tmp_path / "d" / locations.REGISTRY_NAME
    path.write_text('{"workspaces": [1]}')
    with pytest.raises(StoreError, match="remove it, and add your workspaces again"):
        registry.all()
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be read"):
        registry.all()


def test_a_workspace_whose_root_is_gone_says_so(satchel: Satchel, tana: Path) -> None:
    satchel("workspace", "add", "ideas", str(tana))
    tana.unlink()
    assert "(gone)" in satchel("workspace", "list").out
    assert satchel("context", "x", "--workspace", "ideas").code == NoIndexError.exit_code
