"""Every error that satchel raises on purpose.

SatchelError                          carries the exit code of the command line
|-- UsageError (2)                    a bad argument: the message holds the value, the limit and the next step
|   |-- InvalidContextTypeError
|   `-- ConfigError
|-- NoIndexError (10)                 there is nothing here that could be indexed
|-- LockedError (11)                  another process holds the store
|-- StoreError                        the store is damaged, newer than this program, or out of space
|-- UnsafePathError                   a path leads outside the workspace root
|-- GitError                          git answered with an error
|-- MissingExtraError                 an optional extra is not installed
|-- ContextFileError                  a context file cannot be used; the message begins with file and line
|-- ClientFileError                   a settings file of another program is broken, or holds what is not ours
|-- JudgeError                        a language model gave no usable verdict
|-- EmbeddingError                    texts could not be turned into vectors
`-- ContextAssemblyError              a context could not be assembled
"""

from __future__ import annotations

from collections.abc import Callable


class SatchelError(Exception):
    """Base of all errors of this package."""

    exit_code = 1


class UsageError(SatchelError):
    """An argument or a setting has an impossible value. `arguments` are those that the message names, in its order."""

    exit_code = 2

    def __init__(self, message: str = "", *arguments: str) -> None:
        super().__init__(message)
        self.arguments = arguments

    def spelled(self, spelling: Callable[[str], str]) -> str:
        """Return the message with each argument that it names as `spelling` writes it."""
        done, rest = "", str(self)
        for name in self.arguments:
            before, written, after = rest.partition(name)
            if written:
                done, rest = f"{done}{before}{spelling(name)}", after
        return done + rest


class ContextAssemblyError(SatchelError):
    """A context could not be assembled."""


class InvalidContextTypeError(UsageError, ContextAssemblyError):
    """A context type that does not exist was asked for; the message names all that do."""


class ConfigError(UsageError):
    """A settings file cannot be read or holds an unknown or forbidden key."""


class NoIndexError(SatchelError):
    """There is no folder here that could be indexed."""

    exit_code = 10


class LockedError(SatchelError):
    """Another process holds the write lock for longer than the wait."""

    exit_code = 11


class StoreError(SatchelError):
    """The store cannot be used: damaged, of a newer version, read-only or out of space."""


class UnsafePathError(SatchelError):
    """A path is outside the workspace root, or not a regular file."""


class GitError(SatchelError):
    """git is missing, timed out, or ended with an error."""


class MissingExtraError(SatchelError):
    """A feature needs an optional extra that is not installed; the message names the command that installs it."""


class EmbeddingError(SatchelError):
    """Texts could not be turned into vectors: the endpoint refused, or the model cannot be loaded."""


class ContextFileError(SatchelError):
    """A context file cannot be used; the message begins with its path and, where one line is to blame, that line."""


class ClientFileError(SatchelError):
    """A settings file of another program cannot be used: broken, read-only, or with an entry that is not ours."""


class JudgeError(SatchelError):
    """A language model gave no usable verdict on a condition: it refused, was away, or said neither true nor false."""
