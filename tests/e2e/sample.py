"""A small repository with code, tests, docs and history, as a user would have it."""

from __future__ import annotations

from pathlib import Path

from satchel.testing import TinyRepository

CLIENT = '''"""Talking to the server."""

import time

from shop.errors import RetryError


class Client:
    """Sends orders."""

    def __init__(self, attempts: int = 3) -> None:
        self.attempts = attempts

    def send_order(self, order: dict[str, str]) -> str:
        """Send an order, trying again when the connection drops."""
        for attempt in range(self.attempts):
            if self._post(order):
                return "sent"
            time.sleep(backoff(attempt))
        raise RetryError(order)

    def _post(self, order: dict[str, str]) -> bool:
        return bool(order)


def backoff(attempt: int) -> float:
    """Seconds to wait before the next attempt: 0.1, 0.2, 0.4."""
    return 0.1 * 2**attempt
'''
ERRORS = '''class RetryError(Exception):
    """Every attempt failed."""
'''
PRICES = '''def discount(price: float, percent: float) -> float:
    """The price after a discount."""
    return price * (1 - percent / 100)
'''
TESTS = """from shop.client import backoff


def test_backoff_doubles() -> None:
    assert backoff(1) == 2 * backoff(0)
"""
GUIDE = """# Guide

## Retrying

Orders are sent again with exponential backoff when the connection drops.

## Prices

A discount is given in percent.
"""


def sample_repository(folder: Path) -> TinyRepository:
    """Four commits: prices, client, guide, and a fix of the backoff."""
    repository = TinyRepository(folder)
    repository.commit("Add prices with discounts", {"shop/prices.py": PRICES, "shop/errors.py": ERRORS})
    repository.commit(
        "Add the client", {"shop/client.py": CLIENT.replace("2**attempt", "attempt"), "tests/test_client.py": TESTS}
    )
    repository.commit("Write the guide", {"docs/guide.md": GUIDE})
    repository.commit("Make the backoff exponential\n\nA linear wait hammered the server.", {"shop/client.py": CLIENT})
    return repository
