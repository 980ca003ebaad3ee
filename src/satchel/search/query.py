"""The analysis of a question: its zones, its weighted terms, and the names, paths and stack frames that it mentions.

An issue text is mostly noise for a search: templates, logs, environment listings. It is split into zones (title,
prose, code, trace), and a term is weighted by its zones. Source of the rules and weights: the retrieval recipe
(docs/decisions/0002).

The title counts most. Lines that hosts add to the output of a command (`Exit code 1`), shell prompts and the first
lines of a log are not titles; the error is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from enum import StrEnum
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from satchel import text as words
from satchel.search import weights
from satchel.search.periods import period_in, without_period
from satchel.search.trace import NO_TRACE, Trace, read_trace, without_mentions
from satchel.system.cache import Cache
from satchel.text import pattern, wording

_WRAPPER_WORDS, _ENDED = (frozenset(words.ENGLISH[heading]) for heading in ("end of a command", "ended"))
_WRAPPER = pattern(
    r"error: (?:test failed|could not compile|aborting due|process didn't exit|recipe )|g?make(?:\[\d+\])?: \*\*\*"
    r"|npm (?:err!|error)(?:\s|$)|error command failed|elifecycle",
    re.IGNORECASE,
)
"""Messages of tools that ran the failing one."""

_SHELL_PROMPT = pattern(
    r"\s*(?:(?:\(\S{1,40}\) )?[$%\u276f\u279c>]|\S{0,40}[\w.-]{1,40}@[\w.-]{1,60}[:~ ]\S{0,200} ?[$%\u276f\u279c>#]"
    r"|PS [A-Z]:[^>]{0,200}>) \S"
)
_LOG = wording("line of a log")
_WORD = pattern(r"[A-Za-z]+")


def without_wrappers(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines without those that only say that a command failed; all of them if no other has text."""
    kept = [line for line in lines if not is_wrapper(line)]
    return kept if any(map(str.strip, kept)) else lines


def is_wrapper(line: str) -> bool:
    """Return whether a line only reports a failed command: `Exit code 1`, `Error: Command failed with exit code 1:`."""
    text = line.strip()
    if not text or len(text) > 120:  # most characters of a line that only reports the end of a command
        return False
    if _WRAPPER.match(text):
        return True
    used = {word.lower() for word in _WORD.findall(text)}
    return used <= _WRAPPER_WORDS and not used.isdisjoint(_ENDED) and any(map(str.isdigit, text))


def is_title(line: str, error: str) -> bool:
    """Return whether a line, the first of a question that reports `error` (empty for none), may be its title."""
    return not _SHELL_PROMPT.match(line) and not (error and _LOG.match(line))


LONGEST_RUN = 255
"""Most characters without a space that are matched together. No file name is longer, and patterns for names and paths
try every position of a run: ten thousand characters of base64 cost three seconds."""


class Zone(StrEnum):
    """The zone of a line in a question, or the likely names beside it."""

    TITLE = "title"
    PROSE = "prose"
    CODE = "code"
    TRACE = "trace"
    NAMES = "names"


SENTENCES, _PASTED = frozenset({Zone.TITLE, Zone.PROSE}), frozenset({Zone.CODE, Zone.TRACE})


class QueryTerm(Struct, frozen=True):
    """A search term and its weight over all zones.

    `title_weight` is its weight in the title alone (0 if it is not there). A `guessed` term is only among the likely
    names, or a name in camel case as one word: it ranks, and does not count as a word of the question. A guessed
    `is_form`, another form of a word of the question, counts where the index has it.
    """

    term: str
    weight: float
    title_weight: float
    guessed: bool = False
    is_form: bool = False


class Mention(Struct, frozen=True):
    """A name or path as written in the question. `form` is a key of `weights.FORM_WEIGHTS`, or `path`."""

    text: str
    form: str
    zone: Zone
    qualifier: str = ""


