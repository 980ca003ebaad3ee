"""The fog signal."""

from harbour.signals.base import Signal


class FogSignal(Signal):
    """Shown while the sight is below a mile."""

    name = "fog"
    lights = ("white",)

    def applies(self, state):
        return state.sight < 1
