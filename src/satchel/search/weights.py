"""Every fitted number of the search: what is found, in which order, and how relevant it is.

The numbers of files were fitted on 296 issues of 14 repositories (docs/decisions/0002). `make fit` moves each of them
on issues and questions with one repository left out, `make fit-here` on questions about this repository alone. Those of
records are measured by `benchmarks/memory.py` (conversations), `benchmarks/multihop.py` (notes), `benchmarks/broad.py`
(themes) and `benchmarks/contradictions.py`, those of vectors by `benchmarks/vectors.py` and `benchmarks/prose.py`, the
floors and the relevance by `benchmarks/calibration.py`. Those of a change are judgements from reading answers about
real changes.

None of them needs a new index or a cleared cache: nothing stored depends on them, and what is kept in memory has them
in its key. Readers write `weights.NAME`; `satchel.fitted` lists and changes them. Bounds of work, which only say how
many are read, are beside the code that they bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from satchel.fitted import Between

# BM25 (bm25.py): the optimum is flat, any k1 of 0.9 to 2 and b of 0.45 to 0.75 is within 1 to 2 points.

FIELD_WEIGHTS: Annotated[tuple[float, ...], Between(0.25, 12)] = (1.0, 3.0, 1.5, 1.0)
"""Weights of body, name, signature and path: name and signature gave 3.5 points of r@1, the path 4 more."""

K1: Annotated[float, Between(0.3, 4)] = 1.2
"""Saturation of the frequency of a term in spans and chunks."""

B: Annotated[float, Between(0, 1)] = 0.6
"""Length normalisation of spans and chunks: 0 for none, 1 for all of it."""

FILE_K1: Annotated[float, Between(0.3, 4)] = 1.5
"""Saturation of the frequency of a term in whole files."""

FILE_B: Annotated[float, Between(0, 1)] = 0.75
"""Length normalisation of whole files."""

LARGEST_NAME_TERM: Annotated[float, Between(0.5, 8)] = 2.0
"""Largest weight of a term of the question in the name signal of files."""

# The words of a question (query.py)

ZONE_WEIGHTS: Annotated[Mapping[str, float], Between(0.1, 12)] = {"title": 3.0, "prose": 1.0, "code": 0.6, "trace": 0.5}
"""Weight of one occurrence of a term in each zone of a question. Title weights of 2.5 to 6 measured the same."""

PASTED_LINES: Annotated[int, Between(1, 50)] = 5
"""A run of pasted lines (code, traces) counts as much as this many of them: a list of installed packages or a log of
a hundred lines must not outweigh the sentence that asks. 1 to 2 points of file@4k; 3 to 8 lines measured the same."""

SHORT_TERM_FACTOR: Annotated[float, Between(0, 1)] = 0.5
"""Factor of terms of one or two letters: short words and numbers (`os`, `10`) occur in versions and listings more often
than in names. Half a point of file@4k; factors of 0.25 and 0.75 gave less."""

NAMES_WEIGHT: Annotated[float, Between(0.25, 8)] = 2.0
"""Weight of a likely name from the caller."""

NAMES_BESIDE_NAMES: Annotated[float, Between(0, 4)] = 0.5
"""Weight of a likely name from the caller beside a question that has distinctive names of its own."""

SHORT_FORM_SHARE: Annotated[float, Between(0.3, 1)] = 0.6
"""Longest share of a word that may be short for it, in a question how to add one more of a kind."""

SHORT_FORM_LETTERS: Annotated[int, Between(2, 8)] = 4
"""Fewest letters of a form that is short for a word: of `authentication` down to `auth`."""

FORM_WEIGHTS: Annotated[Mapping[str, float], Between(0, 12)] = {
    "backticks": 3.0,
    "dotted": 2.0,
    "compound": 2.0,
    "call": 1.2,
    "capitalised": 1.0,
    "plain": 0.35,
}
"""Weight of a mention of a symbol by its form."""

# Exact look-ups of names and traces (mentions.py): in all, names add 1 point of r@5 and 3 of r@1.

PATH_WEIGHT: Annotated[float, Between(0.5, 16)] = 4.0
"""Weight of naming a file by several segments of its path, divided by the number of matches."""

FILE_NAME_WEIGHT: Annotated[float, Between(0.5, 16)] = 3.0
"""Weight of naming a file by its name alone, divided by the number of matches."""

STEM_WEIGHTS: Annotated[Mapping[str, float], Between(0, 8)] = {
    "backticks": 1.5,
    "compound": 1.0,
    "call": 0.5,
    "capitalised": 0.5,
    "plain": 0.5,
}
"""Weight of naming a file by its module stem, by the form of the mention (a dotted name counts as a compound), divided
by the number of matches."""

MENTION_ZONES: Annotated[Mapping[str, float], Between(0, 4)] = {
    "title": 1.5,
    "prose": 1.0,
    "code": 0.7,
    "trace": 0.7,
    "names": 0.7,
}
"""Factor of a mention of a file by the zone of the question that has it."""

MENTION_DEFINITIONS: Annotated[int, Between(1, 200)] = 30
"""Most definitions of a mentioned symbol: a name with more of them is ignored."""

DEFINITIONS_EXPONENT: Annotated[float, Between(0, 2)] = 0.7
"""The weight of a mention is divided by the number of definitions to this power."""

OWNER_FACTOR: Annotated[float, Between(1, 8)] = 2.5
"""Factor for a definition whose owner is named as well: `Session.send` means `send` of class `Session`."""

LARGEST_MENTION: Annotated[float, Between(1, 16)] = 4.0
"""Weight of a mention of a symbol from which it counts in full, for the value of a span and for the strength."""

NAMED_TEST: Annotated[float, Between(0.5, 16)] = 2.0
"""Least weight of a mention for which a definition in a test is not demoted: `test_backoff_doubles`."""

TRACE_PLACES: Annotated[int, Between(1, 50)] = 10
"""Most chunks that a trace leads to; further callers are only background."""

TRACE_TEST_RANK: Annotated[int, Between(0, 10)] = 2
"""Largest rank (from 0) of a failed test: it is relevant after a failure, although it is the outermost frame."""

TRACE_FILES: Annotated[int, Between(1, 20)] = 3
"""A file name in a frame that more files share is ignored, unless only one of them defines the function."""

TRACE_STEP: Annotated[float, Between(0, 0.4)] = 0.07
"""The innermost place of a trace has a strength of 1, each next one this much less."""

TRACE_LEAST: Annotated[float, Between(0, 1)] = 0.6
"""Least strength of a place of a trace."""

TRACE_LITERALS: Annotated[int, Between(1, 20)] = 3
"""Most errors, and most names of tests, that are searched as strings of the source."""

LITERAL_ERROR_SHARE: Annotated[float, Between(0, 1)] = 0.25
"""Least share of the runs of words of an error that the span has which raises it: the rest are values."""

LITERAL_TEST_SHARE: Annotated[float, Between(0, 1)] = 0.75
"""Least share of the runs of words of the name of a test that the span has which defines it."""

LITERAL_RUN_WORDS: Annotated[int, Between(2, 6)] = 3
"""Words of a run that is compared; two where the text has only two."""

LITERAL_RUN_LETTERS: Annotated[int, Between(4, 40)] = 10
"""Fewest letters of a run of words that is part of a message."""

# Scores of files (rank_files.py)

FILE_WEIGHTS: Annotated[Mapping[str, float], Between(0, 4)] = {
    "best part": 1.0,
    "top three parts": 0.5,
    "history": 1.0,
    "whole file": 0.5,
    "name": 0.5,
    "file name": 2.0,
    "path mention": 2.0,
    "symbol mention": 0.5,
    "trace": 1.0,
    "vectors": 1.0,
    "table": 0.5,
}
"""Weight of each normalised signal in F. Vectors of prose: r@5 rises from .66 to .69 on encyclopedia passages,
from .69 to .78 and .75 to .79 on headings of two documentations, from .60 to .77 and .65 to .74 on questions in other
words than theirs; half or twice the weights change that by a few points (benchmarks/results/prose.json). The static
table counts half as much: with all of it octocode's docs lose .010 (NDCG@10) and two documentations .014 (r@5). A
sentence model loses .002 to .005 on code with half (141 short questions, NDCG@10)."""

TOP_PARTS: Annotated[tuple[float, ...], Between(0, 2)] = (1.0, 0.5, 0.25)
"""Weights of the best chunks of a file, best first, in its signal "top three parts"."""

SECONDARY_FACTOR: Annotated[float, Between(0.02, 1)] = 0.3
"""Factor of tests and examples, unless the question asks for tests. Measured: as good as leaving them out. Peripheral
files (strength.py) count the same."""

FAR_BETTER: Annotated[float, Between(1, 8)] = 1.5
"""A chunk of a peripheral file that matches so many times as much as the best other file is the answer. Chunks are
compared with files on purpose: a changelog as a whole matches everything."""

# Values of spans (rank_files.py): coefficients of a sum on the log scale

VALUE_FILE: Annotated[float, Between(0.4, 6.4)] = 1.6
"""Coefficient of the score of the file."""

VALUE_FILE_RANK: Annotated[float, Between(0, 1.3)] = 0.15
"""Coefficient, subtracted, of the logarithm of the rank of the file."""

VALUE_SPAN_RANK: Annotated[float, Between(0, 1.1)] = 0.27
"""Coefficient, subtracted, of the logarithm of the rank of the span in its file."""

VALUE_PARTS: Annotated[float, Between(0, 0.8)] = 0.2
"""Coefficient, subtracted, of the logarithm of the number of chunks of the file: some part of a big file matches
everything. In a list of files, which has few parts of each, it is left out (searcher.py)."""

VALUE_SPAN: Annotated[float, Between(0.3, 4.8)] = 1.2
"""Coefficient of the words of the span. The others are fitted against it, which stays."""

VALUE_TITLE: Annotated[float, Between(0, 2.8)] = 0.7
"""Coefficient of the match of the chunk with the first line of the question."""

VALUE_CALLS: Annotated[float, Between(0, 1.6)] = 0.4
"""Coefficient of the support of the chunk by its callers and callees."""

VALUE_COMMENT: Annotated[float, Between(0, 3.2)] = 0.5
"""Coefficient, subtracted, of the share of comments in the words of the span."""

VALUE_MENTION: Annotated[float, Between(0, 2)] = 0.5
"""Coefficient of the mention of the chunk by name or by line."""

VALUE_VECTORS: Annotated[float, Between(0, 4.8)] = 1.2
"""Coefficient of the similarity of meaning of the chunk."""

VALUE_TABLE: Annotated[float, Between(0, 4.8)] = 0.6
"""The same of the static table."""

# Lessons that are given unasked (lessons.py)

LESSON_MEANING: Annotated[float, Between(0, 1)] = 0.7
"""Weight of meaning beside the words of a request, which a lesson seldom has."""

LESSON_FILE: Annotated[float, Between(0, 2)] = 0.3
"""Weight of naming the file that the request leads to."""

LESSON_WORK: Annotated[float, Between(0, 2)] = 0.3
"""Weight of being about the same kind of work."""

LESSON_WORK_RARITY: Annotated[float, Between(0.3, 6)] = 1.5
"""Factor on the rarity of a kind of work among the records (logarithm, 1 for a single record)."""

LESSON_FLOOR: Annotated[float, Between(0, 0.6)] = 0.12
"""Least evidence that a record bears on a request, of two kinds: words, meaning, a file, the kind of work."""

LESSON_ALONE: Annotated[float, Between(0, 0.8)] = 0.25
"""The same of one kind alone. Below both a record that shares one everyday word with a request would come."""

LESSON_KIND: Annotated[float, Between(0, 0.6)] = 0.1
"""Share of the words of a request, and similarity of meaning, from which on they are a kind of evidence."""

LESSON_SHARE: Annotated[float, Between(0, 1)] = 0.5
"""Share of the words of a question, or of a request that changes no behaviour, that a record needs to bear on it, where
it names code: then code answers it."""

LESSON_RARITY: Annotated[float, Between(0.2, 5)] = 1.2
"""Rarity of the words of a question that a record needs to bear on it, where it names no code: 1 is that of a word
that no other record has."""

# Questions for a reason (query.py, rank_records.py)

REASON_WEIGHT: Annotated[float, Between(0, 2)] = 0.5
"""Weight of the terms with which comments give reasons (`because`, `hack`) in a question that begins with "why"."""

REASON_EXPONENT: Annotated[float, Between(0, 6)] = 2.0
"""Power of the matched share of the question in the order of commits for such a question: the commit that has all its
distinctive words comes before one that repeats a usual word."""

# Names that code has for what is asked (query.py)

IDIOM_WEIGHT: Annotated[float, Between(0, 12)] = 5.0
"""Weight of names such as `getenv` in a question for environment variables (words/idioms.txt), more than that of any
word of a question: prose repeats those words, and code reads them by these names (benchmarks/results/idioms.json)."""

# Commits and calls as signals (votes.py)

COMMIT_HALF_LIFE_DAYS: Annotated[float, Between(90, 10_000)] = 3 * 365.25
"""Half-life of the part of a commit's weight that fades: of two commits three years apart the older one has three
quarters of the weight of the newer."""

COMMIT_FADING: Annotated[float, Between(0, 1)] = 0.5
"""Share of a commit's weight that fades with its age."""

