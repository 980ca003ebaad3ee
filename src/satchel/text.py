"""Words: the analysis of a text into search terms, the same for every kind, in the index and in queries.

A word is an identifier (`[letter_$][letter_$0-9]*`) or a run of digits. A compound such as `parseHTTPRequest`,
`max_tokens` or `utf8` yields its complete lower-case form marked as exact (`=max_tokens`) and the stem of each part
(`max`, `token`); a plain word yields its stem. Source of the rules: the retrieval recipe (docs/decisions/0002).

A script without spaces between words, such as Chinese, is a word of its own beside letters (`使用useState`: `使用`,
`useState`) and yields its pairs of characters. A word with accents also yields the terms that it has without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, AnyStr, cast

from msgspec import Struct

EXACT_MARK = "="
"""Prefix of the term of a complete compound. No word contains it, so marked and plain never collide."""

MAX_WORD_CHARACTERS = 80
"""Maximum length of a word: longer runs are encoded data and would only fill the vocabulary."""

ANALYSIS_VERSION = "5"
"""Part of the version of an index and of the memory file: change it when `terms_of` gives other terms."""

_WORD = re.compile(r"[A-Za-z_][\w$]*|\$[\w$]+|\d+", re.ASCII)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BLANKED = bytes(code if code < 128 and _WORD.fullmatch("a" + chr(code)) else 32 for code in range(256))
_BLANKED_UTF8 = _BLANKED[:128] + bytes(range(128, 256))
_memo: dict[str, tuple[str, ...]] = {}


class _Pattern:
    def __init__(self, compiled: Callable[[], re.Pattern[Any]]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self._compiled(), name)
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an expression that is compiled when it is first used: a process uses half of those that it imports."""
    return cast("re.Pattern[AnyStr]", _Pattern(lambda: re.compile(text, flags)))


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

STOP_WORDS, AFTER_NOUNS, GREETINGS, CHATTER = (
    frozenset(ENGLISH[heading]) for heading in ("stop words", "after a noun", "greetings", "chatter")
)


_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3005-\u3007\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Chinese
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"  # Korean
)
"""Letters of scripts that put no spaces between words, or none between a word and its particles (Korean)."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0971-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1-\u0ebc\u0ec8-\u0ece\u0f71-\u0fbc\u102b-\u103e\u1056-\u108f\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"
)
"""Accents, vowel signs and joiners: they belong to the letter before, and `\\w` has only some of them."""


class _Scripts(Struct, frozen=True):
    """Expressions for text that is not ASCII."""

    word: re.Pattern[str]
    run: re.Pattern[str]
    unspaced: re.Pattern[str]
    change: re.Pattern[str]
    """The place between two letters of which one is `unspaced`."""


@cache
def _scripts() -> _Scripts:
    """Compiled when needed: ranges this long need some milliseconds."""
    spaced = rf"(?:[^\W{_UNSPACED}]|[${_MARKS}])"
    return _Scripts(
        re.compile(rf"[{_UNSPACED}]+|[^\W\d{_UNSPACED}]{spaced}*|\${spaced}+|\d+"),
        re.compile(rf"[\w${_MARKS}]+"),
        re.compile(rf"[{_UNSPACED}]"),
        re.compile(rf"(?<=[{_UNSPACED}])(?=[^\W{_UNSPACED}])|(?<=[^\W{_UNSPACED}])(?=[{_UNSPACED}])"),
    )


def scripts_apart(text: str) -> str:
    """Return a text with a blank where letters without spaces between words meet others: `使用 useState`."""
    return text if text.isascii() else _scripts().change.sub(" ", text)


_ACCENTS = pattern("(?<![ИиУу])\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u200c\u200d]")
"""What a word may be written without; the breve of `й` makes another letter."""

_BARE = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d",
     "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ħ": "h", "Ħ": "H", "\u0131": "i", "\u03c2": "\u03c3"}
)  # fmt: skip
"""Letters that Unicode does not split into a plain letter and an accent; the last are the `i` of Turkish and the `s`
that ends a Greek word."""


def unaccented(text: str) -> str:
    """Return a text without accents, ligatures and wide letters: `Größe` is `Grosse`. Case is kept."""
    if text.isascii():
        return text
    import unicodedata

    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).translate(_BARE)


_STEMMERS = {
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "russian": "\u0400-\u052f",
    "armenian": "\u0530-\u058f",
    "arabic": "\u0600-\u06ff",
    "hindi": "\u0900-\u097f",
    "tamil": "\u0b80-\u0bff",
}
"""Stemmer -> the letters of its script. It serves the other languages of the script, too: no better one is known."""


@cache
def _stemmer_of_script() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>[{letters}])" for name, letters in _STEMMERS.items()))


def _script_of(word: str) -> str:
    """Return the stemmer of the script of a word, empty if it has none of its own."""
    match = None if word.isascii() else _stemmer_of_script().match(word)
    return (match and match.lastgroup) or ""


@cache
def _snowball(language: str) -> Callable[[str], str]:
    """Return a stemmer without its own cache: words are kept here. Loaded when needed (1 ms)."""
    from Stemmer import Stemmer

    stem_word: Callable[[str], str] = Stemmer(language, 0).stemWord
    return stem_word


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word by Snowball: `caches` and `cached` meet in `cach`; 1 or 2 letters stay.

    The stemmer is that of English, for another script than the Latin one that of its most spoken language.
    """
    if len(word) <= 2:
        return word
    if not word.isascii() and (script := _script_of(word)):
        return _snowball(script)(word)
    return _snowball("english")(word) if word.isalpha() else word


