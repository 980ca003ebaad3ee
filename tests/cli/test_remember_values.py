from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel import Satchel as Engine
from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel
from tests.memory.lessons import STORIES, write_story

FAR = "Bananas ripen faster beside apples"


@pytest.fixture
def grouped(shop: TinyRepository, satchel: Satchel) -> str:
    """The id of the group about the cache, after three stories were told and grouped by their words."""
    with Engine.open(shop.root) as engine:
        ids = {story: write_story(engine.experiences, story, 10) for story in STORIES}
    (axis,) = satchel("values", "cluster", "--axis", "full", "--json").json["axes"]
    return next(str(found["id"]) for found in axis["clusters"] if set(found["members"]) <= set(ids["cache"]))


def test_groups_are_found_shown_proposed_and_accepted(satchel: Satchel, grouped: str) -> None:
    listed = satchel("values", "cluster", "--axis", "full")
    assert listed.out.startswith("full: 3 groups of 30 experiences, by words (TF-IDF)\n")
    assert f"  {grouped}  " in listed.out
    assert satchel("values", "show", grouped).out.startswith(f"{grouped}  ")
    proposed = satchel("values", "propose", "--cluster", grouped, "--json").json["proposals"]
    assert len(proposed) == 1
    assert proposed[0]["text"].startswith(STORIES["cache"][1])
    assert proposed[0]["validation"]["is_inside"]
    assert proposed[0]["text"] in satchel("values", "propose", "--axis", "full").out
    accepted = satchel("values", "accept", proposed[0]["text"], "--cluster", grouped)
    identity = accepted.out.strip()
    assert accepted.code == 0
    assert satchel("values", "list").out == f"{identity}  {grouped}  {proposed[0]['size']}  {proposed[0]['text']}\n"
    assert satchel("values", "show", identity).out.endswith(f"\n\n{proposed[0]['text']}\n")
    (value,) = satchel("values", "list", "--json", "--axis", "full").json["values"]
    assert satchel("values", "show", identity, "--json").json == {"value": value}
    assert value["cluster_id"] == grouped
    assert "## Values" in satchel("context", "invalidate the cache entry", "--types", "values").out
    assert satchel("values", "forget", identity).err.startswith("forgotten: ")
    assert "no values yet" in satchel("values", "list").err


def test_case_9_a_value_far_from_its_group_is_refused_on_the_command_line(
    satchel: Satchel, grouped: str, tmp_path: Path
) -> None:
    refused = satchel("values", "accept", *FAR.split(), "--cluster", grouped)
    assert refused.code == 2
    assert "too far from its group" in refused.err
    measured = satchel("values", "validate", FAR, "--cluster", grouped, "--json")
    assert measured.code == 1
    assert measured.json["candidate_distance"] > measured.json["threshold"]
    assert not measured.json["is_inside"]
    assert satchel("values", "validate", FAR, "--cluster", grouped).out.startswith("outside: distance ")
    members = [row["id"] for row in satchel("values", "show", grouped, "--json").json["cluster"]["members"]]
    line = {
        "type": "value", "id": "val_x", "content": FAR, "axis": "full", "cluster_id": grouped, "member_ids": members,
        "created_at": "2026-01-01T00:00:00Z", "workspace": "",
    }  # fmt: skip
    (tmp_path / "values.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    imported = satchel("import", str(tmp_path / "values.jsonl"))
    assert imported.code == 3
    assert "too far from its group" in imported.err
    assert satchel("values", "list", "--json").json == {"values": []}


def test_a_text_inside_says_so(satchel: Satchel, grouped: str) -> None:
    inside = satchel("values", "validate", STORIES["cache"][1], "--cluster", grouped)
    assert inside.code == 0
    assert inside.out.startswith("inside: distance ")


def test_too_few_experiences_are_an_answer(shop: TinyRepository, satchel: Satchel) -> None:
    assert shop.root.exists()
    assert satchel("values", "cluster", "--axis", "strategy").out == (
        "strategy: not enough structure: 0 experiences on the axis strategy, 20 are needed\n"
    )
    assert len(satchel("values", "cluster", "--json").json["axes"]) == 4
    assert "`satchel values cluster` finds them" in satchel("values", "propose").err


def test_bad_input_is_a_usage_error(shop: TinyRepository, satchel: Satchel) -> None:
    assert shop.root.exists()
    for arguments, message in (
        (("cluster", "--axis", "sideways"), "choose from full, strategy, surprise, root_cause"),
        (("accept", "x", "--cluster", "full_1"), "there is no group 'full_1'"),
        (("accept", "x"), "--cluster"),
        (("show", "val_1"), "there is no group 'val_1'"),
        (("forget", "val_1"), "there is no value 'val_1'"),
    ):
        ran = satchel("values", *arguments)
        assert ran.code == 2, arguments
        assert message in ran.err


def test_a_long_group_is_cut_on_a_screen_and_whole_as_json(shop: TinyRepository, satchel: Satchel) -> None:
    with Engine.open(shop.root) as engine:
        write_story(engine.experiences, "cache", 24, alike=True)
    (axis,) = satchel("values", "cluster", "--axis", "full", "--json").json["axes"]
    found = axis["clusters"][0]
    shown = satchel("values", "show", found["id"])
    assert len(shown.out.splitlines()) == 11
    assert f"{found['size'] - 10} more members" in shown.err
    assert len(satchel("values", "show", found["id"], "--json").json["cluster"]["members"]) == found["size"] == 12
