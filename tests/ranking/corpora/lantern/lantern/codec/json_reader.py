"""Reads whole records from lines of JSON."""

import json


def read_record(line):
    """Return number and text of a line of the journal, None for a torn line."""
    sign, number, text = line[:1], *line[1:].partition(" ")[::2]
    if sign == "-":
        return int(number), None
    try:
        json.loads(text)
    except ValueError:
        return None
    return int(number), text
