"""A small world with something of all five kinds, through the real writers."""

from __future__ import annotations

from pathlib import Path

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.memory.lessons import STORIES, write_story
from tests.memory.samples import STARTED

TYPES = ["memories", "code", "experiences", "values", "commits"]
QUESTION = (
    "return the connection to the exhausted pool, convert UTC times after midnight, invalidate the stale cache price"
)

ATTEMPTS = (
    (
        "Keep the pool from being exhausted",
        "Nobody does return the connection on an error",
        "Counting what is returned",
    ),
    ("Right days after midnight", "The report does not convert its UTC times", "Printing both zones side by side"),
    ("No stale price", "Nothing does invalidate the cache when the price changes", "Following one update to its end"),
)
"""Goal, hypothesis and action of what was tried."""

POOL = '''"""The connection pool."""


def take_connection(pool: list[str]) -> str:
    """A connection from the pool; waits while it is exhausted."""
    while not pool:
        wait_for_connection(pool)
    return pool.pop()


def give_connection(pool: list[str], connection: str) -> None:
    """Put a connection back into the pool, so that it is not exhausted."""
    pool.append(connection)
'''
REPORT = '''"""The report of a day."""


def report_day(moment: float, offset: float) -> int:
    """The day that a report shows; after midnight it is the next one."""
    return int((moment + offset) // 86400)
'''
CACHE = '''"""The cache of prices."""


def cached_price(cache: dict[str, float], name: str) -> float:
    """The price in the cache, which may be stale."""
    return cache.get(name, 0.0)
'''


def repository(root: Path) -> TinyRepository:
    """Three files about three things, and commits that changed them."""
    made = TinyRepository(root)
    made.commit("Return a connection to the pool\n\nIt was exhausted.", {"shop/pool.py": POOL})
    made.commit("Convert UTC times\n\nAfter midnight the report was wrong.", {"shop/report.py": REPORT})
    made.commit("Invalidate the cache\n\nA stale price was shown.", {"shop/cache.py": CACHE})
    made.commit("Raise the limit to nine", {"shop/pool.py": POOL + "\n\nLIMIT = 9\n"})
    return made


def remember(engine: Satchel) -> None:
    """Memories, experiences and values about the same three things, through their writers."""
    for text in (
        "The connection pool holds nine connections and is exhausted above that",
        "Report times are stored in UTC, so the day is wrong until they are converted after midnight",
        "A stale price may stay in the cache for one second, not longer",
    ):
        engine.memories.add(text, category="fact", importance=0.8)
    for goal, belief, deed in ATTEMPTS:
        engine.experiences.start(**(STARTED | {"goal": goal, "hypothesis": belief, "action": deed}))
        engine.experiences.resolve(status="confirmed", result=f"{deed} was enough")
    for story in STORIES:
        write_story(engine.experiences, story, 10)
    engine.values.cluster("full")
    for proposal in engine.values.propose():
        if proposal.validation is not None and proposal.validation.is_inside:
            engine.values.accept(proposal.text, proposal.cluster.id)