class Query(Struct, frozen=True):
    """A question, analysed. `terms` is empty for a question of stop words only."""

    text: str
    terms: tuple[QueryTerm, ...]
    symbols: tuple[Mention, ...] = ()
    paths: tuple[Mention, ...] = ()
    trace: Trace = NO_TRACE
    asks_for_tests: bool = False
    asks_why: bool = False
    zones: tuple[tuple[Zone, str], ...] = ()
    is_broad: bool = False
    """Whether it asks for all about its subject, as in "lessons about encoding"; its other words do not count."""

    only_places: bool = False
    """Whether it is nothing but places of lines: `src/a.py:12`, "what does src/a.py:12 do"."""

    commits: tuple[str, ...] = ()
    """Hashes of the commits that it names, the nearest first."""


REASON_WORDS = 40
"""Most words of a question for a reason: a longer text is an issue, in which a "why" asks something else."""

_ASKS_WHY = wording("asks why")
_REASONS = tuple(map(words.stem, ("because", "hack", "note", "reason", "why", "workaround")))
"""Terms of lines that give a reason."""

_IDIOMS = [(wording(f"asks for {subject}"), names) for subject, names in words.word_lists("idioms.txt").items()]
"""How a question asks for a subject, and the names that code has for it."""

_RUN = pattern(rf"(\S{{{LONGEST_RUN}}})(?=\S)")
_COMMENT = pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CHECK_BOX = pattern(r"^\s*[-*+]\s*\[[ xX]?\]")
_HEADING = pattern(r"^\s{0,3}(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")
_ENVIRONMENT = pattern(
    r"^\s*[-*+]?\s*(?:\*\*)?(?:[\w.]+ )?(?:os|version|browser|platform|operating system|time ?zone|environment|device)"
    r"(?: version)?(?:\*\*)?\s*[:=].{0,80}$",
    re.IGNORECASE,
)
_IMAGE = pattern(r"!\[[^\]]{0,500}\]\([^()]*\)|<img\b[^<>]*>", re.IGNORECASE)
_URL = pattern(r"(?:https?|ftp)://[^\s)>\]]+")
_SOURCE_LINK = pattern(r"/(?:blob|blame|tree|src|raw|edit)/[^/\s]+/([^\s#?)]*[^\s#?).,;:])")
_COLOUR = pattern(r"(?:\x1b|\\(?:x1b|e|033))\[[\d;]*[A-Za-z]|\[\d{1,3}(?:;\d{1,3})*m(?!\])")
"""A colour of a terminal, written out or as a text has it without its control character."""

_FENCE = pattern(r"^\s*(?:```|~~~)")
_PROMPT = pattern(r"^\s*(?:>>>|\.\.\. |\$ |In \[\d+\])")
_TRACE_START = pattern(r"Traceback \(most recent|^\s*(?:thread '.*' panicked|panic:|goroutine \d+ \[)")
_ERROR_LINE = pattern(r"^[\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b")
_TRACE_LINE = pattern(r'^\s*(?:File "|at\s+\S+.*[(:]|\d+:\s+0x|#\d+\s)|^\s*[\w./\\-]+\.\w{1,5}:\d+')
_INLINE_CODE = pattern(r"`([^`\n]{1,200})`")
_PATH = pattern(r"(?:[\w@+.-]+[/\\])+[\w@+.-]+|\b[\w+-]+(?:\.[\w+-]+)*\.[A-Za-z]{1,5}\b")
PLACE = pattern(r"(?:[A-Za-z]:)?(?:[\w@+.-]*[/\\])+[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,9}\b")
"""A path of a file with a folder: whole, it is a place of the project or of none; its words tell nothing."""

_FOLDERS = (
    pattern(r"\b(?:folder|directory)\s[`'\"]?([\w@+./-]*\w)", re.IGNORECASE),
    pattern(r"(?<![\w@+./-])([\w@+./-]*\w)/?[`'\"]?\s(?:folder|directory)\b", re.IGNORECASE),
    pattern(r"(?<![\w@+./-])((?:[\w@+.-]+/)+)(?=[\s,.;:?!`'\")]|$)"),
)
"""Folders that are called so, or end with a slash; `a/b` is among the paths."""

