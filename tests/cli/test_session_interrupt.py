from __future__ import annotations

import signal
import threading

import pytest

from satchel.cli.session import Interrupt
from satchel.errors import LockedError, StoreError


def test_nothing_is_requested_before_a_signal() -> None:
    with Interrupt() as interrupt:
        assert not interrupt.requested()
    assert interrupt.exit_code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_first_signal_is_a_request_and_names_the_exit_code(number: signal.Signals, code: int) -> None:
    with Interrupt() as interrupt:
        signal.raise_signal(number)
        assert interrupt.requested()
    assert interrupt.exit_code == code


def test_the_second_signal_stops_at_once() -> None:
    with Interrupt():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_handlers_of_before_come_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupt.requested()
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_in_another_thread_it_does_nothing() -> None:
    seen = []

    def work() -> None:
        with Interrupt() as interrupt:
            seen.append(interrupt.requested())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def fail_after_a_signal(error: Exception, *, signalled: bool) -> None:
    """Work that is stopped by an error."""
    with Interrupt():
        if signalled:
            signal.raise_signal(signal.SIGINT)
        raise error


@pytest.mark.parametrize(
    ("error", "signalled", "raised"),
    [
        (LockedError("busy"), True, KeyboardInterrupt),
        (LockedError("busy"), False, LockedError),
        (StoreError("damaged"), True, StoreError),
    ],
    ids=["a lock that was given up on request", "a lock that stayed taken", "another error"],
)
def test_only_a_lock_that_was_given_up_on_request_is_the_interrupt_itself(
    error: Exception, signalled: bool, raised: type[BaseException]
) -> None:
    with pytest.raises(raised):
        fail_after_a_signal(error, signalled=signalled)
