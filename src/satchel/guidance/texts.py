"""The texts of guides: contexts and instruction files in full, and their entries, from which a short form is made.

An entry is a bullet with what is nested in it, a paragraph, or a line of a context. Its value is how much it says about
the situation: its words, and those of the headings above it, that the situation has, too, or that belong to a topic of
the situation. Words that few entries have count more.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from satchel.guidance import weights
from satchel.guidance.context_files import section_of
from satchel.guidance.injection import ActiveContext
from satchel.guidance.instructions import unfenced
from satchel.guidance.judge import related_terms
from satchel.guidance.situation import Situation
from satchel.safety import sanitize
from satchel.text import STOP_WORDS, count_terms, words
from satchel.types import Data, GuideEntry, Json

LINE_CHARACTERS = 400
"""Length limit of the text of a guide on one line."""

_SECTIONS = frozenset({"metadata", "intent_context", "relationships", "status"})
_METADATA = frozenset({"id", "name", "type", "created", "updated", "description"})
_INTENT = frozenset({"intent_type", "context_adaptations", "business_goal", "extends"})
_HEADING = re.compile(r"(#{1,6})\s")
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s")
_SENTENCE = re.compile(r"\n|(?<=[.!?;])\s+")

Weigh = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Returns the values of texts, each with the text of its headings."""


def weigher(situation: Situation) -> Weigh:
    """Return the function that values texts for a situation."""
    question = "\n".join([situation.question, situation.tool, *situation.languages, *situation.tags])
    asked = frozenset(count_terms(word for word in words(question.casefold()) if word not in STOP_WORDS))
    return partial(_values, asked, related_terms(asked) - asked)


def _values(asked: Set[str], related: Set[str], texts: Sequence[tuple[str, str]]) -> list[float]:
    terms = [(count_terms(words(text)).keys(), count_terms(words(heads)).keys()) for text, heads in texts]
    counts = Counter(term for own, heads in terms for term in own | heads)
    rare = {term: math.log(1 + len(texts) / number) for term, number in counts.items() if term in asked | related}
    values = []
    for own, heads in terms:
        by_term = dict.fromkeys(heads & asked, weights.HEADING_WORDS) | dict.fromkeys(own & asked, weights.OWN_WORDS)
        by_term |= dict.fromkeys((own | heads) & related, weights.TOPIC_WORDS)
        values.append(sum(rare[term] * weight for term, weight in by_term.items()))
    return values


def clean_entries(
    entries: Callable[[], Sequence[GuideEntry]], allow: Sequence[str]
) -> Callable[[], Sequence[GuideEntry]]:
    """Return entries that are redacted: a line such as `password: ...` is a secret only with its name."""
    return lambda: [replace(entry, text=sanitize.text(entry.text, allow)) for entry in entries()]


def markdown_entries(text: str, weigh: Weigh) -> list[GuideEntry]:
    """Return the entries of an instruction file; its introduction, a paragraph at the top, is its lead."""
    entries = _split(text)
    values = weigh([(entry.text, "\n".join(entries[head].text for head in entry.heads)) for entry in entries])
    first = next((place for place, entry in enumerate(entries) if entry.value is not None), -1)
    if first >= 0 and _BULLET.match(entries[first].text) is None:
        values[first] = math.inf
    return [
        entry if entry.value is None else GuideEntry(entry.text, value, entry.heads)
        for entry, value in zip(entries, values, strict=True)
    ]


def _split(text: str) -> list[GuideEntry]:
    """Return the headings and the entries of a Markdown text."""
    entries: list[GuideEntry] = []
    heads: dict[float, int] = {}  # level -> place in the entries
    for block in _blocks(text):
        heading = _HEADING.match(block)
        # Level of a line that introduces the bullets below it; those of headings are 1 to 6
        level = len(heading[1]) if heading is not None else math.inf if _BULLET.match(block) else 7
        heads = {above: place for above, place in heads.items() if above < level}
        above = tuple(heads.values())
        if heading is not None or (level == 7 and block.endswith(":")):
            heads[level] = len(entries)
            entries.append(GuideEntry(block, None, above))
        else:
            entries += [GuideEntry(part, 0.0, above) for part in _parts(block)]
    return entries


def _parts(block: str) -> list[str]:
    # Characters of an entry above which it is split into lines, and these into sentences.
    return [block] if len(block) <= 1_500 else [part for part in _SENTENCE.split(block) if part.strip()]


def _blocks(text: str) -> Iterator[str]:
    """Yield headings, bullets with what is nested in them, and paragraphs. A fenced block belongs to what is above."""
    block: list[str] = []
    depth = LINE_CHARACTERS  # the indentation of the bullet; more than any where there is none
    for _, line, is_code in unfenced(text):
        bullet = None if is_code else _BULLET.match(line)
        indentation = LINE_CHARACTERS + 1 if bullet is None else len(bullet[1])
        is_begin = indentation <= depth, not line.strip(), _HEADING.match(line)
        if block and not is_code and any((*is_begin, _HEADING.match(block[0]))):
            yield "\n".join(block)
            block, depth = [], LINE_CHARACTERS
        if line.strip() or is_code:
            depth = min(indentation, depth)
            block.append(line)
    if block:
        yield "\n".join(block)


