from __future__ import annotations

from typing import Any

import pytest

from satchel.answer.render.labels import heading, listed_title
from satchel.types import ContextItem


@pytest.mark.parametrize(
    ("source", "metadata", "title"),
    [
        ("memory", {"category": "fact", "importance": 0.5}, "Memory Category: fact, Importance: 0.5"),
        ("memory", {"category": "fact"}, "Memory Category: fact"),
        ("memory", {}, "Memory its first line"),
        ("experience", {"domain": "testing", "strategy": "ask-user"}, "Experience testing | ask-user"),
        ("experience", {}, "Experience its first line"),
        ("value", {"axis": "strategy", "cluster_size": 7}, "Value (strategy, cluster size: 7)"),
        ("value", {}, "Value its first line"),
        ("commit", {"sha": "0123456789", "author": "Ada"}, "Commit 0123456 by Ada"),
        ("commit", {}, "Commit its first line"),
        ("conversation", {"axis": "full"}, "Conversation its first line"),
    ],
)
def test_a_record_is_titled_by_what_its_body_does_not_say(source: str, metadata: dict[str, Any], title: str) -> None:
    assert heading(ContextItem("id", source, "its first line", "body", 1.0, metadata)) == title


def test_a_record_in_a_list_is_named_by_its_first_words() -> None:
    memory = {"category": "fact", "importance": 0.5}
    assert listed_title(ContextItem("id", "memory", "Use cents", "body", 1.0, memory)) == "Memory Use cents"
    commit = {"sha": "0123456789", "author": "Ada"}
    assert listed_title(ContextItem("id", "commit", "Use cents", "body", 1.0, commit)) == "Commit 0123456 by Ada"
