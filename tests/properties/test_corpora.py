"""Stored inputs of each parser, as they are and damaged, against the laws of the parser.

An input that once broke a law becomes a file below `tests/corpora/PARSER`. Each file is read as it is, then with bytes
flipped, cut, doubled and moved: a seed gives the same damage on every machine. `make fuzz` draws more seeds.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from satchel.errors import ContextFileError, UsageError
from satchel.guidance.context_files import read_context
from satchel.hooks.hosts import parse
from satchel.mcp.stdio import parsed
from satchel.safety import sanitize
from satchel.search.trace import LONGEST_LINE, read_trace
from satchel.sources.code import parse as parse_module
from satchel.sources.code.outline import outline
from satchel.sources.conversations import read_transcript
from satchel.sources.docs import outline_chunk
from satchel.sources.tana import TanaWorkspace, items_of, read_nodes
from satchel.sources.vault import read_note
from satchel.store.sqlite.connection import damage
from satchel.system.files import decode
from tests.sources.code.rendering import SAMPLES, assert_tiles
from tests.sources.code.test_outline_properties import assert_sound
from tests.store import older

TESTS = Path(__file__).parents[1]
EXPORT = TESTS / "memory" / "export.jsonl"
FILES = [*sorted((TESTS / "corpora").glob("*/*")), *sorted(SAMPLES.glob("*.txt")), EXPORT]
DOCUMENTS = {".md": "markdown", ".rst": "rst", ".yaml": "yaml", ".toml": "toml", ".json": "json"}
AS_IT_IS = 0
"""The seed that damages nothing."""


def damaged(raw: bytes, seed: int) -> bytes:
    """The bytes after one to eight changes, chosen by the seed."""
    chosen = random.Random(seed)
    changed = bytearray(raw)
    for _ in range(0 if seed == AS_IT_IS else chosen.randint(1, 8)):
        start, end = sorted(chosen.randrange(len(changed) + 1) for _ in range(2))
        match chosen.randrange(5):
            case 0 | 3 if chosen.random() < 0.8:
                del changed[start : min(end, start + 40)]
            case 1:
                changed[start:start] = changed[start : min(end, start + 400)] * chosen.randint(1, 20)
            case 2:
                changed[start:start] = chosen.choice((b"\0", b"\xff", b"\xed\xa0\x80", b"\n", b'"', b"[", b"{", b"\\u"))
            case 3:
                del changed[start:]
            case _ if changed:
                changed[min(start, len(changed) - 1)] ^= 1 << chosen.randrange(8)
    return bytes(changed)


def code(path: Path, text: str, _raw: bytes) -> None:
    reports = 0
    original = parse_module._Budget.is_spent

    def counted(self: parse_module._Budget, offset: int, has_error: bool) -> bool:
        nonlocal reports
        reports += 1
        return original(self, offset, has_error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_module._Budget, "is_spent", counted)
        assert_sound(outline(text, path.stem.partition("-")[0]), text)
    assert reports <= 2 * (parse_module.TICKS + parse_module.TICKS_PER_KILOBYTE * len(text) // 1_000) + 2_000


def doc(path: Path, text: str, _raw: bytes) -> None:
    assert_tiles(outline_chunk(text, DOCUMENTS[path.suffix]), text)


def note(path: Path, text: str, _raw: bytes) -> None:
    found, facts = read_note(path.name, text)
    assert_tiles(found, text or "\n")
    assert all(0 <= link.part < len(found.parts) for link in facts.links)


def context(_path: Path, text: str, _raw: bytes) -> None:
    with suppress(ContextFileError):
        file = read_context(text, "src")
        assert len(json.dumps(file.data)) <= 100 * (len(text) + 10)


def tana(_path: Path, _text: str, raw: bytes) -> None:
    try:
        expected = json.loads(raw.decode("utf-8", "replace"))["docs"]
        assert not isinstance(expected, list) or list(items_of(raw)) == expected
    except (ValueError, LookupError, TypeError, UsageError):
        pass
    with suppress(UsageError):
        notes = list(TanaWorkspace(read_nodes(raw)).notes())
        assert len({one.key for one in notes}) == len(notes)


def transcript(_path: Path, _text: str, raw: bytes) -> None:
    lines = raw.split(b"\n")
    read = read_transcript(lines, "file", clean=sanitize.text, line_bytes=10_000)
    assert len({one.key for one in read.exchanges}) == len(read.exchanges)
    assert all(1 <= number <= len(lines) for number, _ in read.broken)


def rpc(_path: Path, _text: str, raw: bytes) -> None:
    for line in raw.split(b"\n"):
        message, error = parsed(line)
        assert (message is None) != (error is None)
        assert isinstance(parse(line), dict)


def trace(_path: Path, text: str, _raw: bytes) -> None:
    read = read_trace(text.split("\n"))
    assert all(frame.line >= 0 and len(frame.path) <= LONGEST_LINE for frame in read.places)
    assert [frame.position for frame in read.frames] == [*range(len(read.frames))]


LAWS: Mapping[str, Callable[[Path, str, bytes], None]] = {
    "context": context, "doc": doc, "memory": transcript, "note": note, "rpc": rpc, "samples": code,
    "tana": tana, "trace": trace, "transcript": transcript,
}  # fmt: skip


@pytest.mark.files("parsers ask no store")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
@given(seed=st.integers(1, 2**32))
@example(seed=AS_IT_IS)
def test_a_damaged_input_breaks_no_law(path: Path, seed: int) -> None:
    raw = damaged(path.read_bytes(), seed)
    text = (decode(raw) or ("",))[0]
    LAWS[path.parent.name](path, text, raw)
    safe = sanitize.text(text)
    assert (sanitize.text(safe), safe.count("\n")) == (safe, text.count("\n"))


@pytest.mark.files("damages the bytes of one")
@given(seed=st.integers(1, 2**32))
@example(seed=AS_IT_IS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_store_is_named_or_can_be_read(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memory.db"
    path.unlink(missing_ok=True)
    older.unpacked(path, older.NEWEST)
    path.write_bytes(damaged(path.read_bytes(), seed))
    faults = damage(path)
    assert faults == [] or seed != AS_IT_IS
    if not faults:
        read = sqlite3.connect(path)
        assert all(isinstance(json.loads(row[0]), dict) for row in read.execute("SELECT fields FROM documents"))
        read.close()
