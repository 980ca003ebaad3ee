"""A repository of three files, and questions about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from questions.dataset import Deciding, Question

from tests.repositories import commit, new_repository

SESSION = "class Session:\n    def close(self):\n        if self.closed:\n            return\n        self.send()\n"
MAIN = "from session import Session\n\nSession().close()\n"


@pytest.fixture
def question(tmp_path: Path) -> Question:
    """A question whose answer is two lines of session.py; the repository is at OWNER+NAME below the folder."""
    folder = new_repository(tmp_path / "repos" / "acme+shop")
    files = {"session.py": SESSION, "main.py": MAIN, "docs/guide.md": "Close the session once.\n"}
    return Question(
        id="shop-where-01",
        repo="acme/shop",
        commit=commit(folder, "Sessions", files),
        kind="where",
        question="where is a session closed twice ignored?",
        deciding=(Deciding("session.py", r"def close\("), Deciding("session.py", r"if self\.closed")),
        files=("session.py", "docs/"),
        absent=(),
    )
