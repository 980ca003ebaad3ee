"""The report of a month: ships, goods and hours."""

from harbour.reports.log import note
from harbour.reports.tables import as_table


def month_report(ships, hours):
    """Write the report of a month: how many ships came, what they brought, and how long the cranes worked."""
    goods = {}
    for ship in ships:
        for one in ship.goods:
            name = one.split(":")[0]
            goods[name] = goods.get(name, 0) + 1
    rows = [("ships", len(ships)), *sorted(goods.items()), ("crane hours", sum(hours))]
    note("the report of the month is written")
    return as_table(rows)
