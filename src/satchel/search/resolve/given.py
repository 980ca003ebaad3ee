"""What a lambda is given: the values of its parameters, and the object that its body is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from satchel.search.resolve import syntax
from satchel.search.resolve.code import CodeDefinition, Entities, SourceFile
from satchel.search.resolve.elements import elements
from satchel.search.resolve.lambdas import Given, call_around, given, last_type, of_type
from satchel.search.resolve.resolver import Resolver
from satchel.search.resolve.syntax import first_child, owner_of, principal

if TYPE_CHECKING:
    from tree_sitter import Node


def given_to_lambda(names: Resolver, file: SourceFile, function: Node, index: int) -> Entities:
    """Return the value of a parameter of a lambda, by the function that it is given to."""
    if function.parent is not None and function.parent.type == "match_expression":
        return names.value(file, function.parent.child_by_field_name("value"))
    call = call_around(function)
    if call is None:
        return ()
    for definition in called_definitions(names, file, call[1]):
        types, home, written = _declared_for_lambda(names, definition)
        if home is None or types is None or index >= len(types.parameters):
            continue
        name = principal(home.text(types.parameters[index]))
        if name in written:  # a type parameter: what the function is called on, if that is of this type
            return names.value(file, owner_of(call[1])) if index == 0 else ()
        return names.typed(home, types.parameters[index])
    called, owner = file.text(call[1]), owner_of(call[1])
    if index == 0 and file.language == "kotlin" and called in syntax.SCOPE_FUNCTIONS:
        return names.value(file, owner)
    return elements(names, file, owner) if index == 0 and called in syntax.EACH and owner is not None else ()


def receiver_in_lambda(names: Resolver, file: SourceFile, function: Node) -> Entities:
    """Return the object whose members the body of a lambda of Kotlin may name: `x` of `x.apply { }`."""
    call = call_around(function)
    if call is None:
        return ()
    for definition in called_definitions(names, file, call[1]):
        types, home, written = _declared_for_lambda(names, definition)
        if home is not None and types is not None and types.receiver is not None:
            is_any = principal(home.text(types.receiver)) in written
            return names.value(file, owner_of(call[1])) if is_any else names.typed(home, types.receiver)
    if file.text(call[1]) in {"apply", "run"}:
        return names.value(file, owner_of(call[1]))
    arguments = call[1].next_named_sibling if file.text(call[1]) == "with" else None
    first = first_child(arguments) if arguments is not None else None
    return names.value(file, first_child(first)) if first is not None else ()


def called_definitions(names: Resolver, file: SourceFile, name: Node) -> list[CodeDefinition]:
    """Return the definitions that a called name means."""
    return [entity for entity in names.meaning(file, name) if isinstance(entity, CodeDefinition)]


def _declared_for_lambda(
    names: Resolver, definition: CodeDefinition
) -> tuple[Given | None, SourceFile | None, list[str]]:
    """Return the types for the last lambda of a function, its file, and the names of its type parameters."""
    file, declared = names.code.file(definition.path), names.code.declaration(definition)
    if file is None or declared is None or declared.type not in syntax.FUNCTIONS:
        return None, None, []
    parameters = [child for child in declared.named_children if child.type == "type_parameters"]
    written = re.findall(r"\w+", " ".join(map(file.text, parameters)))
    types, last = given(declared), last_type(declared)
    for alias in names.typed(file, last) if types is None and last is not None else ():
        home = names.code.declaration(alias) if isinstance(alias, CodeDefinition) else None
        if home is not None and isinstance(alias, CodeDefinition) and home.type in syntax.ALIASES:
            return of_type(home), names.code.file(alias.path), written
    return types, file, written
