"""Many experiences as people would write them: seven kinds of trouble, told in turn, each with its own reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from satchel import Satchel
from satchel.vocabulary import Domain, RootCauseCategory, Strategy

TROUBLES = (
    ("the nightly suite hangs on the last worker", "a fixture waits for a port that is never opened", "timeout"),
    ("orders are charged twice after a retry", "the idempotency key is made anew for each attempt", "key"),
    ("the report shows the wrong day after midnight", "times are stored without their zone", "zone"),
    ("the price stays old after an update", "the cache entry outlives the transaction", "cache"),
    ("the importer drops rows with an empty column", "the reader takes an empty field for the end", "reader"),
    ("logins fail behind the new proxy", "the forwarded header is trusted from anywhere", "header"),
    ("the build is slow on a clean checkout", "the lock file is resolved again on each run", "lock"),
)
PLACES = ("billing", "search", "mail", "stock", "export", "payment", "catalogue", "login")
START_DAY = 1_748_736_000
"""2025-06-01, seconds (UTC); one experience every six hours from then on."""

NOW = START_DAY + 60 * 86_400


def attempt(number: int) -> dict[str, Any]:
    """One experience as a line of an export; equal numbers give equal lines."""
    trouble, belief, thing = TROUBLES[number % len(TROUBLES)]
    place = PLACES[number % len(PLACES)]
    status = ("falsified", "confirmed", "falsified", "abandoned")[number % 4]
    domain, strategy = [*Domain][number % 3], [*Strategy][number % 5]
    moment = START_DAY + number * 21_600
    day, second = divmod(moment - START_DAY, 86_400)
    written = f"2025-{6 + day // 30:02d}-{1 + day % 30:02d}T{second // 3600:02d}:00:00Z"
    line: dict[str, Any] = {
        "type": "experience", "id": f"ghap_20250601_000000_{number:06x}", "session_id": f"session {number // 9}",
        "created_at": written, "updated_at": written, "domain": domain.value, "strategy": strategy.value,
        "goal": f"Find out why {trouble} in the {place} service (case {number})",
        "hypothesis": f"In {place} {belief}, so that {trouble}",
        "action": f"Log every use of the {thing} in {place} and compare two runs of case {number}",
        "prediction": f"The {thing} differs between the runs of case {number}",
        "history": [], "iteration_count": 1 + number % 3, "notes": [],
        "outcome": {
            "status": status, "result": f"The {thing} of case {number} was the same in both runs of {place}",
            "captured_at": written, "auto_captured": number % 6 == 0,
        },
        "confidence_tier": "gold" if number % 6 == 0 else "abandoned" if status == "abandoned" else "silver",
    }  # fmt: skip
    if status == "falsified":
        cause = [*RootCauseCategory][number % len(RootCauseCategory)]
        line["surprise"] = f"A second {thing} nobody knew of was in use in {place}, number {number}"
        line["root_cause"] = {
            "category": cause.value, "description": f"Cause {number}: two parts of {place} kept a {thing} each",
        }  # fmt: skip
        line["lesson"] = {
            "what_worked": f"Counting every {thing} before touching {place}, as in case {number}",
            "takeaway": f"Takeaway {number}: look for the second {thing} first",
        }
    return line


def write_attempts(engine: Satchel, count: int) -> None:
    """Put so many experiences through the import into the memory of an engine."""
    report = engine.import_memory(_lines(count), here=True)
    assert (report.added, report.problems) == (count, ())


def _lines(count: int) -> Iterator[bytes]:
    return (json.dumps(attempt(number)).encode() for number in range(count))
