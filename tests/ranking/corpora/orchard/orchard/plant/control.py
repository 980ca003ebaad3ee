"""The control panel: every machine of the yard, by its button."""

BUTTONS = {}


def button(name):
    """Register a machine under a button."""

    def keep(function):
        BUTTONS[name] = function
        return function

    return keep


@button("washer")
def wash(panel):
    """Wash a crate."""
    panel.valve("water").open()
    panel.belt("washer").run(40)
    panel.valve("water").close()


@button("sorter")
def sort(panel):
    """Sort by size."""
    for crate in panel.crates():
        panel.belt(crate.size()).run(5)


@button("press")
def press(panel):
    """Start the press for cider, once the lid is closed."""
    if not panel.lid("press").closed():
        panel.lamp("red").on()
        return
    panel.motor("press").run(90)
    panel.lamp("green").on()


@button("saw")
def saw(panel):
    """Cut wood for the stove."""
    panel.motor("saw").run(30)


@button("sprinkler")
def sprinkle(panel):
    """Water the yard."""
    panel.valve("yard").open()
    panel.valve("yard").close()


@button("gate")
def gate(panel):
    """Open the gate for a wagon."""
    panel.motor("gate").run(12)
    panel.lamp("yellow").on()


@button("stop")
def stop(panel):
    """Stop every motor at once."""
    for motor in panel.motors():
        motor.stop()
