"""Whether an agent that reads nothing but the list of tools picks the right tool and the right arguments.

    python benchmarks/agent_tools.py [--save before|after]

Thirty tasks, in the words of an agent that works on a repository. A scripted agent follows these rules, which were
written before any description was changed for them:

1. It reads what `tools/list` says: name, title and description of each tool, and names, descriptions and listed values
   of its arguments. It reads no instructions of the server, no documentation and no source.
2. Words are stemmed, without stop words. A sentence of a description that names another tool in backquotes tells when
   to use that one, so it counts for the other tool; with "than" before the name it compares, and counts for its own.
3. A tool scores the sum over the words of the task of idf * tf / (tf + 1), idf over the tools. A word of the name, the
   title or the description counts three times, one of an argument once. The best score wins; a tie is a wrong choice.
4. A task has facts: some words, a value. Each is bound to the argument of the chosen tool that scores best: two points
   for each word that its name shares with the fact, one for each of its description, three if the value is one of the
   listed values. The type of the argument must admit the value. Without any point it is bound to nothing.
5. Where the tool has an argument `options`, a fact that no other argument scores two points for is looked up in the
   help of the options, which costs one more call, once for each task.
6. A task is solved if the tool is the expected one, each fact is bound to an argument that was expected for it, and the
   server's own check of arguments accepts the call.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satchel import text
from satchel.errors import UsageError
from satchel.mcp.server import TOOLS_BY_NAME, listed_tools
from satchel.tokens import counter

RESULTS = Path(__file__).with_name("results") / "agent_tools.json"
TOKENIZER = "o200k_base"
OWN_WORDS = 3
ENOUGH = 2


@dataclass(frozen=True)
class Task:
    """What the agent wants, the tool for it, and (words of a fact, value, accepted arguments)."""

    goal: str
    tool: str
    facts: tuple[tuple[str, Any, str], ...] = ()
    sure: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that follow from the goal itself, not from a fact: the check of the call needs them."""


def _ask(goal: str, *facts: tuple[str, Any, str]) -> Task:
    return Task(goal, "context_query", (("question or task", goal, "question"), *facts))


FAILURE = "FAILED tests/test_pool.py::test_close - AssertionError: 2 != 3"

TASKS = (
    _ask("understand how retries with backoff are implemented before I change the code"),
    _ask("fix this bug: the session is closed twice when a request times out"),
    _ask("gather the code and docs that matter for the task of adding a proxy", ("token budget", 2_000, "max_tokens")),
    _ask("explain this stack trace: KeyError in Pool.get", ("only these paths", ["src/*"], "paths")),
    _ask("question about the parser, code only", ("only this kind of knowledge", ["code"], "types")),
    _ask("question about configuration, without the tests", ("paths to leave out", ["tests/*"], "exclude")),
    Task("what do my changes since the last commit concern", "context_query",
         (("diff since revision", "HEAD", "diff"),)),
    _ask("read whole functions to edit the scheduler task", ("purpose: to edit", "edit", "purpose")),
    _ask("context for the issue about caching", ("also show this file in any case: include", ["a.py:1-9"], "include")),
    Task("list the places where timeout is mentioned", "search", (("what to search for", "timeout", "question"),)),
    Task("find the best matches for a function name, only a list of files and lines", "search",
         (("question to search", "parse_header", "question"), ("limit of matches", 5, "limit"))),
    Task("search commits of one author", "search",
         (("what to search for", "release", "question"), ("author of commits", "Ada", "author"),
          ("only these types", ["commits"], "types"))),
    Task("search the records since May", "search",
         (("what to search for", "migration", "question"), ("records since", "2026-05-01", "since"))),
    Task("which functions call this function: follow the relations to its callers", "graph_context",
         (("query: topic or node", "Pool.close", "query"), ("lens of relations", "impact", "lens"))),
    Task("what is connected to this note through links", "graph_context",
         (("topic or id of a node", "Roadmap", "query"),)),
    Task("walk the graph around a definition two steps far", "graph_context",
         (("topic or node", "send", "query"), ("depth in steps", 2, "depth"))),
    Task("what went wrong before in this kind of work: recall past failures before risky work", "premortem",
         (("domain: kind of work", "debugging", "domain"),)),
    Task("a test failed: did a command fail like this before", "premortem",
         (("mode", "after_failure", "mode"), ("failure: output of the command", FAILURE, "failure"))),
    Task("recall a brief at the start of the session", "premortem", (("mode", "brief", "mode"),)),
    Task("premortem for refactoring in a few tokens", "premortem",
         (("domain of work", "refactoring", "domain"), ("token budget", 500, "max_tokens"))),
    Task("which rules and instructions of the project apply before I edit files", "situation_context",
         (("files to edit", ["src/a.py"], "files"),)),
    Task("what instructions apply to the tool call that I am about to make", "situation_context",
         (("tool that runs", "edit_file", "tool"), ("parameters of the tool", {"path": "a.py"}, "params"))),
    Task("project rules for a task", "situation_context", (("task to be done", "write a migration", "task"),)),
    Task("show the rest of what was cut, by its handle", "expand", (("handles", ["abcd2345"], "handles"),)),
    Task("show everything behind a handle of an earlier answer", "expand",
         (("handles of the answer", ["abcd2345"], "handles"), ("token budget", 900, "max_tokens"))),
    Task("remember a decision for later sessions: prices are never rounded", "remember",
         (("text to store", "Prices are never rounded", "text"), ("category", "decision", "category")),
         {"action": "store"}),
    Task("forget a memory that is wrong", "remember", (("ids to forget", ["mem_1"], "ids"),), {"action": "forget"}),
    Task("list what is remembered about releases", "remember",
         (("question that memories answer", "releases", "question"),), {"action": "list"}),
    Task("keep what I try while debugging: start with a hypothesis", "experience",
         (("domain: kind of work", "debugging", "domain"), ("strategy", "read-the-error", "strategy"),
          ("goal", "The pool closes once", "goal"), ("hypothesis", "close is called twice", "hypothesis"),
          ("action taken", "Add a guard", "action_taken"), ("prediction", "The test passes", "prediction")),
         {"action": "start"}),
    Task("resolve the experience: the hypothesis was right, and this is the lesson", "experience",
         (("status: how it ended", "confirmed", "status"), ("result", "The test passes", "result"),
          ("lesson", "Guard the close", "lesson")),
         {"action": "resolve"}),
)  # fmt: skip


