from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, pathlib, signal, subprocess, sys
from tests import reaper

folder = pathlib.Path(sys.argv[1])
reaper.watch(folder, is_removed=True)
subprocess.Popen(["cat"], cwd=folder)
subprocess.Popen(["cat"], cwd="/", env={"PATH": os.environ["PATH"], "HOME": f"{folder}/home"})
nobody = subprocess.DEVNULL
for home in (f"{folder}-2", f"/home{folder}"):
    other = subprocess.Popen(
        ["cat"], cwd="/", env={"PATH": os.environ["PATH"], "HOME": home}, stdout=nobody, stderr=nobody
    )
    print(other.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are looked up in /proc")
def test_a_run_that_is_killed_leaves_no_process_of_its_own_and_no_folder_of_a_server(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "run", subprocess.PIPE
    folder.mkdir()
    starter = subprocess.Popen(["cat"], stdin=pipe, env={**os.environ, "PYTEST_ADDOPTS": f"--basetemp={folder}"})
    run = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)], stdin=pipe, stdout=pipe, stderr=pipe)
    with starter, run:
        assert run.stdout is not None
        assert run.stderr is not None
        # Standard error ends with the last process that has it: the children of the run, then the reaper.
        assert run.stderr.read() == b""
        others = [int(line) for line in run.stdout.read().split()]
        for other in (starter.pid, *others):
            os.kill(other, signal.SIGTERM)
    assert starter.returncode == -signal.SIGTERM
    assert run.returncode == -signal.SIGKILL
    assert len(others) == 2
    assert not folder.exists()
