"""The vocabulary of the learning memory: the choices of memories and experiences, and the limits of their texts.

The command line, the schemas of tools, the error messages and the tables of the docs use these definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import TypeGuard, TypeVar

from satchel.errors import UsageError
from satchel.types import RECORD_KINDS, Kind


class MemoryCategory(StrEnum):
    """The category of a memory."""

    PREFERENCE = "preference"
    FACT = "fact"
    EVENT = "event"
    WORKFLOW = "workflow"
    CONTEXT = "context"
    ERROR = "error"
    DECISION = "decision"


class Provenance(StrEnum):
    """The source of a memory."""

    USER = "user"
    AGENT = "agent"
    IMPORT = "import"


class Visibility(StrEnum):
    """Who finds a record on a server. In files there is one user, who finds all."""

    PRIVATE = "private"
    TEAM = "team"


class Domain(StrEnum):
    """The kind of work of an experience."""

    DEBUGGING = "debugging"
    REFACTORING = "refactoring"
    FEATURE = "feature"
    TESTING = "testing"
    CONFIGURATION = "configuration"
    DOCUMENTATION = "documentation"
    PERFORMANCE = "performance"
    SECURITY = "security"
    INTEGRATION = "integration"


class Strategy(StrEnum):
    """The method of the work."""

    SYSTEMATIC_ELIMINATION = "systematic-elimination"
    TRIAL_AND_ERROR = "trial-and-error"
    RESEARCH_FIRST = "research-first"
    DIVIDE_AND_CONQUER = "divide-and-conquer"
    ROOT_CAUSE_ANALYSIS = "root-cause-analysis"
    COPY_FROM_SIMILAR = "copy-from-similar"
    CHECK_ASSUMPTIONS = "check-assumptions"
    READ_THE_ERROR = "read-the-error"
    ASK_USER = "ask-user"


class Scope(StrEnum):
    """Whose memory it is: what the team shares, else what an agent wrote, else what belongs to the user."""

    USER = "user"
    AGENT = "agent"
    TEAM = "team"


class OutcomeStatus(StrEnum):
    """The outcome of an experience: the hypothesis was right, was wrong, or was not settled."""

    CONFIRMED = "confirmed"
    FALSIFIED = "falsified"
    ABANDONED = "abandoned"


ACTIVE = "active"
"""The status of an experience without an outcome yet. It is not an `OutcomeStatus`, because it is not an end."""


class RootCauseCategory(StrEnum):
    """The reason why a hypothesis was wrong."""

    WRONG_ASSUMPTION = "wrong-assumption"
    MISSING_KNOWLEDGE = "missing-knowledge"
    OVERSIGHT = "oversight"
    ENVIRONMENT_ISSUE = "environment-issue"
    MISLEADING_SYMPTOM = "misleading-symptom"
    INCOMPLETE_FIX = "incomplete-fix"
    WRONG_SCOPE = "wrong-scope"
    TEST_ISOLATION = "test-isolation"
    TIMING_ISSUE = "timing-issue"


class ConfidenceTier(StrEnum):
    """The reliability of an experience, from most to least."""

    GOLD = "gold"
    SILVER = "silver"
    BRONZE = "bronze"
    ABANDONED = "abandoned"


TIER_WEIGHTS: Mapping[ConfidenceTier, float] = {
    ConfidenceTier.GOLD: 1.0,
    ConfidenceTier.SILVER: 0.8,
    ConfidenceTier.BRONZE: 0.5,
    ConfidenceTier.ABANDONED: 0.2,
}
"""The weight of an experience in a sum over several, 0 to 1."""

MISSING_TIER_WEIGHT = 0.5
"""The weight of an experience whose tier is missing or unknown: that of a poor one."""


def tier_weight(tier: object) -> float:
    """Return the weight of an experience of this tier, 0 to 1; an empty or unknown tier counts as a poor one."""
    return {str(name): weight for name, weight in TIER_WEIGHTS.items()}.get(str(tier), MISSING_TIER_WEIGHT)


class Axis(StrEnum):
    """A side of an experience that is a chunk of its own."""

    FULL = "full"
    STRATEGY = "strategy"
    SURPRISE = "surprise"
    ROOT_CAUSE = "root_cause"


class ImportFormat(StrEnum):
    """The format of an imported file, named after its writer."""

    SATCHEL = "satchel"
    CALM_GHAP = "calm-ghap"
    CLAUDE_CODE = "claude-code"
    MEM0 = "mem0"
    GRAPHITI = "graphiti"
    LETTA = "letta"
    CLAUDE_MEM = "claude-mem"
    CHATGPT = "chatgpt"
    CURSOR = "cursor"
    CSV = "csv"


LINE_FORMATS = frozenset((ImportFormat.SATCHEL, ImportFormat.CALM_GHAP, ImportFormat.CLAUDE_CODE))
"""Formats with a record per line; files of the others are read as a whole."""

COLUMNS = ("content", "category", "importance", "tags", "author", "created_at", "updated_at", "id")
"""Fields of a memory that a column of a CSV file can give."""

DAY_SECONDS = 86_400

FEW_ROWS = 20
"""Rows of a view of the history by default, as many as fit on a screen."""

WORK_SHARE = 0.5
"""Largest share of a brief for what is remembered about the files that were worked on lately."""

FILTER_KINDS: Mapping[str, frozenset[Kind]] = {
    **{
        name: frozenset(kind for kind in Kind if name in kind.traits.filters)
        for name in chain.from_iterable(kind.traits.filters for kind in Kind)
    },
    **dict.fromkeys(("since", "until", "tags"), RECORD_KINDS),
}
"""Filter of a search -> the kinds that it applies to. It does not restrict any other kind."""

DEFAULT_SESSION, CLIENT_SESSION = "default", "mcp-"
"""The session of callers that name none, where neither the host of the agent nor the settings name one; and the
beginning of that of an MCP client, of which each connection has its own."""

PINNED_TAG = "pinned"
"""The tag of memories that every brief shows first."""

DEFAULT_IMPORTANCE = 0.5
"""The importance of a memory without one, 0 to 1."""

MEMORY_CHARACTERS = 10_000
"""A memory is a few sentences; a longer text is a document and belongs into a file."""

TRASH_DAYS = 30
"""Days that a forgotten record can be brought back."""

MAX_TAGS = 20
MAX_BOUND_FILES = 50
TAG_CHARACTERS = 50

STATEMENT_CHARACTERS = 1_000
"""Goal, hypothesis, action and prediction: each is one statement that can turn out right or wrong."""

REPORT_CHARACTERS = 2_000
"""Result, surprise, note, description of a root cause, and lesson: a report may need more words."""

VALUE_CHARACTERS = 500
"""Characters of a value: a longer rule is a document."""

Choice = TypeVar("Choice", bound=StrEnum)


def choices(kind: type[StrEnum] | Iterable[str]) -> list[str]:
    """Return the values of a choice in their order, as plain text, for command lines and schemas."""
    return [str(member) for member in kind]


def checked_text(what: str, value: object) -> str:
    """Return a text. Raises UsageError for anything else: callers in Python may pass any type."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is {value!r:.60}: give a text")
    return value


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; a boolean is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number; a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