def stems(words: str) -> list[str]:
    """The stems of the words that mean something."""
    plain = re.sub(r"[_\W]+", " ", words)
    return [text.stem(word.lower()) for word in plain.split() if text.is_meaningful(word)]


def read(tools: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The weighted words of each tool, by rules 1 to 3."""
    tools = list(tools)
    found: dict[str, Counter[str]] = {tool["name"]: Counter() for tool in tools}

    def add(name: str, words: str, weight: int) -> None:
        for stem in stems(words):
            found[name][stem] += weight

    for tool in tools:
        own = tool["name"]
        title = tool.get("title") or tool["annotations"].get("title", "")
        add(own, f"{own} {title}", OWN_WORDS)
        for sentence in re.split(r"(?<=[.;:])\s+", tool["description"]):
            named = next((name for name in found if name != own and f"`{name}`" in sentence), None)
            compares = named is not None and f"than `{named}`" in sentence
            words = re.sub(r"`\w+`", " ", sentence) if named else sentence
            add(own if named is None or compares else named, words, OWN_WORDS)
        for name, schema in tool["inputSchema"]["properties"].items():
            add(own, f"{name} {schema.get('description', '')} {' '.join(values(schema))}", 1)
    return found


def values(schema: Mapping[str, Any]) -> list[str]:
    """The listed values of an argument."""
    inner = schema.get("items", schema)
    return [*inner.get("enum", ()), *inner.get("examples", ())]


def chosen_tool(goal: str, words: Mapping[str, Counter[str]]) -> str:
    """The tool with the best score, empty for a tie."""
    scores: dict[str, float] = {}
    wanted = sorted(set(stems(goal)))
    for name, counts in words.items():
        frequency = {stem: sum(stem in other for other in words.values()) for stem in wanted}
        scores[name] = sum(
            math.log(1 + len(words) / frequency[stem]) * counts[stem] / (counts[stem] + 1)
            for stem in wanted
            if stem in counts
        )
    best = sorted(scores, key=lambda name: -scores[name])
    return "" if math.isclose(scores[best[0]], scores[best[1]]) else best[0]


JSON_TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def bound(fact: str, value: Any, properties: Mapping[str, Any]) -> tuple[str, int]:
    """The argument for a fact, with its points; empty if none has any."""
    wanted = set(stems(fact))
    best, points = "", 0
    for name, schema in properties.items():
        if name == "options" or not isinstance(value, JSON_TYPES[schema["type"]]):
            continue
        score = 2 * len(wanted & set(stems(name))) + len(wanted & set(stems(schema.get("description", ""))))
        listed = values(schema)
        score += 3 * bool(listed and set(value if isinstance(value, list) else [value]) <= set(listed))
        if score > points:
            best, points = name, score
    return best, points


def option_help(tool: str) -> Mapping[str, Any]:
    """What the help of the options says, as a schema of arguments."""
    return TOOLS_BY_NAME[tool].json_schema()["properties"]


def attempt(task: Task, listing: Mapping[str, Mapping[str, Any]], words: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """The call that the agent makes for a task, and whether it is right."""
    tool = chosen_tool(task.goal, words)
    row: dict[str, Any] = {"goal": task.goal, "tool": tool, "is_tool": tool == task.tool, "wrong": [], "calls": 1}
    if not row["is_tool"]:
        return row | {"is_solved": False}
    properties = listing[tool]["inputSchema"]["properties"]
    arguments = dict(task.sure)
    for fact, value, expected in task.facts:
        name, points = bound(fact, value, properties)
        if points < ENOUGH and "options" in properties:
            name, _ = bound(fact, value, option_help(tool))
            row["calls"] = 2
        if name != expected:
            row["wrong"].append(f"{fact} -> {name or 'nothing'}, not {expected}")
        else:
            arguments[name] = value
    try:
        TOOLS_BY_NAME[tool].checked(arguments)
    except UsageError as error:
        row["wrong"].append(str(error))
    return row | {"is_solved": not row["wrong"]}


def measure() -> dict[str, Any]:
    """The size of the list, and what the agent does with each task."""
    tools = listed_tools()["tools"]
    count = counter(TOKENIZER).count
    rows = [attempt(task, {tool["name"]: tool for tool in tools}, read(tools)) for task in TASKS]
    return {
        "list_tokens": count(json.dumps({"tools": tools}, ensure_ascii=False, separators=(",", ":"))),
        "tasks": len(rows),
        "right_tool": sum(row["is_tool"] for row in rows),
        "solved": sum(row["is_solved"] for row in rows),
        "calls": sum(row["calls"] for row in rows),
        "missed": [row for row in rows if not row["is_solved"]],
    }


def main() -> None:
    """Measure; print, or save under a name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", choices=["before", "after"])
    options = parser.parse_args()
    found = measure()
    print(json.dumps(found, indent=2))
    if options.save:
        saved = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(saved | {options.save: found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