class ContextLines(NamedTuple):
    """The text of a context: its goal on one line (empty if it has none), the lines of its rules, and all others.

    `before` are the lines between the goal and the rules, `after` those below them.
    """

    goal: str
    before: Sequence[str]
    rules: Sequence[str]
    after: Sequence[str]

    @property
    def text(self) -> str:
        """The full text, empty for a context that says nothing that the contexts above it do not say."""
        goal = [self.goal] if self.goal else []
        rules = [RULES, *self.rules] if self.rules else []
        return "\n".join([*goal, *self.before, *rules, *self.after])


RULES = "Rules:"

NOTHING = "(it says nothing of itself)"
"""The text of a context without values."""


def title_of(active: ActiveContext) -> str:
    """Return a title such as `Auth service (project)`."""
    context = active.context
    return sanitize.line(f"{context.name} ({context.type})" if context.type else context.name)


def context_lines(active: ActiveContext, situation: Situation, above: Sequence[ActiveContext]) -> ContextLines:
    """Return the lines of a context without what those `above` it have; rules of ancestors are in the current one."""
    data = _data_of(active)
    for context in above:
        data = _news(data, _data_of(context))
    metadata, intent, status, relationships = (
        section_of(data, name) for name in ("metadata", "intent_context", "status", "relationships")
    )
    labels = (("Intent", intent, "intent_type"), ("Description", metadata, "description"),
              ("Adaptations", intent, "context_adaptations"))  # fmt: skip
    before = [f"{label}: {section[key]}" for label, section, key in labels if section.get(key)]
    before += _pairs({**_without(metadata, _METADATA), **_without(intent, _INTENT)})
    if status:
        before.append(f"Status: {', '.join(f'{key} {_compact(value)}' for key, value in status.items())}")
    after = [f"{key}: {_listed(value)}" for key, value in relationships.items() if value]
    after += [*_pairs(_without(data, _SECTIONS)), *_ancestry(active)]
    return ContextLines(
        goal=f"Goal: {' '.join(str(intent['business_goal']).split())}" if intent.get("business_goal") else "",
        before=before,
        rules=_rules(active, situation, above),
        after=after,
    )


def _ancestry(active: ActiveContext) -> Iterator[str]:
    chain = active.context.chain[:-1]
    if chain and not active.distance:
        yield f"Inherits from: {' > '.join(path or '.' for path in chain)}"


def _rules(active: ActiveContext, situation: Situation, above: Sequence[ActiveContext]) -> list[str]:
    """Return the lines of the rules that apply and are not above; those of an ancestor are in the current context."""
    if active.distance:
        return []
    shown = {rule for context in above if context.distance == 0 for rule in context.context.behavior}
    rules = [rule for rule in active.context.behavior if rule not in shown]
    return [f"- {rule.line}" for rule in rules if rule.when is None or rule.when.check(situation).holds]


def _data_of(active: ActiveContext) -> Data:
    return active.context.own if active.distance else active.context.data


def context_entries(lines: ContextLines, weigh: Weigh) -> list[GuideEntry]:
    """Return the entries of a context: the goal is its lead, then come the rules, then all other lines."""
    values = weigh([(line, "") for line in (*lines.before, *lines.rules, *lines.after)])
    entries = [GuideEntry(lines.goal, math.inf)] if lines.goal else []
    entries += map(GuideEntry, lines.before, values)
    head = len(entries)
    entries += [GuideEntry(RULES, None)] if lines.rules else []
    own = values[len(lines.before) : len(lines.before) + len(lines.rules)]
    # Added to the value of a rule of a context: the other lines of the context come after all of its rules.
    entries += [GuideEntry(line, 1_000.0 + value, (head,)) for line, value in zip(lines.rules, own, strict=True)]
    return [*entries, *map(GuideEntry, lines.after, values[len(lines.before) + len(lines.rules) :])]


def _news(data: Data, shown: Data) -> Json:
    """Return the values that are not equal to those shown, at any depth, without the shown entries of lists."""
    news: Json = {}
    for key, value in data.items():
        other = shown.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            value = _news(value, other)
        elif isinstance(value, list) and isinstance(other, list):
            value = [entry for entry in value if entry not in other]
        if value != other and value not in ({}, []):
            news[key] = value
    return news


def _without(data: Data, keys: Set[str]) -> Json:
    return {key: value for key, value in data.items() if key not in keys}


def _pairs(data: Data) -> Iterator[str]:
    return (f"{key}: {_compact(value)}" for key, value in data.items())


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else _compact(value)


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