SWEEP_FILES: Annotated[int, Between(5, 400)] = 40
"""A commit that touches more files is a sweep: it says little about any of them, has no vote, and is not found by a
changed file."""

CALL_SEEDS: Annotated[int, Between(1, 200)] = 20
"""Best chunks whose callers and callees gain value."""

CALL_DEFINITIONS: Annotated[int, Between(1, 30)] = 4
"""A name with more definitions is ambiguous: its calls are not followed."""

CALLER_WEIGHT: Annotated[float, Between(0, 3)] = 0.7
"""Weight of a caller of a good candidate; a callee has 1."""

CALL_DEGREE: Annotated[float, Between(0, 2)] = 0.5
"""What a chunk gives to its callers or callees is divided by their number plus one to this power."""

# The strength of an answer, and the relevance of an item (strength.py)

STRENGTH_TITLE: Annotated[float, Between(1, 24)] = 5.7
"""Coefficient of the match with the first line in the log odds that a kind answers the question."""

STRENGTH_SPANS: Annotated[float, Between(4, 80)] = 20.0
"""Coefficient of the share of the question in the best spans."""

STRENGTH_NAMED: Annotated[float, Between(0, 12)] = 2.6
"""Coefficient of how clearly the question names a definition."""

STRENGTH_LENGTH: Annotated[float, Between(0, 5)] = 1.25
"""Coefficient of the logarithm of the number of terms."""

