"""All kinds of signals, in the order of their importance."""

from harbour.signals.closed import ClosedSignal
from harbour.signals.ebb import EbbSignal
from harbour.signals.fog import FogSignal
from harbour.signals.pilot import PilotSignal
from harbour.signals.storm import StormSignal

SIGNALS = [
    StormSignal(),
    ClosedSignal(),
    FogSignal(),
    EbbSignal(),
    PilotSignal(),
]


def signals_for(state):
    """Return the signals that apply, the most important first."""
    return [signal for signal in SIGNALS if signal.applies(state)]
