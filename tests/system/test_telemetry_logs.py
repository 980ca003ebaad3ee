from __future__ import annotations

import subprocess
import sys
from collections.abc import MutableMapping
from typing import Any

import pytest

from satchel.system import telemetry


def test_a_warning_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.warning("key not stored", path="a/b")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "key not stored" in shown.err
    assert "a/b" in shown.err


def test_a_program_that_set_the_log_up_decides_where_it_goes(log_lines: list[MutableMapping[str, Any]]) -> None:
    telemetry.warning("source failed", source="docs")
    assert log_lines == [{"event": "source failed", "source": "docs", "log_level": "warning"}]


def test_the_log_costs_nothing_until_it_is_written() -> None:
    program = "import sys, satchel.system.telemetry; print('structlog' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
