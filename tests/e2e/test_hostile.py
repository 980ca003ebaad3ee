"""A tree that was prepared to harm whoever indexes it: it is indexed, and nothing from outside gets in or runs."""

from __future__ import annotations

import ctypes
import os
import resource
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.e2e.command import Ran, Satchel
from tests.repositories import git, git_allowing_failure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="builds what only Linux file systems hold")

_DROP_CAPABILITY = 24  # PR_CAPBSET_DROP
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what makes root read everything


def obey_permissions() -> None:
    """Let even root be refused: the program that starts next has no right to overrule file permissions."""
    if os.geteuid() == 0:
        for capability in _OVERRIDES:
            if ctypes.CDLL(None).prctl(_DROP_CAPABILITY, capability):
                raise OSError("the right to overrule permissions could not be given up")


@pytest.fixture
def canary() -> str:
    """A word that is nowhere but outside."""
    return f"canary{secrets.token_hex(8)}"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "tree")
    repository.commit("Add the honest part", {"src/honest.py": "def honest_function():\n    return 'sound'\n"})
    return repository


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Satchel:
    return Satchel(repository.root, tmp_path / "home", obey_permissions)


def stored_bytes(satchel: Satchel) -> bytes:
    """Everything that satchel wrote anywhere."""
    assert satchel.index.exists()  # an index on a server was copied here
    return b"".join(path.read_bytes() for path in sorted(satchel.home.rglob("*")) if path.is_file())


def everything(satchel: Satchel) -> tuple[Ran, bytes]:
    """Index, ask, search, look: the index run, and all bytes that came out of it."""
    indexed = satchel("index", "--json")
    others = [
        satchel("context", "where is honest_function and the canary outside", "--max-tokens", "3000"),
        satchel("context", "honest_function", "--json", "--explain"),
        satchel("search", "canary outside honest_function", "--json"),
        satchel("status", "--json"),
    ]
    assert [ran.code for ran in others] == [0, 0, 0, 0], [ran.err for ran in others]
    assert "honest_function" in others[0].out
    shown = "".join(ran.out + ran.err for ran in (indexed, *others)).encode()
    return indexed, shown + stored_bytes(satchel)


@pytest.fixture
def special_files(repository: TinyRepository, tmp_path: Path, canary: str) -> Iterator[None]:
    root, outside = repository.root, tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"def {canary}(): pass\n")
    os.mkfifo(root / "fifo.py")
    os.mkfifo(root / "src" / ".gitignore")
    (root / "device.py").symlink_to("/dev/zero")
    (root / "loop").symlink_to(".")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    (root / "escape.py").symlink_to(outside / "secret.py")
    (root / "escape").symlink_to(outside)
    (root / ".ignore").symlink_to(outside / "secret.py")
    with (root / "sparse.py").open("wb") as huge:
        huge.truncate(200_000_000)
    with (root / "line.py").open("wb") as line:
        line.write(b"x" * 50_000_000)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket.py"))
        yield


@pytest.mark.usefixtures("special_files")
def test_what_is_no_honest_file_is_counted_and_not_read(
    repository: TinyRepository, satchel: Satchel, canary: str
) -> None:
    nested = TinyRepository(repository.root / "nested")
    nested.commit("Inner", {"inner.py": f"def {canary}(): pass\n"})
    indexed, produced = everything(satchel)
    assert (indexed.code, indexed.json["files"], indexed.json["errors"]) == (0, 1, 0)
    skipped = indexed.json["skipped"]
    assert {reason: skipped[reason] for reason in ("special-file", "symlink", "too-large", "nested-repository")} == {
        "special-file": 3,
        "symlink": 7,
        "too-large": 2,
        "nested-repository": 1,
    }
    assert canary.encode() not in produced


def test_texts_in_strange_encodings_are_read_and_found(repository: TinyRepository, satchel: Satchel) -> None:
    root = repository.root
    (root / "wide.py").write_bytes("def wide_function():\n    return 'breit'\n".encode("utf-16"))
    (root / "latin.py").write_bytes(b"def latin_function():\n    return 'caf\xe9'\n")
    (root / "bom.py").write_bytes(b"\xef\xbb\xbfdef marked_function():\n    return 1\n")
    (root / "random.py").write_bytes(bytes(range(1, 256)) * 20)
    (root / "nul.py").write_bytes(b"def hidden_function(): pass\n" * 5_000 + b"\0")
    indexed = satchel("index", "--json")
    assert (indexed.code, indexed.json["files"], indexed.json["skipped"]) == (0, 6, {})
    for name in ("wide_function", "latin_function", "marked_function", "hidden_function"):
        assert f"def {name}" in satchel("context", f"where is {name}").out


def test_odd_names_are_left_out_and_shown_escaped(repository: TinyRepository, satchel: Satchel) -> None:
    root = os.fsencode(repository.root)
    names = [b"bad\xff.py", b"line\nbreak.py", b"escape\x1b[31m.py", b"\xe2\x80\xa8.py"]
    fine = ["n" * 250 + ".py", "pipe|and'quote\".py", "--option.py", "naïve ünïcode.py", "A.py", "a.py"]
    for name in (*names, *map(os.fsencode, fine)):
        Path(os.fsdecode(root + b"/" + name)).write_text("value = 1\n")
    indexed, produced = everything(satchel)
    assert (indexed.code, indexed.json["skipped"]["odd-name"]) == (0, len(names))
    assert indexed.json["files"] == 1 + len(fine)
    assert not [name for name in names if name in produced]
    assert satchel.faults() == []


