"""The till."""

from orchard.shop.till import give_change


def test_change_is_given_in_the_largest_coins():
    assert give_change(500, 230) == [200, 50, 20]