_IDENTIFIER = r"(?:[^\W\d]|\$)[\w$]*"
_QUALIFIED = rf"{_IDENTIFIER}(?:(?:\.|::|#|->){_IDENTIFIER})"
_DOTTED = pattern(rf"{_QUALIFIED}+")
_NAME = pattern(rf"({_IDENTIFIER})(\s?\()?")
_SEPARATORS = pattern(r"\.|::|#|->")
_NAME_ALONE = pattern(rf"`({_QUALIFIED}*)(?:\([^`\n]*\))?`")
"""Inline code that is one name, maybe with its owner and a call: not `if x in y`."""

_CALLED_SO = pattern(rf"\b(?:function|method|class|variable)\s+({_IDENTIFIER})", re.IGNORECASE)
NAME_END = pattern(
    r"(?:\(\))?(?:\s*[.,;:?!)]|\s*$|\s+(?:in|of|from|on|for|is|does|do|and|or|return|defined|declared|implemented)\b)"
)
"""What follows a small word after a noun of code that is a name: `the method get of Cache`, not `the class loading`."""

_OF_CODE = pattern(
    r"(?<=\bfunction )\w+|(?<=\bmethod )\w+|(?<=\bclass )\w+|(?<=\bvariable )\w+"
    r"|\w+(?=(?:\.|::|#|->)\w| (?:class|object|function|constructor|instance|interface|module|package)\b)",
    re.IGNORECASE,
)
"""A word beside a noun of code, or an owner: `the Flask class`, `Plug.Session`."""

_PLURAL = pattern(r"\(e?s\)")
_TEST_REQUEST = pattern(
    r"\b(?:add|write|fix|update|improve|find|show|which|what|where|missing|flaky|our|the)\b[^.\n]{0,30}\btests?\b",
    re.IGNORECASE,
)


_FILLER = (
    r"(?:\s+(?:(?:of|that|what|was|we|i|you|wir|ich|know|known|is|have|learned|tried|wissen|weiß|remembered)|"
    r"experiences?|lessons?|memories|facts))"
)
_ABOUT = r"\s+(?:about|on|of|with|from|regarding|concerning|über|zu|mit|aus)\s+"
_BROAD = pattern(
    r"^(?:please |tell me |show me |list |give me |summari[sz]e |the |an? )*(?:"
    rf"(?:everything|anything|lessons?|experiences?|memories|facts|timeline|alles|lehren|erfahrungen){_FILLER}*{_ABOUT}|"
    rf"(?:all|summary|overview){_FILLER}+{_ABOUT}|"
    rf"what (?:do|did|have|has|is) (?:i |we |you )?(?:know|learn|learned|known|remembered|try|tried)(?:{_ABOUT}| to )|"
    r"was (?:wissen|weiß|haben) (?:wir|ich) (?:gelernt )?über )(?P<subject>.+?)(?: wissen| gelernt)?[?.!]*$",
    re.IGNORECASE,
)
_HAPPENED = pattern(
    r"^(?:please |tell me )*(?:what (?:has |did we |have we |did i )?(?:happen(?:ed)?|learn(?:ed)?|decided?|tried|try)|"
    r"was (?:ist|war))\s+(?P<subject>.+?)(?: passiert| geschehen)?[?.!]*$",
    re.IGNORECASE,
)
"""A question about a period, if its subject is nothing else."""


_RECIPE = pattern(
    r"^\s*(?:how|where|what)\s+(?:(?:do|can|could|should|must|would)\s+(?:i|we|you|one)\s+|to\s+)"
    r"(?:(?:have|need)\s+to\s+(?:do\s+to\s+)?)?"
    r"(?:add|write|create|implement|support|register|introduce|define|plug\s+in)\s+"
    r"(?:(?:an?|the|one|another|my|our|own|more|new|custom|second)\s+)*",
    re.IGNORECASE,
)
"""The beginning of a question how to add one more of a kind: its words are those of any change. Without them .64 of the
deciding lines of seven questions in seven repositories are reached, with them .60."""

