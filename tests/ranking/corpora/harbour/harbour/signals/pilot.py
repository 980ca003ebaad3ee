"""The pilot signal."""

from harbour.signals.base import Signal


class PilotSignal(Signal):
    """Shown while the pilot waits at the buoy."""

    name = "pilot"
    lights = ("white", "red",)

    def applies(self, state):
        return state.pilot_waits
