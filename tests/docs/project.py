"""The project that the documentation talks about: a small shop with a client, an API, a vault and a history."""

from __future__ import annotations

import json
from pathlib import Path

from satchel import Satchel
from tests.memory.lessons import STORIES, write_story
from tests.repositories import commit, new_repository

CLIENT = '''"""Talks to the order server."""

import time

from shop.orders import Order

FIRST_WAIT = 0.5


class ClosedSession(Exception):
    """The session was closed before the request was sent."""


class Client:
    """Sends orders, and tries again when the server is busy."""

    def __init__(self, transport):
        self.transport = transport
        self.closed = False

    def send_order(self, order: Order):
        """Send one order; a busy server is asked again after a growing wait."""
        for attempt in range(5):
            if self.transport.post("/orders", order.as_json()):
                return True
            time.sleep(backoff(attempt))
        return False

    def close(self):
        """Close the session. Closing twice is an error of the caller."""
        if self.closed:
            raise ClosedSession("the session is closed twice")
        self.closed = True


def backoff(attempt):
    """Seconds to wait before a retry: each retry is delayed twice as long as the one before."""
    return FIRST_WAIT * 2**attempt
'''

ORDERS = '''"""Orders and their totals."""

import json
from dataclasses import dataclass


@dataclass
class Order:
    """What somebody wants to buy. Prices are kept in cents."""

    lines: list

    def total(self):
        """The sum of all lines in cents."""
        return sum(price * count for price, count in self.lines)

    def as_json(self):
        """The order as the server wants it."""
        return json.dumps({"lines": self.lines, "total": self.total()})
'''

TESTS = '''"""What orders and sessions promise."""

from shop.orders import Order


def test_total_is_in_cents():
    """Two items of 250 cents cost 500."""
    assert Order([(250, 2)]).total() == 500
'''

SESSION_TESTS = """import pytest

from shop.client import Client, ClosedSession


def test_a_session_is_closed_once():
    client = Client(transport=None)
    client.close()
    with pytest.raises(ClosedSession):
        client.close()
"""

README = """# Shop

A client for the order server.

## Retries

A retry is delayed by half a second, then by twice as long each time. After five attempts the client gives up.

## Sessions

A session is closed once. Closing it twice raises `ClosedSession`.
"""

AGENTS = """# How we work here

- Prices are integers in cents, never floats.
- Run the tests before a commit.
"""

CONTEXT = """metadata: {name: Client login, type: project, updated: 2026-05-01}
intent_context:
  business_goal: Nobody needs support to log in
behavior_rules:
  - {trigger: password change, action: ask the security team}
injection_rules:
  - name: handlers
    when: {tool: "edit_*", paths: ["client/**"]}
    inject: [memory.errors, "files:README.md"]
"""

PLAN = """# Plan

The launch is planned with [[people/Alice]].

## Goals

status:: open

Decide the price.
"""

VAULT = {
    "Plan.md": PLAN,
    "people/Alice.md": "---\ntags: [person]\n---\n# Alice\n\nKnows the order server.\n",
}

EXPORT = {
    "formatVersion": 1,
    "docs": [
        {"id": "root", "props": {"name": "Ideas", "created": 1700000000000}, "children": ["idea"]},
        {"id": "idea", "props": {"name": "Sell gift cards", "created": 1700000000000, "_ownerId": "root"}},
    ],
}

TRANSCRIPT = [
    {"type": "user", "text": "Why did we drop the retry queue?"},
    {
        "type": "assistant",
        "text": "The retry queue lost orders when the server restarted, so retries happen in the client.",
    },
    {"type": "user", "text": "From now on always use pnpm, never npm, in this repository."},
    {"type": "assistant", "text": "I will."},
    {"type": "user", "text": "By the way, we switched from Jest to Vitest last week."},
    {"type": "assistant", "text": "Good to know."},
]


def make_project(folder: Path) -> Path:
    """The shop with three commits, below `folder`, and beside it a vault and an export of notes."""
    root = new_repository(folder / "shop")
    commit(
        root, "Orders and their totals\n", {"shop/orders.py": ORDERS, "tests/test_totals.py": TESTS, "conftest.py": ""}
    )
    commit(
        root,
        "Delay each retry twice as long\n\nA linear wait hammered the server.\n",
        {"shop/client.py": CLIENT.replace("= 0.5", "= 5.0"), "tests/test_session.py": SESSION_TESTS},
    )
    commit(root, "Fix the first wait, which was ten times too long for an order\n", {"shop/client.py": CLIENT})
    commit(
        root,
        "Say how sessions are closed\n",
        {
            "README.md": README,
            "AGENTS.md": AGENTS,
            "client/auth/context.yaml": CONTEXT,
            "client/auth/login.py": "USERS = {}\n",
        },
    )
    (root / "shop" / "orders.py").write_text(ORDERS + "\n\ndef is_free(order):\n    return order.total() == 0\n")
    for name, text in VAULT.items():
        path = folder / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "vault" / ".obsidian").mkdir()
    (folder / "ideas.json").write_text(json.dumps(EXPORT))
    (folder / "failed.txt").write_text("tests/test_session.py: ClosedSession: the session is closed twice\n1 failed\n")
    return root


def write_experiences(root: Path, target: Path) -> None:
    """An export of thirty experiences of this project, which three values are behind."""
    with Satchel.open(root) as satchel:
        for story in STORIES:
            write_story(satchel.experiences, story, 10)
        target.write_text("".join(f"{line}\n" for line in satchel.export_memory()))


def write_transcript(folder: Path, root: Path) -> None:
    """A transcript of Claude Code about this project, where that program keeps them below `folder`."""
    place = folder / ".claude" / "projects" / "shop"
    place.mkdir(parents=True)
    rows = [
        {
            "type": said["type"],
            "uuid": str(number),
            "parentUuid": str(number - 1) if number else None,
            "sessionId": "one",
            "cwd": str(root),
            "timestamp": f"2026-05-02T10:00:0{number}.000Z",
            "message": {"role": said["type"], "content": said["text"]},
        }
        for number, said in enumerate(TRANSCRIPT)
    ]
    (place / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
