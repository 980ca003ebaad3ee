"""The operation that walks: the context around a topic or a node."""

from __future__ import annotations

from satchel.assemble.graph.request import DEFAULT_DEPTH, DEFAULT_LENS, FORMATS, LEAST_DEPTH, LENSES, MOST_DEPTH
from satchel.calls import shapes
from satchel.calls.empty import no_walk
from satchel.calls.operation import Answered, Call, Operation
from satchel.calls.packing import MAX_TOKENS, NOW, REFRESH, TOKENIZER
from satchel.calls.parameters import Parameter, Shape
from satchel.envelope import graph_envelope

_PARAMETERS = (
    Parameter("query", Shape.TEXT, "A topic, or the id of a node: a note, a file, a definition.", is_required=True,
              aliases=("node_id", "nodeId", "question")),
    Parameter("blend", Shape.TEXTS, "More topics or ids in the same context."),
    Parameter("depth", Shape.COUNT, f"Steps to walk ({DEFAULT_DEPTH}, as far as the lens allows).",
              least=LEAST_DEPTH, most=MOST_DEPTH),
    MAX_TOKENS,
    Parameter("lens", Shape.TEXT, "Which relations to follow; settings may add more.", choices=tuple(LENSES),
              default=DEFAULT_LENS, is_open=True),
    Parameter("include_fields", Shape.SWITCH, "Show the fields of nodes.", default=True, aliases=("includeFields",)),
    Parameter("format", Shape.TEXT, "How the text is written.", choices=tuple(map(str, FORMATS)),
              default=str(FORMATS[0])),
    Parameter("workspace", Shape.TEXT, "A registered workspace by its alias; this root by default."),
    TOKENIZER,
    NOW,
    REFRESH,
)  # fmt: skip

_OPTIONS = ("depth", "max_tokens", "lens", "include_fields", "format", "workspace", "tokenizer", "now")


def _graph_context(call: Call) -> Answered:
    with call.in_workspace() as engine:
        request = engine.graph_request(call.given["query"], blend=call.given.get("blend", ()), **call.chosen(*_OPTIONS))
        context = engine.graph_answer(request, call.refreshed(engine))
    notes = (no_walk(context),) if not context.text else tuple(context.meta["warnings"])
    return Answered(context.text, graph_envelope(context, request), notes)


GRAPH_CONTEXT = Operation(
    "graph_context",
    "Walk the graph around a topic",
    "Follow relations from a topic or node through notes and code: links, fields, containment, calls, imports.",
    _PARAMETERS,
    _graph_context,
    shapes.CONTEXT,
    "Use it for what is connected: who calls a function (lens impact), what a note refers to. Also takes maxTokens, "
    "includeFields and nodeId.",
)
