from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import text
from satchel.text import pattern


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("parse", ("pars",)),
        ("parseHTTPRequest", ("=parsehttprequest", "pars", "http", "request")),
        ("max_tokens", ("=max_tokens", "max", "token")),
        ("utf8", ("=utf8", "utf", "8")),
        ("_private", ("=_private", "privat")),
        ("Client", ("client",)),
        ("HTTP", ("http",)),
        ("2024", ("2024",)),
    ],
)
def test_a_compound_yields_its_exact_form_and_its_parts(word: str, terms: tuple[str, ...]) -> None:
    assert text.terms_of(word) == terms


@pytest.mark.parametrize(
    "family",
    [
        ("cache", "caches", "cached", "caching"),
        ("query", "queries"),
        ("stop", "stopped", "stopping"),
        ("cookie", "cookies"),
        ("movie", "movies"),
        ("zombie", "zombies"),
        ("selfie", "selfies"),
        ("hoodie", "hoodies"),
        ("copy", "copies", "copied", "copying"),
        ("class", "classes"),
    ],
)
def test_the_forms_of_a_word_meet_in_one_stem(family: tuple[str, ...]) -> None:
    assert len({text.stem(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("café", ("café", "cafe")),
        ("cafe\u0301", ("café", "cafe")),
        ("straße", ("straße", "strass")),
        ("Łódź", ("łódź", "lodz")),
        ("max_größe", ("=max_größe", "max", "größe", "=max_grosse", "gross")),
        ("получитьИмя", ("=получитьимя", "получ", "им")),
        ("ёлки", ("елк",)),
        ("мой", ("мо",)),
        ("χρήστες", ("χρηστ",)),
        ("SQLжди", ("=sqlжди", "sql", "жди")),
        ("हिन्दी", ("हिन्द",)),
        ("كِتَاب", ("كتاب",)),
        ("\uff21\uff30\uff29", ("api",)),
        ("ｻｰﾋﾞｽ", ("サー", "ービ", "ビス")),
        ("ภาษา", ("ภา", "าษ", "ษา")),
    ],
)
def test_a_word_of_any_script_yields_its_parts_and_is_found_without_accents(word: str, terms: tuple[str, ...]) -> None:
    assert text.terms_of(word) == terms


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("使用useState管理", ["使用", "useState", "管理"]),
        ("第3章parse_config2を読む", ["第", "3", "章", "parse_config2", "を読む"]),
        ("비밀번호useState로", ["비밀번호", "useState", "로"]),
        ("人々・ユーザー", ["人々", "ユーザー"]),
        ("größe, $bösse über", ["größe", "$bösse", "über"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_a_word_ends_where_a_script_without_spaces_begins_or_ends(written: str, words: list[str]) -> None:
    assert text.words(written) == words
    assert text.words(text.scripts_apart(written)) == words


def test_a_name_in_two_scripts_yields_the_terms_of_both() -> None:
    assert text.terms_of("get名前") == ("get", "名前")


@given(st.text(max_size=40))
def test_a_text_without_accents_has_none_left_to_lose(sample: str) -> None:
    bare = text.unaccented(sample)
    assert text.unaccented(bare) == bare


def test_encoded_data_yields_no_terms() -> None:
    assert text.terms_of("A1" * text.MAX_WORD_CHARACTERS) == ()


def test_text_without_spaces_between_words_is_cut_in_pairs() -> None:
    assert text.terms_of("検索結果") == ("検索", "索結", "結果")


def test_counts_add_up_over_words_that_share_a_part() -> None:
    assert text.count_terms(["max_tokens", "tokens"]) == {"=max_tokens": 1, "max": 1, "token": 2}


def test_stop_words_and_single_letters_mean_nothing() -> None:
    assert [word for word in ("The", "x", "7", "parser") if text.is_meaningful(word)] == ["7", "parser"]


@given(st.text(max_size=200))
def test_any_text_has_words_that_occur_in_it_and_terms_in_lower_case(sample: str) -> None:
    for word in text.words(sample):
        assert word in sample
        assert all(term for term in text.terms_of(word))


code_like = st.text(st.sampled_from("ab_B3$ .\n(é検ーи\u0301"), max_size=60) | st.text(max_size=60)


@given(code_like)
def test_the_words_of_all_runs_are_those_of_the_text(sample: str) -> None:
    assert [word for run in text.runs(sample) for word in text.words(run)] == text.words(sample)


def test_an_expression_is_compiled_when_it_is_first_used() -> None:
    impossible = pattern("(")
    with pytest.raises(re.error):
        impossible.search("x")
    upper = pattern("b(c)", re.IGNORECASE)
    match = upper.search("aBCd")
    assert match is not None
    assert (match[1], upper.findall("bc BC"), upper.pattern) == ("C", ["c", "C"], "b(c)")


def test_the_language_of_a_question_is_recognised_by_its_stop_words() -> None:
    german, _ = text.other_language("Wo wird das Passwort geprüft?")
    french, _ = text.other_language("Où est vérifié le mot de passe ?")
    assert "wird" in german
    assert "est" in french
    russian, _ = text.other_language("Где проверяется пароль?")
    assert "где" in russian
    assert "ou" in french, "a question may be typed without accents"
    assert text.other_language("Where do we die in the man page?") == (frozenset(), ())


def test_a_word_has_the_forms_of_its_language() -> None:
    _, endings = text.other_language("Wie lange werden die Rechnungen aufbewahrt?")
    assert {"rechnung", "rechnunges"} <= text.forms("Rechnungen", endings)
    assert text.forms("max_tokens", endings) == text.forms("cache", ()) == set()


def test_the_grammar_of_chinese_japanese_and_korean_is_left_out_of_a_question() -> None:
    assert text.without_particles("用户的密码在哪里检查").split() == ["用户", "密码", "检查"]
    assert text.without_particles("ログはどこに書かれますか").split()[0] == "ログ"
    assert text.without_particles("서비스가 비밀번호를 어디에서 확인합니까").split() == ["서비스", "비밀번호", "확인"]
    assert text.without_particles("where is it") == "where is it"


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("colour", "color"),
        ("Colors", "colours"),
        ("behaviour", "behavior"),
        ("catalogue", "catalog"),
        ("catalog", "catalogue"),
        ("grey", "gray"),
        ("initialise", "initialize"),
        ("serialization", "serialisation"),
        ("normalizing", "normalising"),
        ("size", ""),
        ("noise", ""),
        ("hour", ""),
        ("lamp", ""),
    ],
)
def test_a_word_has_its_other_spelling_of_british_and_american_english(word: str, other: str) -> None:
    assert text.spelling(word) == other
