"""Set-up for a project stays inside of it, whatever links the repository has."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.clients.setup import apply, planned, removals
from satchel.clients.targets import ClientPlaces, Launch, targets
from satchel.errors import ClientFileError


def places(tmp_path: Path) -> ClientPlaces:
    root, home = tmp_path / "project", tmp_path / "home"
    for folder in (root, home):
        folder.mkdir()
    return ClientPlaces(home, root, {"PATH": ""})


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("force", [True, False])
def test_a_link_to_a_file_outside_of_the_project_is_refused(tmp_path: Path, is_there: bool, force: bool) -> None:
    here = places(tmp_path)
    outside = here.home / ".claude.json"
    if is_there:
        outside.write_text("{}")
    (here.root / ".mcp.json").symlink_to(outside)
    (target,) = targets("claude-code", "project", here, Launch(("satchel",)), with_hooks=False)
    for plan in (lambda: planned(target, tmp_path, force=force), lambda: removals([target], tmp_path, force=force)):
        with pytest.raises(ClientFileError, match="outside of the project"):
            plan()
    assert outside.exists() == is_there
    assert not is_there or outside.read_text() == "{}"


def test_a_linked_folder_outside_of_the_project_is_refused(tmp_path: Path) -> None:
    here = places(tmp_path)
    (here.root / ".cursor").symlink_to(here.home)
    (target,) = targets("cursor", "project", here, Launch(("satchel",)), with_hooks=False)
    with pytest.raises(ClientFileError, match="outside of the project"):
        planned(target, tmp_path, force=False)
    assert list(here.home.iterdir()) == []


def test_a_link_that_comes_after_the_plan_is_refused_too(tmp_path: Path) -> None:
    here = places(tmp_path)
    (target,) = targets("vscode", "project", here, Launch(("satchel",)), with_hooks=False)
    change = planned(target, tmp_path, force=False)
    (here.root / ".vscode").symlink_to(here.home)
    with pytest.raises(ClientFileError, match="outside of the project"):
        apply([change], tmp_path / "state")
    assert list(here.home.iterdir()) == []


def test_links_inside_of_the_project_and_those_of_the_user_are_followed(tmp_path: Path) -> None:
    here = places(tmp_path)
    (here.root / "shared").mkdir()
    (here.root / ".cursor").symlink_to(here.root / "shared")
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (here.home / ".cursor").symlink_to(dotfiles)
    for scope, folder in (("project", here.root / "shared"), ("user", dotfiles)):
        (target,) = targets("cursor", scope, here, Launch(("satchel",)), with_hooks=False)
        apply([planned(target, tmp_path / "state", force=False)], tmp_path / "state")
        assert [one.name for one in folder.iterdir()] == ["mcp.json"]
