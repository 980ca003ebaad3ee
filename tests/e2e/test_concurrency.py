"""Several processes over one index: they wait for each other, or answer from what was published."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel as Engine
from satchel.config import Folders
from satchel.index.walk import TreeWalk, walk
from satchel.system.locations import index_path
from satchel.system.state_files import index_lock
from satchel.testing import TinyRepository
from tests.e2e.command import Satchel, finish
from tests.index.indexing import never
from tests.postgres import own_home


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "tree")
    files = {f"src/f{number}.py": f"def function_{number}():\n    return {number}\n" for number in range(40)}
    repository.commit("Begin", files)
    return repository


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Satchel:
    return Satchel(repository.root, tmp_path / "home")


PROGRAM = """
import sys
from satchel.system import state_files
index_lock = state_files.index_lock
state_files.index_lock = lambda path, seconds, should_stop: index_lock(path, 60 * seconds, should_stop)
from satchel.cli.main import main
sys.exit(main())
"""
PATIENT = (sys.executable, "-P", "-c", PROGRAM)
"""The command where whoever has the index is quick: how busy this machine is, is not what these tests are about."""


@contextmanager
def another_run(satchel: Satchel) -> Iterator[None]:
    """Somebody who builds the index all the time: this process."""
    folder = index_folder(satchel)
    folder.mkdir(parents=True, exist_ok=True)
    with index_lock(folder / "index.lock", 0, never):
        yield


def index_folder(satchel: Satchel) -> Path:
    return index_path(satchel.root, Folders.from_environment(satchel.variables))


def test_of_two_runs_at_once_one_reads_and_the_other_finds_nothing_to_do(satchel: Satchel) -> None:
    runs = [finish(process) for process in [satchel.start("index", "--json", program=PATIENT) for _ in range(3)]]
    assert [run.code for run in runs] == [0, 0, 0]
    assert sorted(run.json["added"] for run in runs) == [0, 0, 40]
    assert sorted(run.json["commits_added"] for run in runs) == [0, 0, 1]
    assert satchel.faults() == []


def test_many_who_ask_and_index_at_once(repository: TinyRepository, satchel: Satchel) -> None:
    questions = [("context", f"where is function_{number}", "--json") for number in range(4)]
    asking = [satchel.start(*question, program=PATIENT) for question in questions]
    indexing = [satchel.start("index", "--quiet", program=PATIENT) for _ in range(2)]
    answers = [finish(process) for process in asking]
    assert {finish(process).code for process in indexing} == {0}
    for number, answer in enumerate(answers):
        assert answer.code == 0, answer.err
        assert f"def function_{number}()" in answer.json["text"]
    repository.write({"src/f0.py": "def function_0():\n    return 'changed'\n"})
    assert "return 'changed'" in satchel("context", "where is function_0").out
    assert satchel.faults() == []


QUESTION = ("context", "where is function_7", "--now", "2026-01-01")


@pytest.mark.parametrize("arguments", [QUESTION, ("graph", "function_7", "--now", "2026-01-01")])
def test_questions_at_once_over_an_unchanged_index_give_the_same_bytes_and_need_no_lock(
    satchel: Satchel, arguments: tuple[str, ...]
) -> None:
    assert satchel("index").code == 0
    alone = satchel(*arguments)
    with another_run(satchel):
        answers = [finish(process) for process in [satchel.start(*arguments, "--strict") for _ in range(2)]]
    assert [answer.code for answer in answers] == [0, 0]
    assert {answer.out for answer in answers} == {alone.out}
    assert "function_7" in alone.out


def test_while_another_process_writes_the_answer_comes_from_what_was_published_and_says_so(
    repository: TinyRepository, satchel: Satchel
) -> None:
    assert satchel("index").code == 0
    repository.write({"src/f1.py": "def function_1():\n    return 'changed'\n"})
    with another_run(satchel):
        asking = [satchel.start(*QUESTION, "--strict") for _ in range(2)]
        answers = [finish(process) for process in asking]
    assert [answer.code for answer in answers] == [3, 3]
    assert answers[0].out == answers[1].out
    assert "def function_7" in answers[0].out
    assert "Unfinished index: another process is bringing the index up to date" in answers[0].out.splitlines()[2]
    for told in (str(os.getpid()), platform.node(), str(satchel.home), str(satchel.root)):
        assert told not in answers[0].out


def test_while_the_first_index_is_made_the_answer_is_what_is_remembered_and_says_first_that_no_file_is_in_it(
    satchel: Satchel,
) -> None:
    assert satchel("remember", "function_7 keeps its name: clients call it").code == 0
    with another_run(satchel):
        asked, nothing = (finish(satchel.start(*rest)) for rest in (QUESTION, ("context", "who refunds an order")))
    assert (asked.code, nothing.code) == (0, 0)
    assert asked.out.splitlines()[2].startswith("Unfinished index: another process is making the first index here (no")
    assert "clients call it" in asked.out
    assert asked.out.endswith("tokens; the index is not finished*")
    assert "brought the index up to date" not in asked.err
    assert "another process is at it: ask again soon" in nothing.err


def test_a_question_waits_for_a_short_update_of_another_process(repository: TinyRepository, satchel: Satchel) -> None:
    assert satchel("index").code == 0
    repository.write({"src/f7.py": "def function_7():\n    return 'changed'\n"})
    answers = [finish(process) for process in [satchel.start(*QUESTION, program=PATIENT) for _ in range(3)]]
    assert {answer.out for answer in answers} == {satchel(*QUESTION).out}
    assert "return 'changed'" in answers[0].out


def test_the_wait_of_an_index_run_ends_with_the_name_of_the_holder(satchel: Satchel) -> None:
    with another_run(satchel):
        ran = satchel("index", SATCHEL_INDEX_LOCK_WAIT_S="0.1")
    assert (ran.code, ran.out) == (11, "")
    assert len(ran.err.splitlines()) == 1
    assert f"built by process {os.getpid()} on " in ran.err


def test_a_question_waits_for_the_first_index_of_another_process(satchel: Satchel) -> None:
    with another_run(satchel):
        asking = satchel.start("context", "where is function_7")
        assert asking.poll() is None
    ran = finish(asking)
    assert ran.code == 0
    assert "def function_7" in ran.out


@pytest.mark.skipif(sys.platform != "linux", reason="reads a lock through /proc")
def test_interrupted_while_it_waits(satchel: Satchel) -> None:
    import signal

    with another_run(satchel):
        folder = index_folder(satchel)
        waiting = satchel.start("index", SATCHEL_INDEX_LOCK_WAIT_S="600")
        opened = Path(f"/proc/{waiting.pid}/fd")
        while not has_open(opened, folder / "index.lock"):
            assert waiting.poll() is None
        waiting.send_signal(signal.SIGINT)
        ran = finish(waiting)
    assert (ran.code, ran.err) == (130, "")


def has_open(descriptors: Path, path: Path) -> bool:
    """Whether a process has a file open."""
    try:
        return any(entry.readlink() == path for entry in descriptors.iterdir())
    except OSError:  # it closed one meanwhile
        return False


def test_cleaning_while_somebody_asks(satchel: Satchel) -> None:
    assert satchel("index").code == 0
    for _ in range(3):
        asking = [satchel.start("context", "where is function_7", program=PATIENT) for _ in range(3)]
        assert satchel("clean", SATCHEL_INDEX_LOCK_WAIT_S="60").code in {0, 11}
        for ran in map(finish, asking):
            assert ran.code == 0, ran.err
            # Removed between the look at the tree and the answer, there is no index, and that is what it says.
            assert "def function_7" in ran.out or "nothing is indexed here yet" in ran.err


@pytest.mark.parametrize("change", [True, False])
def test_a_question_walks_the_tree_once(
    repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bool
) -> None:
    walked = []

    def counting(*arguments: Any, **options: Any) -> TreeWalk:
        walked.append(arguments)
        return walk(*arguments, **options)

    with Engine.open(repository.root, environ=own_home(tmp_path / "home")) as opened:
        opened.index()
        if change:
            repository.write({"src/f1.py": "def function_1():\n    return 'changed'\n"})
        monkeypatch.setattr("satchel.index.build.walk", counting)
        assert opened.refresh(at_once=True) == []
        assert len(walked) == 1
        assert ("'changed'" in opened.assemble("where is function_1").text) is change
