"""Signals that ask a process to end, handled while a block runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def signals_to(handle: Callable[[int], object]) -> Iterator[None]:
    """Call `handle` with the number of each SIGINT, SIGTERM and SIGHUP while the block runs.

    A signal that the process was started to ignore (nohup) stays ignored. Outside the main thread this does nothing,
    because only that one may handle signals.
    """
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_main = threading.current_thread() is threading.main_thread()
    handled = [other for other in numbers if is_main and signal.getsignal(other) is not signal.SIG_IGN]
    before = {one: signal.signal(one, lambda number, _: handle(number)) for one in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
