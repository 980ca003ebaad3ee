"""The process that a host starts ends with 0, in time, and writes one JSON object or nothing, whatever is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.hooks.event_context import MAX_CHARACTERS
from satchel.system import telemetry
from tests.e2e.sample import sample_repository
from tests.hooks.recorded import recorded
from tests.unasked import UNASKED

PATIENT = "import satchel.hooks.supervise as s; s.WORKER_SECONDS = s.DEADLINE_SECONDS = 240.0"
"""A machine that is busy with other tests: what is looked at here is not how fast it is."""

PROMPT = "where is an order sent again when the connection drops?"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A root with an index, and the environment that its hooks run in."""
    folder = tmp_path_factory.mktemp("hooks")
    root = sample_repository(folder / "shop").root
    environ = os.environ | {
        "SATCHEL_HOME": str(folder / "home"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),  # compiled once, not by each process
        "PYTHONPATH": str(Path.cwd()),
    }
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with Satchel.open(root, environ=environ) as engine:
        engine.index()
        engine.memories.add("Never deploy on Fridays", category="decision", importance=0.9)
    return root, environ


@pytest.fixture(scope="module")
def tried(place: tuple[Path, dict[str, str]]) -> dict[str, dict[str, Any]]:
    """What became of every fault."""
    root, environ = place
    command = [sys.executable, "-m", "tests.hooks.faults", str(root), environ["SATCHEL_HOME"]]
    done = subprocess.run(command, capture_output=True, env=environ, check=False, timeout=1800, cwd=root)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    result: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return result


def test_without_a_fault_there_is_context(tried: dict[str, dict[str, Any]]) -> None:
    well = tried["well"]
    assert "def send_order" in json.loads(well["out"])["hookSpecificOutput"]["additionalContext"]
    assert well["err"] == ""
    assert [entry["outcome"] for entry in well["log"]] == ["injected"]


def test_every_fault_ends_with_0_in_time_with_one_object_or_nothing(tried: dict[str, dict[str, Any]]) -> None:
    assert len(tried) > 130
    for name, became in tried.items():
        assert became["code"] == 0, name
        assert len(became["out"]) <= MAX_CHARACTERS, name
        assert became["err"].count("\n") <= 1, name
        if became["out"]:
            assert isinstance(json.loads(became["out"]), dict), name


def test_every_event_that_broke_stands_in_the_log_with_its_reason(tried: dict[str, dict[str, Any]]) -> None:
    for name, became in tried.items():
        outcomes = [entry["outcome"] for entry in became["log"]]
        if name.startswith("a bug/"):
            assert outcomes == ["failed"], name
            assert "RuntimeError: a fault of our own in two lines (faults.py:" in became["log"][0]["reason"]
        elif name.startswith("worker ") and name != "worker noise":
            assert outcomes == ["failed"], name
            assert became["log"][0]["event"] == "prompt"
        elif name.startswith(("switched off", "no state folder", "stopped", "command nonsense")):
            assert outcomes == [], name
        elif name.startswith(("input", "index", "memory", "HEAD")):
            assert len(outcomes) == 1, name


@pytest.mark.parametrize(
    "name",
    ["index missing/prompt", "index corrupt/prompt", "input empty/prompt", "input junk/session-end", "switched off",
     "worker crash", "worker hangs", "worker import error", "command nonsense", "memory locked/after-edit"],
)  # fmt: skip
def test_where_nothing_can_be_known_nothing_is_told_to_the_model(tried: dict[str, dict[str, Any]], name: str) -> None:
    assert "additionalContext" not in tried[name]["out"]


@pytest.mark.parametrize(
    "name",
    [
        "memory missing/prompt",
        "memory corrupt/prompt",
        "HEAD broken/prompt",
        "worker noise",
        "input half a letter/prompt",
    ],
)
def test_what_still_works_answers_beside_a_fault(tried: dict[str, dict[str, Any]], name: str) -> None:
    assert "def send_order" in json.loads(tried[name]["out"])["hookSpecificOutput"]["additionalContext"]


def hook(
    arguments: list[str], sent: bytes, environ: dict[str, str], code: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """The real command, with a line of Python before it starts."""
    run = f"import sys; sys.argv = ['satchel', *{arguments!r}]; from satchel.cli.main import main; sys.exit(main())"
    script = f"{PATIENT}\n{code}\n{run}"
    return subprocess.run([sys.executable, "-c", script], input=sent, capture_output=True, env=environ, timeout=300)


def prompt(root: Path, session: str) -> bytes:
    """A prompt of Claude Code."""
    return json.dumps(recorded("claude-code/prompt", cwd=str(root), session_id=session, prompt=PROMPT)).encode()


def test_the_command_answers_as_its_parts_do(place: tuple[Path, dict[str, str]]) -> None:
    root, environ = place
    done = hook(["--root", str(root), "hook", "prompt"], prompt(root, "real"), environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "def send_order" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_a_prompt_loads_only_what_answers_it(place: tuple[Path, dict[str, str]]) -> None:
    root, environ = place
    unasked = UNASKED | {
        "satchel.cli",
        "satchel.index.build",
        "satchel.index.walk",
        "click",
    }
    program = (
        "import sys\nfrom satchel.hooks.worker import work\n"
        "said, answer = work(['prompt'], sys.stdin.buffer.read())\n"
        f"sys.stdout.buffer.write(answer)\nprint(said, *sorted({set(unasked)!r} & set(sys.modules)), file=sys.stderr)"
    )
    unmeasured = {name: value for name, value in environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", program], input=prompt(root, "loads"), capture_output=True, env=unmeasured, check=True
    )
    assert b"def send_order" in done.stdout
    assert done.stderr.split() == []


@pytest.mark.parametrize("module", ["satchel.hooks.supervise", "satchel.hooks.worker", "apsw"])
def test_a_broken_installation_ends_quietly(place: tuple[Path, dict[str, str]], module: str) -> None:
    root, environ = place
    done = hook(["hook", "prompt"], prompt(root, module), environ, f"import sys; sys.modules[{module!r}] = None")
    assert (done.returncode, done.stdout) == (0, b"")
    if module == "apsw":  # the worker is sound: what broke stands in the log
        entry = telemetry.hook_entries(Path(environ["SATCHEL_HOME"]) / "state")[-1]
        assert entry["reason"].startswith("ModuleNotFoundError: import of apsw")
    else:
        assert done.stderr.count(b"\n") == 1
        assert module.encode() in done.stderr


def test_a_host_that_went_away_is_no_fault(place: tuple[Path, dict[str, str]]) -> None:
    root, environ = place
    source, target = os.pipe()
    os.close(source)
    command = [sys.executable, "-m", "satchel", "hook", "prompt"]
    done = subprocess.run(
        command, input=prompt(root, "gone"), stdout=target, stderr=subprocess.PIPE, env=environ, timeout=300
    )
    os.close(target)
    assert done.returncode == 0


def test_without_forks_the_same_is_done_in_one_process(place: tuple[Path, dict[str, str]]) -> None:
    root, environ = place
    done = hook(["hook", "prompt"], prompt(root, "alone"), environ, "import os; del os.fork")
    assert done.returncode == 0
    assert "def send_order" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
