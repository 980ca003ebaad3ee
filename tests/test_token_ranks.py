from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    token_ranks.write(path, openai.o200k_base().decode_batch)
    return path


@pytest.fixture(scope="module")
def ranks(path: Path) -> Ranks:
    ranks = token_ranks.read(path)
    assert ranks is not None
    return ranks


def expected(text: str) -> int:
    count: int = openai.o200k_base().count(text)
    return count


@given(data=st.data())
def test_a_text_of_ascii_and_signs_has_the_tokens_of_the_tokenizer(ranks: Ranks, data: Any) -> None:
    letter = st.sampled_from(string.printable.replace("\r", "").replace("\x0b", "").replace("\x0c", "") + SIGNS)
    text = "".join(data.draw(st.lists(letter | st.sampled_from(PIECES), max_size=30)))
    assert ranks.count(text) == expected(text)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_between_any_two_characters_has_the_tokens_of_the_tokenizer(ranks: Ranks, sign: str) -> None:
    marks = " \n_x" + string.punctuation
    texts = [f"{before}{sign}{after}" for before in marks for after in marks]
    assert [text for text in texts if ranks.count(text) != expected(text)] == []


def test_the_lines_of_this_project_have_the_tokens_of_the_tokenizer(ranks: Ranks) -> None:
    files = [*Path(token_ranks.__file__).parent.glob("*.py"), *Path(__file__).parent.glob("*.py")]
    lines = [f"{line}\n" for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    counted = [(line, count) for line in lines if (count := ranks.count(line)) is not None]
    assert [line for line, count in counted if count != expected(line)] == []
    assert len(counted) > 0.99 * len(lines)


@pytest.mark.parametrize("text", ["stra\u00dfe", "\u4f60\u597d", "\U0001f600", "a\0b", "\x1f", "a\r\n", "\ud800"])
def test_other_characters_are_left_to_the_table(ranks: Ranks, text: str) -> None:
    assert ranks.count(text) is None


def test_a_long_word_is_left_to_the_table(ranks: Ranks) -> None:
    assert ranks.count("q" + "zx" * LONGEST_MERGED) is None


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
from satchel.tokens import few_texts, counter
few_texts.use(Path(sys.argv[1]))
print(counter().count('def send(self): ...'), 'rs_bpe' in sys.modules)
print(counter().count('stra\\u00dfe'), 'rs_bpe' in sys.modules, few_texts.is_file_wanted)
"""


def counted(folder: Path) -> list[str]:
    command = [sys.executable, "-c", COUNTED, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_table_is_loaded_at_the_first_text_that_needs_it(path: Path) -> None:
    tokens = expected("def send(self): ..."), expected("stra\u00dfe")
    assert counted(path.parent) == [f"{tokens[0]} False", f"{tokens[1]} True False"]


def test_without_the_file_the_table_counts_and_the_file_is_wanted(tmp_path: Path) -> None:
    tokens = expected("def send(self): ..."), expected("stra\u00dfe")
    assert counted(tmp_path) == [f"{tokens[0]} True", f"{tokens[1]} True True"]
