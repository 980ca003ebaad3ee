"""Repositories of a few files, and what the answers to questions about them list first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository


@pytest.fixture
def folder(tmp_path: Path) -> TinyRepository:
    return TinyRepository(tmp_path / "code")


def asked(folder: TinyRepository, files: Mapping[str, str], *questions: str) -> list[str]:
    folder.commit("Code", files)
    with Satchel.open(folder.root, environ={"SATCHEL_HOME": str(folder.root.parent / "home")}) as satchel:
        satchel.index()
        return [satchel.assemble(question).text.partition("\n## ")[0] for question in questions]
