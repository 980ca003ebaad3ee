"""The texts of contexts and instruction files: in full, reduced to the essentials, and on one line.

The essentials of a context are its name, its goal and its rules; of an instruction file its beginning and the sections
that are about the situation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from satchel.guidance.context_files import BehaviorRule
from satchel.guidance.injection import ActiveContext
from satchel.guidance.instructions import Instruction, unfenced
from satchel.guidance.situation import Situation
from satchel.safety import sanitize
from satchel.text import STOP_WORDS, count_terms, words

REDUCED_CHARACTERS = (6_000, 1_500)
"""Lengths of reduced instruction files: about 1,700 and 400 tokens."""

_SECTIONS = frozenset({"metadata", "intent_context", "relationships", "status"})
_METADATA = frozenset({"id", "name", "type", "created", "updated", "description"})
_INTENT = frozenset({"intent_type", "context_adaptations", "business_goal", "extends"})
_HEADING = re.compile(r"#{1,6}\s")


def title_of(active: ActiveContext) -> str:
    """Return a title such as `Auth service (project)`."""
    context = active.context
    return sanitize.line(f"{context.name} ({context.type})" if context.type else context.name)


def full_text(active: ActiveContext, situation: Situation, shown: Set[BehaviorRule] = frozenset()) -> str:
    """Return everything in a context, as lines; the rules of an ancestor are listed with the current context.

    `shown` are rules that another record lists already.
    """
    data = active.context.data
    metadata, intent, status, relationships = (
        _section(data, name) for name in ("metadata", "intent_context", "status", "relationships")
    )
    lines = _goal(active)
    labels = (("Intent", intent, "intent_type"), ("Description", metadata, "description"),
              ("Adaptations", intent, "context_adaptations"))  # fmt: skip
    lines += [f"{label}: {section[key]}" for label, section, key in labels if section.get(key)]
    lines += _pairs({**_without(metadata, _METADATA), **_without(intent, _INTENT)})
    if status:
        lines.append(f"Status: {', '.join(f'{key} {_compact(value)}' for key, value in status.items())}")
    lines += _rules(active, situation, shown)
    for key, value in relationships.items():
        if value:
            lines.append(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else _compact(value)}")
    lines += _pairs(_without(data, _SECTIONS))
    if len(active.context.chain) > 1:
        lines.append(f"Inherits from: {' > '.join(path or '.' for path in active.context.chain[:-1])}")
    return "\n".join(lines) or "(it says nothing of itself)"


def essentials(active: ActiveContext, situation: Situation, shown: Set[BehaviorRule] = frozenset()) -> str:
    """Return goal and rules, else the title."""
    return "\n".join([*_goal(active), *_rules(active, situation, shown)]) or title_of(active)


def one_line(active: ActiveContext) -> str:
    """Return the goal, else the name."""
    return sanitize.line(next(iter(_goal(active)), title_of(active)), 400)


def _goal(active: ActiveContext) -> list[str]:
    return [f"Goal: {' '.join(active.context.goal.split())}"] if active.context.goal else []


def _rules(active: ActiveContext, situation: Situation, shown: Set[BehaviorRule]) -> list[str]:
    """Return the rules that apply in this situation; those of ancestors are listed with the current context."""
    rules = [rule for rule in active.context.behavior if not active.distance and rule not in shown]
    lines = [f"- {rule.line}" for rule in rules if rule.when is None or rule.when.check(situation).holds]
    return ["Rules:", *lines] if lines else []


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = data.get(name)
    return section if isinstance(section, Mapping) else {}


def _without(data: Mapping[str, Any], keys: Set[str]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _pairs(data: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key}: {_compact(value)}" for key, value in data.items())


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def instruction_texts(instruction: Instruction, situation: Situation) -> list[str]:
    """Return the text of an instruction file in full, reduced, and as its first line."""
    text = instruction.text.strip() or "(empty)"
    terms = frozenset(count_terms(word for word in words(situation.question) if word not in STOP_WORDS))
    shorter = (reduced(text, terms, most) for most in REDUCED_CHARACTERS if len(text) > most)
    first = next(line for line in text.split("\n") if line.strip())
    return [*dict.fromkeys([text, *shorter, first[:400]])]


def reduced(text: str, terms: frozenset[str], most: int) -> str:
    """Return the sections that share most of these terms, in their order, in at most about `most` characters.

    The first section is always included: it introduces the file.
    """
    sections = _sections(text)
    scores = [len(terms & count_terms(words(section)).keys()) for section in sections]
    kept: dict[int, str] = {}
    for index in sorted(range(len(sections)), key=lambda index: (index != 0, -scores[index], index)):
        section = sections[index]
        if len(section) <= most:
            kept[index] = section
        elif not kept:
            kept[index] = section[:most].rsplit("\n", 1)[0]
        else:
            continue
        most -= len(kept[index]) + 1
    return _joined(kept.get(index) for index in range(len(sections)))


def _joined(sections: Iterable[str | None]) -> str:
    """Join the sections, with one ellipsis for each gap."""
    parts: list[str] = []
    for section in sections:
        if section is not None:
            parts.append(section)
        elif parts and parts[-1] != "…":
            parts.append("…")
    return "\n".join(parts)


def _sections(text: str) -> list[str]:
    """Split the text before each heading."""
    sections: list[list[str]] = [[]]
    for _, line, is_code in unfenced(text, 1):
        if _HEADING.match(line) and not is_code and sections[-1]:
            sections.append([])
        sections[-1].append(line)
    return ["\n".join(lines) for lines in sections]
