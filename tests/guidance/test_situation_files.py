"""The files of a situation as tools name them: absolute, or in a list of edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from satchel import Satchel

Opened = Callable[..., Satchel]
FILES = {"web/AGENTS.md": "Use tabs here.\n", "web/sub/a.py": "x = 1\n", "other/b.py": "y = 1\n"}


@pytest.mark.parametrize(
    "params",
    [
        {"file_path": "web/sub/a.py"}, {"file_path": "{root}/web/sub/a.py"}, {"path": "{root}/web/sub/new.py"},
        {"edits": [{"path": "other/b.py"}, {"path": "web/sub/a.py"}]},
    ],
)  # fmt: skip
def test_the_rule_of_a_folder_applies_when_a_tool_edits_there(params: dict[str, Any], opened: Opened) -> None:
    with opened(FILES) as satchel:
        named = {
            name: value.replace("{root}", str(satchel.places.root)) if isinstance(value, str) else value
            for name, value in params.items()
        }
        assert "Use tabs here." in satchel.situation({"tool": "Edit", "params": named}).text


@pytest.mark.parametrize("path", ["other/b.py", "{root}/other/b.py", "/elsewhere/web/sub/a.py"])
def test_and_not_when_it_edits_elsewhere(path: str, opened: Opened) -> None:
    with opened(FILES) as satchel:
        named = path.replace("{root}", str(satchel.places.root))
        assert "Use tabs here." not in satchel.situation({"tool": "Edit", "params": {"path": named}}).text
