"""All operations, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.operations.ask import CONTEXT_QUERY, DOCUMENT, EXPAND, GRAPH_CONTEXT, REPLAY, SEARCH, WHY
from satchel.operations.inspect import DOCTOR, HISTORY, PROPOSALS, STATUS, VALUES
from satchel.operations.operation import Operation
from satchel.operations.remember import EXPERIENCE, EXPERIENCES, MEMORIES, REMEMBER
from satchel.operations.situations import PREMORTEM_OPERATION, SITUATION_CONTEXT

TOOLS = (
    CONTEXT_QUERY,
    GRAPH_CONTEXT,
    PREMORTEM_OPERATION,
    SITUATION_CONTEXT,
    SEARCH,
    EXPAND,
    REMEMBER,
    EXPERIENCE,
)
"""The tools of agents, never more than eight: a model reads every one in every session."""

_OTHERS = (DOCUMENT, WHY, STATUS, DOCTOR, MEMORIES, EXPERIENCES, VALUES, PROPOSALS, HISTORY, REPLAY)

OPERATIONS: Mapping[str, Operation] = {one.name: one for one in (*TOOLS, *_OTHERS)}
"""Name -> operation."""
