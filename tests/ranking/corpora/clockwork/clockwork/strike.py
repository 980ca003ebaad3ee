"""Striking the hour."""

from clockwork.gear import turn_gear


def strike_hour(works, hour, is_night):
    """Strike the hour: lift the hammer, let it fall, and wait for the echo."""
    count = hour % 12 or 12
    if is_night:
        works.cover.close()
    echo = []
    for number in range(count):
        works.lever.up()
        works.brake.release()
        turn_gear(works.strike, 1)
        works.brake.hold()
        works.lever.down()
        echo.append(works.bell.listen())
        if number == count - 1:
            works.bell.damp()
    works.cover.open()
    works.log(len(echo))
    return count
