from __future__ import annotations

import subprocess
import sys

import pytest
import structlog
from structlog.testing import capture_logs

from satchel import logs


def test_a_warning_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()
    logs.warning("key not stored", path="a/b")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "key not stored" in shown.err
    assert "a/b" in shown.err


def test_a_program_that_set_the_log_up_decides_where_it_goes() -> None:
    with capture_logs() as lines:
        logs.warning("source failed", source="docs")
    assert lines == [{"event": "source failed", "source": "docs", "log_level": "warning"}]


def test_the_log_costs_nothing_until_it_is_written() -> None:
    program = "import sys, satchel.logs; print('structlog' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
