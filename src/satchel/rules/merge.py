"""What a context inherits: the child wins field by field.

* A text, a number, a list of the child takes the place of the parent's.
* Mappings are merged, field by field, at any depth.
* The lists under `relationships` are joined, each entry once, the parent's first.
* Behaviour rules are joined; the child's takes the place of one with the same trigger and condition.
* Injection rules of all ancestors and the child are kept, each once.
* `NAME_override` takes the place of whatever the parent has under NAME, rules too. `NAME_extend` adds to it: entries to
  a list, fields to a mapping, a line to a text.
* What says who a context is (`id`, `name`, `created`, `updated`) and what it extends is not inherited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from satchel.rules.document import ContextFile
from satchel.rules.rule import BehaviorRule, InjectionRule, Rule

OWN: Mapping[str, frozenset[str]] = {
    "metadata": frozenset({"id", "name", "created", "updated"}),
    "intent_context": frozenset({"extends"}),
}
"""Fields of these mappings that belong to one context alone."""

JOINED = frozenset({"relationships"})
"""Mappings whose lists are joined."""

AnyRule = TypeVar("AnyRule", bound=Rule)


def merged_data(chain: Sequence[ContextFile]) -> dict[str, Any]:
    """The values of the last of the chain with what it inherits from those before it, the root first."""
    found: dict[str, Any] = {}
    for document in chain:
        inherited = {key: _inheritable(key, value) for key, value in found.items()}
        found = _merged(inherited, document.data, is_joined=False, is_top=True)
    return found


def _inheritable(key: str, value: Any) -> Any:
    if key in OWN and isinstance(value, Mapping):
        return {name: inner for name, inner in value.items() if name not in OWN[key]}
    return value


def _merged(
    parent: Mapping[str, Any], child: Mapping[str, Any], *, is_joined: bool, is_top: bool = False
) -> dict[str, Any]:
    found = dict(parent)
    plain = [(key, value, "") for key, value in child.items() if not _suffix(key)]
    adapted = [(key[: -len(suffix)], value, suffix) for key, value in child.items() if (suffix := _suffix(key))]
    for key, value, suffix in (*plain, *sorted(adapted, key=lambda row: row[2])):
        known = found.get(key)
        if suffix == "_override" or known is None:
            found[key] = _settled(value)
        elif suffix == "_extend":
            found[key] = _extended(known, value)
        elif isinstance(known, Mapping) and isinstance(value, Mapping):
            found[key] = _merged(known, value, is_joined=is_joined or (is_top and key in JOINED))
        elif is_joined and isinstance(known, list) and isinstance(value, list):
            found[key] = _joined(known, value)
        elif value is not None:
            found[key] = _settled(value)
    return found


def _suffix(key: str) -> str:
    return next((suffix for suffix in ("_override", "_extend") if key.endswith(suffix) and key != suffix), "")


def _settled(value: Any) -> Any:
    """A value with its own suffixes worked off, as there is nothing that it could adapt."""
    return _merged({}, value, is_joined=False) if isinstance(value, Mapping) else value


def _extended(known: Any, value: Any) -> Any:
    if isinstance(known, Mapping) and isinstance(value, Mapping):
        return _merged(known, value, is_joined=True)
    if isinstance(known, list):
        return _joined(known, value if isinstance(value, list) else [value])
    return f"{known}\n{value}" if isinstance(known, str) and isinstance(value, str) else value


def _joined(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    found = list(first)
    found += [entry for entry in second if entry not in found]
    return found


def merged_behavior(chain: Sequence[ContextFile]) -> tuple[BehaviorRule, ...]:
    """The behaviour rules of a chain: a later one with the same trigger and condition takes the earlier one's place."""
    found: dict[tuple[str, str, str], BehaviorRule] = {}
    for document in chain:
        if document.modes.get("behavior_rules") == "override":
            found = {}
        for rule in document.behavior:
            found[(rule.trigger.casefold(), rule.condition, repr(rule.when))] = rule
    return tuple(found.values())


def merged_injection(chain: Sequence[ContextFile]) -> tuple[InjectionRule, ...]:
    """The injection rules of a chain, each once, the oldest ancestor's first."""
    found: dict[tuple[str, str], InjectionRule] = {}
    for document in chain:
        if document.modes.get("injection_rules") == "override":
            found = {}
        for rule in document.injection:
            # A relative target means another context in another folder.
            is_relative = any(target.reference.startswith(("./", "../")) for target in rule.inject)
            found.setdefault((rule.said, rule.origin if is_relative else ""), rule)
    return tuple(found.values())
