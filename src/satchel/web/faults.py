"""What an error of the engine becomes: a status code, and what `satchel.operations` says of it."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.errors import LockedError, MissingExtraError, NoIndexError, SatchelError, UnsafePathError, UsageError
from satchel.operations.operation import fault_text
from satchel.web.refusals import Refusal

STATUS_CODES: Sequence[tuple[type[SatchelError], int]] = (
    (UsageError, 400),
    (UnsafePathError, 400),
    (LockedError, 409),
    (NoIndexError, 409),
    (MissingExtraError, 501),
)
"""The first that fits counts; everything else is 500."""

HINTS: Sequence[tuple[type[SatchelError], str]] = (
    (UsageError, "GET /openapi.json describes the arguments of every operation"),
    (UnsafePathError, "name files from the root on, as the answers do"),
    (LockedError, "ask again when the other process is done"),
    (MissingExtraError, "install the extra and start `satchel serve` again"),
)

INTERNAL_ERROR = 500


def refusal_of(error: SatchelError | OSError) -> Refusal:
    """The answer that stands for an error."""
    status = next((code for kind, code in STATUS_CODES if isinstance(error, kind)), INTERNAL_ERROR)
    hint = next((text for kind, text in HINTS if isinstance(error, kind)), "`satchel doctor` says more")
    headers = {"Retry-After": "1"} if isinstance(error, LockedError) else {}
    name = type(error).__name__ if isinstance(error, SatchelError) else "OSError"
    return Refusal(status, name, fault_text(error), hint, headers)