def terms_of(word: str) -> tuple[str, ...]:
    """Return the search terms of one of the `words`, the exact form first, those without accents last."""
    terms = _memo.get(word)
    if terms is None:
        terms = analysed(word)
        if len(_memo) >= 50_000:  # memo limit, 10 MB
            _memo.clear()
        _memo[word] = terms
    return terms


def term_of(word: str) -> str:
    """Return the search term of a word in its exact form; the word itself if no index has it, as it is too long."""
    return next(iter(terms_of(word)), word)


def forget() -> None:
    """Forget the terms of all words; they are found again when needed."""
    _memo.clear()
    stem.cache_clear()


def analysed(word: str) -> tuple[str, ...]:
    """Return `terms_of` without keeping it, for a caller that keeps the terms of all of its words itself."""
    if word.isascii():
        return _spaced_terms(word)
    terms = written_terms(word)
    bare = unaccented(word)
    return terms if bare == word else (*terms, *(term for term in _terms_in(bare) if term not in terms))


def written_terms(word: str) -> tuple[str, ...]:
    """Return the terms of a word with its accents: a text is as long as these, in whatever language."""
    if word.isascii():
        return _spaced_terms(word)
    import unicodedata

    return _terms_in(unicodedata.normalize("NFKC", word))


def _terms_in(word: str) -> tuple[str, ...]:
    return tuple(term for piece in words(word) for term in _piece_terms(piece))


def _piece_terms(word: str) -> tuple[str, ...]:
    if not is_unspaced(word):
        return _spaced_terms(word)
    return tuple(word[i : i + 2] for i in range(max(len(word) - 1, 1)))


def _spaced_terms(word: str) -> tuple[str, ...]:
    if len(word) > MAX_WORD_CHARACTERS:
        return ()
    if word.isascii() and word.islower() and word.isalpha():
        return (stem(word),)
    parts = _PARTS.findall(word) if word.isascii() else _parts(word)
    if len(parts) == 1 and parts[0] == word.strip("_$"):
        plain = stem(parts[0].lower())
        return (plain,) if parts[0] == word else (EXACT_MARK + word.lower(), plain)
    return (EXACT_MARK + word.lower(), *map(stem, map(str.lower, parts)))


_SHAPES = pattern(r"A[Am]*(?!a)|A?m*a[am]*|B[Bm]*(?!b)|B?m*b[bm]*|x[xm]*|0+")
"""`_PARTS` for any script, where a letter is a mark for its case and for whether it is Latin."""


def _parts(word: str) -> list[str]:
    shape = "".join(map(_shape, word))
    return [word[match.start() : match.end()] for match in _SHAPES.finditer(shape)]


def _shape(letter: str) -> str:
    if letter.isdecimal():
        return "0"
    is_latin = letter < "\u02b0" or "\u1e00" <= letter <= "\u1eff"
    if letter.isupper():
        return "A" if is_latin else "B"
    if letter.islower():
        return "a" if is_latin else "b"
    if letter.isalnum():
        return "x"
    return letter if letter in "_$" else "m"


def words(text: str) -> list[str]:
    """Return the words of a text in order, as written; one also ends where a script without spaces begins or ends."""
    return _WORD.findall(text) if text.isascii() else _scripts().word.findall(text)


def runs(text: str) -> list[str]:
    """Return the runs of word characters of a text, which together have its words, in a third of the time."""
    if not text.isascii():
        return _scripts().run.findall(text)
    return text.encode("ascii").translate(_BLANKED).decode("ascii").split()  # bytes are translated far faster


