"""Many experiences as people would write them, no two alike: what was wrong, what was believed, and what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

from satchel import Satchel
from satchel.vocabulary import Domain, RootCauseCategory, Strategy

START = 1_748_736_000
"""2025-06-01, seconds (UTC); one experience every six hours from then on."""

NOW = START + 60 * 86_400

_PARTS = """
    ledger exporter, invoice archive, search crawler, stock counter, mail queue, login gateway, price cache, refund job,
    tax table, audit trail, image scaler, cart merger, coupon parser, session store, report builder, address checker,
    shipping planner, feed reader, backup runner, webhook sender, rate limiter, currency feed, customer importer
"""
_TROUBLES = """
    loses rows, hangs for minutes, counts twice, answers with yesterday's numbers, dies on start, fills the disk,
    rejects umlauts, forgets its place, sends everything again, blocks the nightly run, leaks handles, rounds down,
    mixes up two tenants, ignores the flag, prints nothing, reads half of the file, waits for ever, swaps two columns
"""
_MOMENTS = """
    after midnight, behind the new proxy, with an empty column, on the last worker, while another one writes,
    when the clock goes back, after a retry, on a clean checkout, with more than a thousand lines, under load,
    once the token has expired, in the second run, after the upgrade, when the network drops, on the smallest machine
"""
_THINGS = """
    a lock that nobody frees, the default encoding, an old migration, two clocks, a stale index, an ordered set,
    the order of the fixtures, a shadowed import, the size of a buffer, an inherited handle, a cached certificate,
    a signal handler, the locale of the shell, a float that is compared, a symbolic link, a trailing separator,
    an unsigned column, a lazily opened file, the temporary folder, an environment variable, a pinned dependency
"""
_DEEDS = """
    bisecting the last hundred commits, printing every call with its caller, comparing two runs line by line,
    reading the code of the driver, asking who changed the schema, replaying a recorded day, starting it by hand,
    removing one part at a time, writing the smallest case, watching the open handles, counting what goes in and out
"""


def _listed(text: str) -> list[str]:
    return [" ".join(entry.split()) for entry in text.split(",")]


PARTS, TROUBLES, MOMENTS, THINGS, DEEDS = map(_listed, (_PARTS, _TROUBLES, _MOMENTS, _THINGS, _DEEDS))


def attempt(number: int) -> dict[str, Any]:
    """One experience as a line of an export; equal numbers give equal lines. Every other one is falsified."""
    draw = Random(number)
    part, trouble, moment = draw.choice(PARTS), draw.choice(TROUBLES), draw.choice(MOMENTS)
    believed, real = draw.sample(THINGS, 2)
    deed, other = draw.sample(DEEDS, 2)
    status = ("falsified", "confirmed", "falsified", "abandoned")[number % 4]
    written = f"{datetime.fromtimestamp(START + number * 21_600, UTC):%Y-%m-%dT%H:%M:%SZ}"
    is_captured = number % 6 == 0
    line: dict[str, Any] = {
        "type": "experience", "id": f"ghap_20250601_000000_{number:06x}", "session_id": f"session {number // 9}",
        "created_at": written, "updated_at": written,
        "domain": draw.choice([*Domain][:4]).value, "strategy": draw.choice([*Strategy][:5]).value,
        "goal": f"Stop the {part} that {trouble} {moment}",
        "hypothesis": f"It {trouble} because of {believed} in the {part}",
        "action": f"{deed[0].upper()}{deed[1:]}, with an eye on {believed}",
        "prediction": f"{moment[0].upper()}{moment[1:]} the trace names {believed}",
        "history": [], "iteration_count": 1 + number % 3, "notes": [],
        "outcome": {
            "status": status, "captured_at": written, "auto_captured": is_captured,
            "result": f"The trace named {believed if status == 'confirmed' else real} (number {number})",
        },
        "confidence_tier": "gold" if is_captured else "abandoned" if status == "abandoned" else "silver",
    }  # fmt: skip
    if status == "falsified":
        line["surprise"] = f"The {draw.choice(PARTS)} {draw.choice(TROUBLES)} as well (number {number})"
        line["root_cause"] = {
            "category": draw.choice([*RootCauseCategory]).value, "description": f"cause {number}: {real} {moment}",
        }  # fmt: skip
        line["lesson"] = {"what_worked": other, "takeaway": f"takeaway {number}: look at {real} before {believed}"}
    return line


def write_attempts(engine: Satchel, count: int) -> None:
    """Put so many experiences through the import into the memory of an engine."""
    report = engine.import_memory(_lines(count), here=True)
    assert (report.added, report.problems) == (count, ())


def _lines(count: int) -> Iterator[bytes]:
    return (json.dumps(attempt(number)).encode() for number in range(count))