def check_count(count: object, name: str) -> int:
    """Return a whole number from 1. Raises UsageError for anything else."""
    if not is_whole(count) or count < 1:
        raise UsageError(f"{name} is {count!r:.60}: give a whole number, at least 1", name)
    return count


def workspace_names(value: object) -> tuple[str, ...]:
    """Return the names of workspaces in `web,api`, or in a list, each once. Raises UsageError for anything else."""
    names = ",".join([value] if isinstance(value, str) else checked_names("workspace", value)).split(",")
    return tuple(dict.fromkeys(filter(None, map(str.strip, names))))


def checked_names(what: str, value: object) -> list[str]:
    """Return a list of texts. Raises UsageError for anything else, a single text too."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f'{what} is {value!r:.60}: give a list of texts, as in ["one", "two"]')
    return [checked_text(f"one of {what}", name) for name in value]


def parse_choice(kind: type[Choice], value: str, what: str) -> Choice:
    """Return the member of this value. Raises UsageError with all values and the nearest one."""
    values = choices(kind)
    if value in values:
        return kind(value)
    import difflib  # here, because it takes longer to load than this whole module and serves only mistakes

    near = difflib.get_close_matches(str(value).lower().replace("_", "-"), values, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UsageError(f"unknown {what} {value!r}{hint}: choose from {', '.join(values)}")


LARGEST_BUDGET = 10_000_000
"""Maximum tokens of one answer: more than any model accepts."""

LARGEST_LIMIT, MAX_PINS = 100_000, 1_000
"""Maximum results and pinned places of one answer."""

MAX_CONTEXT_LINES = 100
"""Maximum lines around a shown range; for more, pin the file."""

PURPOSES = READ, FIND, EDIT = "read", "find", "edit"
"""The purpose of an answer: one packed context for a reader without tools; for an agent with tools the sure places with
line numbers, and others by their best line; complete functions for somebody who edits."""

MIN_DEPTH, MAX_DEPTH = 1, 5

DEFAULT_DEPTH = 2
"""Nodes two steps away are still related to the source; three steps reach most of a workspace."""

DEFAULT_LENS = "general"
LENS_NAMES = (
    DEFAULT_LENS, "writing", "coding", "planning", "meeting-prep",
    "code", "impact", "implementations",
)  # fmt: skip
"""The lenses of a walk that are built in (`satchel.graph.request`)."""

STALE_CHOICES = ("mark", "withhold")
"""The treatment of text that its file no longer contains: it is shown and marked, or left out with a note."""


Moment = float | str | datetime
"""A time in the forms that `parse_moment` accepts."""

MOMENT_EXAMPLE = "a date (2024-05-01), a date with time, or epoch seconds"

_EPOCH_SECONDS = re.compile(r"\d{1,11}(?:\.\d+)?")


def parse_moment(written: object, name: str = "now") -> float:
    """Return seconds since the epoch of `2024-05-01`, `2024-05-01T10:30:00+02:00`, `1714559400` or a `datetime`.

    Without a zone a time is in UTC. Raises UsageError for anything else.
    """
    if is_number(written) and 0 <= written < 253_402_300_800:  # latest seconds
        return float(written)
    if isinstance(written, str) and _EPOCH_SECONDS.fullmatch(written):
        return float(written)
    try:
        moment = written if isinstance(written, datetime) else datetime.fromisoformat(str(written))
    except ValueError:
        raise UsageError(f"{name} is {written!r}: give {MOMENT_EXAMPLE}", name) from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
