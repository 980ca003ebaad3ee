from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.embed.minilm import VOCABULARY_FILE, weights_folder
from satchel.embed.wordpiece import LONGEST_WORD, WordPiece, WordRules, read_vocabulary, words

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "run", "##ning", ",", "你", "cafe", "$"]


@pytest.fixture
def pieces(tmp_path: Path) -> WordPiece:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return WordPiece(read_vocabulary(path))


def named(pieces: WordPiece, text: str, most: int = 50) -> list[str]:
    return [PIECES[number] for number in pieces.ids(text, most)]


def test_a_word_is_cut_into_the_longest_pieces(pieces: WordPiece) -> None:
    assert named(pieces, "unaffable running") == ["[CLS]", "un", "##aff", "##able", "run", "##ning", "[SEP]"]


def test_case_and_accents_make_no_difference_and_marks_stand_alone(pieces: WordPiece) -> None:
    assert named(pieces, "Café,RUN$你") == ["[CLS]", "cafe", ",", "run", "$", "你", "[SEP]"]


def test_case_and_accents_are_kept_where_a_model_was_trained_with_them() -> None:
    assert [*words("Café,RUN", WordRules(lower_case=False, without_accents=False))] == ["Café", ",", "RUN"]
    assert [*words("Café", WordRules(without_accents=False))] == ["café"]


def test_what_cannot_be_cut_is_unknown_as_a_whole(pieces: WordPiece) -> None:
    assert named(pieces, f"unz {'run' * LONGEST_WORD} run") == ["[CLS]", "[UNK]", "[UNK]", "run", "[SEP]"]


def test_a_long_text_is_cut_and_still_ends_with_its_mark(pieces: WordPiece) -> None:
    assert named(pieces, "run " * 100, 5) == ["[CLS]", "run", "run", "run", "[SEP]"]


def test_the_name_of_a_mark_in_a_text_is_text(pieces: WordPiece) -> None:
    assert named(pieces, "[CLS]").count("[CLS]") == 1


@given(st.text())
def test_words_hold_no_white_space_and_no_controls(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(character.isspace() or character in "\0\ufffd" for character in word)


EXPECTED = [
    101,
    15743,
    1984,
    2638,
    100,
    100,
    1060,
    2100,
    2480,
    9960,
    1002,
    1019,
    1009,
    1017,
    1066,
    1035,
    1037,
    1035,
    1155,
    29733,
    21628,
    102,
]
"""What the tokenizer that the model was published with makes of the text below."""


def test_the_ids_are_those_of_the_published_tokenizer() -> None:
    folder = weights_folder()
    assert folder is not None
    text = "naïve ﬁne 你好 x\u200by\x00z İstanbul $5+3~ _a_ ΑΣ\u00a0tab\t"
    assert WordPiece(read_vocabulary(folder / VOCABULARY_FILE)).ids(text, 256) == EXPECTED
