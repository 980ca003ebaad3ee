"""Oil and wax."""


def oil(ladder, cloth):
    """Oil the wood once a year."""
    for rung in ladder.rungs:
        # Because wet wood slips, a rung has grooves, which must not fill with oil.
        cloth.wipe(rung, thin=True)
