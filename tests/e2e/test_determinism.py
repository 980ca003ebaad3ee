"""The same question gives the same bytes in every process, and what did not change stays where it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.e2e.sample import sample_repository
from tests.e2e.test_question import QUESTION
from tests.postgres import own_home

KEY = "7" * 64


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = sample_repository(tmp_path / "shop")
    more = {f"shop/part{n}.py": f"def wait{n}(attempt):\n    return backoff(attempt) + {n}\n" for n in range(12)}
    made.commit("Wait in many parts", more)
    return made


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    environ = {**own_home(tmp_path / "own"), "SATCHEL_KEY": KEY}
    with Satchel.open(repository.root, environ=environ) as opened:
        yield opened


def asked(root: Path, home: Path, seed: int, workers: int) -> dict[str, Any]:
    """The envelope that one fresh process prints, without its durations."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "OMP_NUM_THREADS": str(workers),
        **own_home(home),
        "SATCHEL_KEY": KEY,
        "SATCHEL_INDEX_WORKERS": str(workers),
    }
    command = [sys.executable, "-m", "satchel", "context", QUESTION, "--json", "--now", "2026-01-01"]
    out = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True).stdout
    envelope: dict[str, Any] = json.loads(out)
    del envelope["meta"]["timings"]
    return envelope


@pytest.mark.usefixtures("unmeasured")
def test_fresh_processes_with_other_hashes_and_threads_give_the_same_bytes(
    repository: TinyRepository, tmp_path: Path
) -> None:
    runs = [asked(repository.root, tmp_path / f"home{seed % 2}", seed, 1 + seed % 2) for seed in range(4)]
    written = {json.dumps(run) for run in runs}
    assert len(written) == 1


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
def test_more_budget_never_reorders_what_was_shown(satchel: Satchel, layout: str) -> None:
    answers = [satchel.assemble(QUESTION, max_tokens=budget, format=layout) for budget in (150, 300, 500, 900, 2000)]
    for less, more in pairwise(answers):
        place = {item.id: number for number, item in enumerate(more.items)}
        both = [place[item.id] for item in less.items if item.id in place]
        assert both == sorted(both)


def test_an_item_that_did_not_change_keeps_its_bytes(satchel: Satchel, repository: TinyRepository) -> None:
    before = satchel.assemble(QUESTION, max_tokens=2000, fill=True)
    repository.write({"shop/prices.py": "def discount(price):\n    return price\n"})
    satchel.index()
    after = {item.id: item for item in satchel.assemble(QUESTION, max_tokens=2000, fill=True).items}
    same = [item for item in before.items if item.id in after and after[item.id].content == item.content]
    assert len(same) > 3
    for item in same:
        assert (after[item.id].nonce, after[item.id].handle) == (item.nonce, item.handle)


def test_the_moment_is_an_argument(satchel: Satchel) -> None:
    first = satchel.request(QUESTION, now=1_000_000.0)
    assert first.asked.now == 1_000_000.0
    assert satchel.request(QUESTION).asked.now % 86_400 == 0
