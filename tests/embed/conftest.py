from __future__ import annotations

from pathlib import Path

import pytest

from satchel.embed.minilm import MiniLM


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which the model is built once."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def minilm(model_cache: Path) -> MiniLM:
    """The real model."""
    return MiniLM(model_cache)
