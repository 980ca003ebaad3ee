"""The commands of a day as Windows and macOS run them: without the names that they lack, and with their paths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.architecture.tree import ROOT
from tests.postgres import own_home

APART = unicodedata.normalize("NFD", "docs/Größe.md")
COMPOSED = unicodedata.normalize("NFC", APART)
QUESTION = "how long does backoff wait in {}?"
PROMPT = "how does backoff wait longer after each attempt?"
SIZES = "which sizes does {} name?"

Day = Callable[[str], Mapping[str, str]]


def made(folder: Path) -> Path:
    repository = TinyRepository(folder / "shop")
    wait = 'def backoff(attempt):\n    """Wait longer after each attempt."""\n    return 0.1 * 2**attempt\n'
    repository.commit("Start", {"src/wait/app.py": wait, "src/retry/app.py": "def retry():\n    return 1\n"})
    repository.commit("Describe", {APART: "# Sizes\n\nA parcel has four sizes.\n"})
    return repository.root


def commands(root: Path, platform: str) -> dict[str, list[str]]:
    """What is run on a system, in this order, by name."""
    asked = QUESTION.format("Src\\Wait\\App.py" if platform == "win32" else "Src/Wait/App.py")
    everywhere = {
        "index": ["index"],
        "context": ["context", asked, "--json"],
        "included": ["context", asked, "--include", "src\\Retry\\app.py", "--json"],
        "history": ["history", COMPOSED],
        "remember": ["remember", "The gate of the warehouse opens at nine"],
        "memories": ["memory", "list"],
        "hook": ["hook", "prompt"],
        "status": ["status", "--json"],
        "index again": ["index"],
        "composed": ["context", SIZES.format(COMPOSED), "--types", "docs", "--json"],
        "apart": ["context", SIZES.format(APART), "--types", "docs", "--json"],
    }
    there = ["--root", str(root.parent / "SHOP")]
    in_another_case = {
        "context there": ["context", QUESTION.format("app.py"), "--json", *there],
        "history there": ["history", str(root.parent / "SHOP/SRC/wait/app.py"), "--json"],
        "status there": ["status", "--json", *there],
        "hook there": ["hook", "prompt"],
    }
    return everywhere | (in_another_case if platform == "darwin" else {})


def answers(root: Path, platform: str) -> dict[str, str]:
    """The output of each command, which ended with 0, in one process that looks like one of the platform."""
    run = commands(root, platform)
    prompts = {"s": PROMPT, "there": f"{PROMPT} @{root.parent / 'SHOP'}/Src/wait/app.py"}
    events = [
        {"prompt": prompt, "cwd": str(root), "session_id": session, "hook_event_name": "UserPromptSubmit"}
        for session, prompt in prompts.items()
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.platforms", platform, json.dumps([*run.values()]), json.dumps(events)],
        cwd=root,
        env={**os.environ, **own_home(root.parent / "home"), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = json.loads(done.stdout)
    assert [code for code, _ in rows] == [0] * len(run), (rows, done.stderr.decode())
    return {"root": str(root)} | {name: output for name, (_, output) in zip(run, rows, strict=True)}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    """The outputs of a day on a system, and its root: one process each: importing all of satchel takes seconds."""
    return cache(lambda platform: answers(made(tmp_path_factory.mktemp(platform)), platform))


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin"])
def test_index_question_memory_and_hook_work(day: Day, platform: str) -> None:
    outputs = day(platform)
    assert json.loads(outputs["context"])["items"][0]["title"] == "src/wait/app.py"
    assert json.loads(outputs["included"])["items"][0]["title"] == "src/retry/app.py"
    assert "Describe" in outputs["history"]
    assert outputs["remember"].strip() in outputs["memories"]
    assert "src/wait/app.py" in json.loads(outputs["hook"])["hookSpecificOutput"]["additionalContext"]
    assert json.loads(outputs["status"])["documents"] == {"code": 2, "commit": 2, "doc": 1}


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin"])
def test_a_name_with_its_accents_apart_is_one_file_that_both_spellings_find(day: Day, platform: str) -> None:
    for spelling in ("composed", "apart"):
        titles = [item["title"] for item in json.loads(day(platform)[spelling])["items"]]
        assert titles == [COMPOSED if platform == "darwin" else APART]


def test_a_root_in_another_case_is_the_same_root_for_commands_and_hooks(day: Day) -> None:
    outputs = day("darwin")
    assert json.loads(outputs["context there"])["items"][0]["title"] == "src/wait/app.py"
    assert len(json.loads(outputs["history there"])["changes"]) == 1
    assert json.loads(outputs["status there"])["root"] == outputs["root"]
    assert "src/wait/app.py" not in outputs["hook there"], "attached: the host shows it"
