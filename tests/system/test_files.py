"""The one safe open: what is read, what is refused, and why."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import threading
from hashlib import blake2b
from pathlib import Path

import pytest

from satchel.system import files
from satchel.system.files import Skipped, SkipReason, read_bytes, read_text, stamp

KEY = b"a key of a test"
LIMIT = 1_000_000
CANARY = "a word that must never be read"

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@pytest.fixture(params=["step by step", "resolved"])
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the careful open, and with the one for systems that cannot do it."""
    if request.param == "resolved":
        monkeypatch.setattr(files, "_CAN_WALK", False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a secret beside it, under a name that begins like the name of the root."""
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "secret.txt").write_text(CANARY)
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x = 1\n")
    return root


def reason_for(root: Path, path: str, limit: int = LIMIT) -> SkipReason:
    with pytest.raises(Skipped) as caught:
        read_text(root, path, key=KEY, limit=limit)
    return caught.value.reason


@pytest.mark.usefixtures("_each_way")
def test_a_file_is_read_with_its_hash_size_and_times(root: Path) -> None:
    found = read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    assert (found.text, found.size, found.encoding, found.lossy) == ("x = 1\n", 6, "utf-8", False)
    assert found.content_hash == blake2b(b"x = 1\n", key=KEY, digest_size=16).hexdigest()
    assert (found.size, found.mtime_ns, found.changed_ns) == stamp(root, "src/a.py")


def test_the_hash_depends_on_the_key(root: Path) -> None:
    hashes = {read_text(root, "src/a.py", key=key, limit=LIMIT).content_hash for key in (b"", b"one", b"two")}
    assert len(hashes) == 3


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize(
    "path",
    ["../root-evil/secret.txt", "src/../../root-evil/secret.txt", "/etc/hostname", "", ".", "..", "src//a.py",
     "./src/a.py", "src/./a.py", "src/a.py/", "a\0b"],
)  # fmt: skip
def test_a_path_that_could_lead_out_is_refused(root: Path, path: str) -> None:
    assert reason_for(root, path) is SkipReason.OUTSIDE_ROOT
    assert stamp(root, path) is None


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("path", ["gone.py", "src/gone.py", "gone/a.py", "src/a.py/b.py"])
def test_what_is_not_there_has_vanished(root: Path, path: str) -> None:
    assert reason_for(root, path) is SkipReason.VANISHED
    assert stamp(root, path) is None


@posix_only
@pytest.mark.usefixtures("_each_way")
class TestHostileEntries:
    """Each entry is refused at once, and nothing behind it is read."""

    def test_a_pipe_does_not_block(self, root: Path) -> None:
        os.mkfifo(root / "pipe.py")
        assert reason_for(root, "pipe.py") is SkipReason.SPECIAL_FILE

    def test_a_socket(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(root)  # the name of a socket must be short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
            assert reason_for(root, "socket.py") is SkipReason.SPECIAL_FILE

    def test_a_folder(self, root: Path) -> None:
        assert reason_for(root, "src") is SkipReason.SPECIAL_FILE

    @pytest.mark.parametrize("target", ["/dev/zero", "../root-evil/secret.txt", "src/a.py", "link.py", "nowhere"])
    def test_a_link(self, root: Path, target: str) -> None:
        (root / "link.py").symlink_to(target)
        assert reason_for(root, "link.py") is SkipReason.SYMLINK
        assert stamp(root, "link.py") is None

    @pytest.mark.parametrize("target", ["../root-evil", "src", ".", "folder"])
    def test_a_linked_folder(self, root: Path, target: str) -> None:
        (root / "folder").symlink_to(target, target_is_directory=True)
        assert reason_for(root, "folder/secret.txt") is SkipReason.SYMLINK

    def test_a_loop_of_two_links(self, root: Path) -> None:
        (root / "one").symlink_to("two")
        (root / "two").symlink_to("one")
        assert reason_for(root, "one/a.py") is SkipReason.SYMLINK

    def test_a_sparse_file_of_200_megabytes(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (root / "huge.txt").touch()
        os.truncate(root / "huge.txt", 200_000_000)
        monkeypatch.setattr(os, "read", lambda *_: pytest.fail("it was read"))
        assert reason_for(root, "huge.txt") is SkipReason.TOO_LARGE

    def test_the_root_itself_may_be_a_link(self, root: Path) -> None:
        (root.parent / "alias").symlink_to(root)
        assert read_text(root.parent / "alias", "src/a.py", key=KEY, limit=LIMIT).text == "x = 1\n"


@posix_only
@pytest.mark.parametrize("step", ["src", "a.py"])
def test_a_step_swapped_just_before_it_is_opened_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    outside = root.parent / "root-evil"
    (outside / "a.py").write_text(CANARY)
    real = os.open

    def swap_then_open(path: str, *arguments: int, dir_fd: int | None = None) -> int:
        if path == step:
            place = root / "src" if step == "src" else root / "src" / step
            place.rename(root / "was")
            place.symlink_to(outside if step == "src" else outside / step)
        return real(path, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)
    with pytest.raises(Skipped) as error:
        read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    assert error.value.reason is SkipReason.SYMLINK


@posix_only
def test_swapping_a_folder_for_a_link_never_gives_a_byte_from_outside(root: Path) -> None:
    outside = root.parent / "root-evil"
    (outside / "a.py").write_text(CANARY)
    link = root / "link"
    link.symlink_to(outside, target_is_directory=True)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (root / "src").rename(root / "real")
            link.rename(root / "src")
            (root / "src").rename(link)
            (root / "real").rename(root / "src")

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[str] = set()
    try:
        for _ in range(400):
            try:
                seen.add(read_text(root, "src/a.py", key=KEY, limit=LIMIT).text)
            except Skipped as skipped:
                seen.add(skipped.reason)
    finally:
        done.set()
        thread.join()
    assert seen <= {"x = 1\n", SkipReason.SYMLINK, SkipReason.VANISHED}


def test_a_file_that_changes_meanwhile_has_the_hash_of_the_text_that_was_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = files.read_bytes

    def changed_at_once(root: Path, relative: str, *, limit: int, head: int) -> files.FileBytes:
        found = own(root, relative, limit=limit, head=head)
        (root / relative).write_text("b" * 100_000)
        return found

    (root / "src" / "a.py").write_text("a" * 50_000)
    monkeypatch.setattr(files, "read_bytes", changed_at_once)
    found = read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    assert found.content_hash == files.content_hash(b"a" * 50_000, KEY)
    assert (found.text, found.size) == ("a" * 50_000, 50_000)


def test_of_a_file_over_the_limit_the_whole_lines_of_its_head_are_read(root: Path) -> None:
    (root / "big.txt").write_bytes(b"one\ntwo\nthree\n" * 100)
    found = read_text(root, "big.txt", key=KEY, limit=100, head=10)
    assert (found.text, found.size, found.is_part) == ("one\ntwo\n", 1_400, True)
    assert found.content_hash == files.content_hash(b"one\ntwo\n", KEY)
    with pytest.raises(Skipped, match="too-large"):
        read_text(root, "big.txt", key=KEY, limit=100, head=2)


@pytest.mark.parametrize("said", [0, 3, 10, 11])
def test_a_file_that_grew_or_shrank_since_it_was_measured_is_read_as_it_is(
    root: Path, monkeypatch: pytest.MonkeyPatch, said: int
) -> None:
    (root / "log.txt").write_text("0123456789")
    real = os.fstat

    def measure(descriptor: int) -> os.stat_result:
        fields = list(real(descriptor))
        fields[stat.ST_SIZE] = said
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", measure)
    assert read_bytes(root, "log.txt", limit=11).raw == b"0123456789"
    with pytest.raises(Skipped) as caught:
        read_bytes(root, "log.txt", limit=9)
    assert caught.value.reason is SkipReason.TOO_LARGE


def test_the_limit_is_the_last_size_that_is_read(root: Path) -> None:
    (root / "ten.txt").write_text("0123456789")
    assert read_text(root, "ten.txt", key=KEY, limit=10).size == 10
    assert reason_for(root, "ten.txt", limit=9) is SkipReason.TOO_LARGE


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE])
def test_a_file_that_the_system_withholds_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    real = os.open

    def refuse(path: str, *arguments: int, **options: int) -> int:
        if str(path).endswith("a.py"):
            raise OSError(code, os.strerror(code))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Skipped, match=os.strerror(code)) as caught:
        read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    assert caught.value.reason is SkipReason.UNREADABLE
    assert caught.value.is_error


def test_a_disk_that_fails_while_reading_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int, _count: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read", fail)
    assert reason_for(root, "src/a.py") is SkipReason.UNREADABLE


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors cannot be counted here")
def test_no_descriptor_stays_open(root: Path) -> None:
    (root / "link.py").symlink_to("src/a.py")
    read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    for path in ("src", "link.py", "gone/x", "src/gone", "../x"):
        reason_for(root, path)
    opened = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    assert [path for path in opened if path.startswith(os.path.realpath(root))] == []