STRENGTH_BIAS: Annotated[float, Between(-40, 0)] = -10.6
"""Log odds of a question that nothing matches."""

BEST_SPANS: Annotated[int, Between(1, 50)] = 5
"""Spans in the mean matched share: the subject of a project is in several spans."""

SPANS_FOR_EACH: Annotated[int, Between(1, 200)] = 20
"""In a small corpus the mean matched share is of one span in so many."""

WEAK_FLOOR: Annotated[float, Between(0, 0.5)] = 0.095
"""Least strength of an answer that is not a weak match. Below it are 1 % of the real questions, 71 % of the short
questions about other subjects, and 31 to 43 % of the issues of other projects, which share words with every project."""

WEAK_ITEMS: Annotated[int, Between(1, 20)] = 3
"""Chunks of an answer that is a weak match: the few best, not to be relied on."""

LISTED_PARTS: Annotated[int, Between(1, 10)] = 3
"""Most parts of a file in a list of hits."""

LISTED_DROP: Annotated[float, Between(0, 10)] = 1.0
"""How much less than the best part of its file a listed part may be worth, as a log value."""

MIN_LISTED: Annotated[float, Between(0, 0.1)] = 0.005
"""Least relevance of a listed hit: lower ones would be written as 0.00."""

SHARE_EXPONENT: Annotated[float, Between(0.1, 2)] = 0.5
"""Exponent of the value of a chunk relative to the best, for its share. Right files are separated with an area under
the curve of .80 instead of .71 (the matched share of the file), right chunks with .72 instead of .54."""

