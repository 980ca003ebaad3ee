"""Days that a text tells by their distance ("yesterday", "two weeks ago"), written as dates.

What was said is read months later, when "yesterday" is another day. Only what names one day, week, month or year is
written out; "recently" and "next Friday" stay, because they may mean several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from satchel.text import pattern

_NUMBERS: Mapping[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WOCHENTAGE = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip

_SINCE = r"(?:(?P<since>since|until|till|before|after|seit|bis|vor)\s+)?"
"""A word that a day follows without "on"."""

Write = Callable[[re.Match[str], date], str]
"""Writes the date of what was found, seen from a day; empty where it cannot be told."""


def with_dates(text: str, time: float) -> str:
    """Return a text with dates in place of days that are relative to a time (seconds since the epoch, a day in UTC)."""
    today = datetime.fromtimestamp(time, UTC).date()

    def written(write: Write) -> Callable[[re.Match[str]], str]:
        return lambda match: write(match, today) or match[0]

    for expression, write in _RULES:
        text = expression.sub(written(write), text)
    return text


def _with(match: re.Match[str], word: str, named: str) -> str:
    return f"{match.groupdict().get('since') or word} {named}"


def _day(days: int, word: str = "on") -> Write:
    return lambda match, today: _with(match, word, (today + timedelta(days=days)).isoformat())


def _possessive(days: int) -> Write:
    return lambda match, today: f"the {match['noun']} of {(today + timedelta(days=days)).isoformat()}"


def _ago(match: re.Match[str], today: date) -> str:
    number = _NUMBERS.get(match["number"].lower()) or int(match["number"])
    unit = match["unit"].lower()
    if unit in {"day", "week"}:
        return _day(-number * (7 if unit == "week" else 1))(match, today)
    return f"in {today.year - number}" if unit == "year" else _month(-number)(match, today)


def _month(months: int) -> Write:
    def write(match: re.Match[str], today: date) -> str:
        years, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        return _with(match, "in", f"{_MONTHS[month]} {years}")

    return write


def _week(weeks: int, word: str, named: str) -> Write:
    def write(match: re.Match[str], today: date) -> str:
        monday = today + timedelta(days=7 * weeks - today.weekday())
        return _with(match, word, f"{named} {monday.isoformat()}")

    return write


def _year(years: int) -> Write:
    return lambda match, today: _with(match, "in", str(today.year + years))


def _weekday(match: re.Match[str], today: date) -> str:
    """Write the latest such day before today."""
    name = match["day"].lower()
    is_english = name in _WEEKDAYS
    place = (_WEEKDAYS if is_english else _WOCHENTAGE).index(name)
    return _day(-((today.weekday() - place - 1) % 7 + 1), "on" if is_english else "am")(match, today)


def _rule(expression: str, write: Write) -> tuple[re.Pattern[str], Write]:
    # Not before an apostrophe: "last week's outage" would become "in the week of ...'s outage".
    return pattern(rf"(?i)\b{expression}\b(?!')"), write


_RULES = (
    _rule(r"yesterday's (?P<noun>\w+)", _possessive(-1)),
    _rule(rf"{_SINCE}(?:the )?day before yesterday", _day(-2)),
    _rule(rf"{_SINCE}vorgestern", _day(-2, "am")),
    _rule(rf"{_SINCE}(?:yesterday(?: morning| afternoon| evening)?|last night)", _day(-1)),
    _rule(rf"{_SINCE}gestern(?: früh| abend)?", _day(-1, "am")),
    _rule(rf"{_SINCE}(?:today|this (?:morning|afternoon))", _day(0)),
    _rule(rf"{_SINCE}tomorrow", _day(1)),
    _rule(r"(?P<number>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) "
          r"(?P<unit>day|week|month|year)s? ago", _ago),
    _rule(rf"{_SINCE}last week", _week(-1, "in", "the week of")),
    _rule(rf"{_SINCE}this week", _week(0, "in", "the week of")),
    _rule(rf"{_SINCE}next week", _week(1, "in", "the week of")),
    _rule(rf"{_SINCE}letzte[r]? Woche", _week(-1, "in", "der Woche vom")),
    _rule(rf"{_SINCE}last month", _month(-1)),
    _rule(rf"{_SINCE}this month", _month(0)),
    _rule(rf"{_SINCE}next month", _month(1)),
    _rule(rf"{_SINCE}last year", _year(-1)),
    _rule(rf"{_SINCE}this year", _year(0)),
    _rule(rf"(?:on )?{_SINCE}last (?P<day>{'|'.join(_WEEKDAYS)})", _weekday),
    _rule(rf"(?P<since>since|seit) (?P<day>{'|'.join((*_WEEKDAYS, *_WOCHENTAGE))})", _weekday),
    _rule(rf"(?:am )?letzten (?P<day>{'|'.join(_WOCHENTAGE)})", _weekday),
)  # fmt: skip
"""Expression -> what writes its date, in the order in which they are tried."""