_ADJECTIVES = pattern(r"(?:(?:kind|type|sort)s? of (?:an? )?|(?:built[- ]?in|default) )+", re.IGNORECASE)
_SUBJECT_END = pattern(
    r"[^\w\s-]|\b(?:to|for|so|that|which|in|of|with|like|from|next|by|written|on|into|say|when|without|than|as|is|are)\b",
    re.IGNORECASE,
)


def asks_for_a_recipe(question: str) -> bool:
    """Return whether a question is how to add one more of a kind: then a guide tells most."""
    return _RECIPE.match(question) is not None


def recipe_nouns(question: str) -> list[str]:
    """Return the terms of the kind of which a question adds one more, the last word first; none for other questions.

    "how do I add a command line flag to rg": `flag`, `line`, `command`. Each is followed by what may be short for it,
    of `authentication` down to `auth`.
    """
    match = _RECIPE.match(question)
    subject = _SUBJECT_END.split(_ADJECTIVES.sub("", question[match.end() :], count=1), maxsplit=1)[0] if match else ""
    nouns = [word for word in reversed(words.words(subject)) if words.is_meaningful(word)]
    return [*dict.fromkeys(term for word in nouns for term in (words.terms_of(word)[-1], *_short_forms(word)))]


def _short_forms(word: str) -> list[str]:
    longest = int(weights.SHORT_FORM_SHARE * len(word))
    return [word[:length] for length in range(longest, weights.SHORT_FORM_LETTERS - 1, -1)]


def subject_of(question: str) -> str:
    """Return what a broad question is about, empty for any other question."""
    line = " ".join(question[:400].split())
    match = _BROAD.match(line) if len(line) <= 200 else None  # characters of a question that only names a theme
    if match is not None:
        return match["subject"]
    happened = _HAPPENED.match(line) if len(line) <= 200 else None
    period = period_in(happened["subject"], 0.0) if happened is not None else None
    return happened["subject"] if happened is not None and period is not None and not period.subject else ""


_Asked = tuple[str, tuple[float, ...]]
"""A question, and the weights that its analysis depends on."""

# A question is asked again by other tools.
_analysed: Cache[_Asked, Query] = Cache(lambda query: 20 * len(query.text) + 2_000)


def analyse(text: str) -> Query:
    """Split a question into zones, weigh its terms, and collect its mentions. A broad one counts by its subject."""
    fitted = (
        weights.PASTED_LINES,
        weights.REASON_WEIGHT,
        weights.IDIOM_WEIGHT,
        weights.SHORT_TERM_FACTOR,
        *weights.ZONE_WEIGHTS.values(),
        *weights.FORM_WEIGHTS.values(),
    )
    asked = text, fitted
    return _analysed.through([asked], lambda _: {asked: _analyse(text)})[asked]


