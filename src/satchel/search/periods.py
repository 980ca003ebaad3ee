"""Periods in broad questions: "what happened in March", "lessons about payments from last month".

A period has no words to match: what was recorded in it is meant. A month without a year is the latest one that has
begun.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct

from satchel.text import pattern

_MONTHS = (
    *("january|januar", "february|februar", "march|märz", "april", "may|mai", "june|juni", "july|juli", "august"),
    *("september", "october|oktober", "november", "december|dezember"),
)
_MONTH = "|".join(_MONTHS)


class Period(Struct, frozen=True):
    """A period in seconds (UTC), without its end, and what else the question is about, which may be empty."""

    begin: float
    end: float
    subject: str


def period_in(subject: str, now: float) -> Period | None:
    """Return the period at the end of the subject of a question, seen from `now` (seconds), None if it has none."""
    last = subject.casefold().rstrip("?.!\n").split()[-1:]
    if not any(word in _LAST_WORDS or any(map(str.isdigit, word)) for word in last):
        return None  # which saves nine expressions
    for expression, days in _FORMS:
        if (match := expression.search(subject)) is not None:
            today = datetime.fromtimestamp(now, UTC).date()
            begin, end = days({name: text.lower() for name, text in match.groupdict("").items()}, today)
            return Period(_seconds(begin), _seconds(end), subject[: match.start()].strip(" ,"))
    return None


def without_period(subject: str) -> str:
    """Return what a subject is about besides a period; the subject where it is nothing else."""
    period = period_in(subject, 0.0)
    return period.subject or subject if period is not None else subject


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


Days = tuple[date, date]
_Read = Callable[[dict[str, str], date], Days]


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _named_month(parts: dict[str, str], today: date) -> Days:
    month = next(number for number, names in enumerate(_MONTHS, 1) if parts["month"] in names.split("|"))
    year = int(parts["year"] or today.year - (month > today.month))
    begin, end = _month(year, month)
    return (begin, today + timedelta(days=1)) if parts["since"] in {"since", "seit"} else (begin, end)


def _day_of_month(parts: dict[str, str], today: date) -> Days:
    """Return the latest such day that has begun, or that of a year."""
    begin, _ = _named_month({**parts, "since": ""}, today)
    number = int(parts["number"])
    if not parts["year"] and (begin.month, number) > (today.month, today.day) and begin.year == today.year:
        begin = begin.replace(year=today.year - 1)
    begin, end = _day({"day": f"{begin.year}-{begin.month:02}-{number:02}"}, today)
    return (begin, today + timedelta(days=1)) if parts["since"] in {"since", "seit"} else (begin, end)


def _numbered_month(parts: dict[str, str], _: date) -> Days:
    return _month(int(parts["year"]), min(max(int(parts["month"]), 1), 12))


def _day(parts: dict[str, str], today: date) -> Days:
    try:
        day = date.fromisoformat(parts["day"])
    except ValueError:  # the 31st of a shorter month, in which nothing happened
        day = today + timedelta(days=1)
    return day, day + timedelta(days=1)


def _relative_day(parts: dict[str, str], today: date) -> Days:
    day = today - timedelta(days=parts["named"] in {"yesterday", "gestern"})
    return day, day + timedelta(days=1)


def _relative(parts: dict[str, str], today: date) -> Days:
    back = 0 if parts["which"] in {"this", "diese", "diesen", "dieses"} else 1
    unit = {"woche": "week", "monat": "month", "jahr": "year"}.get(parts["unit"], parts["unit"])
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=7)
    if unit == "year":
        return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)
    year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
    return _month(year, month + 1)


def _last_days(parts: dict[str, str], today: date) -> Days:
    length = {"day": 1, "week": 7, "month": 30}[parts["unit"]]
    return today - timedelta(days=length * min(int(parts["number"]), 1_000)), today + timedelta(days=1)


def _year(parts: dict[str, str], _: date) -> Days:
    return date(int(parts["year"]), 1, 1), date(int(parts["year"]) + 1, 1, 1)


_BEFORE = r"(?:^|\s)(?:(?P<since>in|during|from|of|on|at|since|im|am|vom|seit|aus)\s+)?(?:the\s+|der\s+)?"
_END = r"[?.!]*$"
_OF_YEAR = r"(?:,?\s+(?P<year>20\d\d))?"
_NO_VERB = r"(?:(?<=on )|(?<=since )|(?<=from )|(?!(?-i:may)\s+\d+(?![a-z\d])))"
"""Not before the verb of "how many of them may 12"."""
_LAST_WORDS = frozenset({
    *_MONTH.split("|"), "yesterday", "today", "gestern", "heute", "week", "month", "year", "woche", "monat", "jahr",
    "days", "weeks", "months",
})  # fmt: skip
"""Words that end a period, if it does not end with a digit, as `2026-03`, or digits and two letters, as `3rd`."""

_FORMS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (pattern(rf"(?i){_BEFORE}(?P<number>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_MONTH}){_OF_YEAR}{_END}"),
     _day_of_month),
    (pattern(rf"(?i){_BEFORE}(?P<month>{_MONTH})(?:,?\s+(?:of\s+)?(?P<year>20\d\d))?{_END}"), _named_month),
    (pattern(rf"(?i){_BEFORE}{_NO_VERB}(?P<month>{_MONTH})\s+(?P<number>\d{{1,2}})(?:st|nd|rd|th)?{_OF_YEAR}{_END}"),
     _day_of_month),
    (pattern(rf"(?i){_BEFORE}(?P<day>20\d\d-\d\d-\d\d){_END}"), _day),
    (pattern(rf"(?i){_BEFORE}(?P<year>20\d\d)-(?P<month>\d\d){_END}"), _numbered_month),
    (pattern(rf"(?i){_BEFORE}(?P<named>yesterday|today|gestern|heute){_END}"), _relative_day),
    (pattern(rf"(?i){_BEFORE}(?P<which>last|this|letzte[rnsm]?|diese[rnsm]?)\s+"
             rf"(?P<unit>week|month|year|woche|monat|jahr){_END}"), _relative),
    (pattern(rf"(?i){_BEFORE}last\s+(?P<number>\d+)\s+(?P<unit>day|week|month)s{_END}"), _last_days),
    (pattern(rf"(?i){_BEFORE}(?P<year>20\d\d){_END}"), _year),
)  # fmt: skip
"""Expression of a period at the end of a subject -> what reads its first day and the day after its last one."""
