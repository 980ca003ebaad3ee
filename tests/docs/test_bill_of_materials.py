"""The bill of materials of a release names every package with its licence, and advisories are found by version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import licences, sbom


def test_the_bill_names_every_package_that_is_needed_with_its_version_and_licence(tmp_path: Path) -> None:
    out = tmp_path / "made" / "bill.json"
    assert sbom.main([str(out)]) == 0
    told = json.loads(out.read_text())
    assert told["bomFormat"] == "CycloneDX"
    components = {one["name"]: one for one in told["components"]}
    assert {"apsw", "rs-bpe", "mcp", "cryptography"} <= components.keys() <= licences.closure().keys()
    assert all(one["version"] and one["licenses"][0]["license"]["name"] for one in components.values())
    first = out.read_bytes()
    sbom.main([str(out)])
    assert out.read_bytes() == first


AFFECTED = [
    ({"events": [{"introduced": "0"}, {"fixed": "9999"}]}, True),
    ({"events": [{"introduced": "0"}]}, True),
    ({"events": [{"introduced": "0"}, {"fixed": "0.1"}]}, False),
    ({"events": [{"introduced": "9998"}, {"fixed": "9999"}]}, False),
    ({"events": [{"introduced": "0"}, {"last_affected": "0.1"}]}, False),
    ({"events": [{"introduced": "0"}, {"fixed": "0.1"}, {"introduced": "0.2"}]}, True),
    ({"type": "GIT", "events": [{"introduced": "0"}]}, False),
]


@pytest.mark.parametrize(("affected", "is_told"), AFFECTED)
@pytest.mark.parametrize("is_list", [True, False])
def test_an_advisory_is_told_where_its_range_has_the_version(
    affected: dict[str, object], is_told: bool, is_list: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    advisory = {
        "id": "TEST-1",
        "summary": "reads too much",
        "affected": [{"package": {"name": "Click", "ecosystem": "PyPI"}, "ranges": [affected]}],
    }
    file = tmp_path / "advisories.json"
    file.write_text(json.dumps([advisory] if is_list else advisory))
    assert sbom.main([str(tmp_path / "bill.json"), "--advisories", str(file)]) == int(is_told)
    assert ("TEST-1: reads too much" in capsys.readouterr().err) is is_told
