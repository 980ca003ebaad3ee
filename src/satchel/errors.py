"""Every error that satchel raises on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

LONGEST_LINE, LONGEST_MESSAGE = 800, 8_000
"""Characters of a line and of a message; of longer ones the beginning and the end are kept."""


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


class SatchelError(Exception):
    """Base of all errors of this package, with the exit code of the command line.

    A message often quotes what it is about, and is cut if that is long. `without_secrets`, which
    `satchel.safety.sanitize` sets, redacts it before any door can show or log it.
    """

    exit_code = 1
    without_secrets: ClassVar[Callable[[str], str]] = staticmethod(str)

    def __init__(self, message: str = "") -> None:
        lines = SatchelError.without_secrets(message).split("\n")
        super().__init__(_shortened("\n".join(_shortened(line, LONGEST_LINE) for line in lines), LONGEST_MESSAGE))


class UsageError(SatchelError):
    """An argument or a setting has an impossible value: the message gives the value, the limit and the next step.

    `arguments` are the arguments in the message, in its order.
    """

    exit_code = 2

    def __init__(self, message: str = "", *arguments: str) -> None:
        super().__init__(message)
        self.arguments = arguments

    def spelled(self, spelling: Callable[[str], str]) -> str:
        """Return the message with each of its arguments spelled by `spelling`."""
        done, rest = "", str(self)
        for name in self.arguments:
            before, written, after = rest.partition(name)
            if written:
                done, rest = f"{done}{before}{spelling(name)}", after
        return done + rest


class NothingChangedError(UsageError):
    """A change was asked about, and there is none: a negative answer on the command line, not a wrong call."""

    exit_code = 1


class ContextAssemblyError(SatchelError):
    """A context could not be assembled."""


class InvalidContextTypeError(UsageError, ContextAssemblyError):
    """A context type that does not exist was asked for; the message names all that do."""


class ConfigError(UsageError):
    """A settings file cannot be read or contains an unknown or forbidden key."""


class NoIndexError(SatchelError):
    """There is no folder here that could be indexed."""

    exit_code = 10


class LockedError(SatchelError):
    """Another process has the write lock for longer than the wait."""

    exit_code = 11


class StoreError(SatchelError):
    """The store cannot be used: damaged, of a newer version, read-only or out of space."""


class ReadOnlyStoreError(StoreError):
    """The user may read the store and not write to it, or it is a standby."""


class UnreachableStoreError(StoreError):
    """The server of the store does not answer, or went away: most often it, or another one, answers soon."""


class UnsafePathError(SatchelError):
    """A path is outside the workspace root, or not a regular file."""


class GitError(SatchelError):
    """git is missing, timed out, or ended with an error."""


class MissingExtraError(SatchelError):
    """A feature needs an optional extra that is not installed; the message names the command that installs it."""


class EmbeddingError(SatchelError):
    """Texts could not be turned into vectors: the endpoint refused, or the model cannot be loaded."""


class ContextFileError(SatchelError):
    """A context file cannot be used; the message begins with its path and, where known, the line."""


class ClientFileError(SatchelError):
    """A settings file of another program cannot be used: broken, read-only, or with an entry that is not ours."""


class JudgeError(SatchelError):
    """A language model gave no usable answer: a refusal, none at all, or a verdict that is neither true nor false."""
