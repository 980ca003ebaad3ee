"""Index runs that are killed, interrupted or told to end, at any moment: nothing is lost that was published."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.store.writer import MAX_SEGMENTS
from satchel.testing import TinyRepository
from tests.e2e.command import PATIENCE_SECONDS, Satchel
from tests.index.indexing import differences

ROOT = Path(__file__).parents[2]

SIGNALLING = """
import importlib, os, signal, sys
place, number, name = sys.argv.pop(1), int(sys.argv.pop(1)), sys.argv.pop(1)
module, _, path = place.partition(":")
owner = importlib.import_module(module)
*steps, attribute = path.split(".")
for step in steps:
    owner = getattr(owner, step)
original, calls = getattr(owner, attribute), 0

def signalling(*arguments, **options):
    global calls
    calls += 1
    if calls == number:
        os.kill(os.getpid(), getattr(signal, name))
    return original(*arguments, **options)

setattr(owner, attribute, signalling)
from satchel.cli.main import main
sys.exit(main())
"""
"""The command, which gets a signal when the given function is called for the given time."""

PLACES = {
    "walk": ("satchel.index.walk:_Walker._visit", 2),
    "history": ("satchel.index.update:commit_documents", 1),
    "reading": ("satchel.index.reading:read_file", 5),
    "publishing": ("satchel.store.writer:Writer.write_words", 2),  # the first time it writes the words of the history
    "merging": ("satchel.store.writer:_merge_postings", 1),
}


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "tree")
    for number in range(4):
        repository.commit(f"Add part {number}", {f"src/p{number}/f.py": f"def part_{number}():\n    return {number}\n"})
    return repository


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Satchel:
    return Satchel(repository.root, tmp_path / "home")


def fresh_contents(satchel: Satchel) -> dict[str, object]:
    """What an index says that is built from nothing, in folders of its own."""
    fresh = Satchel(satchel.root, satchel.home.with_name("fresh"))
    assert fresh("index").code == 0
    return fresh.contents()


@pytest.mark.parametrize(
    ("place", "name", "code"), [*((place, "SIGINT", 130) for place in PLACES), ("reading", "SIGTERM", 143)]
)
def test_a_signal_in_any_phase_ends_the_run_with_its_work_kept(
    repository: TinyRepository, satchel: Satchel, place: str, name: str, code: int
) -> None:
    if place == "merging":  # as many segments as may be: the next run has to merge them
        for number in range(MAX_SEGMENTS):
            repository.write({f"src/early{number}.py": f"early = {number}\n"})
            satchel("index")
    repository.write({f"src/later{number}.py": f"def later_{number}():\n    pass\n" for number in range(6)})
    function, call = PLACES[place]
    ran = satchel(function, str(call), name, "index", program=(sys.executable, "-P", "-c", SIGNALLING))
    assert ran.code == code
    # Whoever publishes or merges has read everything; a merge that was left out is no work lost.
    assert ran.err.startswith("indexed" if place in {"publishing", "merging"} else "stopped")
    assert len(ran.err.splitlines()) == 1
    assert satchel.faults() == []
    kept = satchel.contents()["texts"]
    expected = {"walk": 0, "history": 4, "reading": 4 + 5, "publishing": 4 + 10, "merging": 4 + 18}[place]
    assert len(kept) == expected
    again = satchel("index", "--json")
    assert (again.code, again.json["interrupted"]) == (0, False)
    assert differences(satchel.contents(), fresh_contents(satchel)) == {}


def test_a_second_signal_ends_it_at_once_and_leaves_what_was_published(
    repository: TinyRepository, satchel: Satchel
) -> None:
    satchel("index")
    before = satchel.contents()
    repository.write({f"src/later{number}.py": f"def later_{number}(): pass\n" for number in range(6)})
    twice = SIGNALLING.replace("calls == number", "calls in (number, number + 1)")
    place, call = "satchel.index.update:new_document", "2"
    ran = satchel(place, call, "SIGINT", "index", program=(sys.executable, "-P", "-c", twice))
    assert (ran.code, ran.err) == (130, "")
    assert satchel.faults() == []
    assert satchel.contents() == before
    assert satchel("index").code == 0


def test_a_question_that_is_interrupted_while_it_indexes_gives_no_answer(satchel: Satchel) -> None:
    function, _ = PLACES["reading"]
    program = (sys.executable, "-P", "-c", SIGNALLING)
    ran = satchel(function, "2", "SIGINT", "context", "part_3", program=program)
    assert (ran.code, ran.out) == (130, "")
    assert satchel.faults() == []
    assert "def part_3" in satchel("context", "part_3").out


@pytest.mark.files("the benchmark opens them; on a server benchmarks/failover.py does the killing")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_at_random_moments_with_somebody_reading() -> None:
    """A small run of the benchmark: the stored result in `benchmarks/results` is of a hundred rounds."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.kill_loop", "--rounds", "5", "--files", "12", "--seed", "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    result = json.loads(ran.stdout)
    harm = ("bad_stores", "bad_repairs", "left_processes", "left_locks", "reader_errors")
    assert {name: result[name] for name in harm} == {name: [] for name in harm}
    assert (ran.returncode, result["rounds"]) == (0, 5)
    assert result["questions_meanwhile"] > 0
