"""Fifth specification: a knowledge graph is walked from a topic or a node, scored, and packed.

`ac_004_p1` to `ac_004_p6` are the phases of its plan (resolve, traverse, enrich, score, budget, format), `t` its tasks
by their numbers, `c` the examples of its command, `r` its risks in order, `v` its questions for a second version.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.graph.request import LENSES
from tests.e2e.command import Satchel as Command
from tests.graph.workspaces import NOW, Export
from tests.mcp.serving import spoken
from tests.oracle import o200k
from tests.postgres import own_home

SECURITY = (
    Export()
    .node("home", "Home")
    .node("jens", "Jens", owner="home", tags=["person"], days_old=90)
    .node("abc123def456", "SOC Defender", owner="home", tags=["project", "security"], days_old=1, references=["budget"],
          fields={"Status": ["active"], "Owner": ["jens"]}, text="Security operations dashboard.")
    .node("task1", "Write the detection rules", owner="abc123def456", tags=["task"], days_old=2,
          fields={"Due": ["Friday"]})
    .node("task2", "Test the rules on old logs", owner="task1", tags=["task"], days_old=3)
    .node("budget", "Quarterly planning of the budget", owner="home", days_old=300, text="Money for everything.")
    .node("soup", "Cooking soup", owner="budget")
)  # fmt: skip
VAULT = {
    "SOC Defender.md": "---\nstatus: active\nowner: Jens\n---\n# SOC Defender\n\nSecurity operations. See [[Rules]].\n",
    "Rules.md": "# Rules\n\nDetection rules of the [[SOC Defender]].\n\n#task\n",
    "Quarterly planning.md": "# Quarterly planning\n\nGoals for [[SOC Defender]]. #goal\n",
    "Meeting notes.md": "# Meeting notes\n\nattendees:: Ann\n\nThe meeting about [[Rules]].\n",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with SECURITY.open(tmp_path_factory.mktemp("security"), "main.json") as satchel:
        yield satchel


@pytest.fixture
def vault(tmp_path: Path) -> Command:
    """The real command, for which the vault has the alias `main`."""
    for name, text in VAULT.items():
        (tmp_path / "vault").mkdir(exist_ok=True)
        (tmp_path / "vault" / name).write_text(text, encoding="utf-8")
    command = Command(tmp_path, tmp_path / "home")
    added = command("workspace", "add", "main", str(tmp_path / "vault"), "--type", "vault")
    assert added.code == 0, added.err
    return command


def answer(satchel: Satchel, query: str, **options: Any) -> dict[str, Any]:
    """The context as its JSON says it."""
    result: dict[str, Any] = json.loads(satchel.graph(query, format="json", now=NOW, refresh=False, **options).text)
    return result


def ids(result: dict[str, Any]) -> list[str]:
    return [node["id"] for node in result["nodes"]]


def one(result: dict[str, Any], key: str) -> dict[str, Any]:
    return next(node for node in result["nodes"] if node["id"] == key)


@pytest.mark.parametrize("query", ["abc123def456", "SOC Defender"])
def test_ac_004_p1_a_node_id_or_a_topic_is_resolved(graph: Satchel, query: str) -> None:
    first = answer(graph, query)["nodes"][0]
    assert (first["id"], first["distance"], first["path"]) == ("abc123def456", 0, [])


def test_ac_004_p1_an_id_that_does_not_exist_is_a_topic(graph: Satchel) -> None:
    """Decision E1: a word with the shape of an id is no error."""
    assert "budget" in ids(answer(graph, "planning2026 budget planning"))


@pytest.mark.parametrize(("depth", "reached"), [(1, {"task1", "jens", "budget", "home"}), (2, {"task2", "soup"})])
def test_ac_004_p2_edges_of_all_types_are_walked_to_the_depth(graph: Satchel, depth: int, reached: set[str]) -> None:
    result = answer(graph, "abc123def456", depth=depth)
    assert {node["id"] for node in result["nodes"] if node["distance"] == depth} == reached
    assert max(node["distance"] for node in result["nodes"]) == depth
    if depth == 1:
        hops = {node["id"]: (node["path"][0]["type"], node["path"][0]["direction"]) for node in result["nodes"][1:]}
        assert hops == {
            "task1": ("child", "out"), "jens": ("field", "out"), "budget": ("reference", "out"),
            "home": ("child", "in"),
        }  # fmt: skip


def test_ac_004_p3_fields_have_their_values_by_name(graph: Satchel) -> None:
    assert one(answer(graph, "abc123def456"), "abc123def456")["fields"] == {"Status": "active", "Owner": "Jens"}
    bare = answer(graph, "abc123def456", include_fields=False)
    assert not any(node.get("fields") for node in bare["nodes"])


def test_ac_004_p4_the_score_has_the_weights_of_the_specification(graph: Satchel) -> None:
    """Decision E4: the part for the distance d is 1/(d+1), and a topic without vectors keeps 0.35 for its words."""
    context = graph.graph("SOC Defender", now=NOW, refresh=False)
    weights = {signal.name: signal.weight for signal in context.items[0].signals}
    assert (weights["distance"], weights["relevance"], weights["recency"]) == (0.40, 0.35, 0.25)
    bare = {signal.name: signal.weight for signal in graph.graph("abc123def456", refresh=False).items[0].signals}
    assert (bare["distance"], bare["recency"]) == (0.60, 0.40)
    nearness = {item.metadata["node"]["id"]: {signal.name: signal.value for signal in item.signals}["distance"]
                for item in context.items}  # fmt: skip
    assert (nearness["abc123def456"], nearness["task1"]) == (1.0, 0.5)


def test_ac_004_p5_nodes_come_by_score_and_the_rest_is_named(tmp_path: Path) -> None:
    export = Export().node("root", "The long list")
    for number in range(60):
        export.node(f"e{number}", f"Entry {number}", owner="root", tags=["entry"], text="Words about it. " * 40)
    with export.open(tmp_path) as satchel:
        result = answer(satchel, "root", max_tokens=2000)
        text = satchel.graph("root", max_tokens=2000, now=NOW, refresh=False).text
    scores = [node["score"] for node in result["nodes"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 < result["meta"]["tokens"]["nodesIncluded"] == len(result["nodes"]) < 61
    assert result["meta"]["tokens"]["nodesSummarized"] > 0
    assert {"id", "name", "tags", "score"} <= result["overflow"][0].keys()
    assert result["overflow"][0]["tags"] == ["entry"]
    assert o200k(text) <= 2000
    assert "## Also related" in text


def test_ac_004_p6_json_has_the_shape_of_the_response_format(graph: Satchel) -> None:
    """Decision E6: these keys are exact, more are allowed; `backend` names the store."""
    result = answer(graph, "SOC Defender", lens="coding")
    assert [*result] == ["meta", "nodes", "overflow"]
    meta = result["meta"]
    assert (meta["query"], meta["workspace"], meta["lens"], meta["backend"]) == (
        "SOC Defender", "main", "coding", "sqlite",
    )  # fmt: skip
    assert meta["assembledAt"] == "2027-01-15T00:00:00Z"
    tokens = meta["tokens"]
    assert tokens["budget"] == 4000
    assert tokens["utilization"] == pytest.approx(tokens["used"] / 4000, abs=0.01)
    first = result["nodes"][0]
    assert {"id", "name", "content", "tags", "fields", "score", "distance", "path"} <= first.keys()
    assert first["tags"] == ["project", "security"]
    assert 0 <= first["score"] <= 1


def test_ac_004_p6_markdown_has_a_heading_for_each_node(graph: Satchel) -> None:
    text = graph.graph("SOC Defender", now=NOW, refresh=False).text
    assert text.startswith("# Context: SOC Defender\n")
    for line in ("## SOC Defender [project, security]\n", "## Write the detection rules [task]\n", "Owner: Jens\n"):
        assert line in text


@pytest.mark.parametrize(
    ("lens", "edges", "tags", "fields", "depth"),
    [
        ("general", {"child", "parent", "reference", "field"}, (), (), 3),
        ("writing", {"child", "reference"}, ("note", "draft", "writing", "article"), (), 2),
        ("coding", {"reference", "field"}, ("spec", "architecture", "code", "decision"),
         ("status", "priority", "assignee"), 3),
        ("planning", {"child", "field"}, ("goal", "milestone", "task", "project"), ("due", "status", "blocked-by"), 4),
        ("meeting-prep", {"reference", "child"}, ("person", "meeting", "action", "agenda"),
         ("attendees", "date", "status"), 2),
    ],
)  # fmt: skip
def test_ac_004_t2_5_each_lens_has_its_configuration(
    graph: Satchel, lens: str, edges: set[str], tags: tuple[str, ...], fields: tuple[str, ...], depth: int
) -> None:
    own = LENSES[lens]
    assert ({*own.edges}, own.boost_tags, own.include_fields, own.max_depth) == (edges, tags, fields, depth)
    walked = {hop["type"] for node in answer(graph, "abc123def456", lens=lens)["nodes"] for hop in node["path"]}
    assert walked
    assert walked <= edges


def test_ac_004_t2_5_a_lens_puts_the_nodes_with_its_tags_first(graph: Satchel) -> None:
    plain, planning = (
        one(answer(graph, "abc123def456", lens=lens), "task1")["score"] for lens in ("general", "planning")
    )
    assert planning > plain


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        (["SOC Defender project"], ["## SOC Defender", "status: active", "## Rules"], []),
        (["SOC Defender.md", "--depth", "3"], ["## SOC Defender", "depth 3", "## Meeting notes"], []),
        (["quarterly planning", "--max-tokens", "8000", "--lens", "planning"], ["lens planning", "of 8000 tokens"], []),
        (["meeting notes", "--no-include-fields"], ["## Meeting notes"], ["attendees", "status: active"]),
    ],
    ids=["c1", "c2", "c3", "c5"],
)
def test_ac_004_c_the_examples_of_the_command_work(
    vault: Command, arguments: list[str], shown: list[str], hidden: list[str]
) -> None:
    done = vault("graph", *arguments, "--workspace", "main")
    assert done.code == 0, done.err
    assert [text for text in shown if text not in done.out] == []
    assert [text for text in hidden if text in done.out] == []


def test_ac_004_c4_the_command_writes_json_for_programs(vault: Command) -> None:
    result = vault("graph", "Rules.md", "--workspace", "main", "--format", "json").json
    assert result["nodes"][0]["id"] == "Rules.md"
    assert result["meta"]["workspace"] == "main"


def test_ac_004_t4_the_tool_takes_the_arguments_of_the_specification(tmp_path: Path, vault: Command) -> None:
    del vault
    with spoken(tmp_path / "vault", None, **own_home(tmp_path / "home")) as server:
        (tool,) = [tool for tool in server.ask("tools/list")["result"]["tools"] if tool["name"] == "graph_context"]
        result = server.call("graph_context", query="SOC Defender", depth=2, maxTokens=900, lens="coding",
                             includeFields=False, format="json", workspace="main")  # fmt: skip
    assert tool["inputSchema"]["required"] == ["query"]
    assert not result.get("isError"), result
    document = json.loads(result["content"][0]["text"])
    assert (document["meta"]["lens"], document["meta"]["tokens"]["budget"]) == ("coding", 900)
    assert "SOC Defender.md" in ids(document)
    assert not any(node.get("fields") for node in document["nodes"])


def test_ac_004_t5_1_and_r1_tokens_are_those_of_the_tokenizer(graph: Satchel) -> None:
    """Ten per cent are allowed; decision F1 asks for the exact number."""
    for layout in ("markdown", "json"):
        context = graph.graph("SOC Defender", format=layout, now=NOW, refresh=False)
        assert context.usage.used == o200k(context.text)


def test_ac_004_r2_depth_2_takes_less_than_3_seconds(tmp_path: Path) -> None:
    export = Export().node("root", "Everything")
    for number in range(1500):
        export.node(
            f"n{number}", f"Node {number} of everything", owner="root" if number % 30 == 0 else f"n{number - 1}"
        )
    with export.open(tmp_path) as satchel:
        start = time.process_time()
        assert answer(satchel, "everything", depth=2)["nodes"]
        assert time.process_time() - start < 3.0


def test_ac_004_r3_without_vectors_the_answer_says_so(graph: Satchel) -> None:
    assert answer(graph, "SOC Defender")["meta"]["embeddings"] is False


@pytest.mark.parametrize("budget", [1, 100, 300, 499])
def test_ac_004_r8_a_budget_below_500_gives_a_summary_and_a_warning(graph: Satchel, budget: int) -> None:
    context = graph.graph("SOC Defender", max_tokens=budget, now=NOW, refresh=False)
    assert o200k(context.text) <= budget
    assert context.items == ()
    assert any("too few for nodes" in warning for warning in context.meta["warnings"])
    if budget >= 300:
        assert "- SOC Defender [project, security] (" in context.text


def test_ac_004_v2_a_repeated_query_gives_the_same_context(graph: Satchel) -> None:
    first = graph.graph("SOC Defender", now=NOW, refresh=False).text
    assert graph.graph("SOC Defender", now=NOW, refresh=False).text == first


def test_ac_004_v3_a_project_and_a_person_are_one_context(graph: Satchel) -> None:
    shown = ids(json.loads(graph.graph("SOC Defender", blend=["Jens"], format="json", now=NOW, refresh=False).text))
    assert {*shown[:3]} >= {"abc123def456", "jens"}
