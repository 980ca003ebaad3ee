"""What a shell command was for, and what of its failure tells it from another."""

from __future__ import annotations

import re
from hashlib import blake2b

SIGNATURE_LINES = 12
"""Of the lines that say what failed, so many make a failure the same one: a test that fails alike fails once."""

_RUNNERS = (
    r"(?:python[\d.]*\s+-m\s+)?(?:pytest|unittest|tox|nox|mypy|ruff|flake8|pylint|pyright|behave|nose2|build)",
    r"(?:npm|pnpm|yarn|bun)\s+(?:run\s+|run-script\s+)?[\w:.-]*(?:test|build|check|lint|typecheck|compile|ci)[\w:.-]*",
    r"(?:npx|pnpm|yarn|bunx|bun|deno)\s+(?:(?:exec|dlx|run|task)\s+)?(?:jest|vitest|mocha|ava|tsc|eslint|playwright)",
    r"(?:npx|pnpm|yarn|bunx|bun|deno)\s+(?:(?:exec|dlx|run|task)\s+)?(?:webpack|vite|rollup|esbuild|test|check|lint)",
    r"(?:jest|vitest|mocha|tsc|eslint|playwright|cypress)",
    r"cargo\s+(?:\+\S+\s+)?(?:t|test|nextest|b|build|c|check|clippy|bench|r|run)",
    r"go\s+(?:test|build|vet|install|run)",
    r"(?:g?make|ninja|just|task|rake|bazel(?:isk)?|buck2?|pants|meson|ctest|scons)",
    r"cmake\s+--build",
    r"(?:mvnw?|\./mvnw|gradlew?|\./gradlew|sbt|lein|ant)",
    r"dotnet\s+(?:test|build|run|publish)",
    r"(?:swift|xcodebuild|zig)\s+(?:test|build)?",
    r"(?:phpunit|vendor/bin/phpunit|pest|composer\s+(?:run\s+)?test|rspec|bundle\s+exec\s+\S+|mix\s+(?:test|compile))",
    r"(?:gcc|g\+\+|clang(?:\+\+)?|javac|kotlinc|rustc|ghc|stack|cabal)",
    r"(?:uv|poetry|pipenv|hatch|pdm|rye)\s+run",
    r"(?:(?:bash|sh|zsh)\s+)?[\w./-]*(?:test|build|check)[\w.-]*",
)
_BEFORE = r"(?:^|[;&|(]|\bdo\b|\bthen\b)\s*(?:(?:[A-Za-z_]\w*=\S*|sudo|env|time|nice|timeout\s+\S+|exec|command)\s+)*"
_CHECKING = re.compile(_BEFORE + r"(?:\S*/)?(?:" + "|".join(_RUNNERS) + r")(?=$|[\s;&|)])")

_TELLING = re.compile(
    r"^E\s|\bFAILED\b|\b[Ff]ail(?:ed|ure)?\b|(?:Error|Exception|Panic|Warning)\b|\berror(?:\[|:)|panicked|\*\*\*|undefined"
    r"|cannot find|not found|expected|assert",
)
_VARYING = re.compile(
    r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|(?:/[\w.@+-]+)+/|\d+|\s+",
    re.IGNORECASE,
)
_FAILED_COUNT = re.compile(
    r"\b([1-9]\d*) (?:failed|failures?|errors?)\b|^(?:FAILED|FAIL)\b|^not ok \d|\bBUILD FAILED\b"
    r"|^make(?:\[\d+\])?: \*\*\* .*Error \d+|^error(?:\[\w+\])?: (?:could not compile|aborting)|test result: FAILED",
    re.MULTILINE,
)


def is_check(command: str) -> bool:
    """Whether a shell command tests, builds or checks something."""
    return _CHECKING.search(command) is not None


def shows_failure(output: str) -> bool:
    """Whether an output says that tests failed or a build broke: a pipe hides the exit code, not the words."""
    return _FAILED_COUNT.search(output) is not None


def signature(output: str) -> str:
    """What makes a failure the same as another one, as 16 hexadecimal digits.

    Of the lines that tell what failed, without numbers, times, addresses and folders. An output that tells nothing is
    taken as it is.
    """
    lines = [line for line in output.splitlines() if _TELLING.search(line)] or output.splitlines()[-SIGNATURE_LINES:]
    told = dict.fromkeys(_VARYING.sub(" ", line).strip() for line in lines)
    chosen = sorted(filter(None, told))[:SIGNATURE_LINES]
    return blake2b("\n".join(chosen).encode("utf-8", "replace"), digest_size=8).hexdigest()
