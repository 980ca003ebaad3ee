"""The press makes cider."""

from orchard.press.cider import press_cider


class Bag:
    def squeeze(self, pieces, bar):
        return bar


def test_cider_is_pressed_in_three_steps_of_rising_pressure():
    assert press_cider([], Bag()) == 9.0
