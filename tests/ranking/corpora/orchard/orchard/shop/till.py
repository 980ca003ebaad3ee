"""The till of the farm shop."""

CENTS = 100


def total_price(items, discount=0):
    """Return the price of all items in cents, less a discount in percent."""
    price = sum(item.cents * item.count for item in items)
    return price - price * discount // CENTS


def give_change(paid, price):
    """Return coins for the difference, the largest first."""
    rest, coins = paid - price, []
    for coin in (200, 100, 50, 20, 10, 5, 2, 1):
        count, rest = divmod(rest, coin)
        coins += [coin] * count
    return coins
