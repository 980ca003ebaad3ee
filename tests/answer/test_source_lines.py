"""Files are read as they are now, remembered within bounds, and never from outside the root."""

from __future__ import annotations

import os
import random
import string
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.answer.source_lines import (
    LINE_OVERHEAD_BYTES,
    FileLines,
    Lines,
    Unreadable,
    around,
    branch_end,
    conditions,
    outline_of,
)
from satchel.answer.text_lines import TextLines
from satchel.system import cache as caches
from satchel.system import files
from satchel.types import Freshness, Range

KEY = b"k" * 16
LIMIT = 1_000


@pytest.fixture
def reader(tmp_path: Path) -> FileLines:
    return FileLines(tmp_path, KEY, LIMIT)


def write(root: Path, name: str, text: str) -> str:
    """Write a file and return the hash of its content."""
    (root / name).write_text(text, encoding="utf-8")
    return files.content_hash(text.encode(), KEY)


def secret_token() -> str:
    """What looks like the token of a service, made here so that no file holds one."""
    return "ghp_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))


def refuse() -> str:
    raise AssertionError("the stored text was asked for")


def test_the_stored_text_is_taken_where_the_bytes_are_those_that_were_indexed(
    tmp_path: Path, reader: FileLines
) -> None:
    known = write(tmp_path, "a.py", "x = 1\ny = 2")
    assert reader.read("a.py", known, lambda: "stored\ntext") == Lines("a.py", TextLines("stored\ntext"), known)
    assert reader.read("a.py", known, refuse) == Lines("a.py", TextLines("stored\ntext"), known)


def test_other_bytes_are_cleaned_and_redacted_like_those_of_the_index(tmp_path: Path, reader: FileLines) -> None:
    secret = secret_token()
    now = write(tmp_path, "a.py", f"token = '{secret}'\nx\u200b = 1\r\nend")
    found = reader.read("a.py", "of another text", refuse)
    assert isinstance(found, Lines)
    assert found.content_hash == now
    assert found.lines[1:] == ["x = 1", "end"]
    assert secret not in found.text(1, 3)


def test_an_allowed_secret_stays(tmp_path: Path) -> None:
    secret = secret_token()
    write(tmp_path, "a.py", secret)
    found = FileLines(tmp_path, KEY, LIMIT, ("ghp_.*",)).read("a.py")
    assert isinstance(found, Lines)
    assert [*found.lines] == [secret]


def test_what_is_no_readable_text_is_said_to_be_so(tmp_path: Path, reader: FileLines) -> None:
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "binary").write_bytes(b"\0")
    (root / "large").write_bytes(b"x" * (LIMIT + 1))
    (root / "link").symlink_to("../outside.txt")
    (root / "folder").symlink_to("..")
    (root / ".env").write_text("KEY=1", encoding="utf-8")
    os.mkfifo(root / "pipe")
    reader = FileLines(root, KEY, LIMIT)
    paths = ("binary", "large", "link", "folder/outside.txt", "pipe", "gone", "../outside.txt", "/etc/passwd", ".env")
    reasons = [found.reason for found in map(reader.read, paths) if isinstance(found, Unreadable)]
    assert reasons == [
        "binary", "too-large", "symlink", "symlink", "special-file", "vanished", "outside-root", "outside-root",
        "secret-file",
    ]  # fmt: skip


def test_the_oldest_files_are_forgotten_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files_at_once(monkeypatch, 2)
    reader = FileLines(tmp_path, KEY, LIMIT)
    hashes = {name: write(tmp_path, name, name * 900) for name in "abc"}
    reader.read("a")
    reader.read("b")
    reader.read("c")
    assert [name for name in "abc" if reader.cached(name, hashes[name])] == ["b", "c"]


def files_at_once(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let what is opened from now on keep so many files of one line of 900 characters."""
    monkeypatch.setattr(caches, "_every", type(caches._every)())
    monkeypatch.setattr(caches, "MAX_BYTES", count * (sys.getsizeof("a" * 900) + LINE_OVERHEAD_BYTES))


def test_a_file_larger_than_what_may_be_kept_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FileLines(tmp_path, KEY, LIMIT)
    monkeypatch.setattr(caches, "MAX_BYTES", 3 * LINE_OVERHEAD_BYTES)
    known = write(tmp_path, "large", "line\n" * 20)
    found = reader.read("large")
    assert isinstance(found, Lines)
    assert len(found.lines) == 21
    assert reader.cached("large", known) is None


def test_files_are_forgotten_on_demand(tmp_path: Path, reader: FileLines) -> None:
    known = write(tmp_path, "a", "text")
    reader.read("a")
    assert reader.cached("a", known) is not None
    reader.clear()
    assert reader.cached("a", known) is None


def test_many_threads_read_the_same_files_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files_at_once(monkeypatch, 1)
    reader = FileLines(tmp_path, KEY, LIMIT)
    names = [f"{number}.py" for number in range(6)]
    for name in names:
        write(tmp_path, name, f"def f_{name[0]}():\n    pass\n")

    def read(name: str) -> tuple[str, str]:
        found = reader.read(name)
        assert isinstance(found, Lines)
        return found.lines[0], reader.outline(found).parts[0].name

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read, names * 50))
    assert results == [(f"def f_{name[0]}():", f"f_{name[0]}") for name in names * 50]


def aged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let five seconds pass since every change so far, and list the files that are opened from now on."""
    opened: list[str] = []
    read_bytes, clock = files.read_bytes, time.time_ns

    def noted(root: Path, path: str, *, limit: int, head: int) -> files.FileBytes:
        opened.append(path)
        return read_bytes(root, path, limit=limit, head=head)

    monkeypatch.setattr(files, "read_bytes", noted)
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 5_000_000_000)
    return opened


