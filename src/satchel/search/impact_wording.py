"""Whether a question asks what depends on a definition, as "what breaks if I rename `Client.send`", and on which.

Wording decides, never what the code has: a definition of the name is sought by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from satchel.search.query import NAME_END
from satchel.text import AFTER_NOUNS, STOP_WORDS, is_compound, pattern, words

_ACTS = r"(?:renam|remov|delet|chang|modif|refactor|mov|deprecat|replac|drop|inlin)(?:e|es|ed|ing|y|ies|ied|ping|ped)?"
_OF_CHANGE = rf"(?:if|when|before|after|by)\s(?:i|we|you|one|someone)?\s*{_ACTS}"
_NOUNS = r"(?:function|method|class|type|struct)"
_RELATIONS = (
    r"(?:callers?|callees?|usages?|uses?|references?|dependents?|implement(?:s|ed|ers|ors|ations?)?|overrid(?:e|es|den)"
    r"|extends?|subclass(?:es)?|inherits?|heirs?|conforms?|derives?|satisf(?:y|ies)|adopts?)"
)
_HEIRS = r"(?:implementations?|implement[eo]rs|overrides|subclasses|heirs|derived\sclasses)"
_WORDING = pattern(
    rf"""
    \b(?:what|who|which|anything|something|everything)\b.{{0,60}}\b(?:break|breaks|broken|affected|affects?|impacted|
        depends?|relies|rely|stops?\ working|ha(?:s|ve)\ to\ (?:change|follow|be\ \w+)|must\ (?:change|be\ \w+))\b
    | \bwhat\b.{{0,30}}\b(?:i|we|one)\ (?:have|need)\ to\ (?:touch|change|adapt|update)\b
    | \b(?:what|who|which|where|how\ often)\b.{{0,60}}\b(?:callers?|callees?|usages?)\b
    | \b(?:callers?|callees?|usages?|uses|call\ sites?|references|dependents|{_HEIRS})\s(?:of|to|for)\b
    | \b(?:what|which|how\ many)\s{_HEIRS}\s(?:do|does|has|have)\b
    | \b(?:impact|effects?|consequences?|blast\ radius)\s(?:of|if|on|when)\b
    | \bsafe\sto\b | \bsafely\s{_ACTS}\b
    | \b{_OF_CHANGE}\b
    | ^\s*(?:i\s(?:want|need|have|plan)\sto|can\si|how\s(?:do|can|should)\s(?:i|we)|let's|please)?\s*
        (?:rename|remove|delete|deprecate|inline|change\sthe\s(?:signature|name|return\stype|arguments?|parameters?)\sof)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_RELATING = pattern(
    r"\b(?:what|who|which|where|how often)\b.{0,60}"
    r"\b(?:calls?|called|uses?|used|using|invoke[sd]?|reference[sd]?|implements?|overrides?|inherits?|extends?"
    r"|conforms?\sto|derives?\sfrom|satisf(?:y|ies)|subclass(?:es)?|adopts?)\b",
    re.IGNORECASE,
)
"""Wording that asks about the name beside its verb alone: not `which encoding is used by Reader`."""

_VERB_BEFORE = pattern(
    r"\b(?:calls?(?:\sto)?|called\sby|uses?|using|invokes?|references?(?:\sto)?|implements?|overrides?|inherits?(?:\sfrom)?|extends?"
    r"|conforms?\sto|derives?\sfrom|satisf(?:y|ies)|subclass(?:es)?|adopts?)\s+"
    r"(?:(?:the|a|an|this|our)\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_AUXILIARY_BEFORE = pattern(
    r"\b(?:is|are|was|were|gets?|do|does|did|can|will)\s+(?:the\s+)?(?:\w+\s+)?$", re.IGNORECASE
)
_VERB_AFTER = pattern(
    r"[()]*(?:\sof\s\S+)?(?:\s(?!do\b)\w+){0,2}"
    r"\s(?:calls?|called|used?|invoked?|referenced?|implement(?:ed)?|overridden|extend(?:ed)?|inherit(?:ed)?)\b",
    re.IGNORECASE,
)
_PASSIVE_AFTER = pattern(
    r"[()]*(?:\s\w+)?\s(?:is|are|was|were|gets?|being)\s(?:\w+\s)?"
    r"(?:called|used|invoked|referenced|implemented|overridden|extended)\b",
    re.IGNORECASE,
)
"""Text around a name that makes it what such a question is about: `which tests use the class Reader`, `what does send
call`, `where is Reader used`, `where the class Reader is used`."""

_NAMES = pattern(
    r"`([^`\n]{1,200})`|((?:[\w@+-]+/)*[\w@+.-]+\.\w{1,5}::[\w$.#]+"
    r"|(?:[^\W\d]|[$#])[\w$]*(?:(?:\.|::|\#)#?(?:[^\W\d]|\$)[\w$]*)*)"
)
LONGEST_ASKED = 16
"""Most words of a question whose plain words may be names."""

_SENTENCE_END = pattern(r"[.?!;:]+(?:\s+|$)")
CALLEES = pattern(
    r"^\s*(?:(?:(?:list|show|find|give|me|all|the|which|what|are)\s)*callees\sof"
    r"|(?:what|which\s\w+)\s(?:does|do)\s\S+\scall|(?:what|which\s\w+)\s(?:is|are)\scalled\sby)\b",
    re.IGNORECASE,
)
CALLS = pattern(r"^\s*(?:(?:who|what|which\s\w+)\scalls?|callers\sof|where\sis\s\S+\scalled)\b", re.IGNORECASE)
HEIRS = pattern(
    rf"^\s*(?:(?:who|what(?:\s{_NOUNS}(?:e?s)?)?|which(?:\s\w+){{1,2}})\s"
    r"(?:implements?|overrides?|extends?|inherits?(?:\sfrom)?"
    r"|conforms?\sto|derives?\sfrom|satisf(?:y|ies)|subclass(?:es)?|adopts?)"
    r"|(?:(?:list|show|find|give|me|all|the|which|what|where|are)\s)*"
    rf"{_HEIRS}\sof|(?:what|which|how\smany)\s{_HEIRS}\s(?:do|does|has|have))\b",
    re.IGNORECASE,
)
"""A question for callees, for calls, and for subclasses, implementations and overrides alone."""

_PLAIN_BEFORE = pattern(
    rf"""
    \b(?:
        calls?|uses?|using|gives?|giving|implements?|{_ACTS} | (?:calls?|references?|arguments?|parameters?)\sto
        | (?:{_RELATIONS}|call\ sites?|impact|effects?|consequences?|signature|name|type|arguments?|parameters?)\sof
    )\s+(?:the\s+)?{_NOUNS}?\s*$
    | \b{_NOUNS}\s+$
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Text before a plain word that makes it a name: `who calls send`, `an argument to send`, but not `threads to use`."""

_NOUN_BEFORE = pattern(rf"\b{_NOUNS}\s+$", re.IGNORECASE)
_PLAIN_BETWEEN = (
    pattern(r"\b(?:is|are)\s+$", re.IGNORECASE),
    pattern(r"\s+(?:safe|(?:\w+ly\s+)?(?:\w+ed|overridden))\b", re.IGNORECASE),
)
"""Text before and after a plain word that make it a name: `where is send used`."""


_CHANGE = pattern(rf"\b{_OF_CHANGE}\b", re.IGNORECASE)
_BEHAVIOUR = pattern(r"\bwhat\s(?:happens|does\sit\sdo)\b|\band\s(?:what|why|how|when)\b", re.IGNORECASE)
"""Wording of a question for what code does, even if it speaks of a call: `who calls send, and what if it fails`."""


def speaks_of_impact(text: str) -> bool:
    """Return whether a question is worded as one about changing or using something, and about nothing else."""
    question = text.strip()
    # A longer question, or one of several lines, is a report or a task, even if it names a change.
    if len(question) > 400 or "\n" in question or not _is_worded(question):
        return False
    return _BEHAVIOUR.search(question) is None or _CHANGE.search(question) is not None


def _is_worded(text: str) -> bool:
    return (_WORDING.search(text) or _RELATING.search(text)) is not None


def _is_related(text: str, match: re.Match[str]) -> bool:
    """Return whether the verb of a question (`_RELATING`) is about a name in it."""
    before, end = text[: match.start()], match.end()
    if _VERB_BEFORE.search(before) or _PASSIVE_AFTER.match(text, end):
        return True
    return _AUXILIARY_BEFORE.search(before) is not None and _VERB_AFTER.match(text, end) is not None


def is_wording(word: str) -> bool:
    """Return whether a word asks for a relation or names a change: `callers` or `rename` need not be in the code."""
    return re.fullmatch(rf"{_ACTS}|{_RELATIONS}", word, re.IGNORECASE) is not None


_NEW_NAME = pattern(
    r"\b(?:renam(?:e|es|ed|ing)\b.*\s(?:to|into|as)|replac(?:e|es|ed|ing)\b.*\s(?:with|by))\s+$", re.IGNORECASE
)
"""Text before a name that another is to get: `rename send to send_all`."""


def need_not_be_here(text: str) -> Callable[[str], bool]:
    """Return whether a word of a question may be absent: one that asks for a relation, or a part of a new name."""
    if not speaks_of_impact(text):
        return lambda _: False
    new = {word for match in _NAMES.finditer(text) if _is_new(text, match.start()) for word in words(match[0])}
    return lambda word: is_wording(word) or word in new


def _is_new(text: str, start: int) -> bool:
    return _NEW_NAME.search(text[:start]) is not None


def written_names(text: str) -> list[str]:
    """Return the names that only code writes of which a question about an impact says that they are in the code."""
    if not speaks_of_impact(text):
        return []
    asked = (name for name, start in names_asked_for(text) if not _is_new(text, start))
    return list(dict.fromkeys(word for name in asked for word in words(name) if is_compound(word)))


def names_asked_for(text: str) -> Iterator[tuple[str, int]]:
    """Yield the names that a question about an impact may be about, and where each begins."""
    is_of_change = _WORDING.search(text) is not None
    for match in _NAMES.finditer(text):
        name = (match[1] or match[2]).strip()
        is_call = text.startswith("(", match.end())
        if not (match[1] or is_call or is_compound(name) or not name.isidentifier() or _is_asked_for(text, match)):
            continue
        if is_of_change or _is_related(text, match):
            yield name, match.start()


def _is_asked_for(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that is not written as only code writes it is the name that its sentence asks about.

    `Reader` may be one anywhere in a sentence about an impact, `send` only where a verb leads to it, and in a short
    question alone: a report has such words by chance.
    """
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, match.start())), default=0)
    after = _SENTENCE_END.search(text, match.end())
    sentence, name = text[start : after.start() if after else None], match[2]
    if not _is_worded(sentence):
        return False
    if name[0].isupper():
        return len(name) > 1 and match.start() > start + len(sentence) - len(sentence.lstrip())
    is_alone = not (start or (after and text[after.end() :].strip())) and len(text.split()) <= LONGEST_ASKED
    before, between = text[: match.start()], _PLAIN_BETWEEN
    is_everyday = name.lower() in STOP_WORDS and not (
        _NOUN_BEFORE.search(before) and name.lower() not in AFTER_NOUNS and NAME_END.match(text, match.end())
    )
    if not is_alone or is_everyday or re.fullmatch(_NOUNS, name):
        return False
    return bool(_PLAIN_BEFORE.search(before) or (between[0].search(before) and between[1].match(text, match.end())))
