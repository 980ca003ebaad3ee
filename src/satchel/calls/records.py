"""Memories and experiences as lines, as text and as JSON. Everything passes the cleaning again on its way out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from satchel import outside
from satchel.clean import clean_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.learn.entries import Experience, FoundMemory, Memory, Remark, Remembered

LINE_CHARACTERS = 100
"""Of a text on a line of a list."""


def safe(text: str) -> str:
    """A stored text as it may be shown: no secret, no hidden character, even if it came into the file another way."""
    return outside.text(text)


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Plain values as they may be shown, without the name of their kind."""
    return {name: _safe_value(value) for name, value in data.items() if name != "type"}


def _safe_value(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {name: _safe_value(inner) for name, inner in value.items()}
    return [_safe_value(inner) for inner in value] if isinstance(value, list) else value


def minute(moment: float) -> str:
    """`2026-05-01 10:30` (UTC)."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}"


def memory_line(memory: Memory, score: str = "") -> str:
    """`mem_...  0.83  decision 0.9  Retries back off exponentially`."""
    mark = "  (replaced)" if memory.superseded_by else ""
    shown = clean_field(safe(memory.content), LINE_CHARACTERS)
    cells = (memory.id, score, f"{memory.category} {memory.importance:g}", shown)
    return "  ".join(filter(None, cells)) + mark


def memory_json(memory: Memory) -> dict[str, Any]:
    """A memory as plain values."""
    from satchel.learn.entries import memory_data

    return _plain(memory_data(memory))


def found_json(found: FoundMemory) -> dict[str, Any]:
    """A memory with how well it fits, 0 to 1."""
    return {**memory_json(found.memory), "score": round(found.score, 4)}


def memory_text(memory: Memory) -> str:
    """A memory with everything about it, one fact a line, then what it says."""
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
    return f"conversation:{clean_field(safe(remark.id))}  {clean_field(safe(remark.title), LINE_CHARACTERS)}"


def remark_json(remark: Remark) -> dict[str, Any]:
    """An exchange in short as plain values."""
    return _plain(
        {"id": remark.id, "title": remark.title, "created_at": minute(remark.created), "origin": remark.origin}
    )


def stored_data(stored: Remembered) -> dict[str, Any]:
    """A new memory, and what says nearly the same, as plain values."""
    return {"memory": memory_json(stored.memory), "similar": [found_json(found) for found in stored.similar]}


def forgotten_data(chosen: Sequence[Memory], said: Sequence[Remark], *, done: bool) -> dict[str, Any]:
    """What was forgotten, or would be, as plain values."""
    memories_gone = [memory_json(memory) for memory in chosen]
    return {"forgotten": done, "memories": memories_gone, "conversations": [remark_json(remark) for remark in said]}


def experience_line(experience: Experience) -> str:
    """`ghap_...  falsified silver  debugging | read-the-error  Stop the session from closing twice`."""
    tier = experience.confidence_tier
    state = f"{experience.status} {tier}" if tier is not None and tier != experience.status else experience.status
    goal = clean_field(safe(experience.goal), LINE_CHARACTERS)
    return f"{experience.id}  {state}  {experience.domain} | {experience.strategy}  {goal}"


def experience_json(experience: Experience) -> dict[str, Any]:
    """An experience as plain values."""
    from satchel.learn.entries import experience_data

    return _plain({"status": experience.status, **experience_data(experience)})


def experience_text(experience: Experience) -> str:
    """An experience with its earlier attempts and notes, one statement a line."""
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
