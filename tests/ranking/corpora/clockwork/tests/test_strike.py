"""The hour is struck."""

from clockwork.strike import strike_hour


def test_midnight_is_struck_twelve_times(works):
    assert strike_hour(works, 0, True) == 12
