"""What comments and class names tell of values in PHP: `@var`, `@param`, `@return`, `@mixin`, and `Mail::class`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from satchel.search.resolve.code import CodeDefinition, Entities, SourceFile
from satchel.search.resolve.syntax import above, first_child, principal
from satchel.text import pattern

if TYPE_CHECKING:
    from tree_sitter import Node

    from satchel.search.resolve.names import Names

_MIXED_IN = pattern(r"@(mixin|see)\s+([\w\\]+)")
_DOCUMENTED = frozenset({"function_definition", "method_declaration", "property_declaration"})


def told_in_comment(names: Names, file: SourceFile, node: Node) -> Entities:
    """Return the type that a comment gives a parameter or a property of PHP."""
    around = next((other for other in above(node) if other.type in _DOCUMENTED), None)
    if around is None:
        return ()
    before = file.source[around.start_byte : node.start_byte].decode("utf-8", "replace")
    noted = re.findall(rf"@var\s+([\w\\|]+)\s+{re.escape(file.text(node))}\b", before)
    if noted:
        return names.dotted(file, principal(noted[-1]), node)
    if around.type == "property_declaration":
        return documented(names, file, around, "@var", "")
    return documented(names, file, around, "@param", file.text(node))


def documented(names: Names, file: SourceFile, declared: Node, tag: str, name: str) -> Entities:
    """Return the type that the comment above a declaration of PHP says."""
    comment = declared.prev_named_sibling
    if comment is None or comment.type != "comment":
        return ()
    match = re.search(rf"{tag}\s+([\w\\$]+)[^\n]*{re.escape(name)}(?!\w)", file.text(comment))
    return names.dotted(file, principal(match[1]), declared) if match is not None else ()


def mixed_in(names: Names, owner: CodeDefinition, name: str) -> Entities:
    """Return the classes whose methods a class of PHP passes calls on to, as its comment says.

    `@mixin` says so for all methods, `@see` beside an `@method` for the methods that are listed.
    """
    file, declared = names.code.file(owner.path), names.code.declaration(owner)
    comment = declared.prev_named_sibling if declared is not None else None
    if file is None or declared is None or comment is None or comment.type != "comment":
        return ()
    text = file.text(comment)
    is_listed = re.search(rf"@method\s[^\n(]*\b{re.escape(name)}\(", text) is not None
    tags = [written for tag, written in _MIXED_IN.findall(text) if tag == "mixin" or is_listed]
    mixed = (entity for written in tags for entity in names.dotted(file, principal(written), declared))
    return tuple(entity for entity in mixed if entity != owner)


def made_of_class(names: Names, file: SourceFile, call: Node, called: Entities) -> Entities:
    """Return an object of the class that a container or a mock of PHP is asked for: `createMock(Mail::class)`."""
    arguments = call.child_by_field_name("arguments")
    first = first_child(arguments) if arguments is not None else None
    value = first_child(first) if first is not None else None
    if value is None or any(isinstance(entity, CodeDefinition) for entity in called):
        return ()
    if value.type == "class_constant_access_expression" and file.text(value).endswith("::class"):
        return names.value(file, first_child(value))
    written = file.text(value).strip("'\"") if value.type in {"string", "encapsed_string"} else ""
    return names.dotted(file, principal(written), value) if "\\" in written else ()
