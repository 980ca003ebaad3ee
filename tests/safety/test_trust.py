"""Trust is the user's: a mark in the state folder, for one folder and the place of its repository."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import astuple

from satchel import Satchel
from satchel.errors import UsageError
from satchel.safety.trust import GUIDANCE_ORIGIN, distrust, is_trusted, trust, trust_of, trusted_roots
from satchel.settings import SETTINGS
from satchel.testing import TinyRepository
from satchel.types import Kind, Trust


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def marks(state: Path) -> list[Path]:
    return sorted((state / "trusted").iterdir())


def test_a_folder_is_trusted_from_when_the_user_says_so_until_he_takes_it_back(state: Path, shop: Path) -> None:
    assert not is_trusted(shop, state)
    assert astuple(trust(shop, state, now=5.0)) == (str(shop), "", 5.0)
    assert is_trusted(shop, state)
    assert [mark.root for mark in distrust(shop, state)] == [str(shop)]
    assert not is_trusted(shop, state)
    assert distrust(shop, state) == []


def test_trusting_twice_keeps_the_first_mark(state: Path, shop: Path) -> None:
    trust(shop, state, now=5.0)
    assert trust(shop, state, now=9.0).since == 5.0
    assert len(trusted_roots(state)) == 1


def test_a_mark_is_the_users_alone(state: Path, shop: Path) -> None:
    trust(shop, state)
    (mark,) = marks(state)
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600
    assert stat.S_IMODE(mark.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_folder_reached_by_a_link_is_the_folder_itself(state: Path, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shop)
    trust(tmp_path / "link", state)
    assert is_trusted(shop, state)


def test_a_folder_inside_or_around_is_not_trusted_with_it(state: Path, shop: Path, tmp_path: Path) -> None:
    (shop / "inner").mkdir()
    trust(shop, state)
    assert not is_trusted(shop / "inner", state)
    assert not is_trusted(tmp_path, state)


def test_another_work_tree_of_a_trusted_repository_is_not_trusted(state: Path, tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("first", {"a.py": "x = 1\n"})
    repository._git("worktree", "add", "-q", str(tmp_path / "other"))
    trust(repository.root, state)
    assert is_trusted(repository.root, state)
    assert not is_trusted(tmp_path / "other", state)


def test_a_folder_that_becomes_part_of_another_repository_is_trusted_no_more(state: Path, tmp_path: Path) -> None:
    shop = tmp_path / "all" / "shop"
    shop.mkdir(parents=True)
    trust(shop, state)
    TinyRepository(tmp_path / "all").commit("around it")
    assert not is_trusted(shop, state)
    trust(shop, state)
    assert len(trusted_roots(state)) == 2
    assert len(distrust(shop, state)) == 2


def test_only_a_folder_can_be_trusted(state: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        trust(tmp_path / "gone", state)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"root": 1}', '{"root": "/x", "repository": "", "since": "?"}']
)
def test_a_mark_that_is_damaged_counts_as_none(state: Path, shop: Path, text: str) -> None:
    trust(shop, state)
    (mark,) = marks(state)
    mark.write_text(text)
    assert not is_trusted(shop, state)
    assert trusted_roots(state) == []


def test_a_mark_for_another_folder_under_this_name_counts_as_none(state: Path, shop: Path) -> None:
    trust(shop, state)
    (mark,) = marks(state)
    mark.write_text(json.dumps({"root": "/elsewhere", "repository": "", "since": 1.0}))
    assert not is_trusted(shop, state)
    assert trusted_roots(state) == []
    assert trust(shop, state, now=9.0).since == 9.0
    assert is_trusted(shop, state)


def test_distrust_concerns_no_other_folder(state: Path, shop: Path) -> None:
    others = [shop.parent / name for name in ("a", "z")]
    for folder in (shop, *others):
        folder.mkdir(exist_ok=True)
        trust(folder, state)
    distrust(shop, state)
    assert [mark.root for mark in trusted_roots(state)] == [str(folder) for folder in others]


def test_a_mark_that_others_could_have_written_counts_as_none(state: Path, shop: Path) -> None:
    trust(shop, state)
    (mark,) = marks(state)
    mark.chmod(0o622)
    assert not is_trusted(shop, state)


def test_a_link_in_place_of_a_mark_counts_as_none(state: Path, shop: Path, tmp_path: Path) -> None:
    trust(shop, state)
    (mark,) = marks(state)
    mark.rename(tmp_path / "moved.json")
    mark.symlink_to(tmp_path / "moved.json")
    assert not is_trusted(shop, state)


def test_a_folder_whose_name_is_not_utf8_can_be_trusted(state: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff"))
    odd.mkdir()
    trust(odd, state)
    assert is_trusted(odd, state)
    assert [mark.root for mark in trusted_roots(state)] == [str(odd)]


def test_no_setting_can_trust_anything() -> None:
    assert not [key for key in SETTINGS if "trust" in key]


def test_nothing_inside_a_workspace_makes_it_trusted(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    (shop / ".satchel.toml").write_text('trusted = true\n[trust]\nroots = ["."]\n')
    (shop / "trusted").mkdir()
    with Satchel.open(shop) as satchel:
        assert not satchel.trusted
        satchel.trust()
        assert satchel.trusted
        assert len(satchel.distrust()) == 1
        assert not satchel.trusted


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("origin", ["", "file", "git", "user", "guidance", "satchel", GUIDANCE_ORIGIN])
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not_trusted"])
def test_only_an_instruction_file_of_a_trusted_workspace_is_guidance(kind: Kind, origin: str, trusted: bool) -> None:
    is_guidance = kind is Kind.CONTEXT and origin == GUIDANCE_ORIGIN and trusted
    assert trust_of(kind, origin, trusted=trusted) is (Trust.GUIDANCE if is_guidance else Trust.DATA)
