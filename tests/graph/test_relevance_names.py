from __future__ import annotations

from pathlib import Path

import pytest

from satchel.graph.relevance import names_in
from tests.graph.workspaces import Export

FILLER = [f"Notes of week {number} about the garden and the weather." for number in range(20)]


def workspace() -> Export:
    """A note that the question matches, one that only shares a name with it, and one without either."""
    export = Export().node("home", "home").node("wreck", "The wreck", owner="home", text="It was found by Ada Lovelle.")
    export.node("diver", "A diver", owner="home", text="Ada Lovelle was born in Bristol.")
    for number, text in enumerate(FILLER):
        export.node(f"week{number}", f"Week {number}", owner="home", text=text)
    return export


def test_names_are_runs_of_capitalised_words_after_the_title() -> None:
    text = "the House of Orange went to Lake Geneva; the House of Orange stayed"
    assert names_in("weekly", text) == ["weekly", "House of Orange", "Lake Geneva"]


@pytest.mark.parametrize(("query", "is_reached"), [("who found the wreck", True), ("wreck", False)])
def test_a_note_that_shares_a_rare_name_is_reached_from_a_topic(tmp_path: Path, query: str, is_reached: bool) -> None:
    export = workspace()
    if not is_reached:
        for number in range(40):
            export.node(f"ada{number}", f"Page {number}", owner="home", text="Ada Lovelle said so.")
    with export.open(tmp_path) as satchel:
        context = satchel.graph(query, lens="coding", depth=1, max_tokens=8_000, refresh=False)
    paths = {item.metadata["node"]["id"]: item.metadata["node"]["path"] for item in context.items}
    assert ("diver" in paths) is is_reached
    if is_reached:
        assert [(step["type"], step["direction"]) for step in paths["diver"]] == [("mention", "out")]
        assert not any(key.startswith("week") for key in paths)