LARGEST_ODDS: Annotated[float, Between(0.2, 4)] = 0.85
"""Odds that the first item of a perfect answer is needed. From a logistic regression with the logarithms of strength,
share and place over code, prose, notes, memories and conversations with equal weight: .88. With the later ranking it
gave .64, which predicts no better (docs/decisions/0042)."""

STRENGTH_EXPONENT: Annotated[float, Between(0.3, 5)] = 1.5
"""Exponent of the strength in the odds of an item; the regression gave 1.55, and .81 for the share, which is 1 here."""

PLACE_EXPONENT: Annotated[float, Between(0, 4)] = 1.1
"""Exponent of the place in the odds of an item, which are divided by it; the regression gave 1.19."""

ABSENT_NAME_LETTERS: Annotated[int, Between(2, 12)] = 5
"""Fewest letters of a name in a long text that may be listed as absent: shorter ones are mostly made up for its
example."""

# Vectors (dense.py)

UNRELATED_COSINE: Annotated[float, Between(0, 0.8)] = 0.19
"""The mean similarity of a question to all chunks of a kind counts as unrelated. With few chunks it is pulled to this
value. It is a little more than the mean of the bundled model on LoCoMo (.17, benchmarks/results/vectors.json), so that
few chunks rather get too little relevance than too much."""

