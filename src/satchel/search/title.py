"""Which line of a question is its title, the part that counts most.

Hosts put lines of their own before the output of a command (`Exit code 1`), people paste the prompt of their shell, and
a log begins with anything. None of that is what the question is about: the error is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST_WRAPPER = 120
"""Characters of a line that says how a command ended. A longer one says more than that."""

_WRAPPER_WORDS = frozenset((
    "an", "cmd", "code", "command", "completed", "err", "errno", "error", "exit", "exited", "failed", "finished",
    "has", "npm", "of", "process", "program", "returned", "script", "status", "terminated", "the", "with",
))  # fmt: skip
_ENDED = frozenset(("exit", "exited", "code", "status"))
_WRAPPER = re.compile(
    r"error: (?:test failed|could not compile|aborting due|process didn't exit|recipe )|g?make(?:\[\d+\])?: \*\*\*"
    r"|npm (?:err!|error)(?:\s|$)|error command failed|elifecycle",
    re.IGNORECASE,
)
"""What the tools say that ran the failing one."""

_PROMPT = re.compile(
    r"\s*(?:(?:\(\S{1,40}\) )?[$%\u276f\u279c>]|\S{0,40}[\w.-]{1,40}@[\w.-]{1,60}[:~ ]\S{0,200} ?[$%\u276f\u279c>#]"
    r"|PS [A-Z]:[^>]{0,200}>) \S"
)
_LOG = re.compile(
    r"[=_*~-]{3,}|Traceback \(|thread '|panic: |goroutine \d|\s*at \S.*:\d|\s*File \"|\s*\u25cf |\s*#\d+\s+0x"
    r"|[.FEsx]{3,}(?:\s|$)|\s*(?:FAIL|PASS|RUN|ok)(?:\s{2}|\t)|--- FAIL: |not ok \d|running \d+ test|collected \d"
    r"|(?:FAIL|FAILED|ERROR|PASS):? \S+(?:::|\.[cm]?[jt]sx?\b| \()|\s+(?:Compiling|Finished|Running|Checking) \S"
    r"|platform \w+ -- |rootdir: "
)
_WORD = re.compile(r"[A-Za-z]+")


def without_wrappers(lines: Sequence[str]) -> Sequence[str]:
    """The lines without those that only say that a command failed; all of them if nothing else is there."""
    kept = [line for line in lines if not is_wrapper(line)]
    return kept if any(map(str.strip, kept)) else lines


def is_wrapper(line: str) -> bool:
    """Whether a line only says that a command failed: `Exit code 1`, `Error: Command failed with exit code 1:`."""
    text = line.strip()
    if not text or len(text) > LONGEST_WRAPPER:
        return False
    if _WRAPPER.match(text):
        return True
    used = {word.lower() for word in _WORD.findall(text)}
    return used <= _WRAPPER_WORDS and not used.isdisjoint(_ENDED) and any(map(str.isdigit, text))


def is_title(line: str, error: str) -> bool:
    """Whether a line, the first of a question that reports `error` (empty for none), may be its title."""
    return not _PROMPT.match(line) and not (error and _LOG.match(line))
