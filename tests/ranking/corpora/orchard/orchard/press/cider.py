"""Makes cider from washed apples."""

from orchard.mash import mill

STEPS = (1.5, 3.0, 4.5)


def press_cider(apples, bag):
    """Press apples in three steps of rising pressure; returns litres of juice."""
    juice = 0.0
    for bar in STEPS:
        juice += bag.squeeze(mill(apples), bar)
    return juice
