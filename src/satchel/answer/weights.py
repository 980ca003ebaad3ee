"""Every fitted number of an answer: how kinds are weighed, what is worth its tokens, where an answer ends.

The numbers of packing were measured on 296 issues of 14 repositories and 109 questions (docs/decisions/0006). `make
fit` moves each of them on issues and questions with one repository left out, `make fit-here` on questions about this
repository alone. Floors are measured by `benchmarks/calibration.py`, questions about history by
`benchmarks/why_changed.py`, questions how to add something by `benchmarks/agents`. Plans (premortem, brief, failure)
and situations are judgements. The weights of kinds are settings (`context.weights.code` ...), with their defaults in
`types.py`: `USEFULNESS` here is a factor on them.

None of them needs a new index or a cleared cache: nothing that is kept between two answers depends on them. Readers
write `weights.NAME`; `satchel.fitted` lists and changes them. Bounds of work and of layout, which only say how many are
read or listed, are beside the code that they bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from satchel.fitted import Between
from satchel.types import PROSE_KINDS, Kind

# Which kinds and items answer (search.py)

KIND_FLOOR: Annotated[float, Between(0, 1)] = 0.45
"""A kind whose best item is less relevant than this share of the best of the whole answer does not answer, if it would
be a weak match alone too."""

ITEM_FLOOR: Annotated[float, Between(0, 0.3)] = 0.01
"""Least relevance of each record and section of prose. Code has only the floor of its kind: its spans are chosen by
value. After a failure it counts for code as well."""

RELATIVE_FLOOR: Annotated[float, Between(0, 1)] = 0.15
"""A record or a section of prose is shown only with at least this share of the relevance of the best of its kind: on
conversations, notes and documentation as many needed ones are shown as with .6 of the match of the best, and fewer
others (benchmarks/results/calibration.json). What was said right before and after the best exchange often has the
decision that the exchange itself only names."""

COMMIT_FLOOR: Annotated[float, Between(0, 1)] = 0.3
"""The same for commits, which are many and short. Code has none, because it is ranked by file."""

KIND_LEAD: Annotated[float, Between(1, 20)] = 2.0
"""A kind whose best hit is this many times as relevant as that of another comes before it: documents before code in an
answer, any kind in a list. On 76 issues and questions about code no value from 2 on puts documents first, 1.5 does it
once, wrongly."""

# The value of kinds and candidates (plans.py, fill_policy.py, inputs.py, candidates.py, companions.py)

USEFULNESS: Annotated[Mapping[Kind, float], Between(0.01, 4)] = {
    Kind.CODE: 1.0,
    **dict.fromkeys(PROSE_KINDS, 0.12),
    Kind.COMMIT: 0.1,
    Kind.MEMORY: 1.0,
    Kind.EXPERIENCE: 1.0,
    Kind.VALUE: 1.0,
}
"""Value of a hit of a kind relative to code of the same relevance: prose matches the words of a question far more
easily than code does. With .4 and .25 for docs and commits answers to 109 questions show fewer of the deciding lines,
.65 instead of .67, and fewer of their tokens are on the topic, .69 instead of .72."""

DOCUMENTS_SHARE: Annotated[float, Between(0.5, 1)] = 2 / 3
"""Share of prose in the text of prose and code from which a store is one of documents: there prose counts like code. Of
37 repositories of code it is at most .47 (Flask, then .31), with tests; a handbook with some scripts has over .9."""

LESSON_IMPORTANCE: Annotated[float, Between(0, 2)] = 0.3
"""Weight of the importance of a memory in the order of lessons."""

LESSON_TELLING: Annotated[float, Between(0, 1)] = 0.15
"""The same of telling what to do or what failed, where a fact or an event tells how something is."""

LESSON_RULE: Annotated[float, Between(0, 1)] = 0.2
"""The same of words that rule something out ("never", "until", "instead"). With both, the deciding record is among the
first five for 24 of 32 tasks, without for 16; chosen on either project alone, they gain on the other one, too."""

LESSON_TOKENS: Annotated[int, Between(40, 1_000)] = 250
"""Most tokens for the records that bear on a question, where no kind is named: they are never taken by code."""

LESSON_SHARE: Annotated[float, Between(0.05, 0.8)] = 1 / 3
"""Largest share of the budget for them: six lines or so of 800 tokens."""

REASON_SHARE: Annotated[float, Between(0.3, 1)] = 2 / 3
"""Share of the words of a question for a reason that the best commit has, from which the answer begins with it."""

HISTORY_FACTOR: Annotated[float, Between(1, 40)] = 8.0
"""Factor on the weight of commits in questions about why or when something was changed, which a commit message answers:
25 of 26 such questions show the commit, without it 23, and 102 of 104 files of code
(benchmarks/results/why_changed.json). With 12 or 20 the code loses a third of its room."""

NOTES_FACTOR: Annotated[float, Between(1, 40)] = 4.0
"""Factor on the weight of documents in the same questions: release notes say what was removed, and why. Of eleven
questions that such a note answers nine show it, without the factor seven (benchmarks/results/why_changed.json)."""

CHANGE_CODE_FACTOR: Annotated[float, Between(1, 12)] = 3.0
"""Factor on the weight of code in questions about a change, which look for callers and tests. With an even share
commits and docs filled two thirds, and callers of a changed function were left out. Read on five changes of flask."""

REVIEWED: Annotated[Mapping[Kind, float], Between(0, 0.5)] = {Kind.COMMIT: 0.1, **dict.fromkeys(PROSE_KINDS, 0.08)}
"""Shares of the budget of a change for the commits that wrote its lines and the documents that name it."""

RECIPE_FACTOR: Annotated[float, Between(1, 16)] = 4.0
"""Factor on the weight of docs for a question how to add one more of a kind. Commits did not help."""

BARE_DROP: Annotated[float, Between(0, 4)] = 1.2
"""Subtracted from the value (log scale) of lines outside of functions where other places are named anyway: the place
and its best line say nearly as much."""

ASIDE_DROP: Annotated[float, Between(0, 4)] = 0.6
"""The same for functions of at most `FEW_LINES` lines (getters, one-line overloads, `clear`) and tests inside a file,
unless the question names them: they repeat its nouns. In 221 issues and questions the first twelve definitions have
.717 and .632 of the answers then, without it .711 and .623."""

FEW_LINES: Annotated[int, Between(1, 20)] = 4
"""Lines of a function that only tells, sets or passes on a value."""

RECORD_SPREAD: Annotated[float, Between(0.5, 12)] = 3.0
"""Factor on the score of a record (log scale), because scores of records lie close together: a record with half the
best score is worth an eighth of the best, like a file with half the best score."""

PARTIAL_DROP: Annotated[float, Between(0, 6)] = 1.6
"""The same for the rest of a function that only calls the definition in question: it comes after all callers."""

IMPORT_VALUE: Annotated[float, Between(0.02, 2)] = 0.3
"""Value of import lines as a share of the value of their code. Best of 0.02, 0.1, 0.3, 0.5 and 1 on 296 issues:
.782 / .717 of files and spans against .776 / .709 without imports, because a fix often changes an import, too."""

SLIVER_TOKENS: Annotated[int, Between(0, 80)] = 16
"""A candidate below this size is shown only if it contains a word of the question: `T = TypeVar("T")` ranks by the
text of its file. Larger ones are judged by their value alone."""

HEADER_TOKENS: Annotated[int, Between(0, 80)] = 15
"""A class header below this size that ends by opening its body shows nothing but a name."""

# The order in which candidates are tried (sections.py)

COST_EXPONENT: Annotated[float, Between(0, 1)] = 0.42
"""Candidates are ordered by value over cost to this power. Measured flat from 0.35 to 0.5 at 4,000 tokens."""

COST_OFFSET: Annotated[float, Between(1, 500)] = 60.0
"""Tokens added to every cost before the power, so that tiny spans do not win by being tiny. Anything from 8 to 60
measures the same on 296 issues; with 60 fewer one-line pieces are shown between the ranges that answer."""

JOIN_LINES: Annotated[int, Between(0, 12)] = 3
"""Most lines between two ranges that are joined: the lines cost less than another range marker."""

# Where an answer ends (fill_policy.py, packing.py)

USUAL_BUDGET: Annotated[int, Between(1_000, 16_000)] = 4_000
"""Tokens of the budget that ranges of values and `FIND_TOKENS` are for."""

VALUE_RANGE: Annotated[float, Between(0.5, 10)] = 2.4
"""Candidates worth less than the best one by more than this (log scale, a factor of 11) are not shown, up to a budget
of `USUAL_BUDGET` tokens. On 296 issues 2.2 spends 17 % fewer tokens and loses .018 of the files, 2.4 13 % and .010."""

VALUE_RANGE_DOUBLED: Annotated[float, Between(0, 3)] = 0.5
"""Added to the range for each doubling of the budget above the usual one."""

FIND_RANGE: Annotated[float, Between(0.3, 10)] = 1.3
"""A definition worth less than the best one by at most this (log scale) may be the answer as well: it is shown whole,
if the answer is sure (`RIVALS`)."""

GLIMPSE_RANGE: Annotated[float, Between(0.3, 10)] = 1.8
"""The range for a reader with tools whose answer is sure: beyond `FIND_RANGE` the best lines are shown, and what is
worth less is named. Where it is not sure, `VALUE_RANGE` counts."""

FIND_TOKENS: Annotated[int, Between(300, 8_000)] = 1_600
"""Most tokens of an answer that names places, too, for the usual budget. Without it more is shown of each file, and the
places come later: of 62 issues .488 of the ranges are reached within 1,000 tokens, with it .547."""

RIVALS: Annotated[int, Between(1, 40)] = 5
"""Most definitions within that range, the best one included, of an answer that is sure. Of 111 issues and questions the
best definition has a line of the answer in .6 to .9 where they are at most three, in .5 with four or five, and in .15
where they are more than eleven. No other signal (strength, distance to the second, names) tells as much."""

GLIMPSE_LINES: Annotated[int, Between(4, 60)] = 14
"""Lines of a definition that are shown below its declaration where the answer is not sure."""

REST_DROP: Annotated[float, Between(0, 4)] = 0.5
"""Value (log scale) that the rest of such a definition loses: it comes after the lines of others."""

UNSURE_TOKENS: Annotated[int, Between(300, 8_000)] = 3_200
"""The same where the answer is not sure. With 400 more 138 questions and 42 issues show .005 and .012 more of the
lines, and name no others."""

FIRST_SHARE: Annotated[float, Between(0.2, 1)] = 0.75
"""Share of these for the best files; what is left is for further files, which come after them. Without these 138
questions and 42 issues show .546 and .541 of the lines instead of .559 and .551, and reach .662 and .716 instead of
.674 and .732. Used for the best files, too, the rest makes their text longer: within 1,000 tokens .438 and .426 are
shown instead of .444 and .454."""

CLEARLY_LESS: Annotated[float, Between(0, 5)] = 1.0
"""Difference in value (log scale, a factor of 2.7): after a candidate was left out for lack of room, others that are
worth less by this much are left out as well."""

SHORT_QUESTION: Annotated[int, Between(2, 100)] = 15
"""Most search terms of a short question, in which every word counts: an issue text names things of other projects."""

SURE_STRENGTH: Annotated[float, Between(0, 1)] = 0.7
"""Strength from which an answer gets the full budget although a word of the question occurs nowhere."""

ABSENT_SHARE: Annotated[float, Between(0.02, 1)] = 0.2
"""Share of the budget for the answer to a short question with a distinctive word that occurs nowhere."""

WEAK_SHARE: Annotated[float, Between(0.02, 1)] = 0.5
"""Share of the budget for an answer to a short question that is a weak match, as for one real question in fifty."""

WEAK_TOKENS: Annotated[int, Between(100, 4_000)] = 800
"""Most tokens of either: what answers nothing well is not read further."""

MIN_SHORT: Annotated[int, Between(50, 1_000)] = 150
"""Tokens that every short answer may use: enough for one piece with its frame."""

# Shares and sizes of pieces (inputs.py, candidates.py, companions.py, packing.py, truncation.py)

LONG_FUNCTION: Annotated[int, Between(0, 400)] = 60
"""Lines of the longest function that is completed once a passage of it is shown. A longer one has a handle for the
other lines."""

MIN_CUT: Annotated[int, Between(4, 400)] = 60
"""Fewest tokens into which lines of a file are cut, unless they are the first: two of a function tell nothing."""

# Shares of the budget for what is around the items (write.py, render)

MIN_NAMED: Annotated[int, Between(200, 4_000)] = 1_000
"""Smallest budget (tokens) whose footer names the best omission, and that has room for places to look at next."""

PLACES: Annotated[int, Between(0, 40)] = 8
"""Most places that an answer names beside what it shows, for a reader with tools. Of 221 issues and questions one row
in nine of the first five leads to a line of the answer, one in 25 of the next five, and one in 30 of later ones."""

HOP_PLACES: Annotated[int, Between(0, 20)] = 4
"""Most of these that are one hop away, before the matches: one in 18 leads to a line of the answer."""

PLACES_SHARE: Annotated[float, Between(0, 0.9)] = 0.5
"""Share of the tokens of an answer that is kept for places."""

FEW_PLACES_SHARE: Annotated[float, Between(0, 0.9)] = 0.2
"""The same in a small answer, whose first lines count most."""

CALL_LINES_SHARE: Annotated[float, Between(0.02, 0.6)] = 0.15
"""Share of the budget for the lines that list calls: some forty files in 4,000 tokens."""

HUNKS_SHARE: Annotated[float, Between(0.05, 0.8)] = 0.4
"""Share of the budget for the changed lines of a change: some two hundred in 4,000 tokens."""

LIST_SHARE: Annotated[float, Between(0.001, 0.1)] = 0.01
"""Largest share of the budget for the list of files: a quarter of what all headings and labels may use in 4,000
tokens."""

OVERVIEW_FILES: Annotated[int, Between(3, 40)] = 8
"""Most files in that list; later ones help little if the best did not."""

REASON_FLOOR: Annotated[float, Between(0, 1)] = 0.5
"""Least value of a name, calls, history or likeness that makes it the reason for a file in that list."""

# Places to look at next (hops.py)

FOLLOWED: Annotated[int, Between(1, 12)] = 2
"""Shown definitions whose names are followed, the best ones."""

USED_PLACES: Annotated[int, Between(1, 20)] = 3
"""Places of used definitions before those of the search, and again after them; and of names of the question."""

SHORT_HELPER: Annotated[int, Between(2, 60)] = 12
"""Lines of a short helper: its result is told beside its first line, and its only caller is named."""

FEW_CALLS: Annotated[int, Between(1, 12)] = 2
"""Most calls of a method in its class that are named, and files that are parsed for them."""

# Plans: premortem, brief, and brief after a failure (plans.py)

PREMORTEM_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {"tier": 0.4, "recency": 0.3, "match": 0.3}
"""Signals of an experience. Confidence comes first; recency and match order equally reliable experiences."""

STRATEGY_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {
    "failed": 0.3,
    "tier": 0.3,
    "recency": 0.2,
    "match": 0.2,
}
"""Signals of an experience with a strategy. Successes count too, but a premortem is about failures."""

PRINCIPLE_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {
    "domain": 0.5,
    "strategy": 0.2,
    "support": 0.2,
    "recency": 0.1,
}
"""Signals of a principle. It counts by the share of its experiences in this kind of work."""

VALUE_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {"support": 0.7, "recency": 0.3}
"""Signals of a value."""

EVENT_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {"recency": 0.8, "importance": 0.2, "tier": 0.2}
"""Signals of an event, which counts mainly by its age."""

MEMORY_WEIGHTS: Annotated[Mapping[str, float], Between(0, 1)] = {"importance": 0.65, "recency": 0.35}
"""Signals of a memory, which counts by its importance, and a little by its age."""

PREMORTEM_SECTIONS: Annotated[Mapping[str, float], Between(0.1, 12)] = {
    "failures": 3.0,
    "performance": 2.0,
    "surprises": 2.0,
    "causes": 2.0,
    "principles": 1.0,
}
"""Weights of the sections of a premortem."""

BRIEF_SECTIONS: Annotated[Mapping[str, float], Between(0.1, 12)] = {
    "pinned": 3.0,
    "values": 1.0,
    "remembered events": 1.0,
    "experiences": 1.5,
    "memories": 2.0,
    "commits": 1.0,
}
"""Weights of the sections of a brief."""

FAILURE_SECTIONS: Annotated[Mapping[str, float], Between(0.1, 16)] = {"attempts": 3.0, "memories": 1.0, "places": 4.0}
"""Weights of the sections of a brief after a failure."""

# Situations (situation.py)
