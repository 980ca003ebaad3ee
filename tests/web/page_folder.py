"""A folder with something of everything that the page shows, and with texts that would like to be markup."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from satchel.engine import Satchel
from satchel.memory.review import Suggestion
from satchel.testing import TinyRepository
from tests.memory.lessons import write_story

RETRY = '''"""Retries for calls that may fail."""

import random
import time

from shop.clock import now

FIRST_PAUSE = 0.5


def backoff(attempt: int) -> float:
    """Seconds to wait before the next retry: doubled each time, with jitter."""
    return FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.5)


class Retry:
    """Call again until it works or the attempts are used up."""

    def __init__(self, attempts: int = 3) -> None:
        self.attempts = attempts

    def run(self, call):
        """Retry a call with backoff."""
        for attempt in range(self.attempts):
            try:
                return call()
            except OSError:
                time.sleep(backoff(attempt))
        raise RuntimeError(f"gave up at {now()}")
'''

CLOCK = '''"""The clock."""

import time


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
'''

OTHER = '''"""The {name} of the shop."""


def {name}_total(lines):
    """Sum of the {name} lines, in cents."""
    return sum(line.cents for line in lines)


def {name}_label(line):
    """What a {name} line is called on paper."""
    return f"{{line.name}}: {{line.cents / 100:.2f}}"
'''

GUIDE = """# Retries

A call that fails with an `OSError` is retried with exponential backoff. More at https://example.org/backoff.

## Backoff of a retry

The pause doubles. Jitter keeps clients apart.
"""

SCRIPT = "<script>window.harmed = 'script'</script>"
IMAGE = '<img src=x onerror="window.harmed = 1">'
DRAWING = '<svg onload="window.harmed = 2"><circle r="9"></circle></svg>'
JAVASCRIPT = "[a harmless label](javascript:window.harmed=3)"

HOSTILE_FILE = "src/<img src=x onerror=alert(1)>.py"
HOSTILE_CODE = f'"""The hostile kraken file. {IMAGE} {SCRIPT}"""\n\n\ndef kraken():\n    return "</code>{DRAWING}"\n'
HOSTILE_NOTE = f"# The kraken {IMAGE}\n\nThe kraken is here: {JAVASCRIPT} and {DRAWING}\n\n```\n{SCRIPT}\n```\n"
HOSTILE_MESSAGE = f"Kraken: {SCRIPT} {IMAGE}"
HOSTILE_MEMORY = f"Kraken memory {SCRIPT} {IMAGE} {JAVASCRIPT}"
HOSTILE_GOAL = f"Kraken goal {DRAWING}"

REMEMBERED = "Retry pauses double, with jitter"
REPLACED = "Retry pauses are constant"
FORGETTABLE = "The moon is made of cheese"
ABOUT_PARCELS = (
    (
        "A parcel is weighed twice before its label is printed, because the scale in the cellar drifts when the "
        "door is open, and a wrong weight makes the carrier send the whole pallet back to us"
    ),
    (
        "Parcel numbers come from the carrier in blocks of one thousand; ask for the next block while fifty are "
        "left, since the answer takes a working day and nobody ships without a number"
    ),
    (
        "Customs wants every parcel described in the language of the country that it goes to; the translations "
        "live with the legal team, who update them each quarter"
    ),
    (
        "The smallest parcel that the sorting machine takes is ten centimetres wide: smaller orders are packed "
        "into a padded box, which the invoice must not mention"
    ),
)

CANDIDATE = f"Parcels leave on Mondays only {IMAGE}"
QUOTED = f"from now on parcels leave on Mondays only, said the boss {SCRIPT}"

GOAL = "Stop retry from looping for ever"


def furnished(folder: Path, environ: Mapping[str, str]) -> Path:
    """A repository with commits, memories, experiences and a value; returns its root."""
    shop = TinyRepository(folder / "shop")
    others = {
        f"src/shop/{name}.py": OTHER.format(name=name) for name in ("cart", "invoice", "order", "parcel", "voucher")
    }
    mail = RETRY.replace("backoff", "mail_backoff").replace("class Retry", "class MailRetry")
    shop.commit("Retry with exponential backoff", {"src/shop/retry.py": RETRY, "src/shop/clock.py": CLOCK})
    shop.commit("Add the cart and the papers", others)
    shop.commit("Retry sending mail", {"src/shop/mail.py": mail, "docs/retry.md": GUIDE})
    shop.commit(HOSTILE_MESSAGE, {HOSTILE_FILE: HOSTILE_CODE, "docs/kraken.md": HOSTILE_NOTE})
    with Satchel.open(root=shop.root, environ={**os.environ, **environ}) as engine:
        remember(engine)
        engine.index()
    return shop.root


def remember(engine: Satchel) -> None:
    """Memories in force, replaced and hostile, experiences in every state, and a value where groups can be found."""
    old = engine.memories.add(REPLACED)
    engine.memories.supersede(old.memory.id, REMEMBERED)
    engine.memories.add(HOSTILE_MEMORY, category="error", tags=("<b>tag</b>",))
    engine.memories.add(FORGETTABLE, category="event")
    for text in ABOUT_PARCELS:
        engine.memories.add(text)
    propose(engine)
    journal = engine.experiences
    for story in ("cache", "database", "timezone"):
        write_story(journal, story, 8)
    if importlib.util.find_spec("sklearn") is not None:
        engine.values.cluster("full")
        proposal = engine.values.propose(axis="full")[0]
        engine.values.accept(proposal.text, proposal.cluster.id)
    journal.start(
        domain="debugging", strategy="read-the-error", goal=GOAL,
        hypothesis="The pause of a retry is zero", action="Log each pause", prediction="The log shows zero",
    )  # fmt: skip
    journal.update(hypothesis="The retry never counts its attempts")
    journal.resolve(
        status="falsified", result="The attempts were counted", surprise="The limit was read as text",
        root_cause="wrong-assumption", root_cause_description="Nobody had looked at the type",
        lesson="Look at the type of a limit first",
    )  # fmt: skip
    journal.start(
        domain="testing", strategy="check-assumptions", goal=HOSTILE_GOAL,
        hypothesis="The kraken sleeps", action="Wake it", prediction="It wakes",
    )  # fmt: skip


def propose(engine: Satchel) -> None:
    """Candidates for memories, one with hostile texts, and one for an experience."""
    when = {"created_at": "2026-05-01T10:00:00Z", "updated_at": "2026-05-01T10:00:00Z"}
    story = {
        **when, "domain": "debugging", "strategy": "read-the-error", "goal": "Fix the cart", "hypothesis": "It passes",
        "action": "Round once", "prediction": "It passes", "status": "confirmed", "iteration": 1, "id": "", "notes": [],
        "outcome": {"status": "confirmed", "result": "It passes", "captured_at": when["created_at"]},
    }  # fmt: skip
    engine.memory.review.propose(
        [
            Suggestion("preference", CANDIDATE, QUOTED, "s1/00000001"),
            Suggestion("fact", "The scale is in the cellar", "The scale is in the cellar", "s1/00000002"),
            Suggestion("experience", "`pytest` failed (cents) and passed: round once", "cents", "s1/00000003", story),
        ]
    )
