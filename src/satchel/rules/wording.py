"""How contexts and instruction files read: in full, reduced to what matters most, and on one line.

The essentials of a context are its name, its goal and its rules; of an instruction file its beginning and the sections
that speak of the situation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from satchel import outside
from satchel.rules.gather import ActiveContext
from satchel.rules.instructions import Instruction
from satchel.rules.rule import BehaviorRule
from satchel.rules.situation import Situation
from satchel.text import STOP_WORDS, count_terms, words

REDUCED_CHARACTERS = (6_000, 1_500)
"""Lengths to which an instruction file is reduced when it does not fit: about 1,700 and 400 tokens."""

_KNOWN = frozenset({"metadata", "intent_context", "relationships", "status"})
_SHOWN_METADATA = frozenset({"id", "name", "type", "created", "updated", "description"})
_HEADING = re.compile(r"#{1,6}\s")


def title_of(active: ActiveContext) -> str:
    """`Auth service (project)`."""
    context = active.context
    return outside.line(f"{context.name} ({context.type})" if context.type else context.name)


def full_text(active: ActiveContext, situation: Situation, said: Set[BehaviorRule] = frozenset()) -> str:
    """Everything that a context says, as lines; the rules of an ancestor stand with the current context.

    `said` are rules that another record shows already.
    """
    data = active.context.data
    lines = [*_goal(active), *_intent(data), *_status(data), *_rules(active, situation, said), *_relationships(data)]
    lines += [f"{key}: {_compact(value)}" for key, value in data.items() if key not in _KNOWN]
    if len(active.context.chain) > 1:
        lines.append(f"Inherits from: {' > '.join(path or '.' for path in active.context.chain[:-1])}")
    return "\n".join(lines) or "(it says nothing of itself)"


def essentials(active: ActiveContext, situation: Situation, said: Set[BehaviorRule] = frozenset()) -> str:
    """Goal and rules."""
    lines = [*_goal(active), *_rules(active, situation, said)]
    return "\n".join(lines) or title_of(active)


def one_line(active: ActiveContext) -> str:
    """The goal, else the name."""
    return outside.line(next(iter(_goal(active)), title_of(active)), 400)


def _goal(active: ActiveContext) -> list[str]:
    return [f"Goal: {' '.join(active.context.goal.split())}"] if active.context.goal else []


def _intent(data: Mapping[str, Any]) -> Iterator[str]:
    intent, metadata = _section(data, "intent_context"), _section(data, "metadata")
    if intent.get("intent_type"):
        yield f"Intent: {intent['intent_type']}"
    if metadata.get("description"):
        yield f"Description: {metadata['description']}"
    if intent.get("context_adaptations"):
        yield f"Adaptations: {intent['context_adaptations']}"
    more = {key: value for key, value in metadata.items() if key not in _SHOWN_METADATA}
    known = {"intent_type", "context_adaptations", "business_goal", "extends"}
    more |= {key: value for key, value in intent.items() if key not in known}
    for key, value in more.items():
        yield f"{key}: {_compact(value)}"


def _status(data: Mapping[str, Any]) -> Iterator[str]:
    status = _section(data, "status")
    if status:
        yield f"Status: {', '.join(f'{key} {_compact(value)}' for key, value in status.items())}"


def _rules(active: ActiveContext, situation: Situation, said: Set[BehaviorRule]) -> list[str]:
    """The behaviour rules that hold in this situation; an ancestor's are among those of the current context."""
    if active.distance:
        return []
    open_ones = [rule for rule in active.context.behavior if rule not in said]
    rules = [rule for rule in open_ones if rule.when is None or rule.when.check(situation).holds]
    return ["Rules:", *(f"- {rule.line}" for rule in rules)] if rules else []


def _relationships(data: Mapping[str, Any]) -> Iterator[str]:
    for key, value in _section(data, "relationships").items():
        if value:
            yield f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else _compact(value)}"


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    held = data.get(name)
    return held if isinstance(held, Mapping) else {}


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def instruction_texts(instruction: Instruction, situation: Situation) -> list[str]:
    """The text of an instruction file in full and ever shorter, at last its first line."""
    text = instruction.text.strip() or "(empty)"
    asked = frozenset(count_terms(word for word in words(situation.question) if word not in STOP_WORDS))
    found = [text, *(reduced(text, asked, most) for most in REDUCED_CHARACTERS if len(text) > most)]
    first = next(line for line in text.split("\n") if line.strip())
    return [*dict.fromkeys([*found, first[:400]])]


def reduced(text: str, asked: frozenset[str], most: int) -> str:
    """The sections that share most terms with what is asked, in their order, in at most `most` characters or so.

    The first section comes first in any case: it says what the file is.
    """
    sections = _sections(text)
    scores = [len(asked & count_terms(words(section)).keys()) for section in sections]
    order = sorted(range(len(sections)), key=lambda index: (index != 0, -scores[index], index))
    kept: dict[int, str] = {}
    left = most
    for index in order:
        section = sections[index]
        if len(section) <= left:
            kept[index] = section
        elif not kept:
            kept[index] = section[:left].rsplit("\n", 1)[0]
        else:
            continue
        left -= len(kept[index]) + 1
    parts: list[str] = []
    for index in range(len(sections)):
        if index in kept:
            parts.append(kept[index])
        elif parts and parts[-1] != "…":
            parts.append("…")
    return "\n".join(parts)


def _sections(text: str) -> list[str]:
    """The text cut before each heading."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if _HEADING.match(line) and not fenced and found[-1]:
            found.append([])
        found[-1].append(line)
    return ["\n".join(lines) for lines in found]
