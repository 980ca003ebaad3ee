"""Operations about answers: why something is in or out, and a saved answer asked for again."""

from __future__ import annotations

from satchel.calls import shapes
from satchel.calls.operation import Answered, Call, Operation
from satchel.calls.packing import MAX_TOKENS, NOW, REFRESH, TYPES
from satchel.calls.parameters import Parameter, Shape
from satchel.envelope import replayed_envelope, standing_data

_WHY = ("types", "max_tokens", "paths", "exclude", "min_score", "now")


def _why(call: Call) -> Answered:
    target, question = call.given["target"], call.given["question"]
    call.refreshed()
    rows = call.engine.why(target, question, refresh=False, **call.chosen(*_WHY))
    return Answered("", {"target": target, "question": question, "standings": [standing_data(row) for row in rows]})


def _replay(call: Call) -> Answered:
    saved = call.given["saved"]
    call.refreshed()
    replay = call.engine.replay(saved, refresh=False)
    notes = tuple(f"differs: {line}" for line in replay.differences)
    return Answered(replay.context.text, replayed_envelope(replay.context, replay.request, saved), notes)


WHY = Operation(
    "why",
    "Why something is in or out",
    "Say how a file, a definition or a record stands for a question, and why it is in or out.",
    (
        Parameter("target", Shape.TEXT, "A path or its end, a qualified name, a commit, or an id.", is_required=True),
        Parameter("question", Shape.TEXT, "The question.", is_required=True, aliases=("query",)),
        TYPES,
        MAX_TOKENS,
        Parameter("paths", Shape.TEXTS, "Globs: only these paths."),
        Parameter("exclude", Shape.TEXTS, "Globs of paths to leave out."),
        Parameter("min_score", Shape.NUMBER, "Least relevance.", least=0, most=1),
        NOW,
        REFRESH,
    ),
    _why,
    shapes.STANDINGS,
)

REPLAY = Operation(
    "replay",
    "Ask a saved question again",
    "Ask the question of a saved answer again; the text is the same unless the folder, the settings or the version "
    "differ.",
    (Parameter("saved", Shape.OBJECT, "The envelope of a context.", is_required=True), REFRESH),
    _replay,
    shapes.CONTEXT,
)
