"""Reading on several processes: the same readings in the same order, whatever happens to the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from satchel.index import reading as reading_module
from satchel.index.reading import FAILED, Lanes, Reading, Shared, receive, send
from satchel.index.run import ReadingOptions
from tests.index.indexing import KEY, never

FILES = 60

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals")


@pytest.fixture
def options(tmp_path: Path) -> ReadingOptions:
    """Files enough for a worker beside this process."""
    root = tmp_path / "root"
    root.mkdir()
    for number in range(FILES):
        (root / f"f{number:02}.py").write_text(f"def function{number}():\n    pass\n" + "# words words\n" * 50)
    return ReadingOptions(str(root), KEY, 1_000_000)


@pytest.fixture(autouse=True)
def cheap_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker for every few kilobytes."""
    monkeypatch.setattr(reading_module, "WORKER_WORTH_BYTES", 1_000)
    monkeypatch.setattr(reading_module, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(reading_module, "LAST_BATCH_BYTES", 2_000)


def paths_of(options: ReadingOptions) -> list[tuple[str, int]]:
    return sorted((path.name, path.stat().st_size) for path in Path(options.root).iterdir())


def lanes_of(options: ReadingOptions, workers: int, should_stop: Callable[[], bool] = never) -> Lanes:
    paths, sizes = zip(*paths_of(options), strict=True)
    return Lanes([(path, "") for path in paths], sizes, options, workers, should_stop)


def read_all(options: ReadingOptions, workers: int) -> list[Reading]:
    with lanes_of(options, workers) as running:
        return [reading for batch in running for reading in batch]


def worker_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """Let workers run this before they serve."""
    script = tmp_path / "worker.py"
    start = "import sys\nfrom satchel.index import reading\nsys.exit(reading.main())\n"
    script.write_text(f"{code}\n{start}")
    monkeypatch.setattr(reading_module, "WORKER", ("-P", str(script)))


DIES_OVER = """
import os
from satchel.index import reading
read = reading.read_file
def dying(path, indexed, options):
    if path in {dying}:
        os.kill(os.getpid(), 9)
    return read(path, indexed, options)
reading.read_file = dying
"""


def dying_over(paths: set[str]) -> Callable[..., object]:
    """The same for a fork of this process."""
    read, parent = reading_module.read_file, os.getpid()

    def dying(path: str, *arguments: Any) -> object:
        if path in paths and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(path, *arguments)

    return dying


@pytest.mark.parametrize(("threads", "forks"), [(1, 2), (2, 0)])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a fork with its parent")
def test_workers_are_forks_where_no_other_thread_runs(
    options: ReadingOptions, monkeypatch: pytest.MonkeyPatch, threads: int, forks: int
) -> None:
    made: list[reading_module._Forked] = []
    forked = reading_module._Forked

    def noted() -> reading_module._Forked:
        made.append(forked())
        return made[-1]

    monkeypatch.setattr(reading_module, "_Forked", noted)
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    assert len(read_all(options, 3)) == FILES
    assert len(made) == forks


def test_the_type_of_an_answer_is_learned_before_lanes_could_learn_it_at_once(
    options: ReadingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[object] = []
    at_start: list[list[object]] = []
    start, decoder = threading.Thread.start, msgpack.Decoder

    def begun(lane: threading.Thread) -> None:
        at_start.append([*learned])
        start(lane)

    def learn(kind: type) -> object:
        learned.append(kind)
        return decoder(kind)

    monkeypatch.setattr(reading_module._Lane, "start", begun)
    monkeypatch.setattr(msgpack, "Decoder", learn)
    assert len(read_all(options, 3)) == FILES
    assert at_start == [[reading_module.Shared]] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a fork with its parent")
def test_a_forked_worker_holds_no_file_of_its_parent_and_is_ended_twice_without_harm(options: ReadingOptions) -> None:
    with Path(os.devnull).open():
        worker = reading_module._Forked()
    send(worker.stdin, options)
    assert receive(worker.stdout, str) == "ready"
    assert {path.name for path in Path(f"/proc/{worker.pid}/fd").iterdir()} == {"0", "1", "2"}
    for _ in range(2):
        worker.kill()
        worker.wait()
    worker.stdin.close()
    worker.stdout.close()
    assert not Path(f"/proc/{worker.pid}").exists()


def test_any_number_of_processes_reads_the_same_in_the_same_order(options: ReadingOptions) -> None:
    one, three = (read_all(options, workers) for workers in (1, 3))
    assert [reading.path for reading in one] == [path for path, _ in paths_of(options)]
    assert one == three


@pytest.fixture
def workers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process leaves every batch to the workers."""
    take = reading_module._take

    def take_elsewhere(batches: deque[reading_module.Batch]) -> reading_module.Batch | None:
        return None if threading.current_thread() is threading.main_thread() else take(batches)

    monkeypatch.setattr(reading_module, "_take", take_elsewhere)


@pytest.mark.usefixtures("workers_only")
@pytest.mark.parametrize("threads", [1, 2])  # with a second thread nothing is forked
@pytest.mark.parametrize("dying", [{"f30.py"}, {"f00.py", "f01.py", "f59.py"}])
def test_a_worker_that_dies_costs_only_the_file_over_which_it_died(
    options: ReadingOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dying: set[str], threads: int
) -> None:
    worker_script(monkeypatch, tmp_path, DIES_OVER.format(dying=dying))
    monkeypatch.setattr(reading_module, "read_file", dying_over(dying))
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    readings = read_all(options, 3)
    assert len(readings) == FILES
    assert {reading.path for reading in readings if reading.failed} == dying
    assert {reading.skipped for reading in readings} == {"", FAILED}


def test_workers_that_cannot_start_leave_the_work_to_this_process(
    options: ReadingOptions, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reading_module, "WORKER", ("-c", "raise SystemExit('not installed here')"))
    readings = read_all(options, 3)
    assert len(readings) == FILES
    assert not [reading for reading in readings if reading.failed]
    assert set(capfd.readouterr().err.splitlines()) <= {"not installed here"}


def children() -> list[int]:
    """Processes that this one started and that are still there."""
    task = Path("/proc/self/task")
    if not task.exists():
        pytest.skip("children are listed by Linux only")
    found: list[int] = []
    for thread in task.iterdir():
        with suppress(OSError):  # one that ends meanwhile
            found += map(int, (thread / "children").read_text().split())
    return found


def test_nobody_is_left_when_the_block_ends_early(options: ReadingOptions) -> None:
    before = children()
    running = lanes_of(options, 3)
    with running:
        next(iter(running))
    assert {*children()} <= {*before}


def test_a_stop_keeps_what_was_read_and_leaves_nobody(options: ReadingOptions) -> None:
    before = children()
    seen: list[Reading] = []
    with lanes_of(options, 3, lambda: len(seen) >= 10) as running:
        for batch in running:
            seen += batch
    assert 10 <= len(seen) < FILES
    assert not [reading for reading in seen if reading.failed]
    assert {*children()} <= {*before}


@pytest.fixture
def worker(options: ReadingOptions) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, *reading_module.WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    send(process.stdin, options)
    assert receive(process.stdout, str) == "ready"
    yield process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def test_a_worker_ends_with_its_input(worker: subprocess.Popen[bytes]) -> None:
    _, errors = worker.communicate(timeout=300)
    assert (worker.returncode, errors) == (0, b"")


def test_a_worker_whose_answers_nobody_takes_ends_without_a_word(worker: subprocess.Popen[bytes]) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    worker.stdout.close()
    send(worker.stdin, [("f00.py", "")])
    worker.stdin.close()
    assert worker.wait(300) == 0
    assert worker.stderr.read() == b""


def test_a_worker_ignores_ctrl_c_because_its_parent_decides(worker: subprocess.Popen[bytes]) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.send_signal(signal.SIGINT)
    send(worker.stdin, [("f00.py", "")])
    answer = receive(worker.stdout, Shared)
    assert answer is not None
    assert "function" in answer.vocabulary
    assert answer.readings[0].path == "f00.py"


NEVER_READS = """
import signal
from satchel.index import reading
reading.read_file = lambda *_: signal.pause()
"""

PARENT = """
import signal, subprocess, sys
from satchel.index import reading
from satchel.index.run import ReadingOptions
from satchel.index.reading import receive, send
if sys.argv[2:]:
    process = subprocess.Popen([sys.executable, *sys.argv[2:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
else:
    reading.read_file = lambda *_: signal.pause()
    process = reading._Forked()
send(process.stdin, ReadingOptions(sys.argv[1], b"k" * 32, 1000000))
receive(process.stdout, str)
send(process.stdin, [("f00.py", "")])
print(process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_forked", [False, True])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills children with their parent")
def test_a_worker_that_is_busy_dies_with_its_parent(
    options: ReadingOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_forked: bool
) -> None:
    worker_script(monkeypatch, tmp_path, NEVER_READS)
    worker_command = () if is_forked else reading_module.WORKER
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, options.root, *worker_command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 300
    while is_running(worker) and time.monotonic() < deadline:
        os.sched_yield()
    assert not is_running(worker)


def is_running(process: int) -> bool:
    """Whether a process does anything: one that waits to be collected does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