UNRELATED_PRIOR: Annotated[int, Between(1, 200)] = 20
"""The mean is pulled to `UNRELATED_COSINE` as if there were so many more chunks."""

VECTOR_FLOOR: Annotated[float, Between(0, 0.9)] = 0.35
"""Similarity above the mean, as a share of what is possible, that counts as relevance 0. Questions about other people's
conversations stay below .43 in 99 of 100 cases: vectors alone lift 8 of 1,000 such questions above the floor of a
context (a match of .14), and 735 of 1,000 that have an answer (benchmarks/results/vectors.json)."""

TABLE_FLOOR: Annotated[float, Between(0, 0.9)] = 0.45
"""The same of the static table: sums of words tell less well than a sentence model whether anything fits. With .35 it
answers 2 of 100 foreign questions more than words alone, with .45 none."""

# Records (rank_records.py)

TIER_WEIGHT: Annotated[float, Between(0, 0.5)] = 0.12
"""Gold before abandoned is worth a match that is a tenth better (0.12 times the 0.8 between their weights)."""

IMPORTANCE_WEIGHT: Annotated[float, Between(0, 0.5)] = 0.12
"""A memory of importance 1 before one of importance 0 is worth a match that is an eighth better."""

RECENCY_WEIGHT: Annotated[float, Between(0, 0.5)] = 0.08
"""Less than the others, because old records are not wrong. It orders two records with the same content."""

SET_ASIDE: Annotated[Mapping[str, float], Between(0.02, 1)] = {"routine": 0.3, "no cause": 0.2}
"""Factors of a commit that only moves versions or merges, where the question does not ask for one (as for peripheral
files), and of a failure whose cause nobody wrote down, as after a captured command: it comes after those with one."""

HALF_LIFE_DAYS: Annotated[float, Between(1, 1_000)] = 30.0
"""The half-life of recency, the same as for nodes of a graph: 0.5 after 30 days, 0.25 after 60."""

VECTOR_WEIGHT: Annotated[float, Between(0, 1)] = 0.35
"""The part of a score from vectors; the rest is from words, each divided by its largest. On LoCoMo R@10 is .834; with
.18 it is .821, with .53 .824, and words alone give .812 (benchmarks/results/memory.json)."""

