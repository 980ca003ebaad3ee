"""All operations, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.calls.asking import CONTEXT_QUERY, DOCUMENT, EXPAND, SEARCH
from satchel.calls.experiencing import EXPERIENCE, EXPERIENCES
from satchel.calls.foreseeing import PREMORTEM_OPERATION, SITUATION_CONTEXT
from satchel.calls.graphing import GRAPH_CONTEXT
from satchel.calls.looking import DOCTOR, HISTORY, PROPOSALS, STATUS, VALUES
from satchel.calls.operation import Operation
from satchel.calls.receipts import REPLAY, WHY
from satchel.calls.remembering import MEMORIES, REMEMBER

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
"""What agents are offered. There are never more than eight: every one is read by a model in every session."""

_OTHERS = (DOCUMENT, WHY, STATUS, DOCTOR, MEMORIES, EXPERIENCES, VALUES, PROPOSALS, HISTORY, REPLAY)

OPERATIONS: Mapping[str, Operation] = {one.name: one for one in (*TOOLS, *_OTHERS)}
"""Name -> operation, of all that outsiders may ask."""
