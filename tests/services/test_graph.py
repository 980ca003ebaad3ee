"""The graph context end to end: a real export or repository, the real index, walk and packer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from satchel import Context, Satchel
from satchel.errors import UsageError
from satchel.graph.request import LENSES
from satchel.types import EdgeType
from tests.graph.workspaces import NOW, Export, open_shop, open_vault
from tests.oracle import o200k

TREE = (
    Export()
    .node("home", "Home")
    .node("alice", "Alice", owner="home", tags=["person"], days_old=30)
    .node("rocket", "Rocket launch", owner="home", tags=["project"], fields={"Status": ["active"], "Owner": ["alice"]},
          references=["budget2024"], text="Everything about the launch of the rocket.", days_old=1)
    .node("engine1", "Build the engine", owner="rocket", tags=["task"], days_old=2)
    .node("engine2", "Test the engine on the stand", owner="engine1", days_old=3)
    .node("budget2024", "Budget of the year", owner="home", text="Money for everything.", days_old=400)
    .node("unrelated", "Cooking at home: soup", owner="budget2024")
)  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with TREE.open(tmp_path_factory.mktemp("tree"), "main.json") as satchel:
        yield satchel


def answer(satchel: Satchel, query: str, **options: Any) -> dict[str, Any]:
    """The context as its JSON says it."""
    context = satchel.graph(query, format="json", now=NOW, refresh=False, **options)
    result: dict[str, Any] = json.loads(context.text)
    assert o200k(context.text) == context.usage.used == result["meta"]["tokens"]["used"]
    return result


def ids(result: dict[str, Any]) -> list[str]:
    return [node["id"] for node in result["nodes"]]


def node(result: dict[str, Any], key: str) -> dict[str, Any]:
    return next(node for node in result["nodes"] if node["id"] == key)


def signals(context: Context, key: str) -> dict[str, float]:
    item = next(item for item in context.items if item.metadata["node"]["id"] == key)
    return {signal.name: signal.value for signal in item.signals}


def test_the_answer_has_exactly_the_keys_of_the_specification(workspace: Satchel) -> None:
    result = answer(workspace, "rocket launch")
    assert [*result] == ["meta", "nodes", "overflow"]
    assert {"query", "workspace", "lens", "tokens", "assembledAt", "backend"} <= result["meta"].keys()
    assert [*result["meta"]["tokens"]] == ["budget", "used", "utilization", "nodesIncluded", "nodesSummarized"]
    assert {"id", "name", "content", "tags", "score", "distance", "path"} <= result["nodes"][0].keys()
    tokens = result["meta"]["tokens"]
    assert tokens["utilization"] == round(tokens["used"] / tokens["budget"], 2)
    assert tokens["nodesIncluded"] == len(result["nodes"])
    assert result["meta"]["assembledAt"] == "2027-01-15T00:00:00Z"


def test_the_best_match_of_a_topic_comes_first_and_what_is_linked_follows(workspace: Satchel) -> None:
    result = answer(workspace, "rocket launch", depth=1)
    assert ids(result)[0] == "rocket"
    assert {"alice", "budget2024", "engine1"} <= set(ids(result))
    assert "engine2" not in ids(result)


def test_a_path_names_every_hop_with_its_own_relation(workspace: Satchel) -> None:
    path = node(answer(workspace, "rocket", depth=2), "engine2")["path"]
    assert [(hop["id"], hop["name"], hop["type"], hop["direction"]) for hop in path] == [
        ("engine1", "Build the engine", "child", "out"),
        ("engine2", "Test the engine on the stand", "child", "out"),
    ]


def test_a_relation_followed_back_says_so(workspace: Satchel) -> None:
    (hop,) = node(answer(workspace, "alice", lens="coding", depth=1), "rocket")["path"]
    assert (hop["type"], hop["direction"]) == ("field", "in")


def test_fields_are_shown_once_by_name_and_not_at_all_where_nobody_wants_them(workspace: Satchel) -> None:
    shown = node(answer(workspace, "rocket"), "rocket")
    assert shown["fields"] == {"Status": "active", "Owner": "Alice"}
    assert "Status" not in shown["content"]
    bare = workspace.graph("rocket", include_fields=False, now=NOW, refresh=False).text
    assert "active" not in bare


def test_fields_of_a_vault_are_neither_shown_twice_nor_against_the_wish(tmp_path: Path) -> None:
    files = {"Plan.md": "---\nstatus: hot\n---\nThe plan of the year.\n\nowner:: Ada\n", "Other.md": "[[Plan]]\n"}
    with open_vault(tmp_path / "vault", files) as satchel:
        plan = node(answer(satchel, "plan of the year"), "Plan.md")
        assert plan["fields"] == {"status": "hot", "owner": "Ada"}
        assert plan["content"] == "The plan of the year."
        text = satchel.graph("plan of the year", include_fields=False, refresh=False).text
        assert "hot" not in text
        assert "Ada" not in text


def test_a_text_that_begins_with_the_name_of_its_node_says_it_once(workspace: Satchel) -> None:
    text = workspace.graph("rocket", now=NOW, refresh=False).text
    assert "## Build the engine [task]\n" in text
    assert "\n## Test the engine on the stand\n" in text
    assert "\nTest the engine on the stand\n" not in text


def test_21_a_node_at_distance_0_has_the_whole_distance_part(workspace: Satchel) -> None:
    context = workspace.graph("rocket", now=NOW, refresh=False)
    assert signals(context, "rocket")["distance"] == 1.0


def test_22_recency_is_half_after_exactly_30_days(workspace: Satchel) -> None:
    context = workspace.graph("alice", now=NOW, refresh=False)
    assert signals(context, "alice")["recency"] == 0.5


@pytest.mark.parametrize("layout", ["markdown", "json"])
def test_23_many_nodes_that_do_not_fit_are_summarised_inside_the_budget(tmp_path: Path, layout: str) -> None:
    export = Export().node("root", "The long list")
    for number in range(105):
        export.node(f"entry{number}", f"Entry {number} of the list", owner="root", text="Words about it. " * 40)
    with export.open(tmp_path) as satchel:
        context = satchel.graph("root", format=layout, refresh=False)
    assert o200k(context.text) <= 4000
    assert o200k(context.text) == context.usage.used
    assert context.usage.utilization > 0.9
    assert len(context.items) < 60
    assert context.meta["reached"] > 91
    if layout == "json":
        result = json.loads(context.text)
        assert result["meta"]["tokens"]["nodesSummarized"] == context.meta["reached"] - len(context.items)
        assert 0 < len(result["overflow"]) <= 20


def test_24_a_tag_that_the_lens_looks_for_changes_the_score(tmp_path: Path) -> None:
    export = Export().node("home", "Home")
    export.node("plain", "Write it down", owner="home").node("tagged", "Write it down", owner="home", tags=["task"])
    with export.open(tmp_path) as satchel:
        result = answer(satchel, "home", lens="planning")
        assert node(result, "tagged")["score"] == pytest.approx(node(result, "plain")["score"] + 0.1)
        general = answer(satchel, "home", lens="general")
        assert node(general, "tagged")["score"] == node(general, "plain")["score"]


def test_25_the_planning_lens_reaches_the_children_of_a_tree(workspace: Satchel) -> None:
    result = answer(workspace, "rocket", lens="planning")
    assert {"engine1", "engine2"} <= set(ids(result))


def test_27_a_word_that_only_looks_like_an_id_is_a_topic(workspace: Satchel) -> None:
    assert ids(answer(workspace, "launch"))[0] == "rocket"
    assert ids(answer(workspace, "engine2"))[0] == "engine2"


def test_28_nodes_without_a_name_are_no_obstacle_and_references_have_names(tmp_path: Path) -> None:
    export = Export().node("home", "Home").node("none", None, owner="home").node("below", "Found below", owner="none")
    export.node("who", "Grace", owner="home")
    export.node("what", "The report", owner="home", fields={"Author": ["who"]})
    with export.open(tmp_path) as satchel:
        result = answer(satchel, "home", depth=3)
        assert {"none", "below"} <= set(ids(result))
        assert node(result, "what")["fields"] == {"Author": "Grace"}


@pytest.mark.parametrize("layout", ["markdown", "json"])
@pytest.mark.parametrize("budget", [1, 20, 100, 200, 350, 499])
def test_29_a_budget_under_500_gives_names_and_a_warning_inside_it(
    workspace: Satchel, budget: int, layout: str
) -> None:
    context = workspace.graph("rocket", max_tokens=budget, format=layout, now=NOW, refresh=False)
    assert o200k(context.text) == context.usage.used <= budget
    assert context.items == ()
    assert any("too few for nodes" in warning for warning in context.meta["warnings"])
    if budget == 499:
        assert "Build the engine" in context.text
        assert "too few for nodes" in context.text


def test_scores_and_their_parts_agree(workspace: Satchel) -> None:
    context = workspace.graph("rocket launch", now=NOW, refresh=False)
    for item in context.items:
        part = {signal.name: signal for signal in item.signals}
        nearness = part["distance"].value * part["source"].value * part["edges"].value
        total = 0.4 * nearness + 0.35 * part["relevance"].value + 0.25 * part["recency"].value
        assert item.relevance == pytest.approx(min(total, 1.0))


def test_a_bare_id_is_rated_without_relevance_for_every_node(workspace: Satchel) -> None:
    context = workspace.graph("rocket", now=NOW, refresh=False)
    for item in context.items:
        assert "relevance" not in {signal.name for signal in item.signals}
        part = {signal.name: signal.weight for signal in item.signals}
        assert (part["distance"], part["recency"]) == (0.60, 0.40)


def test_an_explicit_depth_wins_over_the_lens_and_a_default_one_does_not(tmp_path: Path) -> None:
    export = Export().node("n0", "Start")
    for number in range(1, 6):
        export.node(f"n{number}", f"Step {number}", owner=f"n{number - 1}")
    with export.open(tmp_path) as satchel:
        assert max(node["distance"] for node in answer(satchel, "n0", lens="writing", depth=5)["nodes"]) == 5
        assert max(node["distance"] for node in answer(satchel, "n0", lens="planning")["nodes"]) == 2


def test_circles_and_links_to_nothing_end(tmp_path: Path) -> None:
    files = {"A.md": "[[B]] and [[A]] and [[Nowhere]]\n", "B.md": "[[C]]\n", "C.md": "[[A]]\n"}
    with open_vault(tmp_path / "vault", files) as satchel:
        result = answer(satchel, "A.md", depth=5)
    assert sorted(ids(result)) == ["A.md", "B.md", "C.md"]


def test_a_hub_is_sampled_by_relevance_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.graph.walk.HUB_NODES", 5)
    export = Export().node("hub", "Everything about gardens")
    for number in range(40):
        export.node(f"leaf{number}", "roses in the garden" if number == 33 else f"line {number}", owner="hub")
    with export.open(tmp_path) as satchel:
        result = answer(satchel, "roses and everything about gardens", lens="planning", depth=1)
        assert "leaf33" in ids(result)
        assert len(ids(result)) == 7  # both matches, and the five that were followed
        hub = "Everything about gardens: 5 of 39 new neighbours followed, the most relevant"  # its name, not its id
        assert hub in result["meta"]["warnings"]


def test_a_walk_that_reaches_the_most_nodes_says_what_it_left_out(tmp_path: Path) -> None:
    export = Export().node("hub", "Hub")
    for number in range(20):
        export.node(f"leaf{number}", f"line {number}", owner="hub")
    with export.open(tmp_path) as satchel:
        result = json.loads(
            satchel.graphs.graph_answer(replace(satchel.graphs.graph_request("hub", format="json"), max_nodes=7)).text
        )
        assert len(result["nodes"]) == 7
        assert any("left out" in warning for warning in result["meta"]["warnings"])


@pytest.mark.parametrize("lens", ["general", "writing", "coding", "planning", "meeting-prep"])
def test_every_lens_reaches_nodes_over_every_relation_that_it_names(workspace: Satchel, lens: str) -> None:
    reached = {
        hop["type"]
        for query in ("rocket", "alice", "budget2024", "engine1", "home")
        for result in answer(workspace, query, lens=lens)["nodes"]
        for hop in result["path"]
    }
    for edge in LENSES[lens].edges:
        if edge == "parent":  # the same way as a child, followed back: either may be the one that is named
            assert {"parent", "child"} & reached
        else:
            assert edge in reached


@pytest.mark.parametrize(("lens", "query"), [("code", "Client"), ("impact", "backoff"), ("impact", "ShopError")])
def test_lenses_of_code_walk_calls_imports_members_and_heirs(tmp_path: Path, lens: str, query: str) -> None:
    with open_shop(tmp_path / "shop") as satchel:
        result = answer(satchel, query, lens=lens, depth=3)
    reached = {hop["type"] for node in result["nodes"] for hop in node["path"]}
    names = {node["name"] for node in result["nodes"]}
    if lens == "code":
        assert {"contains", "calls"} <= reached
        assert {"Client.send_order", "backoff"} <= names
    elif query == "backoff":
        assert {"Client.send_order", "run_shop", "test_backoff_waits"} <= names
        assert node(result, "code:tests/test_client.py::test_backoff_waits")["path"][0]["direction"] == "in"
    else:
        assert EdgeType.INHERITS in reached
        assert "LateError" in names


def test_imports_and_no_commits_belong_to_the_impact_of_a_file(tmp_path: Path) -> None:
    with open_shop(tmp_path / "shop") as satchel:
        result = answer(satchel, "shop/client.py", lens="impact", depth=1)
        reached = {hop["type"] for node in result["nodes"] for hop in node["path"]}
        assert reached == {"imports"}
        assert {"shop/main.py", "tests/test_client.py"} <= {node["name"] for node in result["nodes"]}
        back = answer(satchel, "shop/main.py", lens="code", depth=1)
        assert "shop/client.py" in {node["name"] for node in back["nodes"]}


def test_the_lens_of_notes_walks_code_too(tmp_path: Path) -> None:
    with open_shop(tmp_path / "shop") as satchel:
        result = answer(satchel, "send_order", lens="general", depth=1)
    assert {"Client", "backoff", "run_shop"} <= {node["name"] for node in result["nodes"]}


def test_a_file_that_changed_since_is_marked(tmp_path: Path) -> None:
    with open_shop(tmp_path / "shop") as satchel:
        (tmp_path / "shop" / "shop" / "errors.py").write_text("gone = 1\n", encoding="utf-8")
        result = answer(satchel, "ShopError", lens="code", depth=1)
        assert node(result, "code:shop/errors.py::ShopError")["freshness"] == "stale"
        assert any("not as indexed" in warning for warning in result["meta"]["warnings"])
        assert ", stale" in satchel.graph("ShopError", lens="code", refresh=False).text


def test_the_handle_of_a_shortened_node_gives_all_of_it(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(900))
    code = "def long_one():\n" + "".join(f"    step_{number}()\n" for number in range(400))
    with Export().node("a", "Alpha", text=long).open(tmp_path) as satchel:
        (item,) = satchel.graph("a", max_tokens=700, refresh=False).items
        assert "word899" not in item.content
        assert f"handle {item.handle}" in item.content
        assert "word899" in satchel.expand([item.handle]).text
    with open_vault(tmp_path / "code", {"a.md": "[[b]]\n", "b.md": code}) as satchel:
        item = satchel.graph("b.md", max_tokens=700, refresh=False).items[0]
        assert "step_399" not in item.content
        assert "step_399" in satchel.expand([item.handle], max_tokens=6000).text


def test_nothing_relevant_is_an_empty_answer(workspace: Satchel) -> None:
    context = workspace.graph("quaternion zebra", now=NOW, refresh=False)
    assert (context.text, context.usage.used, context.items) == ("", 0, ())


def test_the_fence_of_a_node_names_no_language(workspace: Satchel) -> None:
    text = workspace.graph("rocket launch", now=NOW, refresh=False).text
    openings = text.split("\n")
    openings = [line for line in openings if line.startswith("```") and line != "```"]
    assert openings
    assert [line for line in openings if not re.fullmatch(r"```(text )?\w+", line)] == []


def test_secrets_and_hidden_characters_of_a_query_do_not_come_back(workspace: Satchel) -> None:
    secret = "ghp_" + "a1B2" * 9
    context = workspace.graph(f"rocket\u200b launch {secret}", now=NOW, refresh=False)
    assert secret not in context.text
    assert "\u200b" not in context.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 6}, "1 to 5"),
        ({"depth": 0}, "1 to 5"),
        ({"depth": True}, "1 to 5"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -3}, "max_tokens is -3"),
        ({"max_tokens": "many"}, "many"),
        ({"lens": "wide"}, "general, writing, coding, planning, meeting-prep"),
        ({"format": "xml"}, "markdown, json"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_impossible_value_is_an_error_that_says_what_is_possible(
    workspace: Satchel, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        workspace.graph("rocket", refresh=False, **options)


def test_an_empty_query_and_too_many_are_errors(workspace: Satchel) -> None:
    with pytest.raises(UsageError, match="empty"):
        workspace.graph("  ", refresh=False)
    with pytest.raises(UsageError, match="at most 8"):
        workspace.graph("a", blend=[f"topic {number}" for number in range(9)], refresh=False)


async def _async_answer(satchel: Satchel) -> Context:
    return await satchel.agraph("rocket", now=NOW, refresh=False)


def test_the_coroutine_gives_the_same_answer(workspace: Satchel) -> None:
    import asyncio

    assert asyncio.run(_async_answer(workspace)).text == workspace.graph("rocket", now=NOW, refresh=False).text


SENTENCES = [f"The quokka tries its call again after {n} seconds of waiting for the gateway." for n in range(120)]


@pytest.mark.parametrize("budget", [800, 1200, 1700])
def test_a_long_note_is_cut_at_a_sentence_and_uses_the_room(tmp_path: Path, budget: int) -> None:
    files = {"Quokka retries.md": f"# Quokka retries\n\n{' '.join(SENTENCES)}\n", "Ann.md": "See [[Quokka retries]].\n"}
    with open_vault(tmp_path / "long", files) as satchel:
        context = satchel.graph("quokka retries in the gateway", max_tokens=budget)
    assert budget * 0.85 <= context.usage.used == o200k(context.text) <= budget
    shown, _, note = context.items[0].content.rpartition("\n")
    assert shown.endswith("gateway.")
    assert "gives all of it" in note
    assert context.text.count("Quokka retries\n") == 1  # the heading of the note is that of the node


def test_a_far_node_does_not_take_the_room_that_nearer_ones_lacked(tmp_path: Path) -> None:
    tree = Export().node("home", "Home").node("plan", "Plan of the launch", owner="home", text="Launch. " * 120)
    for number in range(8):
        tree.node(f"near{number}", f"Part {number}", owner="plan", text=f"Part {number} needs patience. " * 90)
    tree.node("far", "Tiny", owner="near0")
    with tree.open(tmp_path, "main.json") as satchel:
        results = [answer(satchel, "plan", max_tokens=budget) for budget in range(500, 1_500, 100)]
        assert all("near3" in {one["id"] for one in result["overflow"]} for result in results)
        assert not any("far" in ids(result) for result in results)
        assert "far" in ids(answer(satchel, "plan", max_tokens=8_000))
