"""Signals apply by their rules."""

from harbour.signals.register import signals_for
from harbour.signals.storm import StormSignal


class State:
    wind, sight, current, blocked, pilot_waits = 10, 5, 1, False, False


def test_a_storm_signal_is_shown_above_wind_nine():
    assert StormSignal().applies(State())


def test_the_most_important_signal_comes_first():
    assert [signal.name for signal in signals_for(State())] == ["storm"]
