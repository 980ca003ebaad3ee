"""Gears."""

FEWEST_TEETH = 6


class Slipped(Exception):
    """A tooth slipped."""


def turn_gear(gear, teeth):
    """Turn a gear by so many teeth, forwards or back; returns how many turns it made.

    The gear is oiled when it is dry. A worn tooth may slip: then the gear is turned back by one tooth and tried again.
    """
    if gear.teeth < FEWEST_TEETH:
        raise Slipped("a gear with fewer than six teeth slips")
    if gear.is_dry():
        gear.oil()
    turned = 0
    while turned < abs(teeth):
        tooth = gear.next_tooth(backwards=teeth < 0)
        if tooth.is_worn and tooth.slips():
            gear.back()
            continue
        turned += 1
        gear.position += 1 if teeth > 0 else -1
    if gear.position < 0:
        gear.position += gear.teeth
    gear.position %= gear.teeth
    if gear.follower is not None:
        ratio = gear.teeth / gear.follower.teeth
        gear.follower.pending += turned * ratio
    if gear.is_squealing():
        gear.oil()
        gear.mark("oil it more often")
    whole = turned // gear.teeth
    gear.turns += whole
    return whole
