from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from satchel import token_ranks
from satchel.token_ranks import LONGEST_MERGED, Ranks

SIGNS = "\u2018\u2019\u201c\u2013\u2014\u2026\u00b7\u2022\u00d7\u2192\u2502\u251c"
PIECES = (
    "fixture",
    "HTTPServer",
    "self._x",
    "'LL",
    "don't",
    "12345",
    "  ",
    "\t",
    "\n\n",
    " //",
    "===",
    "\u2026)",
    "(*",
    "]\u2026\n",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cache") / "o200k.ranks"
    token_ranks.write(path, openai.o200k_base().bpe().decode_tokens)
    return path


@pytest.fixture(scope="module")
def ranks(path: Path) -> Ranks:
    ranks = token_ranks.read(path)
    assert ranks is not None
    return ranks


def expected(text: str) -> int:
    count: int = openai.o200k_base().count(text)
    return count


LETTERS = st.sampled_from(string.printable + SIGNS) | st.characters(exclude_categories=["Cs", "Cn"])


@given(parts=st.lists(LETTERS | st.sampled_from(PIECES), max_size=30))
def test_any_text_has_the_tokens_of_the_tokenizer(ranks: Ranks, parts: list[str]) -> None:
    text = "".join(parts)
    assert ranks.count(text) == expected(text)


@pytest.mark.parametrize(
    "letter",
    "\u00df\u0130\u01c5\u017f\u212a\u02b0\u4f60\u0301\u0661\u00b2\u2167\u00a0\u2028\x85\v\x1f\0\u200b\U0001f600\ue000",
)
def test_a_letter_between_any_two_characters_has_the_tokens_of_the_tokenizer(ranks: Ranks, letter: str) -> None:
    marks = " \n\r_xX7\u4f60\u0301" + string.punctuation
    texts = [f"{before}{letter}{after}" for before in marks for after in marks]
    assert [text for text in texts if ranks.count(text) != expected(text)] == []


def test_the_lines_of_this_project_have_the_tokens_of_the_tokenizer(ranks: Ranks) -> None:
    files = [*Path(token_ranks.__file__).parent.glob("*.py"), *Path(__file__).parent.glob("*.py")]
    lines = [f"{line}\n" for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if ranks.count(line) != expected(line)] == []


@pytest.mark.parametrize("text", ["\U0001ffff", "\u0378", "\ud800"])
def test_characters_that_are_not_assigned_are_left_to_the_table(ranks: Ranks, text: str) -> None:
    assert ranks.count(text) is None


def test_a_long_word_is_left_to_the_table(ranks: Ranks) -> None:
    assert ranks.count("zx" * LONGEST_MERGED) is None


def test_counts_are_right_after_those_of_many_pieces_were_forgotten(
    ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_ranks, "MAX_PIECES", 3)
    for text in ("one two three", "four five", "one two three"):
        assert ranks.count(text) == expected(text)


def test_a_file_that_is_missing_damaged_or_cut_is_not_read(path: Path, tmp_path: Path) -> None:
    raw = path.read_bytes()
    file = tmp_path / "ranks"
    assert token_ranks.read(file) is None
    for damaged in (b"", raw[:-1], raw[:100], b"x" + raw[1:], raw[:5_000] + b"\xff\xff\xff" + raw[5_003:]):
        file.write_bytes(damaged)
        assert token_ranks.read(file) is None


COUNTED = """
import sys
from pathlib import Path
from satchel.tokens import counter, o200k
o200k.use(Path(sys.argv[1]))
for text in sys.argv[2:]:
    print(counter().count(text), 'rs_bpe' in sys.modules, o200k.is_file_wanted)
"""


def counted(folder: Path, *texts: str) -> list[str]:
    command = [sys.executable, "-c", COUNTED, str(folder), *texts]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_with_the_file_the_table_is_loaded_at_the_first_text_that_needs_it(path: Path) -> None:
    tokens = expected("def send(self): ..."), expected("stra\u00dfe"), expected("\u0378")
    lines = counted(path.parent, "def send(self): ...", "stra\u00dfe", "\u0378")
    assert lines == [f"{tokens[0]} False False", f"{tokens[1]} False False", f"{tokens[2]} True False"]


def test_without_the_file_the_table_counts_and_the_file_is_wanted(tmp_path: Path) -> None:
    assert counted(tmp_path, "def send(self): ...") == [f"{expected('def send(self): ...')} True True"]
