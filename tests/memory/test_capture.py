from __future__ import annotations

import io
import sys

import pytest

from satchel.errors import UsageError
from satchel.memory.capture import COMMAND_CHARACTERS, Captured, TestCounts, read_counts, run_captured


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_passes_through_and_the_exit_code_is_kept() -> None:
    out, err = io.BytesIO(), io.BytesIO()
    code = "import sys; sys.stdout.write('one\\n'); sys.stderr.buffer.write(b'tw\\xff'); sys.exit(7)"
    captured = run_captured(python(code), out, err)
    assert (out.getvalue(), err.getvalue()) == (b"one\n", b"tw\xff")
    assert (captured.exit_code, captured.counts, captured.is_success) == (7, None, False)
    assert captured.result.endswith("ended with 7")


def test_a_command_that_a_signal_ended_has_the_exit_code_of_a_shell() -> None:
    captured = run_captured(
        python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), io.BytesIO(), io.BytesIO()
    )
    assert (captured.exit_code, captured.is_interrupted) == (137, True)
    crashed = run_captured(
        python("import os, signal; os.kill(os.getpid(), signal.SIGABRT)"), io.BytesIO(), io.BytesIO()
    )
    assert (crashed.exit_code, crashed.is_interrupted, crashed.is_success) == (134, False, False)


def test_much_output_is_passed_on_whole_and_read_at_its_end() -> None:
    out = io.BytesIO()
    code = "print(('x' * 99 + chr(10)) * 3000 + '== 4 passed in 1.5s ==')"
    captured = run_captured(python(code), out, io.BytesIO())
    assert len(out.getvalue()) > 300_000
    assert captured.counts == TestCounts("pytest", passed=4)


def test_a_reader_that_went_away_does_not_stop_the_command() -> None:
    class Closed(io.BytesIO):
        def write(self, _: object) -> int:
            raise BrokenPipeError

    captured = run_captured(python("print('Ran 1 test in 0.1s'); print('\\nOK')"), Closed(), io.BytesIO())
    assert (captured.exit_code, captured.counts) == (0, TestCounts("unittest", passed=1))


@pytest.mark.parametrize("command", [[], ["no-such-program-anywhere"], ["/"], ["a\0b"]], ids=repr)
def test_what_cannot_be_run_is_said(command: list[str]) -> None:
    with pytest.raises(UsageError, match=r"there is no command|cannot run"):
        run_captured(command, io.BytesIO(), io.BytesIO())


def test_failures_count_where_the_exit_code_hides_them() -> None:
    assert not Captured("make", 0, TestCounts("make", failed=1)).is_success
    assert Captured("x" * 500, 0, None).result == "x" * (COMMAND_CHARACTERS - 1) + "… ended with 0"
    assert str(TestCounts("pytest")) == "pytest: no tests"


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("....\n4 passed in 0.12s\n", TestCounts("pytest", 4)),
        ("== 1 failed, 5 passed, 2 skipped, 1 xfailed, 3 warnings, 2 errors in 1s ==", TestCounts("pytest", 5, 3, 3)),
        ("\x1b[31m==== \x1b[31m\x1b[1m1 failed\x1b[0m, 2 passed in 0.1s ====", TestCounts("pytest", 2, 1)),
        ("== no tests ran in 0.01s ==", TestCounts("pytest")),
        ("== 3 failed in 61.00s (0:01:01) ==", TestCounts("pytest", failed=3)),
        ("Ran 5 tests in 0.010s\n\nOK\n", TestCounts("unittest", 5)),
        ("Ran 6 tests in 0.010s\n\nFAILED (failures=1, errors=1, skipped=1)\n", TestCounts("unittest", 3, 2, 1)),
        (
            "test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
            TestCounts("cargo test", 5, 1, 1),
        ),
        ("--- FAIL: TestParse (0.00s)\nFAIL\nFAIL\texample.org/a\t0.01s\nok  \texample.org/b\t(cached)\n",
         TestCounts("go test (packages)", 1, 1)),
        ("--- PASS: TestA (0.00s)\n    --- FAIL: TestB/c (0.00s)\n--- SKIP: TestD (0.0s)\nFAIL\ta.org/a\t0.01s\n",
         TestCounts("go test", 1, 1, 1)),
        ("Tests:       1 failed, 1 skipped, 5 passed, 7 total\n", TestCounts("jest", 5, 1, 1)),
        ("      Tests  1 failed | 5 passed (6)\n", TestCounts("jest", 5, 1)),
        ("make[1]: *** [Makefile:3: test] Error 1\nmake: *** [all] Error 2\n", TestCounts("make", failed=2)),
        ("4 passed in 0.1s\nmake: *** [test] Error 1\n", TestCounts("pytest", 4)),
        ("it passed in 3 s, 5 apples in 2s\n", None),
        ("ran 3 tests\nOK\nTests: none\n?   \texample.org/c\t[no test files]\n", None),
    ],
    ids=lambda value: "" if not isinstance(value, str) else value.strip()[:25],
)  # fmt: skip
def test_closing_lines_of_test_runners_are_read(output: str, counts: TestCounts | None) -> None:
    assert read_counts(output) == counts