def test_a_file_that_rested_is_opened_once(tmp_path: Path, reader: FileLines, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.py", "x = 1")
    opened = aged(monkeypatch)
    assert reader.read("a.py") is reader.read("a.py")
    assert opened == ["a.py"]
    reader.clear()
    reader.read("a.py")
    assert opened == ["a.py", "a.py"]


def test_a_file_that_rested_is_not_opened_again_for_its_stored_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_at_once(monkeypatch, 5)
    reader = FileLines(tmp_path, KEY, LIMIT)
    hashes = {name: write(tmp_path, name, name * 900) for name in "abcd"}
    opened = aged(monkeypatch)
    for name in "abcd":
        reader.read(name, hashes[name], lambda: "stored" * 150)
    assert reader.cached("a", hashes["a"]) is None
    found = reader.read("a", hashes["a"], lambda: "stored again")
    assert (found, opened) == (Lines("a", TextLines("stored again"), hashes["a"]), [*"abcd"])
    now = write(tmp_path, "b", "another text")
    assert reader.read("b", hashes["b"], refuse) == Lines("b", TextLines("another text"), now)


def test_a_file_that_changed_a_moment_ago_is_opened_each_time(tmp_path: Path, reader: FileLines) -> None:
    for text in ("x = 1", "x = 2", "x = 3"):
        write(tmp_path, "a.py", text)
        os.utime(tmp_path / "a.py", ns=(1, 1))
        lines = reader.read("a.py")
        assert isinstance(lines, Lines)
        assert [*lines.lines] == [text]


def test_another_text_of_the_same_size_and_time_is_seen(
    tmp_path: Path, reader: FileLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    path, moment = tmp_path / "a.py", 0
    for text in ("x = 1", "x = 2", "x = 3"):
        while not path.exists() or path.stat().st_ctime_ns == moment:  # the clock of the file system ticks
            write(tmp_path, "a.py", text)
            os.utime(path, ns=(1, 1))
        moment = path.stat().st_ctime_ns
        lines = reader.read("a.py")
        assert isinstance(lines, Lines)
        assert [*lines.lines] == [text]


def test_a_file_that_rested_and_went_away_is_gone(
    tmp_path: Path, reader: FileLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py", "x = 1")
    aged(monkeypatch)
    assert isinstance(reader.read("a.py"), Lines)
    (tmp_path / "a.py").unlink()
    assert isinstance(reader.read("a.py"), Unreadable)


def test_an_outline_is_worked_out_once_for_a_remembered_file(tmp_path: Path, reader: FileLines) -> None:
    write(tmp_path, "a.py", "import os\n")
    found = reader.read("a.py")
    assert isinstance(found, Lines)
    assert reader.outline(found) is reader.outline(found)
    assert reader.outline(found) == outline_of(found)
    forgotten = Lines("b.py", TextLines("x = 1"))
    assert reader.outline(forgotten) == outline_of(forgotten)


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_a_file_that_no_parser_can_take_has_no_parts(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("satchel.sources.outline.outline_file", fail)
    assert outline_of(Lines("a.py", TextLines("(((("))).parts == ()


def test_seams_are_where_lines_begin_to_differ_in_another_way() -> None:
    moved, stale = Freshness.MOVED, Freshness.STALE
    lines = Lines("a.py", TextLines("a\nb\nc\nd\ne"), marks=(None, moved, moved, stale, None))
    assert lines.seams(1, 5) == {2, 4, 5}
    assert lines.seams(2, 3) == set()
    assert Lines("a.py", TextLines("a\nb")).seams(1, 2) == set()


def test_a_stamp_tells_whether_a_file_was_touched(tmp_path: Path, reader: FileLines) -> None:
    write(tmp_path, "a.py", "x = 1")
    stamp = files.stamp(tmp_path, "a.py")
    assert stamp is not None
    assert reader.is_stamped("a.py", *stamp)
    assert reader.is_stamped("a.py", stamp[0], stamp[1], 0)
    assert not reader.is_stamped("a.py", stamp[0] + 1, stamp[1], stamp[2])
    assert not reader.is_stamped("gone.py", *stamp)


@pytest.mark.parametrize(
    ("ranges", "count", "expected"),
    [
        pytest.param([(5, 6)], 0, [(5, 6)], id="no lines more"),
        pytest.param([(5, 6)], 3, [(2, 9)], id="before and after"),
        pytest.param([(1, 2), (19, 20)], 3, [(1, 5), (16, 20)], id="not beyond the file"),
        pytest.param([(10, 11), (4, 5)], 3, [(1, 14)], id="no line twice"),
        pytest.param([(4, 5), (9, 10)], 2, [(2, 12)], id="touching ranges are one"),
        pytest.param([(30, 31)], 3, [], id="a range beyond the file is none"),
    ],
)
def test_lines_around_a_range(ranges: list[Range], count: int, expected: list[Range]) -> None:
    assert around(ranges, count, 20) == expected


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))), max_size=8),
    st.integers(0, 10),
)
def test_exactly_the_lines_near_a_range_are_given_once(ranges: list[Range], count: int) -> None:
    widened = [line for start, end in around(ranges, count, 40) for line in range(start, end + 1)]
    near = {line for start, end in ranges for line in range(start - count, end + count + 1)}
    assert widened == sorted(line for line in near if 1 <= line <= 40)


