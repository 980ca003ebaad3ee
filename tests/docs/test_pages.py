"""The commands and examples of the documentation run, in the order in which a reader meets them."""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from satchel.cli.application import COMMANDS, run
from satchel.config import Folders, load_settings
from tests.docs.pages import Command, Example, Text, pages, steps, texts
from tests.docs.project import make_project, write_experiences, write_transcript

NOT_RUN = ("cd ", "claude ", "code ", "docker ", "gh ", "make ", "pip ", "pytest ", "uv ", "uvx ")
"""What the reader runs with other programs: they install, or need a network."""

LONG_LIVED = ("satchel mcp", "satchel serve", "satchel proxy")
"""What does not end by itself has tests of its own."""

IDENTITY = re.compile(r"\b(?:(?:mem|exp|val|cand)_\w+|(?:full|strategy|surprise|root_cause)_[0-9a-f]{6}|[0-9a-f]{8})\b")
"""Identities that differ from run to run: what a page shows stands for what the command printed in its place."""

EXTRA_PAGES = frozenset({"team.md"})
"""Pages whose examples need packages that are installed apart; tests of theirs follow them."""

EXPERIENCES = "experiences.jsonl"
"""An export that takes long to write; a page that imports it finds it beside the project."""


class Reader:
    """Follows one page in a folder of its own."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def follow(self, step: Command) -> None:
        line = self._own(step.line)
        code, out, err = _run(line)
        assert code == 0, f"{step.place}: {line}\nexit {code}\n{err}\n{out}"
        for shown, printed in zip(_named(step.shown), _named(out), strict=False):
            self.known.setdefault(shown, printed)

    def _own(self, line: str) -> str:
        for shown, printed in self.known.items():
            line = line.replace(shown, printed)
        return line


def _named(text: str) -> Iterator[str]:
    """The identities in an output, each with the last column of its row."""
    for line in text.splitlines():
        for identity in IDENTITY.findall(line):
            yield identity
            yield re.split(r"\s{2,}", line.strip())[-1].removeprefix("example: ")


def _run(line: str) -> tuple[int, str, str]:
    """Run one line as a shell would: words, and a file on either side."""
    words = shlex.split(line)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    target = Path(words[words.index(">") + 1]) if ">" in words else None
    source = Path(words[words.index("<") + 1]).read_text() if "<" in words else ""
    arguments = words[1 : min((words.index(sign) for sign in "<>" if sign in words), default=None)]
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(source.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
    finally:
        sys.stdin = before
    written, said = _content(out), _content(err)
    if target is not None:
        target.write_text(written)
    return code, written, said


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture
def reader(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    root = make_project(tmp_path)
    write_transcript(tmp_path, root)
    for name in [name for name in os.environ if name.startswith(("SATCHEL_", "XDG_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    if EXPERIENCES in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "other-home"))
        write_experiences(root, tmp_path / EXPERIENCES)
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(root)
    return Reader()


def is_ours(line: str) -> bool:
    return line.startswith("satchel ") and "|" not in shlex.split(line) and not line.startswith(LONG_LIVED)


def pages_that_run() -> list[Path]:
    """Pages with an example or a command of satchel."""
    return [
        path
        for path in pages()
        if path.name not in EXTRA_PAGES and any(isinstance(step, Example) or is_ours(step.line) for step in steps(path))
    ]


@pytest.mark.parametrize("page", pages_that_run(), ids=lambda path: path.name)
def test_what_a_page_says_runs(page: Path, reader: Reader) -> None:
    """Each command of satchel ends with 0, and each example runs as it stands."""
    for step in steps(page):
        if isinstance(step, Example):
            _example(step)
        elif is_ours(step.line):
            reader.follow(step)


def _example(example: Example) -> None:
    try:
        exec(compile(example.code, example.place, "exec"), {"__name__": "example"})
    except Exception as error:
        error.add_note(example.place)
        raise


@pytest.mark.parametrize("text", [text for page in pages() for text in texts(page)], ids=lambda text: text.place)
def test_every_block_of_a_page_is_read_by_its_program(text: Text, tmp_path: Path) -> None:
    """A file to copy is valid, settings are those of satchel, and a script names commands and options that exist."""
    CHECKS[text.language](text.content, tmp_path)


def _settings(content: str, folder: Path) -> None:
    (folder / "satchel.toml").write_text(content, encoding="utf-8")
    assert load_settings(environ={"HOME": str(folder)}, folders=Folders(folder, folder, folder, folder)).notes == ()


def _script(content: str, folder: Path) -> None:
    (folder / "script").write_text(re.sub(r"^\$ ", "", content, flags=re.MULTILINE), encoding="utf-8")
    subprocess.run(["sh", "-n", str(folder / "script")], check=True)
    for line in re.findall(r"^(?:\$ |.*\$\()?(satchel [a-z][^)\n]*)", content, re.MULTILINE):
        words = shlex.split(line, comments=True)
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        shown = _run(f"satchel {words[1]} --help")[1]
        assert all(option in shown for option in options), (words, options)


def _unit(content: str, _folder: Path) -> None:
    configparser.ConfigParser(strict=False, interpolation=None).read_string(
        content if "[" in content else f"[x]\n{content}"
    )


def _proxy(content: str, _folder: Path) -> None:
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    assert all(line.endswith((";", "{", "}")) for line in lines)
    assert content.count("{") == content.count("}")


CHECKS: dict[str, Callable[[str, Path], object]] = {
    "json": lambda content, _: json.loads(content),
    "yaml": lambda content, _: yaml.safe_load(content),
    "toml": _settings,
    "sh": _script,
    "ini": _unit,
    "nginx": _proxy,
    "sql": lambda content, _: [statement.strip() for statement in content.split(";")][-1] == "" or pytest.fail(content),
    "mermaid": lambda content, _: content.startswith("graph ") or pytest.fail(content),
}
"""What reads a block, by its language; a language without an entry is a failure."""


def test_every_command_on_a_page_is_run_or_left_out_by_name() -> None:
    unknown = [
        f"{step.place}: {step.line}"
        for page in pages()
        for step in steps(page)
        if isinstance(step, Command)
        and not is_ours(step.line)
        and not step.line.startswith((*NOT_RUN, *LONG_LIVED))
        and "|" not in step.line
    ]
    assert not unknown, "\n".join(unknown)


def test_every_command_of_the_program_is_on_a_page() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages() if path.name != "cli.md")
    missing = [name for name in COMMANDS if f"satchel {name}" not in text]
    assert not missing, f"no page says how to use {missing}"
