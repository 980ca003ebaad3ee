"""One lane."""

LENGTH = 40