LONG = [f"    more about it, line {number}" for number in range(6)]


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        (["def a():", '    """First sentence.', "", *LONG, '    """', "    return 1"], [(3, 10)]),
        (["def a():", '    """', "    First sentence.", *LONG, '    """', "    return 1"], [(4, 10)]),
        (["def a():", '    """First', "    sentence.", *LONG, '    """', "    return 1"], [(4, 10)]),
        (["def a():", '    """One line."""', "    return 1"], []),
        (["def a():", '    """First sentence.', *LONG[:2], '    """', "    return 1"], []),
        (["/**", " * First sentence.", *[f" * more {number}" for number in range(5)], " */", "void a() {}"], [(3, 8)]),
        (["// First", "// sentence.", *[f"// more {number}" for number in range(5)], "func a() {}"], [(3, 7)]),
        (["#include <a.h>"] * 9, []),
        (["text = (", *LONG, ")"], []),
        (['    """never closed', *LONG], []),
    ],
)
def test_a_long_doc_comment_is_its_first_sentence(text: list[str], left_out: list[tuple[int, int]]) -> None:
    lines = Lines("a.x", TextLines("\n".join(text)))
    assert list(lines.prose(1, len(lines.lines))) == left_out
    assert lines.prose(1, 4) is lines.prose(1, 4)


PYTHON = """\
def load(paths):
    for path in paths:
        if path in seen:
            skip(path)
        elif (
            is_large(path)
            and not forced
        ):
            # too large

            warn(path)
    return seen"""
GO = """\
func load(kind int) error {
\tswitch kind {
\tcase First:
\t\tprepare()
\tcase Second:
#ifdef SLOW
\t\tif err := second(); err != nil {
\t\t\treturn err
\t\t}
\t}
}"""
C = """\
int load(int kind)
{
    if (kind > 1)
    {
again:
        first(kind);
    }
    else
    {
        last(kind);
    }
}"""
RUST = """\
    fn load(kind: Kind) -> u8 {
        match kind {
            Kind::First => 1,
            Kind::Other(other) => {
                loop {
                    other.step();
                }
            }
        }
    }"""
TYPESCRIPT = """\
export function load(paths: string[]) {
  return paths.map((path) => {
    try {
      read(path)
    } catch (error) {
      report(error)
    }
  })
}"""
JAVA = """\
  void load() {
    while (more()) {
      if (isFirst()) {
        first();
      } else {
        other();
      }
    }
  }"""


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        pytest.param(PYTHON, 11, [(8, 8), (5, 5), (3, 3), (2, 2)], id="python"),
        pytest.param(PYTHON, 12, [], id="python without a condition"),
        pytest.param(GO, 8, [(7, 7), (5, 5), (2, 2)], id="go"),
        pytest.param(C, 10, [(9, 9), (8, 9), (3, 4)], id="c"),
        pytest.param(RUST, 6, [(5, 5), (4, 4), (2, 2)], id="rust"),
        pytest.param(TYPESCRIPT, 6, [(5, 5), (3, 3), (2, 2)], id="typescript"),
        pytest.param(JAVA, 6, [(5, 5), (3, 3), (2, 2)], id="java"),
        pytest.param(JAVA, 5, [(3, 3), (2, 2)], id="a branch itself"),
    ],
)
def test_the_conditions_of_a_line_are_those_that_open_its_blocks(text: str, start: int, expected: list[Range]) -> None:
    assert list(conditions(text.split("\n"), 1, start)) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        pytest.param(PYTHON, 3, 3, 4, id="the rest of a branch"),
        pytest.param(PYTHON, 5, 9, 11, id="over comments and blank lines"),
        pytest.param(JAVA, 3, 4, 4, id="not the next branch"),
        pytest.param(JAVA, 2, 4, 8, id="with its closing bracket"),
        pytest.param(JAVA, 4, 4, 4, id="a whole statement"),
        pytest.param("if a:\n" + "    b()\n" * 30, 1, 2, 2, id="not a long branch"),
    ],
)
def test_a_short_branch_is_shown_to_its_end(text: str, start: int, end: int, expected: int) -> None:
    lines = text.split("\n")
    assert branch_end(lines, start, end, len(lines)) == expected
