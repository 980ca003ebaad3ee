from __future__ import annotations

import hashlib

import numpy as np
import pytest

from satchel.embed.static import (
    CELL_BYTES,
    DIGEST_FILE,
    DIMENSION,
    TABLE_FILE,
    WORDS_FILE,
    StaticTable,
    words,
)

TEXTS = (
    "How do I cancel a running download?",
    "parseHTTPHeader2 raises ValueError for an empty line",
    "Die Straße ist gesperrt, le café est fermé",
    "We spent the weekend at the lake with the children " * 20,
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "",
)


@pytest.fixture(scope="module")
def table() -> StaticTable:
    return StaticTable()


def test_equal_texts_give_equal_bytes_on_every_machine(table: StaticTable) -> None:
    # The same with numpy 2.0 and later, and on processors without wide registers.
    digest = hashlib.sha256(table.embed_documents(TEXTS).astype("<f4").tobytes()).hexdigest()
    assert digest == "1d259ab84ccc0f4edcea43ddc83ff239fd8540007b9542a434e9d3a524fb7430"


def test_a_text_has_the_same_vector_alone_and_among_many(table: StaticTable) -> None:
    alone = [StaticTable().embed_query(text) for text in TEXTS]
    assert np.array_equal(np.stack(alone), table.embed_documents(TEXTS))
    assert table.embed_documents([]).shape == (0, DIMENSION)


def test_vectors_have_length_1_and_that_of_a_text_without_words_is_zero(table: StaticTable) -> None:
    lengths = np.linalg.norm(table.embed_documents(TEXTS), axis=1)
    assert lengths == pytest.approx([1, 1, 1, 1, 1, 0], abs=1e-6)


def test_the_id_names_the_digest_of_the_files(table: StaticTable) -> None:
    digest = hashlib.sha256(WORDS_FILE.read_bytes() + TABLE_FILE.read_bytes()).hexdigest()
    assert DIGEST_FILE.read_text(encoding="ascii") == f"{digest}\n"
    assert table.id == f"static-minilm@{digest[:12]}"


def test_the_entries_ascend_in_cells_of_one_width_and_each_has_a_row() -> None:
    cells = WORDS_FILE.read_bytes().splitlines(keepends=True)
    assert {len(cell) for cell in cells} == {CELL_BYTES + 1}
    assert cells == sorted({*cells})
    assert TABLE_FILE.stat().st_size == len(cells) * DIMENSION // 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPHeader2", ["parse", "HTTP", "Header", "2"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("Café Straße Ærø", ["Cafe", "Strasse", "Aero"]),
        ("don't 3.11", ["don", "t", "3", "11"]),
        ("日本語 and more", ["and", "more"]),
    ],
    ids=["capitals", "underscores", "accents", "signs", "other scripts"],
)
def test_a_text_is_read_as_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("stop the program", "the process is terminated", "colours of the flowers"),
        ("my physician prescribed pills", "the doctor gave her medicine", "the compiler reports an error"),
        ("where are accounts deleted", "remove a user", "draw a rectangle on the screen"),
    ],
    ids=["stop", "doctor", "delete"],
)
def test_texts_that_say_the_same_in_other_words_are_nearer(
    table: StaticTable, question: str, near: str, far: str
) -> None:
    asked = table.embed_query(question)
    assert asked @ table.embed_query(near) > asked @ table.embed_query(far) + 0.2


def test_a_word_that_the_table_lacks_is_near_a_word_with_the_same_beginning(table: StaticTable) -> None:
    asked = table.embed_query("synchronizer")
    assert asked @ table.embed_query("synchronization") > asked @ table.embed_query("chocolate") + 0.2
