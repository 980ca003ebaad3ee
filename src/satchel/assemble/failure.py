"""The brief after a failure: what failed like this before, and where in the code it happened.

A log of a failure is mostly noise. Its error, the names it mentions and the files of its trace are what past attempts
are searched for; the code is searched with the whole text, because its stack frames lead to lines.
"""

from __future__ import annotations

from satchel.assemble.plan import Plan, PlannedSection
from satchel.assemble.request import AssembleRequest
from satchel.search.filters import Filters
from satchel.search.query import FORM_WEIGHTS, Query, analyse
from satchel.search.trace import is_vendored
from satchel.types import Kind
from satchel.vocabulary import Axis, MemoryCategory, OutcomeStatus

PLAN = "failure"

MAX_TOKENS = 2000
LIMIT = 10

TITLE = "Brief after a failure"
ATTEMPTS, PLACES = "What failed like this before", "Where in the code"

ATTEMPT_FLOOR = 0.06
"""Below the floor of other questions: a log names a dozen things, and an attempt that shares its error and one file
with it is worth reading."""

FAILURE_CHARACTERS = 20_000
"""Of a log so much is looked at, from its end, where it says what failed."""

MOST_ERRORS = 3
MOST_NAMES = 12
MOST_FILES = 6
"""Of what a log names, the telling errors, and the best written names."""


def plan(request: AssembleRequest) -> Plan:
    """Falsified attempts and remembered errors for what the failure names, and the code for all of its text."""
    query = analyse(request.query)
    about = wanted(query)
    falsified, errors = Filters(outcome=OutcomeStatus.FALSIFIED), Filters(category=MemoryCategory.ERROR)
    # A log is long, so a file that its trace leads to may hold a small share of its words.
    floor = 0.0 if query.trace.places or query.paths else None
    limit = request.limit
    attempts = PlannedSection(
        Kind.EXPERIENCE, 3.0, limit, ATTEMPTS, falsified, question=about, floor=ATTEMPT_FLOOR, side=Axis.FULL
    )
    known = PlannedSection(Kind.MEMORY, 1.0, limit, ATTEMPTS, errors, question=about, floor=ATTEMPT_FLOOR)
    # What stands first counts most in a question, and the first line of a log says nothing.
    said = "\n".join((*reported(query)[:1], request.query))
    places = PlannedSection(Kind.CODE, 4.0, limit, PLACES, question=said, floor=floor)
    return Plan((attempts, known, places), TITLE, once=True)


def wanted(query: Query) -> str:
    """What past attempts are searched for: errors first, then names and files; the whole text where it names none."""
    lines = [" ".join(reported(query)), " ".join(names(query)), " ".join(own_files(query))]
    return "\n".join(filter(None, lines)) or query.text


def reported(query: Query) -> list[str]:
    """The errors that a log reports, the telling one first."""
    return list(query.trace.errors[:MOST_ERRORS])


def names(query: Query) -> list[str]:
    """The names that are written as names, the most telling form first, in the order of the text."""
    telling = [mention for mention in query.symbols if mention.form not in {"plain", "capitalised"}]
    telling.sort(key=lambda mention: -FORM_WEIGHTS[mention.form])
    return list(dict.fromkeys(mention.text for mention in telling))[:MOST_NAMES]


def own_files(query: Query) -> list[str]:
    """The file names of the trace without those of other people's packages, the innermost frame first."""
    paths = [*(frame.path for frame in query.trace.places if frame.path), *(mention.text for mention in query.paths)]
    own = (path.rpartition("/")[2] for path in paths if not is_vendored(path))
    return list(dict.fromkeys(own))[:MOST_FILES]
