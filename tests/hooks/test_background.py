"""Work behind the session's back: one process a root, which looks again when something changed meanwhile."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from satchel.hooks import background
from tests.hooks.conftest import Host

START = background.start


def test_a_refresh_takes_in_what_was_changed(host: Host) -> None:
    (host.root / "shop" / "gift.py").write_text("def wrap_gift() -> None: ...\n")
    host.tell("claude-code/after-edit")
    assert background.run(host.started[0]) == 0
    with host.engine() as engine:
        assert engine.search("wrap_gift", refresh=False)
    assert background.run(host.started[0]) == 0


def test_a_first_index_is_built_by_the_same_process_which_gives_way_to_others(new_host: Host) -> None:
    new_host.ask("where is an order sent again?")
    assert background.run(new_host.started[0]) == 0
    assert new_host.given_way == [background.NICENESS]
    assert "def send_order" in new_host.ask("where is an order sent again when the connection drops?")


def test_whoever_comes_while_one_is_at_work_starts_no_other_and_is_served_by_it(host: Host) -> None:
    name = next(host.home.glob("cache/index/*")).name
    mark = background._mark(host.state, name)
    mark.parent.mkdir(parents=True)
    with background._alone(mark) as is_alone:
        assert is_alone
        assert background.refresh(host.root, host.state, name) is False
        assert background.run(["refresh", str(host.root)]) == 0
    assert mark.exists(), "the process that came second left the work to the first one"
    assert background.run(["refresh", str(host.root)]) == 0
    assert not mark.exists()


def test_a_process_of_its_own_holds_nothing_of_the_host_and_trusts_no_folder(
    new_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[str, Any] = {}
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: calls.update(options, command=command))
    START(["refresh", str(new_host.root)], new_host.state)
    assert calls["command"] == [sys.executable, "-P", "-m", "satchel.hooks.background", "refresh", str(new_host.root)]
    assert calls["start_new_session"] is True
    assert calls["cwd"] == new_host.state
    assert {calls[name] for name in ("stdin", "stdout", "stderr")} == {subprocess.DEVNULL}


def test_what_goes_wrong_stands_in_the_hook_log(new_host: Host) -> None:
    assert background.main(["refresh", str(new_host.root / "nowhere")]) == 1
    entry = new_host.entries()[-1]
    assert (entry["event"], entry["outcome"]) == ("background refresh", "failed")
    assert entry["reason"].startswith("NoIndexError")
