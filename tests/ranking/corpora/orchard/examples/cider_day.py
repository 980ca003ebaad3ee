"""A day at the press: cider from ten crates."""

from orchard.press.cider import press_cider
from orchard.tank import fill_tank


def cider_day(crates, bag, tank):
    for crate in crates:
        fill_tank(press_cider(crate, bag), tank)
