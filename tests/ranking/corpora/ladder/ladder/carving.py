"""Work on a rung."""


def carve(rung, count):
    """Carve grooves into a rung, from one end to the other."""
    return [rung.cut(rung.length * number / count) for number in range(count)]