def _analyse(text: str) -> Query:
    # A longer question is cut: the important part is at its start, and a pasted log must not cost seconds.
    text = _COLOUR.sub("", words.composed(text[:60_000]))
    subject = subject_of(text)
    lines = without_wrappers(
        _RUN.sub(r"\1 ", _COMMENT.sub(" ", without_period(subject) or _RECIPE.sub("", text))).split("\n")
    )
    if all(_CHECK_BOX.match(line) for line in lines if line.strip()):  # tasks alone, not the boxes of a template
        lines = [_CHECK_BOX.sub("", line).strip() for line in lines]
    trace = read_trace(lines)
    zones = [] if words.asks_nothing(text) else list(_zones(lines, trace.error))
    symbols: dict[tuple[str, str], Mention] = {}
    of_form = weights.FORM_WEIGHTS
    linked = dict.fromkeys(match[1] for match in _SOURCE_LINK.finditer(text))
    paths: dict[str, Mention] = {path: Mention(path, "path", Zone.PROSE) for path in linked}
    for zone, line in zones:
        for written in dict.fromkeys((line, words.scripts_apart(line))):
            for mention in _symbols(written, zone):
                key = (mention.text, mention.qualifier)
                if key not in symbols or of_form[mention.form] > of_form[symbols[key].form]:
                    symbols[key] = mention
            for match in _PATH.finditer(written):
                path = match[0].replace("\\", "/")
                paths.setdefault(path, Mention(path, "path", zone))
            for path in _folders(written) if zone in SENTENCES else ():
                paths[path] = Mention(path, "folder", zone)
    title = next((line for zone, line in zones if zone is Zone.TITLE), "")
    asks_why = bool(_ASKS_WHY.search(title)) and len(text.split()) <= REASON_WORDS
    return Query(
        text=text,
        terms=(*_terms(zones), *(_reason_terms() if asks_why else ()), *_idiom_terms(title)),
        symbols=tuple(symbols.values()),
        paths=tuple(paths.values()),
        trace=trace,
        asks_for_tests=bool(_TEST_REQUEST.search(title)),
        asks_why=asks_why,
        zones=tuple(zones),
        is_broad=bool(subject),
        only_places=_is_of_lines(trace) and _says_nothing(without_mentions(text)),
    )


_SAID_OF_PLACES = frozenset(words.ENGLISH["said of places"])


def _is_of_lines(trace: Trace) -> bool:
    """Return whether a text names lines, and reports no error and no function."""
    return bool(trace.places) and not trace.errors and not any(frame.function for frame in trace.places)


def _says_nothing(text: str) -> bool:
    """Return whether a text without its places has no content word besides those said of places."""
    content_words = (word.lower() for word in words.words(text) if words.is_meaningful(word))
    return _SAID_OF_PLACES.issuperset(word for word in content_words if not word.isdigit())


def _folders(line: str) -> Iterator[str]:
    for form in _FOLDERS:
        yield from (match[1].strip("/") for match in form.finditer(line))


def _zones(lines: Sequence[str], error: str) -> Iterator[tuple[Zone, str]]:
    """Yield each line with its zone. The title of a text that begins with a log is its error."""
    fenced = traced = titled = False
    for line in lines:
        if _FENCE.match(line):
            fenced, traced = not fenced, False
            continue
        if not line.strip() or _CHECK_BOX.match(line):
            continue
        line = _URL.sub(" " if titled else _linked, _IMAGE.sub(" ", line))
        if not titled and is_title(line, error):
            titled = True
            yield Zone.TITLE, line.lstrip("# ")
            continue
        if not titled and error:
            titled = True
            yield Zone.TITLE, error
        if not fenced and (_HEADING.match(line) or _ENVIRONMENT.match(line)):
            continue
        traced = traced or bool(_TRACE_START.search(line))
        if traced:
            yield Zone.TRACE, line
            traced = not _ERROR_LINE.match(line)
        elif _TRACE_LINE.match(line):
            yield Zone.TRACE, line
        elif fenced or _PROMPT.match(line) or line.startswith(("    ", "\t")):
            yield Zone.CODE, line
        else:
            yield Zone.PROSE, line


def _linked(link: re.Match[str]) -> str:
    """Return the path in a link to a file of a forge, a blank for any other link."""
    path = _SOURCE_LINK.search(link[0])
    return path[1] if path is not None else " "


def everyday_names(query: Query) -> list[str]:
    """Return the stop words and single letters that stand where only a name does: `get()`, `Cache.get`, "class Any"."""
    named = (mention.text for mention in query.symbols if mention.zone in SENTENCES)
    return [name for name in dict.fromkeys(named) if not words.is_meaningful(name)]


