"""Words: the analysis of a text into search terms, the same for every kind, in the index and in queries.

A word is an identifier (`[letter_$][letter_$0-9]*`) or a run of digits. A compound such as `parseHTTPRequest`,
`max_tokens` or `utf8` yields its complete lower-case form marked as exact (`=max_tokens`) and the stem of each part
(`max`, `token`); a plain word yields its stem. Source of the rules: the retrieval recipe (docs/decisions/0002).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

EXACT_MARK = "="
"""Prefix of the term of a complete compound. No word contains it, so marked and plain never collide."""

MAX_WORD_CHARACTERS = 80
"""Maximum length of a word: longer runs are encoded data and would only fill the vocabulary."""

ANALYSIS_VERSION = "4"
"""Part of the version of an index and of the memory file: change it when `terms_of` gives other terms."""

WORD = re.compile(r"[^\W\d][\w$]*|\$[\w$]+|\d+")
_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"  # an umlaut is a letter of its word
_PARTS = re.compile(rf"[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+|\d+|[^\W\d_{_UPPER}{_LOWER}]+")
_BLANKED = bytes(code if code < 128 and WORD.fullmatch("a" + chr(code)) else 32 for code in range(256))
_memo: dict[str, tuple[str, ...]] = {}


def composed(text: str) -> str:
    """Return a text with each letter and its accents as one character (NFC); macOS gives names of files in parts."""
    if text.isascii():
        return text
    import unicodedata  # here, because few names need it

    return unicodedata.normalize("NFC", text)


def folded(name: str) -> str:
    """Return a name in the form for comparison: composed, case ignored."""
    return composed(name).casefold()


def word_lists(name: str) -> dict[str, list[str]]:
    """Return the words below each `[heading]` of a file in `satchel/words`; lines that begin with `# ` are remarks."""
    heading, lists = "", dict[str, list[str]]()
    for line in (Path(__file__).with_name("words") / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
            lists[heading] = []
        elif line and not line.startswith("# "):
            lists[heading] += line.split()
    return lists


ENGLISH = word_lists("english.txt")
"""Lists of English words, by the heading in their file, which says what each drives."""

STOP_WORDS, GREETINGS, CHATTER = (frozenset(ENGLISH[heading]) for heading in ("stop words", "greetings", "chatter"))


@cache
def _cjk() -> re.Pattern[str]:
    """Chinese, Japanese and Korean characters. Compiled when needed: ranges this long need 3 ms."""
    return re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


@cache
def _snowball() -> Callable[[str], str]:
    """Return the stemmer without its own cache: words are kept here. Loaded when needed (1 ms)."""
    from Stemmer import Stemmer

    stem_word: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem_word


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word by Snowball: `caches` and `cached` meet in `cach`; 1 or 2 letters stay."""
    return _snowball()(word) if len(word) > 2 and word.isalpha() else word


def terms_of(word: str) -> tuple[str, ...]:
    """Return the search terms of one match of `WORD`, the exact form first if there is one."""
    terms = _memo.get(word)
    if terms is None:
        terms = analysed(word)
        if len(_memo) >= 200_000:  # memo limit
            _memo.clear()
        _memo[word] = terms
    return terms


def analysed(word: str) -> tuple[str, ...]:
    """Return `terms_of` without keeping it, for a caller that keeps the terms of all of its words itself."""
    if len(word) > MAX_WORD_CHARACTERS:
        return ()
    if word.isascii() and word.islower() and word.isalpha():
        return (stem(word),)
    if not word.isascii() and _cjk().search(word):
        return tuple(word[i : i + 2] for i in range(max(len(word) - 1, 1)))
    parts = _PARTS.findall(word)
    if len(parts) == 1 and parts[0] == word.strip("_$"):
        plain = stem(parts[0].lower())
        return (plain,) if parts[0] == word else (EXACT_MARK + word.lower(), plain)
    return (EXACT_MARK + word.lower(), *(stem(part.lower()) for part in parts))


def words(text: str) -> list[str]:
    """Return the words of a text in order, as written."""
    return WORD.findall(text)


def runs(text: str) -> list[str]:
    """Return the runs of word characters of a text, which together have its words, in a third of the time."""
    if not text.isascii():
        return WORD.findall(text)
    return text.encode("ascii").translate(_BLANKED).decode("ascii").split()  # bytes are translated far faster


def count_terms(tokens: Iterable[str]) -> dict[str, int]:
    """Return the number of occurrences of each term of these words."""
    counts: dict[str, int] = {}
    memo = _memo
    for word in tokens:
        for term in memo.get(word) or terms_of(word):
            counts[term] = counts.get(term, 0) + 1
    return counts


