"""What was made on each day."""


def close_day(entries, book):
    """Write the sums of a day into the book."""
    total = {"apples": 0, "pears": 0, "cider": 0, "wood": 0}
    for entry in entries:
        if entry.machine == "press":
            total["cider"] += entry.litres
        elif entry.machine == "saw":
            total["wood"] += entry.metres
        else:
            total[entry.fruit] += entry.crates
    for name, amount in sorted(total.items()):
        book.line(f"{name}: {amount}")
    book.line("checked by the foreman, signed by the owner")
    return total
