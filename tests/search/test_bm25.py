"""The vectorised scores equal a plain reading of the formula."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import text as text_module
from satchel.search import bm25, weights
from satchel.search.query import QueryTerm
from satchel.search.strength import present_names
from satchel.store.extract import extract
from satchel.store.records import NewDocument
from satchel.store.segments import Lexicon
from satchel.store.sqlite import SqliteStore
from satchel.system import cache as caches
from satchel.types import Kind, Outline, Part, Role

vocabulary = st.sampled_from(["alpha", "beta", "gamma", "delta"])
part_strategy = st.tuples(vocabulary, st.lists(vocabulary, max_size=6))
file_strategy = st.tuples(vocabulary, st.lists(part_strategy, min_size=1, max_size=3))
TERMS = [QueryTerm("alpha", 1.0, 0.5), QueryTerm("beta", 2.5, 0.0), QueryTerm("unknown", 1.0, 1.0)]

Parts = list[tuple[str, list[str]]]


def document(number: int, name: str, parts: Parts) -> NewDocument:
    lines = [" ".join(body) for _, body in parts]
    outline = Outline(
        "", tuple(Part(Role.FUNCTION, title, row, row, signature=title) for row, (title, _) in enumerate(parts, 1))
    )
    text = "\n".join(lines)
    path = f"{name}/{number}"
    terms = text_module.count_terms(text_module.words(path))
    return NewDocument(Kind.CODE, path, text, extract(text, outline), terms)


def expected_chunks(files: list[tuple[str, Parts]], term: QueryTerm) -> list[float]:
    """BM25F of one term on every part, straight from the definition."""
    frequencies, lengths = [], []
    for name, parts in files:
        for title, body in parts:
            weighted = float(Counter(text_module.stem(word) for word in body)[term.term])
            weighted += sum(weights.FIELD_WEIGHTS[1:3]) * (text_module.stem(title) == term.term)
            weighted += weights.FIELD_WEIGHTS[3] * (text_module.stem(name) == term.term)
            frequencies.append(weighted)
            lengths.append(len(body))
    average = max(sum(lengths) / len(lengths), 1.0)
    weight = bm25.idf(len(lengths), sum(value > 0 for value in frequencies))
    return [
        term.weight
        * weight
        * value
        * (weights.K1 + 1)
        / (value + weights.K1 * (1 - weights.B + weights.B * length / average))
        for value, length in zip(frequencies, lengths, strict=True)
    ]


def lexicon_of(folder: Path, files: list[tuple[str, Parts]]) -> Lexicon:
    store = SqliteStore(folder / "index.db")
    with store.write() as writer:
        writer.put([document(number, name, parts) for number, (name, parts) in enumerate(files)])
    return store.lexicon(Kind.CODE)


@given(st.lists(file_strategy, min_size=1, max_size=4))
def test_scores_equal_the_definition(tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, Parts]]) -> None:
    scores = bm25.score(lexicon_of(tmp_path_factory.mktemp("lexicon"), files), TERMS)
    expected = [sum(values) for values in zip(*(expected_chunks(files, term) for term in TERMS[:2]), strict=True)]
    assert scores.chunk.tolist() == pytest.approx(expected)


def test_the_matched_share_is_absolute_and_counts_unknown_words(tmp_path: Path) -> None:
    lexicon = lexicon_of(tmp_path, [("x", [("f", ["alpha", "beta"])]), ("y", [("g", ["gamma"])])])
    full = bm25.score(lexicon, TERMS[:2])
    assert full.chunk_matched.tolist() == pytest.approx([1.0, 0.0])
    partly = bm25.score(lexicon, TERMS)
    assert 0 < partly.chunk_matched[0] < 1
    assert partly.document_matched[0] == pytest.approx(partly.chunk_matched[0])


def test_idf_falls_with_the_number_of_holders_and_is_never_negative() -> None:
    values = [bm25.idf(10, holders) for holders in range(11)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0
    assert math.isclose(values[0], math.log1p(10.5 / 0.5))


def test_a_name_in_the_path_reaches_every_span_of_the_file(tmp_path: Path) -> None:
    lexicon = lexicon_of(tmp_path, [("alpha", [("f", ["gamma"]), ("g", ["delta"])]), ("x", [("h", ["gamma"])])])
    scores = bm25.score(lexicon, TERMS[:1])
    assert (scores.span > 0).tolist() == [True, True, False]
    assert (scores.document > 0).tolist() == [True, False]
    assert scores.name[0] > 0 == scores.name[1]


edit_strategy = st.lists(
    st.tuples(st.integers(0, 3), st.one_of(st.none(), file_strategy), st.booleans()), min_size=1, max_size=5
)


@given(st.lists(file_strategy, min_size=1, max_size=4), edit_strategy)
def test_scores_after_edits_and_merges_equal_those_of_a_store_that_was_just_opened(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[tuple[str, Parts]],
    edits: list[tuple[int, tuple[str, Parts] | None, bool]],
) -> None:
    folder = tmp_path_factory.mktemp("lexicon")
    lexicon_of(folder, files)
    store = SqliteStore(folder / "index.db")
    paths = {number: f"{name}/{number}" for number, (name, _) in enumerate(files)}
    for number, changed, is_merged in edits:
        bm25.score(store.lexicon(Kind.CODE), TERMS)
        with store.write() as writer:
            writer.remove(Kind.CODE, [paths[number]] if number in paths else [])
            if changed is not None:
                writer.put([document(number, *changed)])
                paths[number] = f"{changed[0]}/{number}"
            if is_merged:
                writer.merge(lambda: False)
        other = SqliteStore(folder / "index.db")
        kept, fresh = store.lexicon(Kind.CODE), other.lexicon(Kind.CODE)
        for one, two in zip(bm25.score(kept, TERMS)[:8], bm25.score(fresh, TERMS)[:8], strict=True):
            assert one.tobytes() == two.tobytes()
        idf = bm25.score(kept, TERMS).chunk_occurrences.idf.tolist()
        rarities = [term.weight * value for term, value in zip(TERMS, idf, strict=True)]
        assert [*bm25.rarities(kept, TERMS).values()] == [*bm25.rarities(fresh, TERMS).values()] == rarities
        assert bm25.chunk_scores(kept, TERMS).tobytes() == bm25.chunk_scores(fresh, TERMS).tobytes()
        for (share, units), (fresh_share, fresh_units) in zip(
            bm25.holders(kept, TERMS), bm25.holders(fresh, TERMS), strict=True
        ):
            assert (share, units.tolist()) == (fresh_share, fresh_units.tolist())
            assert kept.live_chunk[units].all()
        words = ["alpha", "beta", "gamma", "delta", "unknown"]
        assert present_names(words, [kept]) == present_names(words, [fresh])
        other.close()
    store.close()


def test_after_an_edit_only_the_words_of_the_new_segment_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[tuple[str, Parts]] = [("x", [("f", ["alpha"])]), ("y", [("g", ["beta"])])]
    lexicon_of(tmp_path, files)
    store, read = SqliteStore(tmp_path / "index.db"), list[tuple[Sequence[str], Sequence[int]]]()
    fetch = store._fetch_postings

    def counted(terms: Sequence[str], segments: Sequence[int]) -> object:
        read.append((terms, segments))
        return fetch(terms, segments)

    monkeypatch.setattr(store, "_fetch_postings", counted)
    names = [term.term for term in TERMS]
    for first, asked in ((1, names), (2, names), (3, [*names, "gamma"])):
        terms = [QueryTerm(name, 1.0, 0.0) for name in asked]
        for _ in range(2):
            lexicon = store.lexicon(Kind.CODE)
            bm25.score(lexicon, terms)
            present_names(asked, [lexicon])
        new = [name for name in asked if name not in names]
        assert sorted(read) == sorted([(names, [first])] * 2 + [(new, [1, 2, 3])] * (2 if new else 0))
        read.clear()
        with store.write() as writer:
            writer.put([document(1, "y", [("g", ["beta", "delta"] * first)])])
    store.close()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=400), st.integers(1, 12))
def test_the_largest_are_those_that_sorting_finds(values: list[int], count: int) -> None:
    column = np.array(values, dtype=np.float64)
    assert bm25.largest(column, count).tolist() == sorted(range(len(values)), key=lambda at: (-values[at], at))[:count]


@pytest.mark.parametrize("kept", [0, 3_000, 1_000_000])
def test_what_is_kept_between_questions_changes_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(caches, "MAX_BYTES", kept)
    files: list[tuple[str, Parts]] = [
        ("alpha", [("beta", ["alpha", "gamma"]), ("f", ["beta"])]),
        ("x", [("alpha", ["delta", "alpha"])]),
    ]
    lexicon = lexicon_of(tmp_path, files)
    fresh = bm25.score(lexicon, TERMS)
    for terms in (TERMS[1:], TERMS[:1], TERMS, [QueryTerm("gamma", 1.0, 0.0), TERMS[1]], TERMS):
        again = bm25.score(lexicon, terms)
    assert again.span.tolist() == fresh.span.tolist()
    assert again.chunk.tolist() == fresh.chunk.tolist()
    assert again.document.tolist() == fresh.document.tolist()
    assert again.name.tolist() == fresh.name.tolist()
