"""What happens to settings files that are broken, somebody else's, linked, guarded or changed meanwhile."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from satchel.clients import setup
from satchel.clients.records import CLIENTS
from satchel.clients.targets import ClientPlaces, all_targets, words_of
from satchel.errors import ClientFileError
from tests.clients.conftest import Satchel, World

AS = ("--command", "satchel")

WITH_HOOKS = [name for name, client in CLIENTS.items() if client.hooks is not None]

OTHER = {"command": "other", "args": ["x"]}


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def file_of(client: str, scope: str, world: World) -> Path:
    return all_targets(client, scope, ClientPlaces(world.home, world.root, os.environ))[0].file


EDITORS = {name: client.key for name, client in CLIENTS.items() if not (client.is_toml or client.folders)}
"""The clients whose server is one entry of a JSON file, with the key above it."""

COMMENTED = """// mine
{
  "z": 1, // first
  "%s": {
    /* the tracker */
    "tracker": { "command": "tracker" } // of this team
    // "old": {}
  },
  "a": [1, 2,], // last
}
"""


def servers(file: Path, key: str = "mcpServers") -> dict[str, object]:
    result: dict[str, object] = json.loads(file.read_text())[key]
    return result


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{\n  "mcpServers": {\n    "a" 1\n  }\n}', ":3:9:", "Expecting ':' delimiter"),
        ('{"a": 1', ":1:8:", "Expecting ',' delimiter"),
        ('{"a": 1} x', ":1:10:", "Extra data"),
        ('{"a": "\\q"}', ":1:8:", "Invalid \\escape"),
        ('// all\n{"a": }', ":2:7:", "Expecting value"),
        ("{a: 1}", ":1:2:", "Expecting property name"),
        ('{"a": NaN}', ":1:1:", "NaN is not JSON"),
        ("[" * 100_000, ":1:1:", "too many brackets"),
        ("/* never closed", ":1:1:", "Expecting value"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_left_alone(
    text: str, place: str, message: str, world: World, satchel: Satchel
) -> None:
    file = write(world.root / ".mcp.json", text)
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert f".mcp.json{place}" in ran.err
    assert message in ran.err
    assert "nothing was written" in ran.err
    assert file.read_text() == text


def test_broken_toml_is_named_with_its_line(world: World, satchel: Satchel) -> None:
    file = write(world.home / ".codex" / "config.toml", "a = 1\nb =\n")
    ran = satchel("setup", "codex", *AS)
    assert ran.code == 1
    assert "config.toml:2:" in ran.err
    assert file.read_text() == "a = 1\nb =\n"


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": null}', "[]", '{"mcpServers": "x"}'])
def test_a_file_of_another_shape_is_left_alone(text: str, world: World, satchel: Satchel) -> None:
    file = write(world.root / ".mcp.json", text)
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert "is not a mapping in braces; nothing was written" in ran.err
    assert file.read_text() == text


def test_hooks_that_are_no_list_are_left_alone(world: World, satchel: Satchel) -> None:
    file = write(world.root / ".claude" / "settings.local.json", '{"hooks": {"SessionStart": {}}}')
    ran = satchel("setup", "claude-code", *AS, "--with-hooks")
    assert ran.code == 1
    assert "hooks.SessionStart is not a list" in ran.err
    assert file.read_text() == '{"hooks": {"SessionStart": {}}}'
    assert not (world.home / ".claude.json").exists(), "all files are planned before the first is written"


def test_an_inline_table_cannot_take_another_one(world: World, satchel: Satchel) -> None:
    write(world.home / ".codex" / "config.toml", 'mcp_servers = { a = { command = "a" } }\n')
    ran = satchel("setup", "codex", *AS)
    assert ran.code == 1
    assert "mcp_servers is not an open table" in ran.err


def test_a_file_that_is_not_utf_8_is_left_alone(world: World, satchel: Satchel) -> None:
    (world.root / ".mcp.json").write_bytes(b'{\n"a": "\xff"}')
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert ".mcp.json:2: byte 0xff is not UTF-8" in ran.err


def test_an_entry_that_is_not_ours_is_shown_and_kept(world: World, satchel: Satchel) -> None:
    secret = "ghp_" + "q7Zk2Wm9Xc4Vb8Nt5Lr3" + "Hs6Jd1Fg0Pa7Yu2E"
    text = json.dumps({"mcpServers": {"satchel": {"command": "other", "env": {"TOKEN": secret}}}})
    file = write(world.root / ".mcp.json", text)
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert "has an entry mcpServers.satchel that set-up did not write" in ran.err
    assert '"command": "other"' in ran.err
    assert "--force replaces it" in ran.err
    assert secret not in ran.err
    assert file.read_text() == text

    assert satchel("remove", "claude-code", "--scope", "project").code == 1
    assert file.read_text() == text

    forced = satchel("setup", "claude-code", "--scope", "project", *AS, "--force")
    assert forced.code == 0
    assert "updated" in forced.err
    assert servers(file)["satchel"]["command"] == "satchel"  # type: ignore[index]
    assert satchel("remove", "claude-code", "--scope", "project").code == 0
    assert json.loads(file.read_text()) == {}


def test_removal_by_force_takes_any_entry_of_the_name(world: World, satchel: Satchel) -> None:
    file = write(world.root / ".mcp.json", json.dumps({"mcpServers": {"satchel": OTHER, "b": OTHER}}))
    assert satchel("remove", "claude-code", "--scope", "project", "--force").code == 0
    assert servers(file) == {"b": OTHER}


def test_another_command_updates_the_entry_and_removal_keeps_what_was_empty_before(
    world: World, satchel: Satchel
) -> None:
    before = '{ "mcpServers" : {} , "x" :1}'
    file = write(world.root / ".mcp.json", before)
    assert satchel("setup", "claude-code", "--scope", "project", *AS).code == 0
    ran = satchel("setup", "claude-code", "--scope", "project", "--command", "uvx --from satchel[mcp] satchel")
    assert ran.code == 0
    assert "updated" in ran.err
    assert '"uvx"' in file.read_text()
    assert satchel("remove", "claude-code", "--scope", "project").code == 0
    assert file.read_text() == before


def test_what_changed_since_set_up_stays_when_satchel_goes(world: World, satchel: Satchel) -> None:
    file = world.root / ".mcp.json"
    assert satchel("setup", "claude-code", "--scope", "project", *AS).code == 0
    data = json.loads(file.read_text())
    data["mcpServers"]["later"] = OTHER
    file.write_text(json.dumps(data))
    assert satchel("remove", "claude-code", "--scope", "project").code == 0
    assert file.read_text() == json.dumps({"mcpServers": {"later": OTHER}})


def test_a_file_that_another_program_wrote_anew_is_deleted_once_nothing_is_left(world: World, satchel: Satchel) -> None:
    file = world.root / ".cursor" / "hooks.json"
    assert satchel("setup", "cursor", *AS, "--with-hooks").code == 0
    file.write_text(json.dumps(json.loads(file.read_text())))
    assert satchel("remove", "cursor").code == 0
    assert not file.parent.exists()


def test_the_version_of_a_hooks_file_stays_with_the_hooks_of_others(world: World, satchel: Satchel) -> None:
    file = world.root / ".cursor" / "hooks.json"
    assert satchel("setup", "cursor", *AS, "--with-hooks").code == 0
    data = json.loads(file.read_text())
    data["hooks"]["stop"] = [{"command": "./after.sh"}]
    file.write_text(json.dumps(data))
    assert satchel("remove", "cursor").code == 0
    assert json.loads(file.read_text()) == {"version": 1, "hooks": {"stop": [{"command": "./after.sh"}]}}


def test_hooks_that_moved_to_another_command_are_replaced_in_their_place(world: World, satchel: Satchel) -> None:
    file = world.root / ".claude" / "settings.local.json"
    assert satchel("setup", "claude-code", *AS, "--with-hooks").code == 0
    data = json.loads(file.read_text())
    data["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "echo hello"}]})
    data["permissions"] = {}
    file.write_text(json.dumps(data, indent=2))
    assert satchel("setup", "claude-code", "--command", "'/a b/satchel'", "--with-hooks").code == 0
    result = json.loads(file.read_text())["hooks"]
    assert [len(groups) for groups in result.values()] == [2, 1, 1, 1, 1, 1, 1, 1]
    assert result["SessionStart"][0]["hooks"][0]["command"] == "'/a b/satchel' hook session-start"
    assert satchel("remove", "claude-code").code == 0
    assert json.loads(file.read_text()) == {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo hello"}]}]},
        "permissions": {},
    }


def test_hooks_and_servers_without_a_receipt_are_recognised(world: World, satchel: Satchel) -> None:
    own = {"matcher": "x", "hooks": [{"type": "command", "command": "uvx --from 'satchel[mcp]' satchel hook prompt"}]}
    exact = {"hooks": [{"type": "command", "command": "satchel", "args": ["hook", "prompt"]}]}
    other = {"hooks": [{"type": "command", "command": "satchel context 'unclosed"}]}
    file = write(
        world.root / ".claude" / "settings.json", json.dumps({"hooks": {"UserPromptSubmit": [own, other, exact]}})
    )
    write(world.root / ".mcp.json", json.dumps({"mcpServers": {"satchel": {"command": "satchel", "args": ["mcp"]}}}))
    assert satchel("remove", "claude-code", "--scope", "project").code == 0
    assert json.loads(file.read_text()) == {"hooks": {"UserPromptSubmit": [other]}}
    assert json.loads((world.root / ".mcp.json").read_text()) == {}


def test_two_folders_share_a_file_and_each_goes_alone(world: World, satchel: Satchel) -> None:
    state = world.home / ".claude.json"
    second = world.home / "second"
    second.mkdir()
    assert satchel("setup", "claude-code", *AS).code == 0
    alone = state.read_bytes()
    assert satchel("setup", "claude-code", "--root", str(second), *AS).code == 0
    both = state.read_bytes()
    assert satchel("remove", "claude-code", "--root", str(second)).code == 0
    assert state.read_bytes() == alone
    state.write_bytes(both)
    assert satchel("remove", "claude-code").code == 0
    assert list(json.loads(state.read_text())["projects"]) == [str(second.resolve())]


def test_a_link_is_followed_and_the_mode_is_kept(world: World, satchel: Satchel) -> None:
    real = write(world.home / "dotfiles" / "claude.json", "{}\n")
    real.chmod(0o640)
    link = world.home / ".claude.json"
    link.symlink_to(real)
    assert satchel("setup", "claude-code", "--scope", "user", *AS).code == 0
    assert link.is_symlink()
    assert "satchel" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert satchel("remove", "claude-code", "--scope", "user").code == 0
    assert real.read_text() == "{}\n"
    assert link.is_symlink()


def test_a_read_only_file_is_left_alone(world: World, satchel: Satchel) -> None:
    file = write(world.root / ".mcp.json", "{}\n")
    file.chmod(0o444)
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert "is read-only: allow writing" in ran.err
    assert file.read_text() == "{}\n"
    assert sorted(path.name for path in world.root.iterdir()) == [".git", ".mcp.json"]


def test_a_folder_in_the_place_of_the_file_is_left_alone(world: World, satchel: Satchel) -> None:
    (world.root / ".mcp.json").mkdir()
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert "is not a file" in ran.err


def test_a_loop_of_links_is_an_error(world: World, satchel: Satchel) -> None:
    (world.root / ".mcp.json").symlink_to(".mcp.json")
    ran = satchel("setup", "claude-code", "--scope", "project", *AS)
    assert ran.code == 1
    assert ".mcp.json" in ran.err


def test_a_file_where_a_folder_has_to_be_is_an_error(world: World, satchel: Satchel) -> None:
    write(world.root / ".vscode", "")
    ran = satchel("setup", "vscode", *AS)
    assert ran.code == 1
    assert ".vscode" in ran.err


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", "{}")
    file.write_text('{"new": 1}')
    with pytest.raises(ClientFileError, match="changed by another program"):
        setup.write(file, b"{}", b'{"satchel": 1}')
    assert file.read_text() == '{"new": 1}'
    with pytest.raises(ClientFileError, match="changed by another program"):
        setup.remove(file, b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_file_of_unbelievable_size_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with file.open("wb") as stream:
        stream.truncate(setup.MAX_BYTES + 1)
    with pytest.raises(ClientFileError, match="more than the 50,000,000"):
        setup.read(file)


def test_a_new_file_has_the_mode_that_the_user_wants(world: World, satchel: Satchel) -> None:
    mask = os.umask(0o027)
    try:
        assert satchel("setup", "claude-code", "--scope", "project", *AS).code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE((world.root / ".mcp.json").stat().st_mode) == 0o640


def test_codex_entries_are_updated_and_removed_from_a_file_that_changed(world: World, satchel: Satchel) -> None:
    file = write(world.home / ".codex" / "config.toml", "# mine\r\nmodel = 'm'\r\n")
    assert satchel("setup", "codex", *AS).code == 0
    file.write_bytes(file.read_bytes() + b"\r\n[tui]\r\ntheme = 'dark' # late\r\n")
    assert satchel("setup", "codex", "--command", "other").code == 0
    assert tomllib.loads(file.read_bytes().decode())["mcp_servers"]["satchel"]["command"] == "other"
    assert satchel("remove", "codex").code == 0
    text = file.read_bytes().decode()
    assert text.startswith("# mine\r\nmodel = 'm'\r\n")
    assert "[tui]\r\ntheme = 'dark' # late\r\n" in text
    assert "satchel" not in text
    assert "mcp_servers" not in text


def test_the_variables_of_clients_move_their_files(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world.home / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(world.home / "codex"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "config"))
    assert satchel("setup", "claude-code", "--scope", "user", "--with-hooks", *AS).code == 0
    assert satchel("setup", "codex", *AS).code == 0
    assert satchel("setup", "vscode", "--scope", "user", *AS).code == 0
    assert (world.home / "claude" / ".claude.json").exists()
    assert (world.home / "claude" / "settings.json").exists()
    assert (world.home / "codex" / "config.toml").exists()
    assert list((world.home).glob("**/Code/User/mcp.json"))


def test_json_names_the_files_the_diffs_and_the_next_steps(satchel: Satchel) -> None:
    ran = satchel("setup", "codex", *AS, "--with-hooks", "--json")
    assert ran.json["written"] is True
    assert [Path(change["file"]).name for change in ran.json["changes"]] == ["config.toml", "hooks.json"]
    assert ran.json["changes"][0]["diff"].endswith('+[mcp_servers.satchel]\n+command = "satchel"\n+args = ["mcp"]')
    assert "in a shell: codex mcp list" in ran.json["next"]
    again = satchel("setup", "codex", *AS, "--with-hooks", "--json")
    assert again.json["written"] is False
    gone = satchel("remove", "codex", "--json")
    assert [change["action"] for change in gone.json["changes"]] == ["removed", "removed"]


def test_a_diff_shows_no_secret_of_the_file_and_no_endless_line(world: World, satchel: Satchel) -> None:
    secret = "ghp_" + "q7Zk2Wm9Xc4Vb8Nt5Lr3" + "Hs6Jd1Fg0Pa7Yu2E"
    write(world.home / ".claude.json", json.dumps({"token": secret, "long": "x" * 3000, "mcpServers": {"a": OTHER}}))
    ran = satchel("setup", "claude-code", "--scope", "user", *AS, "--color", "always")
    assert secret not in ran.out
    assert '"satchel"' in ran.out
    assert max(map(len, ran.out.splitlines())) < 400
    assert "\x1b[32m" in ran.out
    assert secret in (world.home / ".claude.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["cursor", "--scope", "local"], "cursor has no scope 'local': give one of project, user"),
        (["zed", "--with-hooks"], "zed has no hooks"),
        (["codex", "--command", ""], "--command is empty"),
        (["codex", "--command", "'open"], "cannot be split into words"),
        (["emacs"], "emacs"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments: list[str], text: str, satchel: Satchel) -> None:
    ran = satchel("setup", *arguments)
    assert ran.code == 2
    assert text in ran.err


def test_nothing_to_remove_is_a_negative_answer(satchel: Satchel) -> None:
    ran = satchel("remove", "cursor")
    assert ran.code == 1
    assert "satchel is not set up in cursor" in ran.err


def test_removal_says_where_else_satchel_is_set_up(world: World, satchel: Satchel) -> None:
    assert satchel("setup", "codex", *AS).code == 0
    assert satchel("setup", "cursor", *AS).code == 0
    gone = satchel("remove", "cursor")
    assert "note: still set up in ~/.codex/config.toml" in gone.err
    assert satchel("remove", "cursor", "--json").json["elsewhere"] == [str(world.home / ".codex" / "config.toml")]
    assert "still set up" not in satchel("remove", "codex").err


def test_outside_of_any_project_the_settings_of_the_user_are_looked_at(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert satchel("setup", "claude-code", "--scope", "user", *AS).code == 0
    monkeypatch.chdir(world.home)
    assert satchel("setup", "claude-code", *AS).code == 10
    assert satchel("remove", "claude-code", "--scope", "local").code == 10
    gone = satchel("remove", "claude-code")
    assert gone.code == 0
    assert "there is no project here" in gone.err
    assert not (world.home / ".claude.json").exists()


@pytest.mark.parametrize(("client", "scope"), [(one, scope) for one in EDITORS for scope in CLIENTS[one].files])
@pytest.mark.parametrize("before", [COMMENTED, '{\n  "%s": {\n    \n  }\n}', '{"%s":{"a":{}},"b":[]}', "{}\n"])
def test_a_file_of_any_editor_is_the_same_after_set_up_and_removal(
    client: str, scope: str, before: str, world: World, satchel: Satchel
) -> None:
    before = before.replace("%s", EDITORS[client])
    file = write(file_of(client, scope, world), before)
    dry = satchel("setup", client, "--scope", scope, *AS, "--dry-run", "--json").json
    assert (dry["written"], dry["changes"][0]["action"], file.read_text()) == (False, "added", before)
    assert satchel("setup", client, "--scope", scope, *AS, "--json").json["written"]
    assert all(line in file.read_text() for line in ("// first", "// of this team", "// last") if line in before)
    assert satchel("setup", client, "--scope", scope, "--command", "other/satchel").code == 0
    assert 'other/satchel"' in file.read_text()
    assert satchel("remove", client, "--json").json["written"]
    assert file.read_text() == before


@pytest.mark.parametrize("client", EDITORS)
def test_an_entry_of_the_name_that_is_not_ours_is_refused_in_every_editor(
    client: str, world: World, satchel: Satchel
) -> None:
    command: object = ["other"] if CLIENTS[client].is_list else "other"
    text = json.dumps({EDITORS[client]: {"satchel": {"command": command}}})
    file = write(file_of(client, next(iter(CLIENTS[client].files)), world), text)
    for line in (("setup", client, *AS), ("remove", client)):
        ran = satchel(*line)
        assert ran.code == 1
        assert f"has an entry {EDITORS[client]}.satchel that" in ran.err
        assert file.read_text() == text


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if "project" in client.files])
def test_a_file_of_a_project_is_always_inside_of_it(client: str, world: World, satchel: Satchel) -> None:
    places = ClientPlaces(world.home, world.root, os.environ)
    files = all_targets(client, "project", places)
    assert all(one.inside == world.root and one.file.is_relative_to(world.root) for one in files)
    link = files[0].file.parent if files[0].file.parent != world.root else files[0].file
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(world.home / "out")
    ran = satchel("setup", client, "--scope", "project", *AS)
    assert (ran.code, "outside of the project" in ran.err) == (1, True)
    assert list(world.home.iterdir()) == []


HOOKED = """{
  // of this team
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make check"}]}]},
  "version": 1, "Stop": [], // unused
  "other": {"satchel": 1},
}
"""


@pytest.mark.parametrize(("client", "scope"), [(one, scope) for one in WITH_HOOKS for scope in CLIENTS[one].files])
@pytest.mark.parametrize("before", [HOOKED, "{}\n", None], ids=["others", "empty", "new"])
def test_the_hooks_of_any_client_are_removed_to_the_byte(
    client: str, scope: str, before: str | None, world: World, satchel: Satchel
) -> None:
    file = all_targets(client, scope, ClientPlaces(world.home, world.root, os.environ))[-1].file
    if before is not None:
        write(file, before)
    folders = {path for path in world.root.parent.rglob("*") if path.is_dir() and path != world.root.parent / "own"}
    assert satchel("setup", client, "--scope", scope, "--with-hooks", *AS).code == 0
    assert "hook session-start" in file.read_text()
    assert satchel("setup", client, "--scope", scope, "--with-hooks", "--command", "other/satchel").code == 0
    assert file.read_text().count("session-start") == 1
    assert satchel("remove", client).code == 0
    assert (file.read_text() if file.exists() else None) == before
    left = {path for path in (*world.root.rglob("*"), *world.home.rglob("*")) if path.is_dir()}
    assert left <= folders, "empty folders that set-up made"


@pytest.mark.parametrize("client", [name for name in EDITORS if "local" in CLIENTS[name].files])
def test_an_editor_that_starts_servers_anywhere_is_told_the_folder(
    client: str, world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert satchel("setup", client).code == 0
    file = file_of(client, "local", world)
    words = words_of(json.loads(file.read_text())["mcpServers"]["satchel"])
    assert Path(words[0]).is_absolute()
    assert words[-2:] == ["--root", str(world.root)]
    second = world.home / "second"
    second.mkdir()
    assert "updated" in satchel("setup", client, "--root", str(second)).err
    monkeypatch.chdir(world.home)
    assert satchel("remove", client).code == 10
    monkeypatch.chdir(world.root)
    assert satchel("remove", client).code == 0
    assert not file.exists()


BEFORE = '{"model": "opus"}\n'


@pytest.mark.parametrize("place", ["save_receipt", "write"])
def test_a_set_up_that_was_killed_can_be_done_again_and_removed_exactly(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    file = write(world.root / ".claude" / "settings.json", BEFORE)
    line = ("setup", "claude-code", "--scope", "project", "--with-hooks", *AS)
    real, calls = getattr(setup, place), []

    def dies(*arguments: object) -> None:
        real(*arguments)
        calls.append(arguments)
        if len(calls) == 2:  # the settings with the hooks
            raise KeyboardInterrupt

    monkeypatch.setattr(setup, place, dies)
    with pytest.raises(KeyboardInterrupt):
        satchel(*line)
    monkeypatch.setattr(setup, place, real)
    assert satchel(*line).code == 0
    assert satchel("remove", "claude-code").code == 0
    assert file.read_text() == BEFORE
    assert not (world.root / ".mcp.json").exists()


def test_a_removal_that_was_killed_leaves_no_receipt_after_the_next_one(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel("setup", "claude-code", "--scope", "project", *AS)
    monkeypatch.setattr(setup, "forget_receipt", lambda *_: None)
    assert satchel("remove", "claude-code").code == 0
    monkeypatch.undo()
    monkeypatch.chdir(world.root)
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.setenv("SATCHEL_HOME", str(world.home.parent / "own"))
    write(world.root / ".mcp.json", "{}")
    ran = satchel("remove", "claude-code")
    assert (ran.code, "still set up" in ran.err) == (1, False)
