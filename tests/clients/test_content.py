"""Hooks and servers are recognised by what they start, whatever else stands in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from satchel.clients.content import checked, data_of, display, is_own_server, own_elements, with_wants
from satchel.clients.targets import Target, Want
from satchel.errors import ClientFileError

OURS = {"command": "satchel hook prompt", "timeout": 10}
WANT = Want(("hooks", "p"), OURS, is_element=True)


def target(*wants: Want) -> Target:
    return Target(Path("hooks.json"), "hooks", wants)


@pytest.mark.parametrize(
    "element",
    [
        None, "satchel hook prompt", {}, {"hooks": []}, {"hooks": "satchel hook prompt"}, {"command": 7},
        {"command": "satchel hook"}, {"command": "satchel hook session-end"}, {"command": "echo 'satchel hook prompt"},
        {"hooks": [OURS, {"command": "echo"}]}, {"hooks": [None]}, {"command": "hook prompt"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_does_not_start_the_same_hook_is_not_ours(element: Any) -> None:
    assert own_elements([element], WANT) == []


@pytest.mark.parametrize(
    "element",
    [
        {"command": "satchel hook prompt"},
        {"command": "'/a b/satchel' hook prompt", "timeout": 3},
        {
            "hooks": [
                {"command": "uvx --from x satchel hook prompt"},
                {"command": "satchel", "args": ["hook", "prompt"]},
            ]
        },
    ],
    ids=repr,
)
def test_what_starts_the_same_hook_is_ours(element: Any) -> None:
    assert own_elements([{}, element], WANT) == [1]


def test_a_list_that_is_none_and_a_value_that_is_no_hook_hold_nothing_of_ours() -> None:
    assert own_elements({"0": OURS}, WANT) == []
    assert own_elements([OURS], Want(("version",), 1)) == []


def test_values_after_set_up_replace_what_is_ours_and_keep_what_is_there() -> None:
    wants = (WANT, Want(("version",), 1, is_optional=True))
    before = {"version": 7, "hooks": {"p": [{"command": "/old/satchel hook prompt"}, {"command": "echo"}]}}
    after = {"version": 7, "hooks": {"p": [OURS, {"command": "echo"}]}}
    assert with_wants(before, target(*wants)) == after
    assert with_wants(after, target(*wants)) == after


def test_an_edit_that_did_something_else_is_not_written() -> None:
    with pytest.raises(ClientFileError, match="could not be edited without changing something else"):
        checked(target(), '{"a": 1}', {"a": 2})


def test_a_file_without_text_holds_nothing() -> None:
    assert data_of(target(), "\ufeff \n") == {}


@pytest.mark.parametrize("value", [None, "satchel mcp", {"command": "satchel"}, {"command": "satchel", "args": "mcp"}])
def test_what_does_not_start_the_server_is_not_ours(value: Any) -> None:
    assert not is_own_server(value)


def test_paths_are_shown_from_the_nearest_known_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert display(tmp_path / "work" / ".mcp.json") == ".mcp.json"
    assert display(tmp_path / ".claude.json") == "~/.claude.json"
    assert display(Path("/etc/x")) == "/etc/x"
