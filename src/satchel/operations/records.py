"""The records of the memory as JSON, and as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from satchel.codec import Field, fields_of, many, maybe, record
from satchel.memory.model import Experience, Memory, Record
from satchel.operations.json import (
    COUNT,
    NUMBER,
    OBJECT,
    ROUNDED,
    SAFE,
    SWITCH,
    TEXT,
    TEXTS,
    line,
    minute,
    other_mark,
    rounded,
    safe,
)
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.vocabulary import Visibility

if TYPE_CHECKING:
    from satchel.memory.model import Chosen, Remark, Value, Waiting


def _kept(kind: type[Record], **more: Field) -> Field:
    """Return the object of a record of the memory, safe to show even if another program stored it."""
    plain = record(**more, **{field.key: field for field in fields_of(kind).values()})
    return replace(plain, data=lambda owner: sanitize.value(plain.data(owner)))


def _itself(owner: Any) -> Any:
    return owner


MEMORY = _kept(Memory)
MEMORIES = record(memories=many(MEMORY).of(_itself))
MATCH = Field(MEMORY.schema, lambda match: {
    **MEMORY.data(match.memory), "score": rounded(match.score),
    **{name: value for name in ("newer", "against") if (value := getattr(match, name))},
})  # fmt: skip
MATCHES = record(memories=many(MATCH).of(_itself))
UNTIDY = Field(MEMORY.schema, lambda row: {**MEMORY.data(row.memory), "reasons": row.reasons, "shown": row.shown})
STORED = record(
    memory=MEMORY, similar=many(MATCH),
    contradicts=replace(many(MEMORY), is_optional=True).of(lambda stored: stored.contradicts or None),
)  # fmt: skip
EXPERIENCE = _kept(Experience, status=TEXT)
EXPERIENCES = record(experiences=many(EXPERIENCE), orphans=TEXTS)
VALUE = record(
    id=TEXT, text=SAFE, axis=TEXT, cluster_id=TEXT, cluster_size=COUNT, similarity_to_centroid=NUMBER,
    member_ids=Field(TEXTS.schema, list), domains=OBJECT, strategies=OBJECT, label=TEXT,
    created=Field(TEXT.schema, minute), visibility=TEXT, author=TEXT,
)  # fmt: skip
VALUES = record(values=many(VALUE).of(_itself))
ACCEPTED = record(value=VALUE.of(_itself))
REMARK = record(id=SAFE, title=SAFE, created_at=Field(TEXT.schema, minute).of("created"), origin=SAFE)
FORGOTTEN = record(
    forgotten=SWITCH.of("is_forgotten"), memories=many(MEMORY), conversations=many(REMARK),
    experiences=replace(many(EXPERIENCE), is_optional=True).of(lambda chosen: chosen.experiences or None),
    values=replace(many(VALUE), is_optional=True).of(lambda chosen: chosen.values or None),
)  # fmt: skip
CANDIDATES = record(
    candidates=many(
        record(id=TEXT, kind=TEXT, text=SAFE, quote=SAFE, source=SAFE, created=Field(TEXT.schema, minute))
    ).of(_itself)
)
VALIDATION = record(
    is_inside=SWITCH, candidate_distance=ROUNDED.of("distance"), mean=ROUNDED, std=ROUNDED.of("deviation"),
    threshold=ROUNDED, similarity=ROUNDED,
)  # fmt: skip
PROPOSAL = record(
    cluster=TEXT.of("cluster.id"), size=COUNT.of(lambda group: len(group.cluster.members)), text=SAFE, member=TEXT,
    support=COUNT, validation=maybe(VALIDATION),
)  # fmt: skip
PROPOSALS = record(proposals=many(PROPOSAL).of(_itself))
GROUPING = record(
    axis=TEXT, label=TEXT, entries=COUNT, reason=TEXT,
    clusters=many(record(id=TEXT, size=COUNT.of(lambda group: len(group.members)), members=Field(TEXTS.schema, list))),
)  # fmt: skip
MEMBER = record(id=TEXT, text=SAFE, similarity=ROUNDED, tier=TEXT)


def memory_line(memory: Memory, score: str = "", newer: str = "", against: str = "") -> str:
    """`mem_...  0.83  decision 0.9  Retries back off exponentially`."""
    mark = "  (replaced)" if memory.superseded_by else f"  (until {memory.valid_to[:10]})" if memory.valid_to else ""
    cells = (memory.id, score, f"{memory.category} {memory.importance:g}", line(memory.content))
    return "  ".join(filter(None, cells)) + mark + other_mark(newer, against) + shared_mark(memory)


def shared_mark(record: Memory | Experience | Value) -> str:
    """Return `  (team, by ada)` after what a team sees, empty after all else."""
    if record.visibility != Visibility.TEAM:
        return ""
    return f"  (team, by {clean_field(safe(record.author))})" if record.author else "  (team)"


def memory_text(memory: Memory, times: int) -> str:
    """Return all fields of a memory, one per line, with how many times answers showed it, then its text."""
    shown = {**MEMORY.data(memory), "importance": f"{memory.importance:g}", "tags": ", ".join(memory.tags)}
    shown["files"] = ", ".join(memory.files)
    shown |= {"workspace": memory.workspace or "everywhere", "created_at": minute(memory.created)}
    shown["shown"] = f"by {times} recent answers"
    rows = [
        (name.removesuffix("_at").replace("_", " "), text)
        for name, text in shown.items()
        if name not in {"content", "updated_at"}
    ]
    return f"{_rows(rows)}\n{safe(memory.content)}\n"


def chosen_text(chosen: Chosen) -> str:
    """Return the records one per line, each marked as forgotten if it is."""
    values = (f"{value.id}  {line(value.text)}" for value in chosen.values)
    lines = (*map(memory_line, chosen.memories), *map(remark_line, chosen.conversations))
    mark = "forgotten: " if chosen.is_forgotten else ""
    return "\n".join(mark + shown for shown in (*lines, *map(experience_line, chosen.experiences), *values))


def candidates_text(rows: Sequence[Waiting]) -> str:
    """`cand_...  preference  Always use pnpm`, and below it the quote where it says more."""
    lines = []
    for row in rows:
        quote = f'\n    said: "{line(row.quote)}"' if row.quote not in row.text else ""
        lines.append(f"{row.id}  {row.kind}  {line(row.text)}{quote}")
    return "\n".join(lines)


def remark_line(remark: Remark) -> str:
    """`conversation:SESSION/20260501T103000.250-1a2b3c4d  why is the session closed twice?`."""
    return f"conversation:{clean_field(safe(remark.id))}  {line(remark.title)}"


def experience_line(experience: Experience) -> str:
    """`ghap_...  falsified silver  debugging | read-the-error  Stop the session from closing twice`."""
    tier = experience.confidence_tier
    state = f"{experience.status} {tier}" if tier is not None and tier != experience.status else experience.status
    work = f"{experience.domain} | {experience.strategy}  {line(experience.goal)}"
    return f"{experience.id}  {state}  {work}{shared_mark(experience)}"


def experience_text(experience: Experience) -> str:
    """Return all fields of an experience with its earlier attempts and notes, one per line, its end first."""
    outcome, cause, lesson = experience.outcome, experience.root_cause, experience.lesson
    rows = [
        ("id", experience.id),
        ("status", experience.status),
        ("tier", experience.confidence_tier or ""),
        ("domain", experience.domain),
        ("strategy", experience.strategy),
        ("session", experience.session_id),
        ("visibility", experience.visibility),
        ("author", experience.author),
        ("created", minute(experience.created)),
        ("files", ", ".join(experience.files)),
        ("result", outcome.result if outcome else ""),
        ("captured", "from a command that was run" if outcome and outcome.auto_captured else ""),
        ("root cause", f"{cause.category}: {cause.description}" if cause else ""),
        ("lesson", lesson.what_worked if lesson else ""),
        ("takeaway", lesson.takeaway if lesson else ""),
        ("surprise", experience.surprise),
        ("goal", experience.goal),
        *[(f"attempt {number}", attempt.hypothesis) for number, attempt in enumerate(experience.history, 1)],
        ("hypothesis", experience.hypothesis),
        ("action", experience.action),
        ("prediction", experience.prediction),
        *[("note", note) for note in experience.notes],
    ]
    return _rows(rows)


def _rows(rows: list[tuple[str, str]]) -> str:
    shown = [(name, " ".join(safe(str(value)).split())) for name, value in rows if value]
    width = max(len(name) for name, _ in shown)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in shown)