def is_meaningful(word: str) -> bool:
    """Return whether a query word has a meaning: stop words and single letters do not, a single digit does."""
    if len(word) > 1 or word.isdigit():
        return word.lower() not in STOP_WORDS
    return not word.isascii() and bool(_cjk().match(word))


def asks_nothing(text: str) -> bool:
    """Return whether a question has only stop words and greetings; a name in backquotes or with `()` asks."""
    if len(text) > 200 or "`" in text or "()" in text:  # longest greeting
        return False
    return not any(is_meaningful(word) and word.lower() not in GREETINGS for word in words(text))


@cache
def _other_languages() -> list[tuple[frozenset[str], tuple[str, ...]]]:
    *lists, _ = word_lists("languages.txt").values()
    return [(frozenset(stop), tuple(endings)) for stop, endings in zip(lists[::2], lists[1::2], strict=True)]


@cache
def _particles() -> re.Pattern[str]:
    return re.compile("|".join(word_lists("languages.txt")["particles"]))


def without_particles(question: str) -> str:
    """Return a question with a blank for each word of Chinese and Japanese grammar: what is left are its words."""
    return question if question.isascii() or not _cjk().search(question) else _particles().sub(" ", question)


def other_language(question: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the stop words and endings of the language of a question, both empty for English and unknown ones.

    Recognised by its stop words: at least two, and more than English ones.
    """
    asked = [word.lower() for word in words(question[:400])]  # characters that show the language
    best = max(_other_languages(), key=lambda language: sum(word in language[0] for word in asked))
    english = sum(word in STOP_WORDS for word in asked)
    return best if sum(word in best[0] for word in asked) > max(english, 1) else (frozenset(), ())


def forms(word: str, endings: Iterable[str]) -> set[str]:
    """Return the forms of a word, in lower case, with each of the endings in place of the ending that it has."""
    lower = word.lower() if word.isalpha() else ""
    roots = {lower, *(lower.removesuffix(ending) for ending in endings)}
    return {root + ending for root in roots if len(root) >= 4 for ending in ("", *endings)} - {lower}  # shortest root


def is_compound(word: str) -> bool:
    """Return whether a word is written like code: camelCase, snake_case, or with digits."""
    terms = terms_of(word)
    return bool(terms) and terms[0].startswith(EXACT_MARK)


SHINGLE_CHARACTERS = 5


def shingles(text: str) -> frozenset[str]:
    """Return all runs of 5 characters of a text, white space folded, case ignored."""
    folded = " ".join(text.lower().split())[:4_000]  # longest compared
    return frozenset(folded[i : i + SHINGLE_CHARACTERS] for i in range(max(len(folded) - SHINGLE_CHARACTERS + 1, 1)))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 to 1."""
    common = len(first & second)
    union = len(first) + len(second) - common
    return common / union if union else 1.0


class _Pattern:
    def __init__(self, compiled: Callable[[], re.Pattern[str]]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self._compiled(), name)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression that is compiled when it is first used: a process uses half of those that it imports."""
    return cast("re.Pattern[str]", _Pattern(lambda: re.compile(text, flags)))


def wording(heading: str) -> re.Pattern[str]:
    """Return an expression of `words/wording.txt`, read and compiled when it is first used."""

    def compiled() -> re.Pattern[str]:
        text = (Path(__file__).with_name("words") / "wording.txt").read_text(encoding="utf-8")
        _, below = text.split(f"\n## {heading}\n", 1)
        lines = below.split("\n## ", 1)[0].split("\n")
        return re.compile("".join(line for line in lines if not line.startswith("# ")))

    return cast("re.Pattern[str]", _Pattern(compiled))


PATTERN_MEMORY = 1 << 18
"""Memory limit of a compiled pattern in bytes: enough for a thousand letters, not for `(a{100}){100}`."""

_LITERAL_REPEAT = re.compile(r"(?<!\\)\{(?:,\d+|\d{5,}(?:,\d*)?|\d*,\d{5,})\}")
"""Repeats that RE2 silently reads as plain text: `{,3}`, and counts far beyond its limit of 1,000."""


def linear_pattern(text: str, *, is_case_sensitive: bool) -> Any:
    """Return a compiled expression of RE2, which takes linear time. Raises ValueError with what is wrong with it."""
    import re2  # here, because only conditions and searches with a pattern need it

    if len(text) > 400:
        raise ValueError(f"has {len(text)} characters: at most 400")
    literal = _LITERAL_REPEAT.search(text)
    if literal is not None:
        raise ValueError(f"is not a regular expression: repeat {literal[0]} has no lower bound, or one above 1,000")
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = is_case_sensitive, False, PATTERN_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"is not a regular expression that RE2 accepts: {reason}") from None
