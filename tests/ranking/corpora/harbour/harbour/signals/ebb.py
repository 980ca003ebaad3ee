"""The ebb signal."""

from harbour.signals.base import Signal


class EbbSignal(Signal):
    """Shown while the water leaves the basin."""

    name = "ebb"
    lights = ("green", "white",)

    def applies(self, state):
        return state.current < 0