NOTE_VECTOR_WEIGHT: Annotated[float, Between(0, 1)] = 0.45
"""The same for notes, which are whole passages. Of the multi-hop questions .612 have all passages among ten (.612 with
.55, .622 with .65); with .35 it is .580, since Snowball's stems join more words (benchmarks/results/multihop.json)."""

LESSON_VECTOR_WEIGHT: Annotated[float, Between(0, 1)] = 0.5
"""The same for memories and experiences, on absolute scales: the matched share of the question's words, and similarity
above the mean. Where each was divided by its largest, a record that shares one digit with the question came before one
that gives the answer in other words: 14 of 32 deciding records were among the first five of their kind, and now 19 are
(by words alone 11). With .35 it is 17, with .65 19 (benchmarks/results/meaning.json)."""

NEIGHBOUR_WEIGHTS: Annotated[tuple[float, ...], Between(0, 1)] = (0.5, 0.4, 0.3, 0.2)
"""Shares of what turns 1 to 4 places before and after say that count for a turn of a conversation."""

ANSWER_WEIGHT: Annotated[float, Between(0, 2)] = 0.4
"""Additional share of a question that counts for the turn right after it."""

SPEAKER_BONUS: Annotated[float, Between(0, 2)] = 0.2
"""Added to the factor of a turn of a named person, who mostly has the answer."""

QUESTION_PENALTY: Annotated[float, Between(0, 1)] = 0.2
"""Subtracted from the factor of a turn that only asks, which is less often the answer."""

HALF_WEIGHT_TERMS: Annotated[int, Between(0, 40)] = 4
"""A turn of so many terms counts half, one of twice as many two thirds: "Thanks!" says nothing by itself."""

# Records without a question (rank_without_query.py)

FULL_SUPPORT: Annotated[int, Between(2, 200)] = 20
"""Number of experiences from which a value has full support."""

VALUE_DOMAIN_SHARE: Annotated[float, Between(0, 1)] = 0.25
"""A value is of a kind of work if this share of its experiences is: one of twenty is not what it is about."""

# Themes: broad questions about records (broad.py)

THEME_SEEDS: Annotated[int, Between(1, 50)] = 5
"""Best records whose words are lent to the subject in the first round; in each next one so many more."""

THEME_ROUNDS: Annotated[int, Between(1, 10)] = 3
"""Rounds of feedback."""

THEME_FIELD: Annotated[float, Between(0, 1)] = 0.15
"""Share of the domain or category beside the words of a record."""

THEME_LEAST: Annotated[float, Between(0, 1)] = 0.15
"""Nearness, in parts of the mean of the nearest records, from which a record is of the theme. Of 20 questions about
60 experiences .81 of the right ones are shown in 4,000 tokens, .75 of what is shown is right (`benchmarks/broad.py`);
with .12 it is .87 and .72, with .18 .80 and .80. Without themes it was .16 and .81."""

THEME_TABLE_SHARE: Annotated[float, Between(0, 1)] = 0.7
"""Share of the table of words beside the words themselves in the nearness to a theme."""

THEME_TABLE_LEAST: Annotated[float, Between(0, 1)] = 0.3
"""`THEME_LEAST` with the table of words (`benchmarks/broad.py`)."""

THEME_MATCH: Annotated[float, Between(0, 1)] = 0.5
"""How well the records of a theme match at least where it was found by its meaning."""

THEME_NEAREST: Annotated[int, Between(1, 20)] = 3
"""Nearest records whose mean is the largest nearness."""

THEME_EXPONENT: Annotated[float, Between(0.05, 1)] = 0.25
"""Exponent of the nearness to a theme: all of a theme are wanted, and those that say it in other words no less."""

# Contradictions (contradictions.py)

STATEMENT_WORDS: Annotated[int, Between(10, 400)] = 60
"""Most words of a statement that is compared; a longer one says several things."""

EXCHANGED_WORDS: Annotated[int, Between(1, 12)] = 3
"""Most words of a value that another one replaces."""

# Dependents of a definition (change_relations.py), near to a changed definition, which has 1: by what they are

