"""`satchel serve`: where it listens, what it prints, and how it gives up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from satchel.cli.commands.serve import announce, check_reach, give_up
from satchel.errors import UsageError
from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel

CHOSEN = {"SATCHEL_HTTP_TOKEN": "of-the-tests-" * 3}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_no_permission(host: str) -> None:
    check_reach(host, {}, allow_remote=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "context.example.org"])
def test_other_machines_need_a_permission_and_a_chosen_token(host: str) -> None:
    with pytest.raises(UsageError, match="--allow-remote"):
        check_reach(host, CHOSEN, allow_remote=False)
    with pytest.raises(UsageError, match="SATCHEL_HTTP_TOKEN"):
        check_reach(host, {}, allow_remote=True)
    check_reach(host, CHOSEN, allow_remote=True)


def test_the_token_is_made_once_and_shown_on_demand(satchel: Satchel, home: Path) -> None:
    first, second = satchel("serve", "--show-token"), satchel("serve", "--show-token")
    assert first.out == second.out
    assert first.code == 0
    assert [path.name for path in (home / "state" / "http").iterdir()] == ["key"]


def test_a_wrong_host_starts_nothing(satchel: Satchel, shop: TinyRepository) -> None:
    assert shop.root.exists()
    ran = satchel("serve", "--host", "0.0.0.0")
    assert ran.code == 2
    assert ran.out == ""
    assert "--allow-remote" in ran.err


def test_without_the_extra_the_error_names_it(
    satchel: Satchel, shop: TinyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.root.exists()
    for module in ("uvicorn", "starlette", "mcp"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            ran = satchel("serve", "--show-token")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith(f"error: `satchel serve` needs {module}: ")
        assert "[mcp]" in ran.err


def test_the_address_is_the_one_line_on_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    announce("http://127.0.0.1:1/?token=x")
    shown = capfd.readouterr()
    assert shown.out == "http://127.0.0.1:1/?token=x\n"
    assert "Ctrl-C" in shown.err


def test_work_that_does_not_stop_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    give_up(143, "never")
    assert ended == [143]


@pytest.mark.usefixtures("unmeasured")
def test_other_commands_do_not_pay_for_the_server() -> None:
    code = (
        "import sys; from satchel.cli.application import run; run(['--help']); run(['context', '--help']); "
        "print([name for name in ('starlette', 'uvicorn', 'mcp', 'anyio', 'asyncio') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_server_loads_the_sdk_of_mcp_at_its_first_request() -> None:
    code = "import sys, satchel.web.application; print([name for name in ('mcp', 'pydantic') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_processes_that_answer_many_questions_collect_seldom() -> None:
    code = (
        "import gc; from satchel.cli.session import COLLECTED_AFTER, collect_seldom; collect_seldom(); "
        "print(gc.get_threshold() == COLLECTED_AFTER, gc.get_freeze_count() > 0, gc.isenabled())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True True True\n"
