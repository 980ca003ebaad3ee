"""Failures as go test, cargo, jest, pytest, mvn and make print them lead to the code that failed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from satchel.hooks.worker import is_check, shows_failure, signature
from tests.hooks.conftest import Host


@dataclass(frozen=True)
class Failure:
    """A command, its output when it fails and when it succeeds, the file at fault with its text, and a line of it."""

    command: str
    output: str
    success: str
    path: str
    text: str
    line: str


FAILURES = {
    "go test": Failure(
        "go test ./... 2>&1 | tail -20",
        """--- FAIL: TestBackoffDoubles (0.00s)
    backoff_test.go:9: Backoff(1) = 1ns, want 2ns
panic: runtime error: index out of range [3] with length 3 [recovered]

goroutine 7 [running]:
testing.tRunner.func1.2({0x5021a0, 0xc0000181b0})
\t/usr/local/go/src/testing/testing.go:1631 +0x24a
example.com/shop/retry.Backoff(...)
\t/build/shop/retry/backoff.go:6
FAIL\texample.com/shop/retry\t0.004s
ok  \texample.com/shop/prices\t(cached)
FAIL
""",
        "ok  \texample.com/shop/retry\t0.004s\nok  \texample.com/shop/prices\t(cached)\n",
        "retry/backoff.go",
        "package retry\n\n// Backoff returns the delay before an attempt.\nfunc Backoff(attempt int) Duration {\n"
        "\tdelays := []Duration{1, 2, 4}\n\treturn delays[attempt]\n}\n",
        "return delays[attempt]",
    ),
    "go build": Failure(
        "go build ./... | cat",
        "# example.com/shop/retry\nretry/limit.go:4:9: undefined: largestDelay\n",
        "",
        "retry/limit.go",
        "package retry\n\nfunc Limit(delay int) int {\n\treturn min(delay, largestDelay)\n}\n",
        "min(delay, largestDelay)",
    ),
    "cargo": Failure(
        "cargo test --quiet 2>&1 | tail -n 30",
        """running 2 tests
.F
failures:

---- retry::tests::doubles stdout ----