def with_everyday_names(query: Query, defined: Container[str]) -> Query:
    """Return the question with terms for those of its `everyday_names` that are `defined`."""
    zones = {name: [symbol.zone for symbol in query.symbols if symbol.text == name] for name in everyday_names(query)}
    known = {term.term for term in query.terms}
    added = {
        term: Zone.TITLE if Zone.TITLE in zones_of_term else Zone.PROSE
        for name, zones_of_term in zones.items()
        if name in defined
        for term in words.terms_of(name)
        if term not in known
    }
    title = math.log2(1 + weights.ZONE_WEIGHTS[Zone.TITLE])
    terms = (
        QueryTerm(term, title, title)
        if zone is Zone.TITLE
        else QueryTerm(term, math.log2(1 + weights.ZONE_WEIGHTS[zone]), 0.0)
        for term, zone in added.items()
    )
    return replace(query, terms=(*query.terms, *terms)) if added else query


_PROSE_FORMS = frozenset({"plain", "capitalised"})


def without_words(query: Query, names: Container[str]) -> Query:
    """Return the question without these words (in lower case), except those that are written as code has them.

    A class that is called so is still one of the names.
    """
    named = {symbol.text.lower() for symbol in query.symbols if symbol.text.lower() in names}
    named -= {symbol.text.lower() for symbol in query.symbols if symbol.form not in _PROSE_FORMS}
    named -= {match[0].lower() for _, line in query.zones for match in _OF_CODE.finditer(line)}
    others = {word for _, line in query.zones for word in words.words(line) if word.lower() not in named}
    kept = {term for word in others for term in words.terms_of(word)}
    stems = {words.stem(name) for name in named} - kept
    return replace(
        query,
        terms=tuple(term for term in query.terms if term.term not in stems),
        symbols=tuple(
            symbol for symbol in query.symbols if symbol.form == "capitalised" or symbol.text.lower() not in named
        ),
    )


def with_names(query: Query, names: Sequence[str]) -> Query:
    """Return the question with names that its answer probably uses: they are signals for the ranking, never filters.

    They weigh less beside a question that names things itself, and do not count as words of the question.
    """
    names_things = bool(query.trace.frames) or any(mention.form in DISTINCTIVE_FORMS for mention in query.symbols)
    line = " ".join(names)
    known = {mention.text for mention in query.symbols}
    guessed = [mention for mention in _symbols(line, Zone.NAMES) if mention.text not in known]
    weight = weights.NAMES_BESIDE_NAMES if names_things else weights.NAMES_WEIGHT
    terms = _terms([*query.zones, (Zone.NAMES, line)], weight)
    return replace(query, terms=terms, symbols=(*query.symbols, *guessed))


def _terms(zones: Sequence[tuple[Zone, str]], names_weight: float = 0.0) -> tuple[QueryTerm, ...]:
    of_zone = {**weights.ZONE_WEIGHTS, Zone.NAMES: names_weight}
    mass: dict[str, float] = {}
    asked: set[str] = set()
    title: Counter[str] = Counter()
    forms: dict[str, float] = {}
    stop, endings = words.other_language("\n".join(line for _, line in zones))
    endings = tuple(map(words.unaccented, endings))
    for (zone, line), share in zip(zones, _shares(zones), strict=True):
        line = words.without_particles(line)
        meaningful = [word for word in words.words(line) if words.is_meaningful(word) and word.lower() not in stop]
        as_written = {term for word in meaningful if not word.isascii() for term in words.terms_of(word)}
        # A word counts without its accents, which finds it in both spellings, and as it is written where that occurs.
        meaningful = [*map(words.unaccented, meaningful)]
        others = {words.stem(form) for word in meaningful for form in words.forms(word, endings)} if endings else set()
        others |= {words.stem(form) for form in map(words.spelling, meaningful) if form}
        for form in as_written | others:
            forms[form] = max(forms.get(form, 0), of_zone[zone] * share)
        for term, count in words.count_terms(meaningful).items():
            mass[term] = mass.get(term, 0.0) + of_zone[zone] * share * count
            if zone is not Zone.NAMES:
                asked.add(term)
            if zone is Zone.TITLE:
                title[term] += count
        for word in filter(_is_proper_compound, meaningful if zone in SENTENCES else ()):
            term = words.stem(word.lower())  # the folder of SQLite is `sqlite`
            mass[term] = mass.get(term, 0.0) + of_zone[Zone.PROSE] * share
    for term in mass:
        if len(term) <= 2 and term.isascii():
            mass[term] *= weights.SHORT_TERM_FACTOR
    return tuple(
        QueryTerm(
            term,
            math.log2(1 + amount),
            math.log2(1 + of_zone[Zone.TITLE] * title[term]),
            guessed=term not in asked,
        )
        for term, amount in mass.items()
    ) + tuple(
        QueryTerm(form, math.log2(1 + amount), 0.0, guessed=True, is_form=True)
        for form, amount in sorted(forms.items())
        if form not in mass
    )


