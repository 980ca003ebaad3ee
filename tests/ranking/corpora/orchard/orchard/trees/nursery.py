"""The nursery: where stocks are raised until a scion is put on them."""

from orchard.trees.grafting import graft_scion

ROWS = 12


def raise_stock(seed, bed):
    """Sow a seed and wait for two summers."""
    bed.sow(seed)
    return bed.after(summers=2)


def spring_work(beds, scions, degrees):
    """Do the work of a spring day in the nursery: every stock gets its scion, from the first row to the last."""
    made = []
    for bed, scion in zip(beds, scions, strict=False):
        stock = bed.strongest()
        made.append(graft_scion(stock, scion, degrees))
    return made


def label_rows(beds):
    """Write a label for each row."""
    return [f"row {number}: {bed.sort}" for number, bed in enumerate(beds, 1)]