def test_what_cannot_be_read_makes_the_run_partly_done(repository: TinyRepository, satchel: Satchel) -> None:
    root = repository.root
    (root / "locked.py").write_text("x = 1\n")
    (root / "locked.py").chmod(0)
    (root / "closed").mkdir()
    (root / "closed" / "a.py").write_text("x = 1\n")
    (root / "closed").chmod(0)
    try:
        indexed = satchel("index")
        asked = satchel("context", "honest_function", "--strict")
    finally:
        (root / "closed").chmod(0o755)
    assert indexed.code == 3
    assert "unreadable 2" in indexed.err
    for path in ("closed", "locked.py"):
        assert f"{path}: unreadable" in indexed.err
    assert (asked.code, "honest_function" in asked.out) == (3, True)
    (root / "locked.py").chmod(0o644)
    assert satchel("index").code == 0


def test_no_program_of_a_repository_runs(repository: TinyRepository, satchel: Satchel, tmp_path: Path) -> None:
    """Every key that names a program names one that would leave a mark, and the mark would be left by plain git."""
    root, marker, program = repository.root, tmp_path / "marker", tmp_path / "program"
    program.write_text(f"#!/bin/sh\n: > '{marker}'\nexit 1\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        (hooks / hook).symlink_to(program)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (root / ".gitattributes").write_text("*.py diff=x filter=x merge=x\n")
    for key in (
        "core.fsmonitor", "core.editor", "core.pager", "pager.log", "core.sshCommand", "core.gitProxy", "core.askPass",
        "core.alternateRefsCommand", "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean",
        "filter.x.smudge", "filter.x.process", "merge.x.driver", "gpg.program", "gpg.ssh.program", "sequence.editor",
        "credential.helper", "remote.origin.uploadpack", "remote.origin.vcs", "uploadpack.packObjectsHook",
        "web.browser", "interactive.diffFilter", "trailer.x.command", "alias.log", "alias.rev-list",
    ):  # fmt: skip
        git(root, "config", key, f"!{program}" if key.startswith(("alias", "credential")) else str(program))
    git(root, "config", "core.hooksPath", str(hooks))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "protocol.allow", "always")
    git(root, "config", "extensions.worktreeConfig", "true")
    marker.unlink(missing_ok=True)
    (root / "src/honest.py").write_text("def honest_function():\n    return 'changed'\n")
    indexed, _ = everything(satchel)
    assert indexed.json["commits_added"] == 1
    assert not marker.exists()
    git(root, "config", "include.path", str(tmp_path / "included"))
    marker.unlink(missing_ok=True)
    everything(satchel)
    assert not marker.exists()  # a configuration with includes is refused, unread
    git_allowing_failure(root, "status")
    git_allowing_failure(root, "diff")
    assert marker.exists(), "plain git does not fall for it, so the test proves nothing"


def test_a_folder_that_cannot_be_written_is_one_clear_line(satchel: Satchel, store_kind: str) -> None:
    reason = "you may not write there" if store_kind == "sqlite" else "Permission denied"  # of the lock of the index
    cache = satchel.home / "cache"
    cache.mkdir(parents=True)
    cache.chmod(0o500)
    for arguments in (("index",), ("context", "honest_function")):
        ran = satchel(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert len(ran.err.splitlines()) == 1
        assert str(cache) in ran.err
        assert reason in ran.err


@pytest.mark.files("takes away the right to write them; roles of a server: tests/store/test_postgres_faults.py")
def test_an_index_that_cannot_be_written_is_one_clear_line(repository: TinyRepository, satchel: Satchel) -> None:
    assert satchel("index").code == 0
    before = satchel.contents()
    folder = satchel.index.parent
    for path in (*folder.iterdir(), folder):
        path.chmod(0o400 if path.is_file() else 0o500)
    repository.write({"src/new.py": "x = 1\n"})
    ran = satchel("index")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o600 if path.is_file() else 0o700)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert str(folder) in ran.err
    assert satchel.contents() == before
    assert satchel("index").code == 0


def limited() -> None:
    """No file may grow beyond 300 KB: what a full disk does to a process, at any place one likes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


@pytest.mark.files("limits their size; the disk of a server is that of another machine")
@pytest.mark.usefixtures("unmeasured")  # the limit on the size of files would hit the coverage of the child as well
def test_a_full_disk_ends_the_run_with_one_line_and_a_sound_store(repository: TinyRepository, satchel: Satchel) -> None:
    assert satchel("index").code == 0
    before = satchel.contents()
    words = [f"# {number * 2_654_435_761 % 2**32:08x}\n" for number in range(90 * 200)]
    repository.write({f"src/f{number}.py": "".join(words[number * 200 :][:200]) for number in range(90)})
    full = Satchel(satchel.root, satchel.home, limited)
    ran = full("index")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert str(satchel.index) in ran.err
    assert satchel.faults() == []
    assert satchel.contents() == before
    assert "honest_function" in full("context", "honest_function", "--no-refresh").out
    assert satchel("index", "--json").json["added"] == 90
