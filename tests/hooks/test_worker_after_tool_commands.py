"""Which commands are checks, and which failures are the same."""

from __future__ import annotations

import pytest

from satchel.hooks.worker import is_check, shows_failure, signature

CHECKS = [
    "pytest -q", "python -m pytest tests/x.py::test_y", "cd app && npm test", "npm run build", "pnpm run lint:fix",
    "yarn test:unit", "npx vitest run", "bun test", "cargo test --all", "cargo +nightly clippy", "go vet ./...",
    "make", "make -C build all", "CI=1 make check", "cmake --build build", "./gradlew test", "mvn -q verify",
    "dotnet test", "tox -e py311", "uv run pytest", "poetry run mypy src", "./run_tests.sh", "bash scripts/test.sh",
    "tsc --noEmit", "(cd web; npm run typecheck)", "timeout 60 pytest", ".venv/bin/ruff check .", "sh ./build.sh",
    "rspec spec", "mix test", "swift build", "gcc -o a a.c", "bazel test //...",
]  # fmt: skip

OTHERS = [
    "ls", "ls tests", "cat test.py", "git status", "git commit -m 'make tests pass'", "grep -rn pytest .",
    "rm -rf build",
    "cd build", "echo make", "docker ps", "vim Makefile", "curl https://example.com/test", "", "find . -name '*test*'",
]  # fmt: skip


@pytest.mark.parametrize("command", CHECKS)
def test_what_tests_or_builds_is_a_check(command: str) -> None:
    assert is_check(command)


@pytest.mark.parametrize("command", OTHERS)
def test_what_looks_around_is_no_check(command: str) -> None:
    assert not is_check(command)


@pytest.mark.parametrize(
    "output",
    [
        "=== 1 failed, 3 passed in 0.12s ===", "FAILED tests/a.py::b - KeyError", "--- FAIL: TestA\nFAIL\tshop 0.1s",
        "make: *** [Makefile:3: test] Error 1", "Tests: 2 failed, 1 passed", "not ok 3 - sends", "BUILD FAILED in 3s",
        "error: could not compile `shop`", "test result: FAILED. 1 passed; 1 failed", "Found 3 errors.",
    ],
)  # fmt: skip
def test_an_output_tells_a_failure_that_a_pipe_hid(output: str) -> None:
    assert shows_failure(output)


@pytest.mark.parametrize(
    "output", ["3 passed in 0.1s", "0 failed, 3 passed", "Compiled. 0 errors", "", "it did not fail"]
)
def test_an_output_without_a_failure_tells_none(output: str) -> None:
    assert not shows_failure(output)


def test_a_failure_is_the_same_one_whenever_and_wherever_it_happens() -> None:
    first = "/tmp/a1/cart.py:12: in send\nE   KeyError: 'order 17'\n1 failed in 0.12s"
    again = "/home/me/cart.py:13: in send\nE   KeyError: 'order 18'\n1 failed in 3.02s"
    other = "/tmp/a1/cart.py:12: in send\nE   ValueError: negative price\n1 failed in 0.12s"
    assert signature(first) == signature(again) != signature(other)
    assert signature("just words") != signature("other words")
