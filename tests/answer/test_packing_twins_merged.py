"""Records whose bodies are equal are shown once, and the answer says which ones they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.render import RenderRequest
from satchel.testing import TinyRepository
from satchel.types import Format
from tests.answer.render.examples import record_item, render_tail
from tests.rendered import parse


@pytest.fixture
def satchel(tmp_path: Path) -> Satchel:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add", {"shop.py": "def ship(order):\n    return order\n"})
    return Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")})


@pytest.mark.parametrize("layout", list(Format))
def test_equal_memories_are_one_item_that_names_the_other(satchel: Satchel, layout: Format) -> None:
    text = "The nightly export of parcels waits for the customs office to close before it begins"
    with satchel:
        added = {satchel.memories.add(one).memory.id for one in (text, text.replace(" ", "  "))}
        context = satchel.assemble("when does the nightly export of parcels begin", types=["memories"], format=layout)
    (item,) = context.items
    shown = item.metadata["id"]
    (other,) = added - {shown}
    assert item.metadata["merged"] == [{"source": "memory", "id": other}]
    entry = f"memory {shown} = {other}"
    if layout is Format.JSON:
        assert json.loads(context.text)["context"]["merged"] == [entry]
    else:
        assert (f"<merged>{entry}</merged>" if layout is Format.XML else f"\nAlso: {entry}") in context.text
    assert len(parse(context.text, layout)) == 1


def test_what_a_record_was_merged_with_is_named_by_kind_and_counted_after_five() -> None:
    rows = [{"source": "note", "id": "plan"}, *({"source": "memory", "id": f"mem_{number}"} for number in range(6))]
    item = record_item("memory", "Export", "It waits.", metadata={"id": "mem_a", "merged": rows})
    tail = render_tail(RenderRequest(), (item,), Format.MARKDOWN)
    assert tail.endswith("\nAlso: memory mem_a = note plan, mem_0, mem_1, mem_2, mem_3 and 2 more")
