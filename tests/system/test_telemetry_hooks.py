"""The hook log tells what was done, and stays small."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel.system import telemetry
from satchel.system.state_files import locked


def test_entries_come_back_in_their_order_and_broken_lines_are_left_out(tmp_path: Path) -> None:
    assert telemetry.hook_entries(tmp_path) == []
    for number in range(3):
        telemetry.append_hook_entry(tmp_path, {"number": number, "said": "naïve \udcff"})
    with telemetry.hook_log_file(tmp_path).open("a") as file:
        file.write('{"number": 3\n[4]\n')
    assert [entry["number"] for entry in telemetry.hook_entries(tmp_path)] == [0, 1, 2]
    assert [entry["number"] for entry in telemetry.hook_entries(tmp_path, 2)] == [1, 2]


def test_the_file_is_for_the_user_alone_and_never_grows_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "HOOK_LOG_BYTES", 2_000)
    for number in range(200):
        telemetry.append_hook_entry(tmp_path, {"number": number})
        assert telemetry.hook_log_file(tmp_path).stat().st_size <= 2_000
    numbers = [entry["number"] for entry in telemetry.hook_entries(tmp_path)]
    assert numbers == [*range(numbers[0], 200)]
    assert telemetry.hook_log_file(tmp_path).stat().st_mode & 0o077 == 0


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda number: telemetry.append_hook_entry(tmp_path, {"number": number}), range(100))]
    assert sorted(entry["number"] for entry in telemetry.hook_entries(tmp_path)) == [*range(100)]


def test_a_lock_that_is_held_delays_an_entry_but_does_not_lose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "LOCK_SECONDS", 0.02)
    telemetry.append_hook_entry(tmp_path, {"number": 0})
    with locked(telemetry.hook_log_file(tmp_path).parent):
        telemetry.append_hook_entry(tmp_path, {"number": 1})
    assert len(telemetry.hook_entries(tmp_path)) == 2
