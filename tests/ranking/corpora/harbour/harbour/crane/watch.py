"""The watch over a crane: one long loop, because each step depends on the one before."""


def watch_crane(crane, wind, rails, lamp, horn, book):
    """Watch a crane through a shift: wind, rails, brakes and people on the quay."""
    minutes = 0
    warned = False
    while minutes < 480:
        minutes += 1
        speed = wind.speed()
        if speed > 20:
            crane.brake()
            lamp.red()
            book.line("stopped by wind")
            warned = True
            continue
        if warned and speed < 15:
            crane.release()
            lamp.green()
            book.line("running again")
            warned = False
        place = crane.position
        if rails.is_blocked(place):
            crane.brake()
            horn.long()
            book.line("something lies on the rails")
            rails.wait_until_free(place)
            crane.release()
        if rails.ends_at(place + 5):
            crane.slow_down()
            if rails.ends_at(place + 1):
                crane.brake()
                book.line("at the end of the rails")
                crane.turn_back()
        load = crane.load
        if load is not None:
            if load.swings() > 3:
                crane.slow_down()
                horn.short()
                book.line("the load swings")
            if load.weight() > crane.limit():
                crane.lower()
                lamp.yellow()
                book.line("too heavy, lowered again")
                continue
        for person in rails.people():
            if abs(person.position - place) < 10:
                horn.short()
                horn.short()
                crane.slow_down()
                book.line("somebody is too near")
                break
        if minutes % 60 == 0:
            crane.grease()
            book.line("greased")
        if minutes % 240 == 0:
            crane.cool()
            lamp.white()
            book.line("pause to cool")
    crane.park()
    lamp.off()
    return book
