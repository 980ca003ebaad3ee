"""The command that adds an extra is one for the way in which satchel was installed."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from satchel.system import installed
from satchel.system.installed import missing_extras, source, with_extra, with_package


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        ("uv-receipt.toml", ["uv", "tool", "install", "--force"]),
        ("pipx_metadata.json", ["pipx", "install", "--force"]),
        ("pyvenv.cfg", None),
    ],
)
def test_an_extra_is_installed_as_satchel_was(receipt: str, words: list[str] | None, tmp_path: Path) -> None:
    (tmp_path / receipt).write_text("")
    command = shlex.split(with_extra("mcp", prefix=str(tmp_path), installed_from="/home/ada/my satchel"))
    assert command == [
        *(words or [str(tmp_path / "bin" / "python"), "-m", "pip", "install"]),
        "/home/ada/my satchel[mcp]",
    ]


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        ("uv-receipt.toml", ["uv", "pip", "install", "--python"]),
        ("pipx_metadata.json", ["pipx", "runpip", "satchel", "install"]),
        ("pyvenv.cfg", None),
    ],
)
def test_another_package_goes_into_the_same_environment(receipt: str, words: list[str] | None, tmp_path: Path) -> None:
    (tmp_path / receipt).write_text("")
    command = shlex.split(with_package("apsw", "--upgrade", prefix=str(tmp_path)))
    python = str(tmp_path / "bin" / "python")
    assert command[: len(words or [1, 2, 3, 4])] == (words or [python, "-m", "pip", "install"])
    assert command[-2:] == ["--upgrade", "apsw"]


def test_an_environment_without_pip_is_changed_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "pip" else find_spec(name))
    command = f"uv pip install --python {tmp_path}/bin/python"
    assert with_extra("mcp", prefix=str(tmp_path), installed_from="/satchel") == f"{command} '/satchel[mcp]'"
    assert with_package("apsw", prefix=str(tmp_path)) == f"{command} apsw"


def test_an_address_is_named_with_the_package_and_an_unknown_origin_by_its_checkout(tmp_path: Path) -> None:
    url = "git+https://example.org/satchel.git"
    assert shlex.split(with_extra("llm", prefix=str(tmp_path), installed_from=url))[-1] == f"satchel[llm] @ {url}"
    assert with_extra("llm", prefix=str(tmp_path), installed_from="").startswith("in a checkout of satchel: ")


def test_the_origin_of_this_install_is_its_checkout_and_that_of_an_absent_package_is_not_known() -> None:
    assert Path(source()).joinpath("pyproject.toml").is_file()
    assert source("no-such-package") == ""
    assert source("pytest") == ""


def test_the_extras_that_are_not_installed_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "psycopg" else find_spec(name))
    assert "postgres" in missing_extras()
    assert "mcp" not in missing_extras()
