"""A moment written on the command line."""

from __future__ import annotations

from satchel.calls.moment import parse_moment as parse_moment
