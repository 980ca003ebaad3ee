"""Which passage of a long text is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel import text as words
from satchel.answer.omissions import best_line
from satchel.answer.truncation import ELLIPSIS, LONGEST_UNIT, best_run, excerpt, matched_terms, matches, units_of


def test_the_units_of_a_text_are_its_lines_and_the_sentences_of_a_long_line() -> None:
    line = "One sentence here. " * 20
    text = f"short\n{line}\n"
    units = units_of(text)
    assert "".join(units) == text
    assert units[0] == "short\n"
    assert units[1] == "One sentence here. "
    endless = "x" * 1_000
    assert [len(unit) for unit in units_of(endless)] == [LONGEST_UNIT] * 4 + [1_000 % LONGEST_UNIT]
    assert max(len(unit) for unit in units_of("word " * 200)) <= LONGEST_UNIT
    wide = "\u6587\u5b57\u3002" * 200
    assert "".join(units_of(wide)) == wide
    assert units_of(wide)[0] == "\u6587\u5b57\u3002"


def test_the_best_run_grows_to_the_better_side_while_there_is_room() -> None:
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 1) == (2, 2)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 2) == (2, 3)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 3) == (1, 3)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 9, 1], 3) == (0, 2)
    assert best_run([2, 0], [9, 1], 3) is None
    assert best_run([], [], 3) is None


TERMS = frozenset({"pool", "größe", "grosse", "数据", "exhaust", "7"})


@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.lists(
                st.sampled_from(["pool", "pools", "Pool7", "$pool", "x_pool", "Größe", "大数据", "\ufffd", "\n", ""])
            ).map(" ".join),
        )
    )
)
def test_each_unit_has_the_terms_of_its_own_words_whatever_is_beside_it(units: list[str]) -> None:
    expected = [
        TERMS.intersection(term for word in words.words(unit) for term in words.terms_of(word)) for unit in units
    ]
    assert matched_terms(units, TERMS) == expected


@given(
    st.lists(st.sampled_from(["pool", "# pool", "pool of 7", "# pool of 7", "", "x", "# x", "import pool"]), min_size=1)
)
def test_the_best_line_matches_most_and_a_remark_one_word_less(lines: list[str]) -> None:
    remarks = [line[:1] == "#" or line[:6] == "import" or not line for line in lines]
    rated = [(count - remark, not remark) for count, remark in zip(matches(lines, TERMS), remarks, strict=True)]
    assert best_line(lines, TERMS) == rated.index(max(rated))


def test_without_a_question_a_passage_is_the_beginning() -> None:
    assert matches(["a pool", "b"], frozenset()) == [0, 0]
    text = "\n".join(f"line {number}" for number in range(100))
    assert excerpt(text, frozenset(), 30).startswith("line 0\n")
    assert excerpt(text, frozenset(), 30).endswith(ELLIPSIS)


def test_a_paragraph_on_one_line_is_cut_at_sentences_around_what_was_asked() -> None:
    text = " ".join(f"Sentence {n} is about {'the exhausted pool' if n == 50 else 'weather'}." for n in range(100))
    passage = excerpt(text, frozenset({"pool", "exhaust"}), 200)
    assert "Sentence 50 is about the exhausted pool." in passage
    assert passage.startswith(f"{ELLIPSIS} Sentence ")
    assert len(passage) <= 204
    assert excerpt("x" * 500, frozenset(), 10) == ""
    assert excerpt("short", frozenset(), 10) == "short"
