"""List the licence of everything that satchel needs at run time, with its extras, and what needs it.

    .venv/bin/python scripts/licences.py

Reads the metadata of the packages that are installed here; a package without a licence in it is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "satchel"

STATED = {"apsw": "any OSI licence"}
"""Licences that the metadata of a package does not say, from its own files."""


def required(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the packages that a package needs on this system, each with its extras."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def closure() -> dict[str, str]:
    """Return each package that is needed, and by which one first."""
    found: dict[str, str] = {}
    extras = frozenset(distribution(NAME).metadata.get_all("Provides-Extra") or ())
    waiting = [(NAME, extras)]
    seen = set(waiting)
    while waiting:
        parent, chosen = waiting.pop(0)
        for one in required(parent, chosen):
            found.setdefault(one[0], parent)
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    found.pop(NAME, None)  # an extra that names other extras
    return found


def licence(name: str) -> str:
    """Return the licence in the metadata of a package; empty if there is none."""
    metadata = distribution(name).metadata
    classifiers = [
        one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or () if one.startswith("License ::")
    ]
    stated = [line for one in metadata.get_all("License") or () for line in str(one).strip().splitlines()]
    expressions = metadata.get_all("License-Expression") or ()
    return " and ".join(expressions) or " and ".join(classifiers) or next(iter(stated), "")


def main() -> int:
    """Print the table; returns 1 if a licence is missing."""
    missing = []
    for name, parent in sorted(closure().items()):
        try:
            shown, version = STATED.get(name) or licence(name), distribution(name).version
        except PackageNotFoundError:
            continue  # not for this system
        missing += [] if shown else [name]
        print(f"{name:<32} {version:<14} {shown or 'no licence in its metadata':<44} for {parent}")
    if missing:
        print(f"look at the files of {', '.join(missing)}, and add them to STATED", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
