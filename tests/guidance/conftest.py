from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.guidance.inheritance import ContextTree

Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below a root of its own, and returns it."""
    root = tmp_path / "root"
    root.mkdir()

    def files(texts: Mapping[str, str]) -> Path:
        for path, text in texts.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return root

    return files


@pytest.fixture
def tree(write: Write) -> Callable[[Mapping[str, str]], ContextTree]:
    """A tree of contexts: folder -> text of its context.yaml."""

    def contexts(texts: Mapping[str, str]) -> ContextTree:
        return ContextTree(
            write({f"{path}/context.yaml" if path else "context.yaml": text for path, text in texts.items()})
        )

    return contexts


@pytest.fixture
def opened(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], Satchel]:
    """An engine on a root with these files."""
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))

    def engine(files: Mapping[str, str], **settings: object) -> Satchel:
        return Satchel.open(root=write(files), settings=settings)

    return engine
