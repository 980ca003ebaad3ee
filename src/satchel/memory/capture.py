"""Run a command and read from its output how an experience ended.

The output is passed through as it is written, and the exit code is kept. Only the end of the output is read: there test
runners print how many tests passed and failed.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

from satchel.errors import UsageError

COMMAND_CHARACTERS = 200
"""Length limit of the command line in the result of an experience."""

_COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FIRST_SIGNAL_CODE = 128
_STOPPED = frozenset(getattr(signal, f"SIG{name}", None) for name in ("HUP", "INT", "TERM", "KILL"))


@dataclass(frozen=True, slots=True)
class TestCounts:
    """The counts of a test runner. Errors count as failures."""

    runner: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    __test__ = False  # not a test class, whatever its name says to pytest

    def __str__(self) -> str:
        counted = [(self.failed, "failed"), (self.passed, "passed"), (self.skipped, "skipped")]
        text = ", ".join(f"{number} {word}" for number, word in counted if number) or "no tests"
        return f"{self.runner}: {text}"


class Captured(NamedTuple):
    """A finished command. `exit_code` is its own, or 128 and the number of the signal that ended it."""

    command: str
    exit_code: int
    counts: TestCounts | None

    @property
    def is_success(self) -> bool:
        """True if the exit code is 0 and no test failed: a pipe may hide the exit code of the tests."""
        return self.exit_code == 0 and (self.counts is None or self.counts.failed == 0)

    @property
    def is_interrupted(self) -> bool:
        """True if a signal from outside ended the command, so that it says nothing about the hypothesis."""
        return self.exit_code - _FIRST_SIGNAL_CODE in _STOPPED

    @property
    def result(self) -> str:
        """One line: `pytest -q ended with 1; pytest: 3 failed, 120 passed`."""
        command = self.command
        shown = command if len(command) <= COMMAND_CHARACTERS else command[: COMMAND_CHARACTERS - 1] + "…"
        return f"{shown} ended with {self.exit_code}" + (f"; {self.counts}" if self.counts else "")


def run_captured(command: Sequence[str], out: IO[bytes], err: IO[bytes]) -> Captured:
    """Run a command and copy its output to `out` and `err` as it is written.

    Raises UsageError if the command is empty or cannot be started.
    """
    if not command:
        raise UsageError("there is no command: write it after `--`, as in `satchel experience capture -- pytest -q`")
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot run {command[0]!r}: {reason}") from error
    tails = [bytearray(), bytearray()]
    threads = [
        threading.Thread(target=_pass_on, args=(source, target, tail), daemon=True)
        for source, target, tail in zip((process.stdout, process.stderr), (out, err), tails, strict=True)
    ]
    with process:
        try:
            for thread in threads:
                thread.start()
            code = process.wait()
        except BaseException:  # nobody waits for it any more
            process.kill()
            raise
        for thread in threads:
            thread.join()
    texts = [tail.decode("utf-8", "replace") for tail in tails]
    exit_code = code if code >= 0 else _FIRST_SIGNAL_CODE - code
    return Captured(shlex.join(command), exit_code, read_counts("\n".join(texts)))


def _pass_on(source: IO[bytes] | None, target: IO[bytes], tail: bytearray) -> None:
    """Copy a stream and keep its end. A target that was closed does not stop the command."""
    assert source is not None  # it is a pipe
    is_read = True
    while chunk := source.read1(65_536):  # type: ignore[attr-defined]
        tail += chunk
        # Bytes that are kept from the end of each stream: many times the longest summary of a runner
        del tail[:-16_384]
        if is_read:
            try:
                target.write(chunk)
                target.flush()
            except (OSError, ValueError):
                is_read = False


def read_counts(output: str) -> TestCounts | None:
    """Return the counts in the closing lines of a test run, None where no runner is recognised.

    Runners are pytest, unittest, cargo test, go test, jest and vitest, and make (which counts nothing, but names the
    target that failed). Of several summaries, that of the first matching runner in `_READERS` counts.
    """
    plain = _COLOR.sub("", output)
    return next((counts for reader in _READERS if (counts := reader(plain)) is not None), None)


_PYTEST = re.compile(r"^=*\s?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s", re.MULTILINE)
_PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?", re.MULTILINE)
_NAMED_COUNT = re.compile(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)")
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): ", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL|\?)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[[\w ]+\])", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+(.*\d+ (?:total|passed|failed).*)$", re.MULTILINE)
_JEST_COUNT = re.compile(r"(\d+) (passed|failed|skipped|todo|pending)")
_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* .*Error \d+", re.MULTILINE)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    matches = list(pattern.finditer(text))
    return matches[-1] if matches else None


def _pytest(text: str) -> TestCounts | None:
    """`=== 1 failed, 5 passed, 2 skipped in 0.12s ===`."""
    match = _last(_PYTEST, text)
    if match is None:
        return None
    counts = {word: int(number) for number, word in _PYTEST_COUNT.findall(match[1])}
    if not counts and match[1] != "no tests ran":
        return None
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    passed = counts.get("passed", 0) + counts.get("xpassed", 0)
    return TestCounts("pytest", passed, failed, counts.get("skipped", 0) + counts.get("xfailed", 0))


def _unittest(text: str) -> TestCounts | None:
    """`Ran 5 tests in 0.010s`, then `FAILED (failures=1, errors=1)`."""
    match = _last(_UNITTEST, text)
    if match is None:
        return None
    counts = {word: int(number) for word, number in _NAMED_COUNT.findall(match[3] or "")}
    failed = counts.get("failures", 0) + counts.get("errors", 0) + counts.get("unexpected successes", 0)
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    return TestCounts("unittest", max(int(match[1]) - failed - skipped, 0), failed, skipped)


def _cargo(text: str) -> TestCounts | None:
    """`test result: FAILED. 3 passed; 1 failed; 0 ignored; ...`, one line for each test binary."""
    rows = [tuple(map(int, row)) for row in _CARGO.findall(text)]
    if not rows:
        return None
    passed, failed, skipped = (sum(column) for column in zip(*rows, strict=True))
    return TestCounts("cargo test", passed, failed, skipped)


def _go(text: str) -> TestCounts | None:
    """`--- FAIL: TestParse (0.00s)` for each test that failed (with -v for all), and one line for each package."""
    packages = [word for word in _GO_PACKAGE.findall(text) if word != "?"]
    if not packages:
        return None
    tests = _GO.findall(text)
    # Without -v only failures are named; then packages are counted, which is what its closing lines say.
    if "PASS" in tests:
        return TestCounts("go test", tests.count("PASS"), tests.count("FAIL"), tests.count("SKIP"))
    return TestCounts("go test (packages)", packages.count("ok"), packages.count("FAIL"))


def _jest(text: str) -> TestCounts | None:
    """`Tests:       1 failed, 5 passed, 6 total` (jest) or `Tests  1 failed | 5 passed (6)` (vitest)."""
    match = _last(_JEST, text)
    if match is None:
        return None
    counts = {word: int(number) for number, word in _JEST_COUNT.findall(match[1])}
    skipped = counts.get("skipped", 0) + counts.get("todo", 0) + counts.get("pending", 0)
    return TestCounts("jest", counts.get("passed", 0), counts.get("failed", 0), skipped)


def _make(text: str) -> TestCounts | None:
    """`make: *** [Makefile:3: test] Error 1`, one line for each failed target."""
    failed = len(_MAKE.findall(text))
    return TestCounts("make", failed=failed) if failed else None


_READERS: tuple[Callable[[str], TestCounts | None], ...] = (_pytest, _unittest, _cargo, _jest, _go, _make)
"""Readers of closing lines; make comes last, because it runs the others."""
