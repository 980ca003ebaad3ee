"""The commands of a day as Windows and macOS run them: without the names that they lack, and with their paths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.architecture.tree import ROOT
from tests.postgres import own_home

APART = unicodedata.normalize("NFD", "docs/Größe.md")
COMPOSED = unicodedata.normalize("NFC", APART)
QUESTION = "how long does backoff wait in {}?"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    wait = 'def backoff(attempt):\n    """Wait longer after each attempt."""\n    return 0.1 * 2**attempt\n'
    made.commit("Start", {"src/wait/app.py": wait, "src/retry/app.py": "def retry():\n    return 1\n"})
    made.commit("Describe", {APART: "# Sizes\n\nA parcel has four sizes.\n"})
    return made


def answers(repository: TinyRepository, platform: str, *commands: list[str], prompt: str = "") -> list[str]:
    """The output of each command, which ended with 0, in a process that looks like one of the platform."""
    event = {"prompt": prompt, "cwd": str(repository.root), "session_id": "s", "hook_event_name": "UserPromptSubmit"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.platforms", platform, json.dumps(commands), json.dumps(event)],
        cwd=repository.root,
        env={
            **os.environ,
            **own_home(repository.root.parent / "home"),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        },
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = json.loads(done.stdout)
    assert [code for code, _ in rows] == [0] * len(commands), (rows, done.stderr.decode())
    return [output for _, output in rows]


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin"])
def test_index_question_memory_and_hook_work(repository: TinyRepository, platform: str) -> None:
    asked = QUESTION.format("Src\\Wait\\App.py" if platform == "win32" else "Src/Wait/App.py")
    _, shown, pinned, history, added, listed, hook, status = answers(
        repository,
        platform,
        ["index"],
        ["context", asked, "--json"],
        ["context", asked, "--include", "src\\Retry\\app.py", "--json"],
        ["history", COMPOSED],
        ["remember", "The gate of the warehouse opens at nine"],
        ["memory", "list"],
        ["hook", "prompt"],
        ["status", "--json"],
        prompt="how does backoff wait longer after each attempt?",
    )
    assert json.loads(shown)["items"][0]["title"] == "src/wait/app.py"
    assert json.loads(pinned)["items"][0]["title"] == "src/retry/app.py"
    assert "Describe" in history
    assert added.strip() in listed
    assert "src/wait/app.py" in json.loads(hook)["hookSpecificOutput"]["additionalContext"]
    assert json.loads(status)["documents"] == {"code": 2, "commit": 2, "doc": 1}


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin"])
def test_a_name_with_its_accents_apart_is_one_file_that_both_spellings_find(
    repository: TinyRepository, platform: str
) -> None:
    question = "which sizes does {} name?"
    outputs = answers(
        repository,
        platform,
        ["index"],
        ["index"],
        *(["context", question.format(one), "--types", "docs", "--json"] for one in (COMPOSED, APART)),
    )
    for output in outputs[2:]:
        titles = [item["title"] for item in json.loads(output)["items"]]
        assert titles == [COMPOSED if platform == "darwin" else APART]


def test_a_root_in_another_case_is_the_same_root_for_commands_and_hooks(
    repository: TinyRepository,
) -> None:
    root = repository.root.parent / "SHOP"
    there = ["--root", str(root)]
    _, shown, history, roots, hook = answers(
        repository,
        "darwin",
        ["index"],
        ["context", QUESTION.format("app.py"), "--json", *there],
        ["history", str(root / "SRC/wait/app.py"), "--json"],
        ["status", "--json", *there],
        ["hook", "prompt"],
        prompt=f"how does backoff wait longer after each attempt? @{root}/Src/wait/app.py",
    )
    assert json.loads(shown)["items"][0]["title"] == "src/wait/app.py"
    assert len(json.loads(history)["changes"]) == 1
    assert json.loads(roots)["root"] == str(repository.root)
    assert "src/wait/app.py" not in hook, "attached: the host shows it"
