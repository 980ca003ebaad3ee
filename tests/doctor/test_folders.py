from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.config import Folders
from satchel.doctor.check import Outcome
from satchel.doctor.file_system import file_system, network
from satchel.doctor.folders import folder_check, folders

MOUNTS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:40 / /home rw,nosuid master:2 - nfs4 server:/home rw
31 30 0:41 / /home/my\040disk rw - xfs /dev/sdb rw
32 21 0:42 / /mnt rw - ext4 /dev/sdc rw
33 21 0:43 / /mnt rw - fuse.sshfs there: rw
broken line
"""


def test_a_folder_that_is_not_there_yet_is_well_where_it_can_be_made(tmp_path: Path) -> None:
    found = folder_check("cache folder", tmp_path / "a" / "b")
    assert found.outcome is Outcome.OK
    assert not (tmp_path / "a").exists()


def test_a_folder_of_ones_own_is_well(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    assert folder_check("cache folder", folder).outcome is Outcome.OK


def test_a_folder_that_others_can_open_is_a_warning_with_its_cure(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o755)
    found = folder_check("cache folder", folder)
    assert found.outcome is Outcome.WARN
    assert found.fix == f"chmod 700 {folder}"


def test_settings_may_be_seen_by_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert folder_check("config folder", tmp_path).outcome is Outcome.OK


def test_a_file_in_the_place_of_a_folder_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("x")
    assert folder_check("cache folder", tmp_path / "cache").outcome is Outcome.FAIL
    assert folder_check("cache folder", tmp_path / "cache" / "below").outcome is Outcome.FAIL


def test_a_folder_that_cannot_be_written_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser, as whom tests may run, writes everywhere
    assert folder_check("cache folder", tmp_path).fix == f"chmod u+rwx {tmp_path}"
    found = folder_check("cache folder", tmp_path / "new")
    assert found.outcome is Outcome.FAIL
    assert "XDG_CACHE_HOME" in found.fix


def test_every_home_is_checked(tmp_path: Path) -> None:
    homes = Folders(tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "d")
    assert [check.name for check in folders(homes)] == ["config folder", "data folder", "state folder", "cache folder"]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/ada", "nfs4"),
        ("/homes", "ext4"),
        ("/home/my disk/x", "xfs"),
        ("/mnt/x", "fuse.sshfs"),
    ],
)
def test_the_nearest_mount_says_what_a_folder_is_on(folder: str, kind: str, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert file_system(Path(folder), mounts) == kind
    assert network(Path(folder), mounts).outcome is (Outcome.WARN if kind in {"nfs4", "fuse.sshfs"} else Outcome.OK)


def test_a_system_that_does_not_list_its_mounts_is_no_fault(tmp_path: Path) -> None:
    found = network(tmp_path, tmp_path / "missing")
    assert found.outcome is Outcome.OK
    assert "does not say" in found.message
