"""The commits that a question names: by a hash, by a number (`#12`), or by a link to a forge.

A hash is in no message but that of a commit which reverts another, and a link is no word at all: without a look-up the
rest of the question finds anything but the commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.search.bm25 import chunk_scores
from satchel.search.query import Query, QueryTerm, analyse
from satchel.store.protocol import Store
from satchel.text import pattern
from satchel.types import Kind

SHORT_QUESTION = 40
"""Most words of a question about a commit: a longer text is an issue, which mentions others."""

MAX_COMMITS = 5
"""Most commits that one question leads to."""

MAX_READ = 400
"""Most messages that are read for a number: those that contain it as a word."""

_HASH = pattern(r"(?<![\w./#-])[0-9a-f]{7,40}(?![\w-])")
_NUMBER = pattern(r"(?<![\w&#/])#(\d{1,6})\b")
_LINK = pattern(
    r"https?://\S{1,200}?/(?:commits?/(?P<hash>[0-9a-f]{7,40})|(?:issues|pulls?|merge_requests)/(?P<number>\d{1,6}))"
    r"(?!\w)[^\s)>\]]*"
)
_FRAME = pattern(r"^\s*#\d+\s+(?:0x|\w+ \()", re.MULTILINE)
"""A line of a stack trace, which begins like a number of a forge."""

_SAID_OF_COMMITS = frozenset(words.ENGLISH["said of commits"])


def refers_to_commits(question: str) -> bool:
    """Return whether a question may name a commit."""
    return any(True for _ in _references(question))


def with_commits(query: Query, store: Store) -> Query:
    """Return the question with the commits that it names, and without the words that only name them."""
    keys = list(dict.fromkeys(key for form, value in _references(query.text) for key in _found(store, form, value)))
    if not keys:
        return query
    rest = analyse(_NUMBER.sub(" ", _HASH.sub(" ", _LINK.sub(" ", query.text))))
    asked = {word.lower() for _, line in rest.zones for word in words.words(line) if words.is_meaningful(word)}
    if not asked - _SAID_OF_COMMITS:
        rest = replace(rest, terms=(), symbols=(), zones=())
    return replace(rest, text=query.text, commits=tuple(keys[:MAX_COMMITS]))


def _references(question: str) -> Iterator[tuple[str, str]]:
    """Yield (form, value) of each reference: `hash` or `number`."""
    if len(question.split()) > SHORT_QUESTION or _FRAME.search(question):
        return
    for link in _LINK.finditer(question):
        yield ("hash", link["hash"]) if link["hash"] else ("number", link["number"])
    plain = _LINK.sub(" ", question)
    yield from (("hash", match[0]) for match in _HASH.finditer(plain))
    yield from (("number", match[1]) for match in _NUMBER.finditer(plain))


def _found(store: Store, form: str, value: str) -> list[str]:
    """Return the keys of the commits with a hash that begins so, or that name a number, in their subject first."""
    if form == "hash":
        return [key for key in store.iterate_keys(Kind.COMMIT) if key.startswith(value)]
    lexicon = store.lexicon(Kind.COMMIT)
    if not lexicon.chunk_count:
        return []
    term = QueryTerm(words.term_of(value), 1.0, 0.0)
    chunks = np.flatnonzero((chunk_scores(lexicon, [term]) > 0) & lexicon.live_chunk)[:MAX_READ]
    ids = lexicon.columns.document_id[lexicon.columns.chunk_document[chunks]].tolist()
    texts, documents = store.texts(ids), store.documents(ids)
    written = re.compile(rf"(?:(?<![\w&])[#!]|\bGH-|/(?:issues|pulls?|merge_requests)/){value}\b")
    naming = [
        (document, found.start()) for document, text in texts.items() if (found := written.search(text)) is not None
    ]
    naming.sort(
        key=lambda named: ("\n" in texts[named[0]][: named[1]], -documents[named[0]].created, documents[named[0]].key)
    )
    return [documents[document].key for document, _ in naming]
