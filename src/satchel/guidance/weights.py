"""Every fitted number of guidance: whether a condition holds, and which guides and entries come first.

The thresholds of conditions were chosen on the development halves of the labelled pairs and are measured by
`benchmarks/judge.py`; the priorities are those of the first specification, the weights of entries judgements
(`benchmarks/situation.py`).

None of them needs a new index or a cleared cache. Readers write `weights.NAME`; `satchel.fitted` lists and changes
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from satchel.fitted import Between

# Conditions (judge.py)

HOLDS_FROM: Annotated[float, Between(0, 1)] = 0.39
"""Share of a condition's meaning from which it is true. One of two words that carry meaning is enough if it is in the
situation, or another word of its topic is."""

FAILS_BELOW: Annotated[float, Between(0, 1)] = 0.3
"""Share of a condition's meaning below which it is false, if topics of condition and situation are known."""

LIKE_FROM: Annotated[float, Between(-0.5, 1)] = 0.2
"""Cosine of condition and situation from which an undecided condition is true, by a model of sentences."""

TABLE_LIKE_FROM: Annotated[float, Between(-0.5, 1)] = 0.3
"""The same by the table of words, where the situation has no word of the condition."""

SAID_LIKE_FROM: Annotated[float, Between(-0.5, 1)] = 0.4
"""The same by the table of words, where it has one, which may mean something else: `images` of Docker and of a page."""

NEAR_FROM: Annotated[float, Between(0, 1)] = 0.35
"""Cosine of two words in the table from which they are near."""

APART_BELOW: Annotated[float, Between(0, 1)] = 0.2
"""Cosine below which all words of a condition are to all of the situation where it is false. Of 110 pairs that words
alone called false the 6 wrong ones have .23 or more, and 102 of the others less than .2."""

NEAR_WORD: Annotated[float, Between(0, 1)] = 0.7
"""Factor of a word to which one of the situation is near."""

VAGUE_WORD: Annotated[float, Between(0, 1)] = 0.4
"""Weight of a word that belongs to a topic only beside another one of it: `code`, `table` and `public` mean much."""

KNOWN_SHARE: Annotated[float, Between(0, 1)] = 0.5
"""Share of the words of a condition that belong to topics, from which words can say that it is false."""

FRAME_WORD: Annotated[float, Between(0, 1)] = 0.05
"""Weight of a word that most conditions contain and that does not distinguish them."""

TOPIC_WORD: Annotated[float, Between(0, 1)] = 0.85
"""Factor of another word of the same topic, slightly less than that of the same word."""

# Priorities of contexts and instruction files (injection.py, service.py)

PRIORITIES: Annotated[Mapping[str, float], Between(0, 8)] = {"base": 1.0, "current": 2.0, "parent": 1.0, "rules": 0.5}
"""Terms of the priority of a context: any, the current one, that of its parent, and one with rules."""

FRESH_DAYS: Annotated[float, Between(1, 400)] = 30.0
"""Days after which a context is no longer fresh. The first specification gives one day, counted from loading."""

# Entries of a guide (texts.py)

OWN_WORDS: Annotated[float, Between(0, 4)] = 1.0
"""Weight of words of the entry."""

HEADING_WORDS: Annotated[float, Between(0, 4)] = 0.8
"""Weight of words of its headings."""

TOPIC_WORDS: Annotated[float, Between(0, 4)] = 0.4
"""Weight of other words of a topic of the situation."""