NEAR_CHANGED_TEST: Annotated[float, Between(0.02, 0.99)] = 0.3
"""Nearness of a changed test or example, which says less than a changed definition."""

NEAR_CALLER: Annotated[float, Between(0.02, 0.99)] = 0.9
"""Nearness of a caller."""

NEAR_HEIR: Annotated[float, Between(0.02, 0.99)] = 0.8
"""Nearness of an override or heir."""

NEAR_TEST: Annotated[float, Between(0.02, 0.99)] = 0.7
"""Nearness of a test that calls it."""

NEAR_USER: Annotated[float, Between(0.02, 0.99)] = 0.75
"""Nearness of code that passes it on or uses it as a type."""

NEAR_FURTHER_TEST: Annotated[float, Between(0.02, 0.99)] = 0.5
"""Nearness of a test that calls a caller."""

NEAR_CALLEE: Annotated[float, Between(0.02, 0.99)] = 0.45
"""Nearness of what it calls."""

NEAR_IMPORTER: Annotated[float, Between(0.02, 0.99)] = 0.4
"""Nearness of code that only imports it."""

NEAR_RECORD: Annotated[float, Between(0.02, 0.99)] = 0.6
"""Nearness of a memory, an experience or a passage that names a changed file, and of a commit that touched all."""

IMPACT_ALIKE: Annotated[float, Between(0.005, 1)] = 0.1
"""Factor of hits that only share words with a question about an impact, where calls or uses are found."""

IMPACT_UNSURE: Annotated[float, Between(0.05, 1)] = 0.6
"""The same where none are found, and beside examples how to add one more of a kind."""

IMPACT_EXPONENT: Annotated[float, Between(0.5, 6)] = 1.7
"""Exponent of the nearness where a question asks for dependents: calls in production code come before implementations,
those before tests, and all of them before hits that only share words."""

IMPACT_SUBJECT: Annotated[float, Between(0, 2)] = 0.4
"""Added to the value of the definition that a question is about: it is above the best answer of the search."""

CALL_LINES_AROUND: Annotated[int, Between(0, 12)] = 2
"""Lines before and after a call that show it, one in a test."""

DEPENDENT_LINES: Annotated[int, Between(2, 100)] = 12
"""A dependent chunk with fewer lines after its first one is shown whole; of a larger one the lines around each call."""

EDIT_REACH: Annotated[float, Between(0, 5)] = 1.0
"""Most that the score of such a function is below the best hit."""

EDIT_CALLERS: Annotated[int, Between(1, 100)] = 12
"""Most chunks that call such a function."""

EDIT_CALL_DROP: Annotated[float, Between(0, 4)] = 0.7
"""Subtracted from the score of the function for a chunk that calls it."""

EDIT_TEST_DROP: Annotated[float, Between(0, 6)] = 1.4
"""The same for a test that calls it."""

# A change of the work tree (change_impact.py)

CHANGE_WORDS: Annotated[float, Between(0, 2)] = 0.25
"""Weight of the words of a change beside those of a question."""

CHANGED_FILE_FACTOR: Annotated[float, Between(0.02, 1)] = 0.4
"""Factor of other chunks of a changed file: they share all words with the change, and the file is open anyway."""

OTHER_FILE_FACTOR: Annotated[float, Between(0.02, 1)] = 0.3
"""Factor of chunks of other files, which are only alike."""

UNASKED_COMMITS: Annotated[int, Between(0, 40)] = 3
"""Most commits that touched the files but share no word with the question: the last few show the recent work there."""

# How to add one more of a kind (siblings.py)

SIBLINGS: Annotated[int, Between(2, 20)] = 3
"""Fewest members of a family, and fewest of them that its register names."""

REGISTER_SCORE: Annotated[float, Between(0.3, 8)] = 1.5
"""Least score of lines that are a register: four names among nineteen words have 1.8."""

REGISTER_SHARE: Annotated[float, Between(0, 1)] = 0.5
"""Lines next to the best ones belong to the register if they name more than this share of as many members."""
