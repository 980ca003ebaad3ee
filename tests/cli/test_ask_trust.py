"""`satchel trust`: what it says before it does it, and what it leaves behind."""

from __future__ import annotations

from pathlib import Path

from satchel.testing import TinyRepository

from .conftest import Satchel


def test_trusting_a_folder_says_what_it_means_first(satchel: Satchel, shop: TinyRepository) -> None:
    ran = satchel("trust")
    assert ran.code == 0
    assert "shown to agents as guidance to follow" in ran.err
    assert ran.out == f"{shop.root}: trusted now; `satchel trust --remove` undoes it\n"
    again = satchel("trust", str(shop.root / "docs"))
    assert again.err == ""
    assert again.out.startswith(f"{shop.root}: trusted since ")


def test_what_is_trusted_is_listed_and_taken_back(satchel: Satchel, shop: TinyRepository) -> None:
    assert satchel("trust", "--list").err == "no folder is trusted: `satchel trust PATH` trusts one\n"
    made = satchel("trust", "--json").json
    assert made["is_new"]
    assert satchel("trust", "--list", "--json").json == {"trusted": [made["trusted"]]}
    assert satchel("trust", "--list").out.startswith(f"{shop.root}  since ")
    assert satchel("trust", "--remove", "--json").json == {"removed": [made["trusted"]]}
    assert satchel("trust", "--remove").err.startswith(f"{shop.root} was not trusted")


def test_a_folder_that_is_gone_can_be_trusted_no_more(satchel: Satchel, home: Path, tmp_path: Path) -> None:
    assert home.parent == tmp_path
    gone = tmp_path / "gone"
    gone.mkdir()
    satchel("trust", str(gone))
    gone.rmdir()
    assert satchel("trust", str(gone), "--remove").out == f"{gone}: no longer trusted\n"
    assert satchel("trust", str(gone)).code == 10


def test_the_state_and_the_doctor_show_it(satchel: Satchel, shop: TinyRepository) -> None:
    assert shop.root.exists()
    assert satchel("status", "--json").json["trusted"] is False
    assert "instruction files are data" in satchel("status").out
    satchel("trust")
    assert satchel("status", "--json").json["trusted"] is True
    assert "instruction files are guidance" in satchel("status").out
    assert "ok    trust: instruction files are guidance" in satchel("doctor").out


def test_contradictions_are_usage_errors(satchel: Satchel, shop: TinyRepository) -> None:
    assert satchel("trust", "--list", "--remove").code == 2
    assert satchel("trust", "--list", ".").code == 2
    assert satchel("trust", ".", "--root", str(shop.root)).code == 2
    ran = satchel("trust", "shop/client.py")
    assert (ran.code, "is a file" in ran.err) == (2, True)
