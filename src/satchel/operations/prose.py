"""Answers for people: matches and records as lines, and the reasons for an empty answer.

Stored texts are cleaned again before they are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.operations.json import minute, safe
from satchel.operations.operation import Spelling
from satchel.safety.sanitize import clean_field
from satchel.text import is_meaningful, words
from satchel.types import Context

if TYPE_CHECKING:
    from satchel.memory.model import Experience, Memory, Remark
    from satchel.types import Hit

LINE_CHARACTERS = 100
"""Characters of a text on a line of a list."""

NO_GUIDE = "nothing guides this: there is no context.yaml and no instruction file that applies, and nothing was asked"


def line(text: str) -> str:
    """Return a stored text on one line of a list."""
    return clean_field(safe(text), LINE_CHARACTERS)


def hit_line(hit: Hit) -> str:
    """`src/a.py:10-20  0.83  C.method`; a record has its id first."""
    chunk = hit.chunk
    location = chunk.location
    if location is None:
        return f"{clean_field(chunk.id)}  {hit.relevance:.2f}  {clean_field(chunk.title)}"
    title = clean_field(chunk.title)
    place = f"{clean_field(location.path)}:{location.start_line}-{location.end_line}  {hit.relevance:.2f}"
    return place if title == location.path else f"{place}  {title}"


def memory_line(memory: Memory, score: str = "") -> str:
    """`mem_...  0.83  decision 0.9  Retries back off exponentially`."""
    mark = "  (replaced)" if memory.superseded_by else ""
    cells = (memory.id, score, f"{memory.category} {memory.importance:g}", line(memory.content))
    return "  ".join(filter(None, cells)) + mark


def memory_text(memory: Memory) -> str:
    """Return all fields of a memory, one per line, then its text."""
    rows = [
        ("id", memory.id),
        ("category", memory.category),
        ("importance", f"{memory.importance:g}"),
        ("tags", ", ".join(memory.tags)),
        ("provenance", memory.provenance),
        ("origin", memory.origin),
        ("workspace", memory.workspace or "everywhere"),
        ("created", minute(memory.created)),
        ("supersedes", memory.supersedes),
        ("superseded by", memory.superseded_by),
    ]
    return f"{_rows(rows)}\n{safe(memory.content)}\n"


def remark_line(remark: Remark) -> str:
    """`conversation:SESSION/20260501T103000.250-1a2b3c4d  why is the session closed twice?`."""
    return f"conversation:{clean_field(safe(remark.id))}  {line(remark.title)}"


def experience_line(experience: Experience) -> str:
    """`ghap_...  falsified silver  debugging | read-the-error  Stop the session from closing twice`."""
    tier = experience.confidence_tier
    state = f"{experience.status} {tier}" if tier is not None and tier != experience.status else experience.status
    return f"{experience.id}  {state}  {experience.domain} | {experience.strategy}  {line(experience.goal)}"


def experience_text(experience: Experience) -> str:
    """Return all fields of an experience with its earlier attempts and notes, one per line."""
    outcome, cause, lesson = experience.outcome, experience.root_cause, experience.lesson
    rows = [
        ("id", experience.id),
        ("status", experience.status),
        ("tier", experience.confidence_tier or ""),
        ("domain", experience.domain),
        ("strategy", experience.strategy),
        ("session", experience.session_id),
        ("created", minute(experience.created)),
        ("goal", experience.goal),
        *[(f"attempt {number}", attempt.hypothesis) for number, attempt in enumerate(experience.history, 1)],
        ("hypothesis", experience.hypothesis),
        ("action", experience.action),
        ("prediction", experience.prediction),
        *[("note", note) for note in experience.notes],
        ("result", outcome.result if outcome else ""),
        ("captured", "from a command that was run" if outcome and outcome.auto_captured else ""),
        ("surprise", experience.surprise),
        ("root cause", f"{cause.category}: {cause.description}" if cause else ""),
        ("lesson", lesson.what_worked if lesson else ""),
        ("takeaway", lesson.takeaway if lesson else ""),
    ]
    return _rows(rows)


def _rows(rows: list[tuple[str, str]]) -> str:
    shown = [(name, " ".join(safe(str(value)).split())) for name, value in rows if value]
    width = max(len(name) for name, _ in shown)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in shown)


def no_items(context: Context, nothing: str, spelling: Spelling) -> tuple[str, ...]:
    """Return why an answer has no items: all was shown before, nothing fits, or the text `nothing`."""
    if context.items:
        return ()
    if context.shown_before:
        return (f"this session has received all of it; {spelling.expand} shows it again",)
    if not context.overflow:
        return (nothing,)
    needed = min(omission.budget for omission in context.overflow)
    return (f"nothing fits into {context.usage.limit:,} tokens: the smallest item needs about {needed:,}",)


def no_answer(context: Context, spelling: Spelling) -> tuple[str, ...]:
    """Return why the answer to a question has no items."""
    if context.items:
        return ()
    if not any(is_meaningful(word) for word in words(context.query)):
        only = "the question has only words that occur everywhere; name a thing or a behaviour"
        return (f"nothing to look for: {only}",)
    if context.meta.get("revision") == "0" and not context.overflow:
        return ("nothing is indexed here yet: run `satchel index`",)
    nothing = f"nothing here is relevant to the question; {spelling.min_score} shows even weak matches"
    return no_items(context, nothing, spelling)


def no_walk(context: Context) -> str:
    """Return why a walk has no text."""
    if context.meta["reached"]:
        return f"{context.usage.limit:,} tokens are too few even for the frame of an answer: give 500 or more"
    if context.meta["revision"] == "0":
        return "nothing is indexed here yet: run `satchel index`"
    return "nothing here is about that: try other words, or the id of a node (`satchel search` shows ids)"