def _reason_terms() -> Iterator[QueryTerm]:
    """Yield the terms of reasons: they rank, and are no words of the question."""
    return (QueryTerm(term, weights.REASON_WEIGHT, 0.0, guessed=True) for term in _REASONS)


def _idiom_terms(title: str) -> Iterator[QueryTerm]:
    """Yield the terms of names that code has for what the first line asks for; they are no words of the question."""
    names = {name for form, names in _IDIOMS if form.search(title) for name in names}
    terms = sorted({words.term_of(name) for name in names})
    return (QueryTerm(term, weights.IDIOM_WEIGHT, 0.0, guessed=True) for term in terms)


def _is_proper_compound(word: str) -> bool:
    """Return whether a word of letters begins with a capital and has several parts: `SQLite`, but not `Reader`."""
    return word.isalpha() and word[0].isupper() and len(words.terms_of(word)) > 2


def _shares(zones: Sequence[tuple[Zone, str]]) -> list[float]:
    """Return the factor of each line: 1, or its share of `weights.PASTED_LINES` in a long pasted run."""
    shares: list[float] = []
    for pasted, run in groupby(zones, key=lambda zoned: zoned[0] in _PASTED):
        length = len(list(run))
        shares += [min(weights.PASTED_LINES / length, 1.0) if pasted else 1.0] * length
    return shares


DISTINCTIVE_FORMS = frozenset({"backticks", "dotted", "compound"})
"""Forms of mentions that only code has."""


def _is_called_so(match: re.Match[str]) -> bool:
    """Return whether the word after a noun of code is a name."""
    if match[1][0].isupper():
        return True
    return match[1] not in words.AFTER_NOUNS and NAME_END.match(match.string, match.end()) is not None


def _symbols(line: str, zone: Zone) -> Iterator[Mention]:
    quoted = {name for match in _INLINE_CODE.finditer(line) for name in re.findall(_IDENTIFIER, match[1])}
    is_sentence = zone in SENTENCES
    alone = {match[1] for match in _NAME_ALONE.finditer(line)} if is_sentence else set()
    nouns = {match.start(1) for match in _CALLED_SO.finditer(line) if _is_called_so(match)} if is_sentence else set()
    for match in _DOTTED.finditer(line):
        pieces = _SEPARATORS.split(match[0])
        for index in range(1, len(pieces)):
            if len(pieces[index]) == len(pieces[index - 1]) == 1:  # `e.g`
                continue
            form = "backticks" if pieces[index] in quoted else "dotted"
            yield Mention(pieces[index], form, zone, pieces[index - 1])
    for match in _NAME.finditer(line):
        name = match[1]
        if not words.is_meaningful(name) or len(name) < (3 if name.isascii() else 2):
            is_call = is_sentence and line.startswith("(", match.end(1)) and not _PLURAL.match(line, match.end(1))
            if not (is_call or name in alone or match.start() in nouns):
                continue
        if name in quoted:
            form = "backticks"
        elif words.is_compound(name):
            form = "compound"
        elif match[2] or match.start() in nouns:
            form = "call"
        else:
            form = "capitalised" if name[0].isupper() else "plain"
        yield Mention(name, form, zone)
