"""Expressions with five fields: minute, hour, day, month, day of the week."""

RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class CronExpression:
    """The times that an expression such as `0 7 * * mon` means."""

    def __init__(self, text):
        fields = text.split()
        if len(fields) != len(RANGES):
            raise ValueError(f"{text!r} has {len(fields)} fields, not five")
        self.fields = [parse_field(field, *limits) for field, limits in zip(fields, RANGES, strict=True)]

    def matches(self, moment):
        """Return whether a moment matches all fields."""
        values = (moment.minute, moment.hour, moment.day, moment.month, moment.weekday())
        return all(value in field for value, field in zip(values, self.fields, strict=True))


def parse_field(text, lowest, highest):
    """Return the values of one field: a star, a list, a range or a step."""
    values = set()
    for piece in text.split(","):
        piece, _, step = piece.partition("/")
        first, _, last = piece.partition("-")
        if piece == "*":
            begin, end = lowest, highest
        else:
            begin = number_of(first)
            end = number_of(last) if last else begin
        values.update(range(begin, end + 1, int(step or 1)))
    return values


def number_of(text):
    """Return a number, or that of a day of the week."""
    return DAYS.index(text.lower()) if text.lower() in DAYS else int(text)
