"""Write the bill of materials of what satchel needs at run time, with its extras, as CycloneDX JSON.

    .venv/bin/python scripts/sbom.py satchel.cdx.json [--advisories FILE]

Reads the metadata of the packages that are installed here, as `scripts/licences.py` does; nothing is downloaded. A file
of advisories is a list of JSON objects in the form of osv.dev, or one object a line: what names one of these packages
with an affected range that contains its version is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.licences import NAME, STATED, closure, licence


def versions() -> dict[str, str]:
    """Return the version of each package that is needed and installed on this system."""
    found = {}
    for name in sorted(closure()):
        try:
            found[name] = distribution(name).version
        except PackageNotFoundError:  # not for this system
            continue
    return found


def bill(needed: Mapping[str, str]) -> dict[str, Any]:
    """Return the bill of materials; equal packages give equal bytes."""
    own = distribution(NAME).version
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "licenses": [{"license": {"name": STATED.get(name) or licence(name)}}],
        }
        for name, version in needed.items()
    ]
    about = {"type": "application", "bom-ref": f"pkg:pypi/{NAME}@{own}", "name": NAME, "version": own}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": about},
        "components": components,
        "dependencies": [{"ref": about["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }


def advised(needed: Mapping[str, str], advisories: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each advisory that concerns a package in the version that is installed."""
    for advisory in advisories:
        for affected in advisory.get("affected", ()):
            name = canonicalize_name(affected.get("package", {}).get("name", ""))
            if name in needed and _is_affected(needed[name], affected):
                what = ": ".join(filter(None, (advisory.get("id"), advisory.get("summary"))))
                yield f"{name} {needed[name]}: {what}"


def _is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Return whether a version is named, or inside of a range of versions."""
    if version in affected.get("versions", ()):
        return True
    installed, is_inside = Version(version), False
    for one in affected.get("ranges", ()):
        if one.get("type") == "GIT":
            continue
        for event in one.get("events", ()):  # in the order of versions, as the form asks for
            if "introduced" in event and installed >= Version(event["introduced"]):
                is_inside = True
            elif ("fixed" in event and installed >= Version(event["fixed"])) or (
                "last_affected" in event and installed > Version(event["last_affected"])
            ):
                is_inside = False
        if is_inside:
            return True
    return False


def read_advisories(path: Path) -> list[Mapping[str, Any]]:
    """Read a list of advisories, or an advisory a line."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bill, and compare it with advisories where some are given; returns 1 if one concerns a package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--advisories", type=Path)
    given = parser.parse_args(arguments)
    needed = versions()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(bill(needed), indent=1) + "\n", encoding="utf-8")
    print(f"{given.out}: {len(needed)} packages")
    found = [*advised(needed, read_advisories(given.advisories))] if given.advisories else []
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
