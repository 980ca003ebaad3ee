"""The three tours of the quickstart, as they are written, to the first lesson that is delivered."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.pages import REPOSITORY
from tests.docs.project import make_project

PAGE = REPOSITORY / "docs" / "quickstart.md"
LESSON = "Ask Ruben before the wait between retries changes"


def blocks(title: str) -> list[tuple[str, str]]:
    """Language and content of the blocks below a heading."""
    tokens = MarkdownIt().parse(PAGE.read_text(encoding="utf-8"))
    found, here = [], False
    for token, content in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.type == "heading_open":
            here = content.content == title
        elif token.type == "fence" and here:
            found.append((token.info.strip(), token.content))
    assert found, f"there is no tour {title!r}"
    return found


def commands(title: str) -> list[str]:
    """The commands of the consoles below a heading, without their comments."""
    consoles = "".join(content for language, content in blocks(title) if language == "console")
    return [re.sub(r"\s{2,}#.*$", "", line) for line in re.findall(r"^\$ (.+)$", consoles, re.MULTILINE)]


class Visitor:
    """Somebody with an empty home folder, in the project of the documentation."""

    def __init__(self, folder: Path) -> None:
        self.root = make_project(folder)
        self.variables = {
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SATCHEL_HOME": str(folder / "satchel"),
        }

    def run(self, line: str, given: str = "") -> str:
        done = subprocess.run(
            line,
            shell=True,
            cwd=self.root,
            env=self.variables,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    def python(self, code: str) -> None:
        self.run(f"{sys.executable} -", code)

    def tell(self, event: str, **fields: object) -> str:
        """Send an event as the client does, with the commands that set-up wrote into its settings."""
        settings = json.loads((self.root / ".claude" / "settings.local.json").read_text())
        common = {"session_id": "tour", "cwd": str(self.root), "hook_event_name": event, **fields}
        (group,) = settings["hooks"][event]
        return self.run(group["hooks"][0]["command"], json.dumps(common))


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def test_an_agent_reads_the_lesson_before_its_edit(visitor: Visitor) -> None:
    printed = {}
    for line in commands("You work with an agent"):
        if line == "satchel hook log":
            prompt = visitor.tell("UserPromptSubmit", prompt="a shorter wait between two retries")
            edit = {"file_path": str(visitor.root / "shop/client.py"), "old_string": "0.5", "new_string": "0.1"}
            before = visitor.tell("PreToolUse", tool_name="Edit", tool_input=edit)
            assert [LESSON in told for told in (prompt, before)].count(True) == 1, "told once"
        printed[line] = visitor.run(line)
    assert "shop/client.py" in printed['satchel context "Where is a retry delayed, and by how much?"']
    assert "memory:mem_" in printed["satchel hook log"]
    assert LESSON in printed["satchel stats"]
    assert not (visitor.root / ".claude").exists(), "removal leaves nothing"


@contextmanager
def serving(visitor: Visitor) -> Iterator[int]:
    """The server of the tour at a free port."""
    server = subprocess.Popen(
        [*commands("You build an agent")[0].split(), "--port", "0"],
        cwd=visitor.root, env=visitor.variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        address = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert address is not None
        yield int(address[1])
    finally:
        server.terminate()
        server.communicate(timeout=20)


def test_a_program_reads_the_lesson_in_python_over_mcp_and_over_http(visitor: Visitor) -> None:
    """Python and MCP assert it themselves, as they are written."""
    request = ""
    for language, content in blocks("You build an agent"):
        if language == "python":
            visitor.python(content)
        elif language == "sh":
            request = content
    with serving(visitor) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as healthy:
            assert healthy.status == 200
        assert LESSON in visitor.run(request.replace("8765", str(port)))


def test_a_note_taker_is_answered_with_what_was_remembered(visitor: Visitor) -> None:
    last = [visitor.run(line) for line in commands("You have notes")][-1]
    assert "decided by Alice alone" in last
    assert not list(visitor.root.parent.glob("vault/**/*satchel*")), "nothing is written into the notes"
