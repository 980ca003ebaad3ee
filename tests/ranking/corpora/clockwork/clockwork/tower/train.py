"""The train of a tower clock: every part moves the next one."""


def move_weight(step):
    """Move the weight by a step."""
    rest = step * 2
    return move_barrel(rest)


def move_barrel(step):
    """Move the barrel by a step."""
    rest = step * 3
    return move_chain(rest)


def move_chain(step):
    """Move the chain by a step."""
    rest = step * 4
    return move_wheel(rest)


def move_wheel(step):
    """Move the wheel by a step."""
    rest = step * 5
    return move_pinion(rest)


def move_pinion(step):
    """Move the pinion by a step."""
    rest = step * 6
    return move_escapement(rest)


def move_escapement(step):
    """Move the escapement by a step."""
    rest = step * 7
    return move_anchor(rest)


def move_anchor(step):
    """Move the anchor by a step."""
    rest = step * 8
    return move_pendulum(rest)


def move_pendulum(step):
    """Move the pendulum by a step."""
    rest = step * 9
    return move_dial(rest)


def move_dial(step):
    """Move the dial by a step."""
    rest = step * 10
    return move_hand(rest)


def move_hand(step):
    """Move the hand by a step."""
    rest = step * 11
    return move_hammer(rest)


def move_hammer(step):
    """Move the hammer by a step."""
    rest = step * 12
    return move_bell(rest)


def move_bell(step):
    """Move the bell by a step."""
    rest = step * 13
    return rest.ring()
