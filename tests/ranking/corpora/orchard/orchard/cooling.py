"""The cold store."""

COLDEST = 2.0


def hold_temperature(sensor, fan):
    """Run the fan while it is too warm."""
    while sensor.degrees() > COLDEST:
        fan.turn()
    fan.rest()
