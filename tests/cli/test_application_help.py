"""Help in groups, colours, completion, `config set`, `doctor --fix` and hints: what a person at the terminal meets."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from satchel.cli.application import COMMANDS, GROUPS, application, run
from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel

pytestmark = pytest.mark.usefixtures("shop")

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_the_help_lists_every_command_in_one_of_five_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"\n{heading}:\n") for heading in GROUPS]
    assert len(places) == 5
    assert places == sorted(places)
    assert all(len(re.findall(rf"^  {name} ", shown, re.MULTILINE)) == 1 for name in COMMANDS)


def options(command: click.Command, path: str = "") -> list[tuple[str, click.Option]]:
    """Every option of a command and the commands below it."""
    found = [(path, one) for one in command.params if isinstance(one, click.Option)]
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            found += options(below, f"{path} {name}".strip())
    return found


def test_an_option_has_the_same_short_and_long_name_at_every_command() -> None:
    spelled: dict[str, set[tuple[str, ...]]] = {}
    for _, option in options(application):
        for name in option.opts:
            spelled.setdefault(name, set()).add(tuple(option.opts))
    assert {name: rows for name, rows in spelled.items() if len(rows) > 1} == {}
    assert spelled["--limit"] == {("-n", "--limit")}


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        (["context", "--types"], "code,do", {"code,docs"}),
        (["search", "--domain"], "re", {"refactoring"}),
        (["search", "--category"], "pref", {"preference"}),
        (["graph", "--lens"], "imp", {"impact", "implementations"}),
        (["context", "--view"], "b", {"blocks"}),
        (["config", "set"], "hooks.en", {"hooks.enabled"}),
        (["setup"], "cur", {"cursor"}),
    ],
)
def test_a_shell_completes_values(words: list[str], incomplete: str, expected: set[str]) -> None:
    found = ShellComplete(application, {}, "satchel", "_X").get_completions(words, incomplete)
    assert {one.value for one in found} == expected


@pytest.mark.parametrize(
    ("arguments", "painted"),
    [
        (["search", "backoff"], "\x1b[36mshop/client.py\x1b[0m"),
        (["status"], "\x1b[1mroot          \x1b[0m"),
        (["context", "backoff"], "\x1b[36m\x1b[1m### shop/client.py\x1b[0m\n"),
        (["context", "backoff"], "\x1b[33m@@"),
    ],
)
def test_colours_change_no_character_and_are_left_out_of_pipes(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch, arguments: list[str], painted: str
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    satchel("index")
    plain, colored = satchel(*arguments).out, satchel(*arguments, "--color", "always").out
    assert "\x1b" not in plain
    assert painted in colored
    ago = re.compile(r"checked .* ago")
    assert ago.sub("", ESCAPE.sub("", colored)) == ago.sub("", plain)


def test_a_comment_in_code_is_not_painted_as_a_heading(satchel: Satchel, shop: TinyRepository) -> None:
    (shop.root / "shop" / "hash.py").write_text("# zebra stripes\nZEBRA = 1\n")
    shown = satchel("context", "zebra stripes", "--for", "read", "--color", "always").out
    assert "\n# zebra stripes\n" in shown
    assert "\x1b[36m\x1b[1m### shop/hash.py" in shown


def test_config_set_checks_the_value_and_keeps_comments(satchel: Satchel, home: Path, shop: TinyRepository) -> None:
    file = home / "config" / "satchel.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[budget]\nmax_tokens = 900 # few\n")
    done = satchel("config", "set", "budget.max_tokens", "1200")
    assert (done.code, done.out) == (0, "budget.max_tokens = 1200\n")
    assert file.read_text() == "# mine\n[budget]\nmax_tokens = 1200 # few\n"
    assert satchel("config", "set", "context.weights.docs", "0.5", "--project").code == 0
    assert (shop.root / ".satchel.toml").read_text() == "[context.weights]\ndocs = 0.5\n"
    again = satchel("config", "set", "context.weights.docs", "0.6")
    assert ".satchel.toml also sets context.weights.docs, and takes precedence" in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("budget.max_tokens", "lots"), "budget.max_tokens is 'lots', but must be a whole number"),
        (("budget.max_tokns", "5"), "unknown setting 'budget.max_tokns': did you mean budget.max_tokens?"),
        (("embed.endpoint", "http://127.0.0.1:1", "--project"), "a repository may not set embed.endpoint"),
    ],
)
def test_config_set_writes_nothing_wrong(satchel: Satchel, home: Path, arguments: tuple[str, ...], said: str) -> None:
    refused = satchel("config", "set", *arguments)
    assert refused.code == 2
    assert said in refused.err
    assert not (home / "config" / "satchel.toml").exists()


def test_doctor_repairs_only_when_asked(satchel: Satchel, home: Path) -> None:
    satchel("index")
    (home / "cache").chmod(0o755)
    assert "cache folder: " in satchel("doctor").out
    assert (home / "cache").stat().st_mode & 0o777 == 0o755
    fixed = satchel("doctor", "--fix")
    assert "repaired cache folder" in fixed.err
    assert (home / "cache").stat().st_mode & 0o777 == 0o700
    assert "repaired" not in satchel("doctor", "--fix").err


def test_doctor_removes_a_damaged_index_and_keeps_memories(satchel: Satchel, home: Path) -> None:
    satchel("remember", "Prices are never rounded")
    satchel("index")
    (index,) = (home / "cache").rglob("index.db")
    index.write_bytes(b"SQLite format 3\0" + b"x" * 8_000)
    assert satchel("doctor").code == 1
    assert satchel("doctor", "--fix").code == 0
    assert "send_order" in satchel("context", "how is an order sent?").out
    assert "Prices" in satchel("memory", "list").out


def test_every_folder_of_satchel_is_closed_to_others(satchel: Satchel, home: Path) -> None:
    satchel("index")
    satchel("remember", "Prices are never rounded")
    folders = [folder for folder in home.rglob("*") if folder.is_dir()]
    assert len(folders) >= 3
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("context", "x", "--types", "cod"), "choose from memories, code,"),
        (("search", "x", "--limit", "0"), "give 1 to 100,000 results"),
        (("context", "x", "--nope"), "try `satchel context --help`"),
        (("context", "--retries is not read"), "write `--` before a text that begins with a dash"),
        (("config", "set", "budget.max_tokns", "5"), "did you mean budget.max_tokens?"),
    ],
)
def test_an_error_as_json_has_a_hint(satchel: Satchel, arguments: tuple[str, ...], hint: str) -> None:
    assert satchel(*arguments, "--json").json["error"]["hint"].startswith(hint)


def test_a_group_lists_the_whole_first_sentence_of_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["memory", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Commands:")[2]
    assert "accept (--text\n             corrects them) or reject them." in shown
