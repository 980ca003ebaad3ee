"""The closed signal."""

from harbour.signals.base import Signal


class ClosedSignal(Signal):
    """Shown while the entrance is blocked."""

    name = "closed"
    lights = ("red", "green", "red",)

    def applies(self, state):
        return state.blocked
