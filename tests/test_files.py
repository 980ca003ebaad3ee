"""The one safe open: what is read, what is refused and why, and how bytes become text."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import sys
import threading
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import files
from satchel.files import (
    Skipped,
    SkipReason,
    decode,
    escape_name,
    is_generated,
    is_minified,
    is_odd_name,
    is_secret_file,
    read_bytes,
    read_text,
    stamp,
    unwanted,
)

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

    def test_a_sparse_file_of_200_megabytes(self, root: Path) -> None:
        (root / "huge.txt").touch()
        os.truncate(root / "huge.txt", 200_000_000)
        assert reason_for(root, "huge.txt") is SkipReason.TOO_LARGE

    def test_the_root_itself_may_be_a_link(self, root: Path) -> None:
        (root.parent / "alias").symlink_to(root)
        assert read_text(root.parent / "alias", "src/a.py", key=KEY, limit=LIMIT).text == "x = 1\n"


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


def test_a_file_that_changes_meanwhile_has_the_hash_of_the_text_that_was_read(root: Path) -> None:
    target, done = root / "src" / "a.py", threading.Event()

    def write() -> None:
        while not done.is_set():
            target.write_text("a" * 50_000)
            target.write_text("b" * 100_000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            found = read_text(root, "src/a.py", key=KEY, limit=LIMIT)
            assert found.content_hash == files.content_hash(found.text.encode(), KEY)
            assert found.size == len(found.text)
    finally:
        done.set()
        thread.join()


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
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_text(root, "src/a.py", key=KEY, limit=LIMIT)
    for path in ("src", "link.py", "gone/x", "src/gone", "../x"):
        reason_for(root, path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


TEXT = "eins\nzwei é 漢\n\nvier\f\x85\u2028fünf\n"


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-32"), "utf-32"),
        (b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"), "utf-32"),
    ],
    ids=["utf-8", "utf-8 marked", "utf-16 little", "utf-16 big", "utf-32 little", "utf-32 big"],
)
def test_the_same_text_in_each_encoding_gives_the_same_lines(raw: bytes, encoding: str) -> None:
    assert decode(raw) == (TEXT, encoding, False)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\rb\r", "a\nb\n"),
        (b"a\r\r\nb\n\rc", "a\n\nb\n\nc"),
        (b"a\x0bb\x0cc", "a\x0bb\x0cc"),
        (b"", ""),
        (b"\xef\xbb\xbf", ""),
    ],
)
def test_every_line_end_becomes_one_newline(raw: bytes, text: str) -> None:
    found = decode(raw)
    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize(
    "raw",
    [b"\x7fELF\0", b"x" * 200_000 + b"\0", b"\xef\xbb\xbfa\0", "a\0b".encode("utf-16")],
    ids=["at the start", "far behind", "after a mark", "as a character"],
)
def test_a_nul_anywhere_makes_it_binary(root: Path, raw: bytes) -> None:
    (root / "data.py").write_bytes(raw)
    assert reason_for(root, "data.py") is SkipReason.BINARY


@pytest.mark.parametrize("encoding", ["latin-1", "cp1251", "shift_jis"])
def test_another_encoding_is_read_with_replacements_and_said_to_be(encoding: str) -> None:
    found = decode("name = 'ё漢é'\n".encode(encoding, "ignore"))
    assert found is not None
    assert found[0].startswith("name = '")
    assert "\ufffd" in found[0]
    assert found[2]


@given(st.binary(max_size=300))
def test_any_bytes_give_clean_text_or_none(raw: bytes) -> None:
    found = decode(raw)
    if found is None:
        assert b"\0" in raw
    else:
        assert not {"\0", "\r"} & set(found[0])
        assert json.loads(json.dumps(found[0]).encode("utf-8")) == found[0]


@pytest.mark.parametrize(
    "head",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage x\n",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n",
        "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\n",
        "/**\n * @generated SignedSource<<0>>\n */\n",
        "// <auto-generated>\n//     This code was generated by a tool.\n// </auto-generated>\n",
        "/* DO NOT EDIT: this file is auto-generated. */\n",
        "-- This file was automatically generated by SWIG.\n--\n-- Do not edit, changes will be lost.\n",
        '"""Autogenerated by a script. Please do not edit."""\n',
        "<!-- automatically generated, don't modify -->\n",
    ],
)
def test_a_file_that_says_it_is_generated_is_believed(head: str) -> None:
    assert is_generated(head + "x\n" * 1000)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "# Parses the generated report.\nimport x\n",
        'MARK = "// Code generated by me. DO NOT EDIT."\n',
        "def write_header():\n    # DO NOT EDIT the list below by hand\n    return '# generated'\n",
        "x = 1\n" * 20 + "// Code generated by protoc-gen-go. DO NOT EDIT.\n",
        "# Notes on the tables.\n# Do not edit the generated files, edit the template.\n",
        "# Sends mail to users@generated.invalid\n",
    ],
)
def test_a_file_that_only_speaks_of_generated_files_is_kept(head: str) -> None:
    assert not is_generated(head)


CODE = "def add(first: int, second: int) -> int:\n    return first + second\n\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CODE * 300, False),
        ("short, but one line: " + "x" * 800, False),
        ("var a=function(b){return b+1};" * 200, True),
        (("a=1;" * 100 + "\n") * 50, True),
        (CODE * 300 + "DATA = '" + "QUJD" * 6000 + "'\n", True),
        (CODE * 600 + "DATA = '" + "QUJD" * 6000 + "'\n", False),
        (("A paragraph of prose on one line has a blank after every word, " * 8 + "\n\n") * 30, False),
        ("x" * 25_000, True),
        ("x\n" * 25_000, False),
        ("\n" * 50_000 + "y" * 40_000, False),
    ],
    ids=["code", "short", "one line", "long lines", "mostly data", "some data", "prose", "a token", "many", "half"],
)
def test_minified_is_what_has_lines_that_nobody_wrote(text: str, expected: bool) -> None:
    assert is_minified(text) is expected


def test_a_line_of_50_megabytes_is_judged_without_trouble() -> None:
    assert is_minified("x" * 50_000_000)


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a.go", "// Code generated by x. DO NOT EDIT.\n", SkipReason.GENERATED),
        ("a.js", "a=1;" * 1000, SkipReason.MINIFIED),
        ("a.ipynb", "QUJD" * 10_000, None),
        ("a.py", CODE, None),
    ],
)
def test_the_text_of_a_file_says_whether_it_is_wanted(path: str, text: str, reason: SkipReason | None) -> None:
    assert unwanted(path, text) is reason


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "app/.env.production", ".envrc", "prod.env", "server.pem", "a/b/server.KEY", "id_rsa",
     "keys/id_ed25519", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", "home/.aws/credentials",
     ".kube/config", "kubeconfig", "store.p12", "store.pfx", "store.jks", "a.kdbx", "x/.ssh/known_hosts",
     ".gnupg/trustdb.gpg", "client_secret_12.json", "my/service-account.json", "terraform.tfstate",
     ".docker/config.json", ".git-credentials", "config/master.key"],
)  # fmt: skip
def test_a_file_that_exists_to_hold_secrets_is_known_by_its_path(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [".env.example", "example.env", ".env.sample", "config/.env.dist", "id_rsa.pub", ".ssh/id_rsa.pub", "env.py",
     "environment.yml", "src/environment.ts", ".environment", "credentials.py", "src/secrets.py", "monkey.py",
     "keyboard.ts", "config", "docs/config.json", "kube/config.go", "README.md", "aws/credentials.py"],
)  # fmt: skip
def test_samples_public_keys_and_code_are_no_secret_files(path: str) -> None:
    assert not is_secret_file(path)


@pytest.mark.parametrize(
    ("name", "odd", "shown"),
    [
        ("plain.py", False, "plain.py"),
        ("naïve 漢 🚀.py", False, "naïve 漢 🚀.py"),
        (os.fsdecode(b"bad\xff.py"), True, r"bad\xff.py"),
        ("new\nline", True, r"new\nline"),
        ("esc\x1b[31m", True, r"esc\x1b[31m"),
        ("c1\x9b31m", True, r"c1\x9b31m"),
        ("line\u2028separator", True, r"line\u2028separator"),
        ("lone\ud800", True, r"lone\ud800"),
        ("nul\x00", True, r"nul\x00"),
        ("a|b", False, "a|b"),
        ("n" * 255, False, "n" * 255),
    ],
)
def test_odd_names_are_known_and_shown_escaped(name: str, odd: bool, shown: str) -> None:
    assert is_odd_name(name) is odd
    assert escape_name(name) == shown


@given(st.binary(max_size=40).map(os.fsdecode) | st.text(max_size=40))
def test_every_escaped_name_is_one_line_of_valid_text(name: str) -> None:
    shown = escape_name(name)
    assert not is_odd_name(shown)
    assert json.loads(json.dumps(shown).encode("utf-8")) == shown
