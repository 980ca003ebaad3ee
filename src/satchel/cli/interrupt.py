"""Ctrl-C as a request: the first one asks the work to stop and keep what is done, the second one stops it."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from satchel.errors import LockedError

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_FIRST_EXIT_CODE = 128


class Interrupt:
    """While the block runs, SIGINT, SIGTERM and SIGHUP set a flag; a second one raises KeyboardInterrupt.

    A signal that the process was started to ignore (nohup) stays ignored. Outside the main thread it does nothing,
    because only that one may handle signals.
    """

    def __init__(self) -> None:
        self._received = 0
        self._previous: dict[int, Any] = {}

    def requested(self) -> bool:
        """Whether to stop. Cheap, and safe to call from any thread."""
        return self._received != 0

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal: 130 for Ctrl-C. 0 while there was none."""
        return _FIRST_EXIT_CODE + self._received if self._received else 0

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._received:
            raise KeyboardInterrupt
        self._received = number

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()
        if self._received and isinstance(value, LockedError):  # it was waiting for the lock when it was stopped
            raise KeyboardInterrupt from value