thread 'retry::tests::doubles' panicked at src/retry.rs:3:5:
attempt to shift left with overflow
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    retry::tests::doubles

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
""",
        "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; finished in 0.00s\n",
        "src/retry.rs",
        "/// Delay before an attempt.\npub fn delay(attempt: u32) -> u64 {\n    1u64 << attempt\n}\n",
        "1u64 << attempt",
    ),
    "jest": Failure(
        "npx jest --ci | tail -40",
        """FAIL src/retry.test.ts
  retry
    ✕ doubles the delay (3 ms)

  ● retry doubles the delay

    TypeError: Cannot read properties of undefined (reading 'delay')

      1 | export function nextDelay(state: State): number {
    > 2 |   return state.last.delay * 2
        |                     ^

      at nextDelay (src/retry.ts:2:21)
      at Object.<anonymous> (src/retry.test.ts:7:12)

Test Suites: 1 failed, 2 passed, 3 total
Tests:       1 failed, 9 passed, 10 total
Time:        1.204 s
""",
        "PASS src/retry.test.ts\nTest Suites: 3 passed, 3 total\nTests:       10 passed, 10 total\n",
        "src/retry.ts",
        "export function nextDelay(state: State): number {\n  return state.last.delay * 2\n}\n",
        "return state.last.delay * 2",
    ),
    "pytest": Failure(
        "python -m pytest -q | tail -15",
        """F                                                                        [100%]
=================================== FAILURES ===================================
______________________________ test_waits_longer _______________________________

    def test_waits_longer() -> None:
>       assert waiting_time(2) > waiting_time(1)

tests/test_waiting.py:5:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

attempt = 2

    def waiting_time(attempt: int) -> float:
>       return STEPS[attempt]
E       IndexError: list index out of range

shop/waiting.py:5: IndexError
=========================== short test summary info ============================
FAILED tests/test_waiting.py::test_waits_longer - IndexError: list index out of range
1 failed in 0.05s
""",
        ".                                                [100%]\n1 passed in 0.05s\n",
        "shop/waiting.py",
        "STEPS = [0.1, 0.2]\n\n\ndef waiting_time(attempt: int) -> float:\n    return STEPS[attempt]\n",
        "return STEPS[attempt]",
    ),
    "mvn": Failure(
        "mvn -q test | tail -30",
        """[INFO] Running com.example.shop.RetryTest
[ERROR] Tests run: 2, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.041 s <<< FAILURE! in RetryTest
[ERROR] com.example.shop.RetryTest.doublesDelay -- Time elapsed: 0.003 s <<< ERROR!
java.lang.ArrayIndexOutOfBoundsException: Index 3 out of bounds for length 3
\tat com.example.shop.Retry.delayBefore(Retry.java:7)
\tat com.example.shop.RetryTest.doublesDelay(RetryTest.java:12)

[ERROR] Errors:
[ERROR]   RetryTest.doublesDelay:12 » ArrayIndexOutOfBounds Index 3 out of bounds for length 3
[INFO] BUILD FAILURE
""",
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
        "src/main/java/com/example/shop/Retry.java",
        "package com.example.shop;\n\nclass Retry {\n    static final int[] DELAYS = {1, 2, 4};\n\n"
        "    static int delayBefore(int attempt) {\n        return DELAYS[attempt];\n    }\n}\n",
        "return DELAYS[attempt];",
    ),
    "make": Failure(
        "make -j2 check 2>&1 | tail",
        """cc -Wall -c -o build/pause.o lib/pause.c
lib/pause.c: In function 'pause_before':
lib/pause.c:2:12: error: 'LONGEST_PAUSE' undeclared (first use in this function)
    2 |     return LONGEST_PAUSE >> (8 - attempt);
      |            ^~~~~~~~~~~~~
make: *** [Makefile:8: build/pause.o] Error 1
""",
        "cc -Wall -c -o build/pause.o lib/pause.c\ncc -o build/shop build/pause.o\n",
        "lib/pause.c",
        "int pause_before(int attempt) {\n    return LONGEST_PAUSE >> (8 - attempt);\n}\n",
        "return LONGEST_PAUSE >> (8 - attempt);",
    ),
}


@pytest.mark.parametrize("name", [*FAILURES])
def test_a_failure_is_recognised_in_its_output_even_if_a_pipe_hides_the_exit_code(name: str) -> None:
    failure = FAILURES[name]
    assert is_check(failure.command)
    assert shows_failure(failure.output)
    assert not shows_failure(failure.success)


@pytest.mark.parametrize("name", [*FAILURES])
def test_a_failure_is_answered_with_the_code_that_failed(host: Host, name: str) -> None:
    failure = FAILURES[name]
    file = host.root / failure.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(failure.text)
    with host.engine() as engine:
        engine.index()
    response = {"stdout": failure.output, "stderr": ""}
    tool_input = {"command": failure.command}
    output = host.told("claude-code/after-command", tool_input=tool_input, tool_response=response)[1]
    text = output["hookSpecificOutput"]["additionalContext"]
    assert failure.line in text, text
    others = [text.find(f"### {path}") for path in ("shop/client.py", "shop/prices.py", "docs/guide.md")]
    assert all(at < 0 or at > text.index(failure.line) for at in others), text


@pytest.mark.parametrize("name", [*FAILURES])
def test_a_failure_is_the_same_in_another_run_and_another_folder(name: str) -> None:
    output = FAILURES[name].output
    again = output.replace("0.00", "0.31").replace("/build/shop", "/home/ada/shop").replace("0x5021a0", "0x7ff1a0")
    assert signature(again) == signature(output)
    assert len({signature(failure.output) for failure in FAILURES.values()}) == len(FAILURES)
