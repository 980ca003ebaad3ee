"""The rivals that run offline: which script asks each, and in which virtual environment."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from .runner import System

SCRIPTS = Path(__file__).resolve().parents[1] / "rivals"
ENVIRONMENT = "SATCHEL_BENCH_ENV"


@dataclass(frozen=True, slots=True)
class Rival:
    """`venv` is the folder below SATCHEL_BENCH_ENV; empty: the interpreter that runs the benchmark."""

    script: str
    venv: str = ""
    arguments: str = ""
    indexes: bool = False


RIVALS = {
    "bm25-files": Rival("bm25_files.py"),
    "bm25-chunks": Rival("bm25_chunks.py"),
    "bm25-chunks-tests": Rival("bm25_chunks.py", arguments="--tests"),
    "contextsmith-lexical": Rival("contextsmith_lexical.py", "venv-contextsmith", indexes=True),
    "semble-wordllama": Rival("semble_search.py", "venv-semble", indexes=True),
    "aider-map": Rival("aider_map.py", "venv-aider"),
}


def rival_system(name: str) -> System:
    """The command lines of one rival; raises KeyError for an unknown name, RuntimeError without its environment."""
    rival = RIVALS[name]
    words = [sys.executable]
    if rival.venv:
        base = os.environ.get(ENVIRONMENT)
        if not base:
            message = f"{name} needs {ENVIRONMENT}: the folder that holds {rival.venv} (see benchmarks/README.md)"
            raise RuntimeError(message)
        folder = Path(base).resolve()
        words = ["env", f"TIKTOKEN_CACHE_DIR={folder / 'tiktoken'}", str(folder / rival.venv / "bin" / "python")]
    start = shlex.join([*words, str(SCRIPTS / rival.script)])
    return System(
        name=name,
        command=f"{start} ask --max-tokens {{max_tokens}} {rival.arguments}".strip(),
        index=f"{start} index" if rival.indexes else "",
    )
