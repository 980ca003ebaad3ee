"""Experiences of three stories, written by the real journal."""

from __future__ import annotations

from typing import Any

from satchel.memory.journal import Journal

STORIES = {
    "database": ("connection pool exhausted under load", "Return every connection to the pool in a finally block"),
    "timezone": ("report shows the wrong day after midnight", "Store times in UTC and convert them when shown"),
    "cache": ("stale price shown after an update", "Invalidate the cache entry in the same transaction"),
}


def write_story(journal: Journal, story: str, count: int, *, alike: bool = False) -> list[str]:
    """Resolved experiences about one thing in slightly different words; returns their ids."""
    problem, lesson = STORIES[story]
    ids = []
    for number in range(count):
        detail = "" if alike else f" in the {WORDS[number % len(WORDS)]} service number {number}"
        journal.start(
            domain="debugging",
            strategy="root-cause-analysis",
            goal=f"Fix that the {story} fails: {problem}{detail}",
            hypothesis=f"The {story} is used wrongly, so that the {problem}",
            action=f"Trace each use of the {story} through the log",
            prediction=f"The log shows where the {story} goes wrong",
        )
        status = "falsified" if number % 2 else "confirmed"
        reason: dict[str, Any] = {
            "surprise": f"The {story} was right and its caller was not{detail}",
            "root_cause": "wrong-assumption",
            "root_cause_description": f"Nobody had read how the {story} is to be used",
        }
        ended = journal.resolve(
            status=status,
            result=f"The {problem} no more{detail}",
            lesson=f"{lesson}{detail}",
            takeaway=lesson if alike or number % 3 else f"{lesson}, always",
            **(reason if status == "falsified" else {}),
        )
        ids.append(ended.id)
    return ids


WORDS = ("billing", "search", "mail", "stock", "login", "export", "payment")
