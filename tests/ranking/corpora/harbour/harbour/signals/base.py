"""What every signal has."""

from abc import ABC, abstractmethod


class Signal(ABC):
    """A signal on the mast: a name, and a rule when it is shown.

    Heirs say in `applies` whether the weather or the traffic calls for them.
    """

    name = ""
    lights = ()

    @abstractmethod
    def applies(self, state):
        """Return whether the signal is shown in this state."""

    def hoist(self, mast):
        """Show the signal on a mast, by day as a shape and by night as lights."""
        if mast.is_night():
            for light in self.lights:
                mast.light(light)
        else:
            mast.shape(self.name)

    def lower(self, mast):
        """Take the signal down."""
        mast.clear(self.name)
