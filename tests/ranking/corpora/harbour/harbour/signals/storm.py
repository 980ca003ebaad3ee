"""The storm signal."""

from harbour.signals.base import Signal


class StormSignal(Signal):
    """Shown while the wind is above nine."""

    name = "storm"
    lights = ("red", "red",)

    def applies(self, state):
        return state.wind > 9
