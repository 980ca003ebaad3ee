"""Customs: what a ship declares before it unloads."""

FREE = 2
DUTY = {"wine": 0.3, "tobacco": 0.8, "cloth": 0.1, "tea": 0.2}


def declare_goods(ship, officer, stamps):
    """Go through the goods of a ship with an officer; returns the duty in crowns, and a stamp for each paper."""
    duty = 0.0
    papers = []
    for one in ship.goods:
        name, _, weight = one.partition(":")
        tonnes = float(weight or 0)
        if name in officer.forbidden:
            officer.seize(one)
            papers.append(f"{name}: seized")
            continue
        if name.startswith("UN"):
            papers.append(f"{name}: left to the fire brigade")
            continue
        if tonnes <= FREE:
            papers.append(f"{name}: free")
            continue
        share = DUTY.get(name, 0.05)
        if ship.flag == "home":
            share /= 2
        duty += share * (tonnes - FREE)
        papers.append(f"{name}: {share:.0%}")
        if officer.samples(name):
            officer.open(one)
            if not officer.agrees(one, tonnes):
                duty *= 2
                papers.append(f"{name}: weighed again, doubled")
    for paper in papers:
        stamps.press(paper)
    if duty > 1000:
        officer.call_chief()
        duty = officer.chief_decides(duty)
    return duty, papers