PIECE_END = b"\xff"
"""What `runs_of` has between two pieces: no text in UTF-8 has it."""


def runs_of(pieces: Iterable[str]) -> list[bytes]:
    """Return the `runs` of some pieces in UTF-8, with `PIECE_END` between two: far faster for many short pieces."""
    encoded = [piece.encode() if piece.isascii() else " ".join(runs(piece)).encode() for piece in pieces]
    return b" \xff ".join(encoded).translate(_BLANKED_UTF8).split()


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
    return is_unspaced(word)


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script without spaces between words: its terms are pairs of characters."""
    return not word.isascii() and _scripts().unspaced.match(word) is not None


def asks_nothing(text: str) -> bool:
    """Return whether a question has only stop words and greetings; a name in backquotes or with `()` asks."""
    if len(text) > 200 or "`" in text or "()" in text:  # longest greeting
        return False
    return not any(is_meaningful(word) and word.lower() not in GREETINGS for word in words(text))


@cache
def _other_languages() -> list[tuple[frozenset[str], tuple[str, ...]]]:
    *lists, _, _ = word_lists("languages.txt").values()
    return [
        (frozenset({*stop, *map(unaccented, stop)}), tuple(endings))
        for stop, endings in zip(lists[::2], lists[1::2], strict=True)
    ]


@cache
def _particles() -> re.Pattern[str]:
    lists = word_lists("languages.txt")
    # At the end of a Korean word of three letters or more, so that no short word loses its own last letter.
    return re.compile(
        "|".join([*lists["particles"], rf"(?<=[가-힣]{{2}})(?:{'|'.join(lists['korean endings'])})(?![가-힣])"])
    )


def without_particles(question: str) -> str:
    """Return a question with a blank for each word of Chinese, Japanese and Korean grammar: its words are left."""
    is_spaced = question.isascii() or not _scripts().unspaced.search(question)
    return question if is_spaced else _particles().sub(" ", question)


def other_language(question: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the stop words and endings of the language of a question, both empty for English and unknown ones.

    Recognised by its stop words: at least two, or one in another script than the Latin one, and more than English ones.
    """
    return _other_language(question[:400])  # characters that show the language


@lru_cache(maxsize=16)  # a question is looked at by several functions
def _other_language(question: str) -> tuple[frozenset[str], tuple[str, ...]]:
    asked = [word.lower() for word in words(question)]
    best = max(_other_languages(), key=lambda language: sum(word in language[0] for word in asked))
    english = sum(word in STOP_WORDS for word in asked)
    shared = [word for word in asked if word in best[0]]
    is_certain = len(shared) > 1 or any(_script_of(word) for word in shared)
    return best if is_certain and len(shared) > english else (frozenset(), ())


def forms(word: str, endings: Iterable[str]) -> set[str]:
    """Return the forms of a word, in lower case, with each of the endings in place of the ending that it has."""
    lower = word.lower() if word.isalpha() else ""
    roots = {lower, *(lower.removesuffix(ending) for ending in endings)}
    return {root + ending for root in roots if len(root) >= 4 for ending in ("", *endings)} - {lower}  # shortest root


_SPELLINGS = dict(pair.split("=") for pair in ENGLISH["spellings"])
_SPELLINGS |= {american: british for british, american in _SPELLINGS.items()}
_SPELLED = re.compile("|".join(sorted(_SPELLINGS, key=len, reverse=True)))
_VERB = re.compile(r"(?<=[a-z]{3})i([sz])(?=(?:e[ds]?|ing|ers?|ations?)$)")
"""The ending of a verb, or of its noun, that is written with an S in British English: `initialise`."""


def spelling(word: str) -> str:
    """Return the other spelling of a word in British or American English, in lower case; empty for none."""
    lower = word.lower()
    start = _SPELLED.match(lower)
    other = _SPELLINGS[start[0]] + lower[start.end() :] if start is not None else lower
    other = _VERB.sub(lambda verb: "iz" if verb[1] == "s" else "is", other) if start is None else other
    return other if other != lower else ""


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


def wording(heading: str) -> re.Pattern[str]:
    """Return an expression of `words/wording.txt`, read and compiled when it is first used."""
    return cast("re.Pattern[str]", _Pattern(lambda: re.compile(_wordings()[heading])))


@cache
def _wordings() -> dict[str, str]:
    text = (Path(__file__).with_name("words") / "wording.txt").read_text(encoding="utf-8")
    parts = (part.split("\n") for part in text.split("\n## ")[1:])
    return {heading: "".join(line for line in lines if not line.startswith("# ")) for heading, *lines in parts}


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
