from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from satchel import __version__
from satchel.cli import main
from satchel.cli.application import COMMANDS, application, run, wants_json
from satchel.testing import TinyRepository
from tests.unasked import LOOKS_FURTHER, UNASKED, UNCOUNTED

HEAVY = ("numpy", "structlog", "apsw", "tree_sitter", "rs_bpe", "asyncio", "satchel.engine")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"satchel, version {__version__}\n"


def test_the_version_alone_is_written_without_loading_a_command() -> None:
    program = (
        "import sys\nfrom satchel.cli.main import main\nsys.argv = ['satchel', '--version']\ncode = main()\n"
        "print(code, *({'click', 'satchel.types'} & {*sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"satchel, version {__version__}\n", "0\n")


def test_the_version_is_an_object_for_programs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "--version", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"name": "satchel", "version": __version__}


def test_the_version_that_cannot_be_written_is_an_error() -> None:
    program = (
        "import os, sys\nfrom satchel.cli.main import main\nos.close(1)\nsys.argv = ['satchel', '--version']\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: Bad file descriptor\n")


def test_a_command_that_reads_runs_the_functions_for_its_end_and_frees_nothing(shop: TinyRepository) -> None:
    program = (
        "import atexit, sys\nfrom satchel.cli.main import main\n"
        "class Freed:\n    def __del__(self):\n        print('freed')\n"
        "kept = Freed()\natexit.register(print, 'ended')\n"
        "sys.argv = ['satchel', 'search', 'nothing of this kind']\nsys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=shop.root)
    assert done.stdout == "ended\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command_with_its_summary(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([option]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, summary in COMMANDS.items():
        assert f"{name} {summary}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_line_of_the_help_of_a_command(name: str) -> None:
    command = application.get_command(click.Context(application), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").split("\n\n")[0].replace("\n", " ") == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_takes_the_common_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--root" in shown
    assert "--color" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    command = application.get_command(click.Context(application), name)
    assert command is not None
    commands = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    for each in commands:
        options = [parameter for parameter in each.params if isinstance(parameter, click.Option)]
        assert [option.name for option in options if not option.help] == []


def test_no_command_at_all_shows_the_help_as_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Usage: satchel ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["contxt"], "there is no command 'contxt': did you mean context"),
        (["serch", "x"], "did you mean search"),
        (["where is retry handled"], "write `satchel context 'where is retry handled'`"),
        (["xyzzy"], "the commands are context, search"),
        (["--jsno"], "No such option '--jsno'"),
        (["context"], "Missing argument 'QUESTION|-'"),
        (["search", "-n", "many", "x"], "'many' is not a valid integer"),
        (["context", "--format", "pdf", "x"], "'pdf' is not one of"),
        (["context", "--now", "soon", "x"], "--now is 'soon'"),
        (["--color", "blue", "context", "x"], "'blue' is not one of"),
    ],
)
def test_wrong_usage_says_what_is_wrong_and_ends_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.startswith("error: ")


def test_with_json_an_error_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "--json", "--bogus"]) == 2
    shown = capsys.readouterr()
    assert shown.err == ""
    assert json.loads(shown.out) == {
        "error": {
            "type": "UsageError",
            "message": "No such option '--bogus'",
            "exit_code": 2,
            "hint": "try `satchel context --help`",
        }
    }


def test_a_question_that_holds_json_is_not_an_option() -> None:
    assert wants_json(["context", "--json", "x"])
    assert not wants_json(["context", "--", "--json"])


def test_ctrl_c_ends_with_130_wherever_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("satchel.cli.application.run", interrupted)
    assert main.main() == 130


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["context", "--help"], ["nonsense"]])
def test_the_light_ways_import_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom satchel.cli.application import run\n"
        f"code = run({arguments!r})\nprint(*sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == ""


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("command", "unasked", "shown"),
    [
        ("context", UNASKED - LOOKS_FURTHER, "0.1 * 2**attempt"),
        ("search", UNASKED | UNCOUNTED, "shop/client.py"),
    ],
)
def test_a_question_to_an_unchanged_index_loads_only_what_answers_it(
    shop: TinyRepository, command: str, unasked: frozenset[str], shown: str
) -> None:
    assert run(["index", "-q"]) == 0
    program = (
        f"import sys\nfrom satchel.cli.application import run\ncode = run([{command!r}, 'backoff between attempts'])\n"
        f"print(code, *sorted({unasked!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=shop.root)
    assert done.stderr.splitlines()[-1] == "0"
    assert shown in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["completion", "fish"]])
def test_a_full_disk_ends_with_1_and_a_clear_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "satchel.cli.main", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "satchel.cli.main", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_of_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    shown = capsys.readouterr()
    assert "_SATCHEL_COMPLETE" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("words", "at", "offered"),
    [
        ("satchel co", 1, ["context", "config", "completion"]),
        ("satchel context --form", 2, ["--format"]),
        ("satchel context --format m", 3, ["markdown"]),
    ],
)
def test_a_shell_gets_commands_options_and_values(words: str, at: int, offered: list[str]) -> None:
    environment = {"_SATCHEL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "satchel.cli.main"], env=environment, capture_output=True, text=True, check=True
    )
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == offered
