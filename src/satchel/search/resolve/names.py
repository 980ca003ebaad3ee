"""The meaning of a name in a file: an indexed definition or module, or something outside the index.

A name is looked up by the rules of its language: in the scopes around it, among the imports of its file, in its
package. The expression before it (`self`, a module, a variable, another call) is looked up first: its class comes from
types, values and results of calls.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from satchel.search.resolve import syntax
from satchel.search.resolve.code import (
    OUTSIDE,
    Code,
    CodeDefinition,
    Entities,
    Entity,
    Module,
    NodePlace,
    Outside,
    SourceFile,
    place_of,
    rust_module,
)
from satchel.search.resolve.comments import documented, made_of_class, mixed_in, told_in_comment
from satchel.search.resolve.elements import LANGUAGES as ELEMENTS_IN
from satchel.search.resolve.elements import elements, looped
from satchel.search.resolve.expected import implicit
from satchel.search.resolve.given import given_to_lambda, receiver_in_lambda
from satchel.search.resolve.lambdas import call_around, has_parameters, place_in_lambda
from satchel.search.resolve.modules import Imports, folder_of
from satchel.search.resolve.places import (
    Binding,
    How,
    aliased_type,
    assigned_to,
    expression_of,
    last_name,
    receiver_of,
    result_type,
)
from satchel.search.resolve.syntax import (
    above,
    binding_of,
    field_of,
    first_child,
    home,
    owner_of,
    principal,
    scopes,
)
from satchel.sources.code.languages import FAMILIES, RULES
from satchel.sources.roles import is_secondary
from satchel.text import pattern
from satchel.types import EdgeType, Import

if TYPE_CHECKING:
    from tree_sitter import Node

_OPEN = frozenset({"csharp", "rust", "swift"})
"""Languages in which a class may be written in several places: partial classes, `impl` blocks, extensions."""

_CLOSURES = frozenset({"kotlin", "scala", "swift", "tsx", "typescript"})
"""Languages whose functions say which types the parameters of a lambda have."""

_CURRIED = frozenset({"kotlin", "scala"})
"""Languages in which a call may take its arguments in several brackets."""


_INFERRED = frozenset({"var", "auto", "const auto", "let"})
_RUBY = frozenset({"class", "module"})
_UNNAMED = frozenset({"instance_expression", "object_creation_expression", "object_literal"})
_BODIES = syntax.CLASSES | {"instance_expression"}
_LITERALS = frozenset({"line_string_literal", "multi_line_string_literal"})
_OF_ELEMENTS = _LITERALS | {"index_expression", "infix_expression", "subscript_expression", "wildcard"}
_SPACES = frozenset({"namespace_definition", "namespace_declaration", "file_scoped_namespace_declaration"})
_NAMESPACES = syntax.CLASSES | _SPACES

_IMPLICIT = pattern(r"it|\$(\d)")
_LUA_TABLES = frozenset(
    {"bit32", "coroutine", "debug", "io", "math", "ngx", "os", "package", "string", "table", "utf8", "vim"}
)
_ATTRIBUTES = pattern(r"@(?:propertyWrapper|resultBuilder|globalActor)\b|\bmacro\b")
_RETURNS_SELF = pattern(r"@return\s+(?:\$this|static|self)\b")

_CSHARP_NAMESPACE = pattern(r"^[ \t]*namespace[ \t]+([\w.]+)", re.MULTILINE)

Resolve = Callable[[SourceFile, "Node"], Entities]


class Names(Imports):
    """Resolves names in one state of the index; every answer is computed once."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._adding: dict[str, bool] = {}
        self._added: dict[str, list[CodeDefinition]] = {}
        self._steps = 0

    def value(self, file: SourceFile, node: Node | None) -> Entities:
        """Return what an expression is: the class of an object, a module, or a function by itself."""
        while node is not None and node.named_child_count == 1 and node.named_children[0].end_byte == node.end_byte:
            if node.named_children[0].start_byte != node.start_byte:
                break
            node = node.named_children[0]  # an answer is kept by range
        return self.once("value", file, node, self._value) if node is not None else ()

    def typed(self, file: SourceFile, node: Node | None) -> Entities:
        """Return what a written type names."""
        if node is None:
            return ()
        if node.type == "constructor_invocation":
            return self.typed(file, first_child(node))
        if node.type == "repeated_parameter_type":  # `Item*` of Scala
            return (OUTSIDE,)
        name = principal(file.text(node))
        return self.once("type", file, node, lambda *_: self.dotted(file, name, node)) if name else (OUTSIDE,)

    def once(self, what: str, file: SourceFile, node: Node, resolve: Resolve) -> Entities:
        """Return the answer for a node, computed the first time; empty for a node that depends on itself."""
        key = (what, file.path, node.start_byte, node.end_byte)
        # Most nested lookups: `a().b.c().d` needs 8. An expression that needs more is not resolved.
        if self._steps >= 12 and not self.code.answers.has(key):
            self.code.answers.cut()
            return ()
        return self.code.answers.get(key, partial(self._once, file, node, resolve), ())

    def _once(self, file: SourceFile, node: Node, resolve: Resolve) -> Entities:
        self._steps += 1
        try:
            return resolve(file, node)
        finally:
            self._steps -= 1

    def at(self, file: SourceFile, node: Node | None) -> Entities:
        """Return the definition that the index has where a name is bound."""
        if node is None:
            return ()
        line = node.start_point[0] + 1
        return tuple(
            definition
            for definition in self.code.defined(file.text(node).strip("`"))
            if definition.path == file.path and definition.line == line
        )

    # Members

    def member(self, owner: Entity, name: str) -> Entities:
        """Return what `name` is inside a class, a module or a function."""
        if isinstance(owner, Outside):
            return (OUTSIDE,)
        find = partial(self.of_module, owner) if isinstance(owner, Module) else partial(self._of_class, owner)
        return self.code.answers.get(("member", owner, name), partial(find, name), ())

    def _of_class(self, owner: CodeDefinition, name: str) -> Entities:
        """Return a member of a class or function itself, of a base, or of what an alias stands for."""
        targets = self._own_members(owner, name)
        if targets:
            return targets
        declared = self.code.declaration(owner) if owner.language == "rust" else None
        if declared is not None and declared.type == "mod_item":
            return self.of_module(Module(owner.path, "rust", owner.qualified), name)
        for base in self.bases(owner):
            if isinstance(base, CodeDefinition) and base.name == name:
                return (base,)
            members = self.member(base, name)
            if any(isinstance(member, CodeDefinition) for member in members):
                return members
        behind = mixed_in(self, owner, name) if owner.language == "php" else self._aliased(owner)
        return self.of_members(behind, name) or (OUTSIDE,)

    def _own_members(self, owner: CodeDefinition, name: str) -> Entities:
        candidates = [
            definition
            for definition in self.code.defined(name)
            if definition.owner and definition.language == owner.language
        ]
        here = [
            candidate for candidate in candidates if candidate.path == owner.path and candidate.owner == owner.qualified
        ]
        if here and owner.language == "scala":
            return tuple(definition for definition in here if not self._is_of_unnamed(definition))
        if here or "outside" not in RULES[owner.language] or owner.language == "lua":
            return tuple(here)
        last = [candidate for candidate in candidates if candidate.owner.rpartition(".")[2] == owner.name]
        if owner.language == "go":
            return tuple(definition for definition in last if folder_of(definition.path) == folder_of(owner.path))
        if owner.language == "rust":  # the `impl` blocks in the file of a type, else in its crate
            crate, near = (
                self.modules.crate_of(owner.path),
                [definition for definition in last if definition.path == owner.path],
            )
            return tuple(near or (definition for definition in last if self.modules.crate_of(definition.path) == crate))
        exact = [definition for definition in last if definition.owner == owner.qualified]
        if owner.language == "kotlin":  # an extension names the class alone
            exact += [definition for definition in last if definition.owner == owner.name and definition not in exact]
        # Outside of the class its namespaces may be left out: `void logger::flush()` below `using namespace`.
        exact = exact or [
            definition
            for definition in last
            if owner.language == "cpp" and f".{owner.qualified}".endswith(f".{definition.owner}")
        ]
        return tuple(exact or ([] if owner.owner and owner.language != "ruby" else last))

    def _is_of_unnamed(self, definition: CodeDefinition) -> bool:
        """Return whether a definition of Scala is in a class without a name, which is written within its owner."""
        node = self.code.name_node(definition)
        around = (outer.type for outer in above(node)) if node is not None else iter(())
        return next((kind for kind in around if kind in _BODIES), "") == "instance_expression"

    def _member_values(self, owners: Entities, name: str) -> Entities:
        """Return the values of a field, a property or a method without its call."""
        values = (self.field(owner, name) or self._properties(self.member(owner, name)) for owner in owners)
        return tuple(dict.fromkeys(value for row in values for value in row))

    def _properties(self, members: Entities) -> Entities:
        values: list[Entity] = []
        for member in members:
            is_read = isinstance(member, CodeDefinition) and self.code.is_property(member)
            values += (
                self.returned(member) if is_read and isinstance(member, CodeDefinition) else self._as_value(member)
            )
        return tuple(values)

    def _aliased(self, owner: CodeDefinition) -> Entities:
        """Return what a type alias stands for."""
        file, declared = self.code.file(owner.path), self.code.declaration(owner)
        target = None
        if declared is not None and declared.type in syntax.ALIASES:
            target = aliased_type(declared) or field_of(declared, "type", "value")
        return self.typed(file, target) if file is not None and target is not None else ()

    # Classes

    def bases(self, owner: CodeDefinition) -> Entities:
        """Return the classes that a class names as its bases; for Rust the traits that are implemented for it."""
        # A class of Scala and the object of its name have the same path and name.
        return self.code.answers.get(("bases", owner), partial(self._bases_of, owner), ())

    def _bases_of(self, owner: CodeDefinition) -> Entities:
        entities = self._named_bases(owner) if owner.row >= 0 else ()
        return tuple(entity for entity in dict.fromkeys(entities) if entity != owner)

    def _named_bases(self, owner: CodeDefinition) -> Iterator[Entity]:
        rows = {owner.row}
        if owner.language in _OPEN:
            rows |= {
                definition.row for definition in self.code.defined(owner.name) if definition.language == owner.language
            }
        for row, _, name in self.code.store.edges_from(sorted(rows), [EdgeType.INHERITS]):
            part, file = self.code.part(row), self.code.file(self.code.document_of(row).key)
            if file is None or (row != owner.row and part.name.rpartition(".")[2] != owner.name):
                continue
            first, last = file.range(part.start, part.end)
            for node in file.occurrences(name, first, last):
                if binding_of(node) is None and _names(file, node, owner):
                    if row == owner.row or not self._is_for_another(file, node, owner):
                        yield from self.meaning(file, node)
                    break

    def _is_for_another(self, file: SourceFile, node: Node, owner: CodeDefinition) -> bool:
        """Return whether the `impl` block around a trait in Rust is one of another type that has the owner's name."""
        block = next((outer for outer in above(node) if outer.type == "impl_item"), None)
        meant = self.typed(file, block.child_by_field_name("type")) if block is not None else ()
        keys = {entity.key for entity in meant if isinstance(entity, CodeDefinition)}
        return bool(keys) and owner.key not in keys

    def enclosing(self, file: SourceFile, node: Node) -> Entities:
        """Return the class around a place."""
        return next(self.classes_around(file, node), ())

    def classes_around(self, file: SourceFile, node: Node, *, with_heads: bool = True) -> Iterator[Entities]:
        """Yield the classes around a place, from the inside out; not `with_heads` only those with it in their body.

        The members of a class are not in scope where it names its bases.
        """
        for outer in above(node):
            body = None if with_heads else outer.child_by_field_name("body")
            if body is None or node.end_byte > body.start_byte:
                classes = self._class_at(file, outer, node)
                if classes is not None:
                    yield classes

    def _class_at(self, file: SourceFile, outer: Node, node: Node) -> Entities | None:
        """Return the class that something around a place is the body of; None where it is no class."""
        if outer.type == "impl_item":
            return self.typed(file, outer.child_by_field_name("type"))
        if outer.type in syntax.CLASSES:
            name = syntax.name_of(outer)
            is_extension = name is not None and name.parent is not None and name.parent.type == "user_type"
            return self.typed(file, name) if is_extension else self.at(file, name)
        if outer.type == "function_declaration" and file.language in {"kotlin", "lua"}:
            owner = receiver_of(outer) if file.language == "kotlin" else syntax.table_of(outer)
            of_owner = self.typed if file.language == "kotlin" else self.value
            return of_owner(file, owner) if owner is not None else None
        if outer.type in _UNNAMED and (body := _body_of_unnamed(outer)) is not None and _is_inside(node, body):
            return tuple(entity for written in _bases_of_unnamed(outer) for entity in self.typed(file, written))
        if outer.type == "lambda_literal" and file.language == "kotlin":
            return receiver_in_lambda(self, file, outer) or None
        if outer.type == "function_definition" and file.language == "cpp":
            return self.typed(file, syntax.scope_of(outer) or syntax.fixture_of(outer, file.source))
        return None

    def _bases_around(self, file: SourceFile, node: Node) -> Entities:
        around = self.enclosing(file, node)
        return tuple(
            base for definition in around if isinstance(definition, CodeDefinition) for base in self.bases(definition)
        )

    def field(self, owner: Entity, name: str) -> Entities:
        """Return the type of a field, for which a class is looked through once, however many places name it."""
        if not isinstance(owner, CodeDefinition):
            return ()
        return self.code.answers.sure(("field", owner, name), partial(self._field, owner, name))

    def _field(self, owner: Entity, name: str, depth: int = 0) -> Entities:
        """Return the type of a field by its declaration or by what is assigned to it in its class."""
        # Most levels of base classes in which a field is searched.
        if not isinstance(owner, CodeDefinition) or depth > 12:
            return ()
        if owner.language == "lua" and (values := self._field_of_table(owner, name)):
            return values
        file, around = self.code.file(owner.path), self.code.declaration(owner)
        if file is not None and around is not None:
            inside = around.start_byte, around.end_byte
            variables = file.occurrences(f"${name}", *inside) if file.language == "php" else []
            for node in (*variables, *file.occurrences_given(name, *inside)):
                types = self._field_here(file, node, around)
                if types:
                    return types
        return next((types for base in self.bases(owner) if (types := self._field(base, name, depth + 1))), ())

    def _field_of_table(self, owner: CodeDefinition, name: str) -> Entities:
        """Return what a field of a table of Lua is given in its functions: `self.a = b`, or `{ a = b }`."""
        file = self.code.file(owner.path)
        for node in file.occurrences(name) if file is not None else ():
            table, name_node = owner_of(node), node.parent
            value = None
            if table is not None and name_node is not None and name_node.parent is not None:
                is_own = file is not None and file.text(table) in {"self", owner.name}
                value = assigned_to(name_node) if is_own and name_node.parent.type == "variable_list" else None
            elif name_node is not None and name_node.type == "field" and name_node.child_by_field_name("name") == node:
                is_inner = (
                    name_node.parent is not None
                    and name_node.parent.parent is not None
                    and name_node.parent.parent.type == "field"
                )
                value = None if is_inner else name_node.child_by_field_name("value")
            if file is None or value is None or not any(owner in owners for owners in self.classes_around(file, node)):
                continue
            if values := tuple(each for each in self.value(file, value) if each is not OUTSIDE):
                return values
        return ()

    def _field_here(self, file: SourceFile, node: Node, around: Node) -> Entities:
        parent, owner = node.parent, owner_of(node)
        if parent is None:
            return ()
        if owner is not None:
            name_node = parent.parent
            if (
                file.text(owner) not in {"self", "this", "$this"}
                or name_node is None
                or name_node.child_by_field_name("left") != parent
            ):
                return ()
            written = name_node.child_by_field_name("type")
            return self.typed(file, written) if written else self.value(file, name_node.child_by_field_name("right"))
        binding = binding_of(node)
        scope = home(node)
        is_field = (scope is not None and place_of(scope) == place_of(around)) or parent.type in syntax.FIELD_PLACES
        if binding is None or not is_field or binding.how is How.DECLARED:
            return ()
        return self.bound_value(file, binding)

    # Expressions

    def _value(self, file: SourceFile, node: Node) -> Entities:
        kind = node.type
        if kind in syntax.LEAVES:
            return self._leaf(file, node)
        if kind in syntax.GENERIC or kind == "class_constant_access_expression":  # a case of an enumeration in PHP
            return self.value(file, first_child(node))
        if kind in _OF_ELEMENTS and file.language in ELEMENTS_IN:
            return self._of_elements(file, node)
        if kind in syntax.DOTTED:
            return self._of_dotted(file, node)
        if kind in syntax.CALLS:
            return self._called(file, node)
        if kind in {"new_expression", "struct_expression"}:
            return self.value(file, field_of(node, "constructor", "name"))
        if kind in {"instance_expression", "constructor_expression"} or (
            kind == "object_creation_expression" and file.language == "php"
        ):
            return self.typed(file, first_child(node))
        if kind in syntax.CAST:
            return self.typed(file, node.child_by_field_name("type") or node.named_children[-1])
        if kind in syntax.WRAPPING:
            inner = field_of(node, "operand", "argument", "value", "expr", "target")
            return self.value(file, inner or first_child(node))
        return ()

    def _of_elements(self, file: SourceFile, node: Node) -> Entities:
        """Return the value of `xs[0]`, of `_` in `xs.map(_.size)`, of `a plus b`, and of a text in Swift."""
        if node.type == "infix_expression":
            operator = node.child_by_field_name("operator")
            called = self.meaning(file, operator) if operator is not None else ()
            return tuple(dict.fromkeys(value for entity in called for value in self.result(entity)))
        if node.type in _LITERALS:
            definitions = self.code.defined("String") + self.code.defined("StringProtocol")
            return tuple(definition for definition in definitions if file.language == definition.language == "swift")
        if node.type != "wildcard":
            return elements(self, file, first_child(node))
        call = call_around(node.parent) if node.parent is not None else None
        return elements(self, file, owner_of(call[1])) if call and file.text(call[1]) in syntax.EACH else ()

    def _of_dotted(self, file: SourceFile, node: Node) -> Entities:
        """Return the value of a name of several parts, or of a whole path of packages and objects."""
        name = last_name(node)
        owner, text = owner_of(name), file.text(name)
        values = self._member_values(self.value(file, owner), text)
        if file.language in _CURRIED and owner is not None and all(value is OUTSIDE for value in values):
            found = self._of_path(file, owner, text)
            return tuple(value for target in found for value in self._as_value(target)) or values
        return values

    def _leaf(self, file: SourceFile, node: Node) -> Entities:
        name, is_rust = file.text(node).partition("@")[0].partition("<")[0], file.language == "rust"
        owner = (
            owner_of(node)
            if node.parent is not None and node.parent.type in {"user_type", "stable_identifier"}
            else None
        )
        if owner is not None:
            return self.of_members(self.value(file, owner), name)
        implicit = _IMPLICIT.fullmatch(name) if file.language in {"kotlin", "swift"} else None
        if implicit is not None:
            function = next((outer for outer in above(node) if outer.type == "lambda_literal"), None)
            if function is not None and not has_parameters(function):
                return given_to_lambda(self, file, function, int(implicit[1] or 0))
        if name == "self" and file.language == "lua" and isinstance(self.bound(file, name, node), Binding):
            return self._named_value(file, name, node)
        if syntax.is_self(name, file.language, file.rules):
            return self.enclosing(file, node)
        if syntax.is_base(name, file.language):
            if is_rust:
                return (self.modules.parent(rust_module(file, node)) or OUTSIDE,)
            return self._bases_around(file, node)
        return (self.modules.crate_root(file.path),) if name == "crate" else self._named_value(file, name, node)

    def dotted(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return what a dotted name at a place is: each step is a field or member of the one before."""
        if file.language == "php" and "." in name:
            named = [
                definition for definition in self.code.defined(name.rpartition(".")[2]) if definition.language == "php"
            ]
            if whole := tuple(definition for definition in named if definition.qualified == name):
                return whole
        if file.language in _CURRIED and "." in name and (of_path := self._of_path_at(file, name)):
            return of_path
        first, *rest = name.split(".")
        if first in {"crate", "super"} and file.language == "rust":
            return self.rust_path(file, [first, *rest], node)
        here = (
            self.enclosing(file, node)
            if syntax.is_self(first, file.language, file.rules)
            else self._named_value(file, first, node)
        )
        for step in rest:
            here = self._member_values(here, step)
        return here

    def _named_value(self, file: SourceFile, name: str, node: Node) -> Entities:
        bound = self.bound(file, name, node)
        if isinstance(bound, Binding):
            return self.bound_value(file, bound)
        types = self._field_around(file, name, node) if bound is None and "member" in file.rules else ()
        if types:
            return types
        entities = self.imported(file, bound, name) if bound is not None else self.unbound(file, name, node)
        return tuple(dict.fromkeys(value for entity in entities for value in self._as_value(entity)))

    def _field_around(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return the type of the field of a class around a place that a bare name means."""
        around = (class_name for classes in self.classes_around(file, node) for class_name in classes)
        return next(filter(None, (self.field(scope, name) for scope in around)), ())

    def _as_value(self, entity: Entity) -> Entities:
        """Return the type of a constant; classes, functions and modules themselves."""
        if not isinstance(entity, CodeDefinition):
            return (entity,)
        if entity.language == "scala" and self.code.is_property(entity):
            return self.returned(entity)
        file, node = self.code.file(entity.path), self.code.name_node(entity)
        binding = binding_of(node) if node is not None else None
        if file is None or binding is None or binding.how is How.DECLARED or binding.value is None is binding.type:
            return (entity,)
        return self.bound_value(file, binding)

    def bound_value(self, file: SourceFile, bound: Binding) -> Entities:
        """Return the value of a variable: by its written type, else by what it is given."""
        if bound.how is How.DECLARED:
            return self.at(file, bound.node) or (OUTSIDE,)
        is_written = bound.type is not None and file.text(bound.type) not in _INFERRED
        if file.language == "lua" and not is_written and bound.value is not None:
            return self._of_lua(file, bound, bound.value)
        if is_written or bound.value is not None:
            return self.typed(file, bound.type) if is_written else self.value(file, bound.value)
        if bound.how is How.PARAMETER and file.language == "python":
            return self._fixture(file, bound.node)
        if file.language == "php":
            return told_in_comment(self, file, bound.node) or elements(self, file, looped(bound.node))
        index = place_in_lambda(bound.node) if file.language in _CLOSURES else None
        if index is not None:
            return given_to_lambda(self, file, *index)
        return elements(self, file, looped(bound.node)) if file.language in ELEMENTS_IN else ()

    def _of_lua(self, file: SourceFile, bound: Binding, value: Node) -> Entities:
        """Return the value of a variable of Lua: a table is what it is called, also one with a table behind it."""
        return self.value(file, value) or self.at(file, bound.node)

    def _of_metatable(self, file: SourceFile, call: Node) -> Entities:
        """Return the table behind another one: `M` of `setmetatable({}, M)` or of `setmetatable({}, {__index = M})`."""
        arguments = call.child_by_field_name("arguments")
        behind = arguments.named_children[1] if arguments is not None and arguments.named_child_count > 1 else None
        for field in behind.named_children if behind is not None and behind.type == "table_constructor" else ():
            if file.text(field.child_by_field_name("name")) == "__index":
                behind = field.child_by_field_name("value")
        return self.value(file, behind)

    def _fixture(self, file: SourceFile, node: Node) -> Entities:
        """Return the value of a parameter in pytest: the result of the fixture of its name, here or in a conftest."""
        defined = self.code.defined(file.text(node))
        near = [
            definition
            for definition in defined
            if definition.path.endswith("conftest.py") and file.path.startswith(folder_of(definition.path))
        ]
        homes = [definition for definition in defined if definition.path == file.path] + sorted(
            near, key=lambda definition: -len(definition.path)
        )
        # A decorator comes after the place, because its file is parsed for it.
        return next((self.returned(home) for home in homes if "fixture" in self.code.decorator(home)), ())

    # Calls

    def meaning(self, file: SourceFile, node: Node) -> Entities:
        """Return what a name means where it is used, called or inherited from."""
        if "named" in file.rules:
            return ()
        meant = self.once("meaning", file, node, self._meaning)
        if file.language != "swift":
            return meant
        around = node.parent.parent if node.parent is not None else None
        is_attribute = around is not None and around.type == "attribute"
        own = [
            entity
            for entity in meant
            if not isinstance(entity, CodeDefinition)
            or not (self.code.is_extension(entity) or (is_attribute and not self._is_attribute(entity)))
        ]
        return tuple(own) or ((OUTSIDE,) if meant else ())  # a type that is only extended here is defined outside

    def _is_attribute(self, definition: CodeDefinition) -> bool:
        """Return whether a type of Swift can be written as an attribute, as a property wrapper can; so can a macro."""
        file, declared = self.code.file(definition.path), self.code.declaration(definition)
        return file is not None and declared is not None and _ATTRIBUTES.search(file.text(declared)[:200]) is not None

    def _meaning(self, file: SourceFile, node: Node) -> Entities:
        owner, name = owner_of(node), file.text(node)
        if whole := self._of_whole_name(file, node) or self._of_renamed(file, node) or implicit(self, file, node):
            return whole
        if owner is not None:
            members = self.of_members(self.value(file, owner), name)
            if any(isinstance(entity, CodeDefinition) for entity in members):
                return members
            if file.language == "lua":
                is_table = any(isinstance(value, CodeDefinition) for value in self.value(file, owner))
                # What a table of the repository does not define may be in one behind it, or come from a wrapper.
                return self._of_patched(file, owner, name) or (() if is_table else members)
            path = self._of_path(file, owner, name) if file.language in _CURRIED else ()
            is_known = bool(members) or file.language == "kotlin"
            return path or (self._extending(file, node) if is_known else ()) or members
        if file.language == "rust" and file.source[node.end_byte : node.end_byte + 1] == b"!":
            return self.of_package(file, name) or (OUTSIDE,)
        bound = self.bound(file, name, node)
        if isinstance(bound, Import):
            return self.imported(file, bound, name)
        is_outer = isinstance(bound, Binding) and file.language in _CURRIED and home(bound.node) == file.root
        if is_outer and (near := self._of_class_around(file, name, node)):
            return near
        if bound is None:
            return self.unbound(file, name, node)
        return self._of_bound(file, bound)

    def _of_bound(self, file: SourceFile, bound: Binding) -> Entities:
        """Return what a call of a variable means: what the index has where it is bound, or the function it is given."""
        value, here = bound.value, self.at(file, bound.node)
        if value is None or value.type not in syntax.NAMED or (here and file.language != "lua"):
            return here or (OUTSIDE,)
        meant = self.meaning(file, value if value.type in syntax.LEAVES else last_name(value))
        if not here:
            return meant
        # `local put = store.put` of Lua is a definition itself, and a call of it one of what it is given.
        return (*here, *(entity for entity in meant if isinstance(entity, CodeDefinition) and entity not in here))

    def _of_patched(self, file: SourceFile, owner: Node, name: str) -> Entities:
        """Return what a file of Lua itself puts into a table from outside: `function lfs.chdir()`."""
        table = file.text(owner)
        named = self.code.defined(name)
        return tuple(definition for definition in named if definition.path == file.path and definition.owner == table)

    def _of_path(self, file: SourceFile, owner: Node, name: str) -> Entities:
        """Return what a name is below a package or an object with its whole path: `os.write.over`."""
        path = file.text(owner).removeprefix("_root_.")
        return self._of_path_at(file, f"{path}.{name}") if all(part.isidentifier() for part in path.split(".")) else ()

    def _of_path_at(self, file: SourceFile, path: str) -> Entities:
        """Return what a dotted name means from the root, or from a package that a file is in."""
        packages = ("", *(f"{package}." for package in self.packages_of(file)))
        return next(filter(None, (self.imported_name(f"{package}{path}") for package in packages)), ())

    def _extending(self, file: SourceFile, node: Node) -> Entities:
        """Return what extends a value whose class has no such method: imported in Kotlin and C#, implicit in Scala."""
        name = file.text(node)
        if file.language == "csharp":
            here = _CSHARP_NAMESPACE.findall(file.source.decode("utf-8", "replace"))
            seen = {imported.target for imported in file.imports} | {"", *here}
            extending = [definition for definition in self.code.defined(name) if self._extends(definition)]
            spaces = [(definition, definition.owner.rpartition(".")[0]) for definition in extending]
            near = [
                definition for definition, space in spaces if any(f"{other}.".startswith(f"{space}.") for other in seen)
            ]
            return tuple(near) if len({definition.key for definition in near}) == 1 else ()
        if file.language == "scala":
            if name not in self._added:
                self._added[name] = [definition for definition in self.code.defined(name) if self._adds(definition)]
            adding = self._added[name]
            is_own = any(_is_inside(node, self.code.declaration(each)) for each in adding if each.path == file.path)
            return tuple(adding) if len({definition.owner for definition in adding}) == 1 and not is_own else ()
        if file.language != "kotlin":
            return ()
        named = [imported for imported in file.imports if name in imported.names]
        of_imports = tuple(entity for imported in named for entity in self.imported(file, imported, name))
        # Without an import of its name it is in the package or a star import, where other types have namesakes of it.
        entities = of_imports or self.of_package(file, name) or self.starred(file, name)
        found = [entity for entity in entities if isinstance(entity, CodeDefinition) and self.is_extension(entity)]
        if of_imports:
            return tuple(found)
        values = self.value(file, owner_of(node))
        fitting = [definition for definition in found if self._fits(definition, values)]
        return tuple(fitting) if len({definition.owner for definition in fitting}) == 1 else ()

    def _is_unfit(self, entity: Entity, around: Entities) -> bool:
        is_extension = isinstance(entity, CodeDefinition) and self.is_extension(entity)
        return is_extension and isinstance(entity, CodeDefinition) and not self._fits(entity, around)

    def _fits(self, definition: CodeDefinition, values: Entities) -> bool:
        """Return whether an extension of Kotlin is one of the class of a value, of a base of it, or of any type."""
        file, declared = self.code.file(definition.path), self.code.declaration(definition)
        written = receiver_of(declared) if declared is not None else None
        if file is None or declared is None or written is None:
            return False
        parameters = next((child for child in declared.named_children if child.type == "type_parameters"), None)
        if principal(file.text(written)) in re.findall(r"\w+", file.text(parameters)):
            return True
        extended = {entity for entity in self.typed(file, written) if isinstance(entity, CodeDefinition)}
        pending, seen = list(values), set[Entity]()
        while pending:
            value = pending.pop()
            if isinstance(value, CodeDefinition) and value not in seen:
                seen.add(value)
                pending += self.bases(value)
        return not extended.isdisjoint(seen)

    def _adds(self, definition: CodeDefinition) -> bool:
        """Return whether Scala adds a method to other classes: an extension, or of a class that values turn into."""
        owner = definition.owner.rpartition(".")[2]
        if definition.language != "scala":
            return False
        node = self.code.name_node(definition)
        if node is not None and any(outer.type == "extension_definition" for outer in above(node)):
            return True
        if owner and owner not in self._adding:
            turned = r"def\s+\w+(?:\[[^()]*\])?\(\s*(?!implicit\b)[^{}]*?\)\s*:\s*(?:\w+\.)*"
            given = rf"\bimplicit\s+(?:final\s+)?(?:class\s+|{turned}){owner}\b"
            form = re.compile(given.encode())
            rows = self.code.mentioning(owner)[:1_000]
            self.code.load(rows)
            files = map(self.code.file, dict.fromkeys(self.code.document_of(row).key for row in rows))
            self._adding[owner] = any(file is not None and form.search(file.source) for file in files)
        return bool(owner) and self._adding[owner]

    def _extends(self, definition: CodeDefinition) -> bool:
        """Return whether a static method of C# can be called on its first argument."""
        is_method = definition.language == "csharp" and bool(definition.owner)
        declared = self.code.declaration(definition) if is_method else None
        parameters = declared.child_by_field_name("parameters") if declared is not None else None
        file = self.code.file(definition.path)
        return file is not None and file.text(parameters).lstrip("( \t\r\n").startswith("this ")

    def _of_renamed(self, file: SourceFile, node: Node) -> Entities:
        """Return what a name means that is another one: `cents` in `import { cents as c }`, an attribute of C#."""
        if file.language == "csharp" and node.parent is not None and node.parent.type == "attribute":
            return self._loose(file, f"{file.text(node)}Attribute", node)  # `[Fast]` is a `FastAttribute`
        line = node.start_point[0] + 1
        here = [statement for statement in file.imports if statement.start <= line <= statement.end]
        form = rf"(?<![\w$]){re.escape(file.text(node))}\s+(?:as|=>)\s+([\w$]+)" if here else ""
        for statement in here:
            match = re.search(form, file.lines(statement.start, statement.end))
            if match is not None and match[1] in statement.names:
                return self.imported(file, statement, match[1])
        return ()

    def _of_whole_name(self, file: SourceFile, node: Node) -> Entities:
        """Return the definition that has the whole name of a constant in Ruby, where any file may reopen a module."""
        if node.parent is None or node.parent.type != "scope_resolution" or file.language != "ruby":
            return ()
        written = file.text(node.parent).replace("::", ".").strip(".")
        return tuple(definition for definition in self.code.defined(file.text(node)) if definition.qualified == written)

    def _called(self, file: SourceFile, node: Node) -> Entities:
        """Return what a call gives back."""
        called = field_of(node, "function", "name") or first_child(node)
        outer = {"generic_function", "generic_type", "index_expression"}
        outer |= {"call_expression"} if file.language in _CURRIED else set()
        while called is not None and called.type in outer:
            called = field_of(called, "function") or called.named_children[0]
        if called is None or called.type not in syntax.NAMED:
            return ()
        name = last_name(called) if called.type in syntax.DOTTED else called
        text = file.text(name)
        if text == "require" and file.language == "lua":
            target = file.text(node.child_by_field_name("arguments")).strip("()'\" ")
            return (self.modules.find(file.path, target, "lua") or OUTSIDE,)
        if text == "setmetatable" and file.language == "lua":
            return self._of_metatable(file, node)
        if text == "super" and file.language == "python":
            return self._bases_around(file, node)
        entities = self.meaning(file, name)
        if text in syntax.PASSING and not any(isinstance(entity, CodeDefinition) for entity in entities):
            return self.value(file, owner_of(name))
        if file.language == "php" and (made := made_of_class(self, file, node, entities)):
            return made
        if file.language in {"php", "swift"} and any(self._returns_self(entity) for entity in entities):
            return self.value(file, owner_of(name)) or self.enclosing(file, node)
        return tuple(dict.fromkeys(value for entity in entities for value in self.result(entity)))

    def _returns_self(self, entity: Entity) -> bool:
        """Return whether a method returns an object of the class that it is called on, which may be an heir."""
        declared = self.code.declaration(entity) if isinstance(entity, CodeDefinition) else None
        file = self.code.file(entity.path) if isinstance(entity, CodeDefinition) else None
        if file is None or declared is None or declared.type not in syntax.FUNCTIONS:
            return False
        written = field_of(declared, "return_type") or result_type(declared)
        if written is None and file.language == "php":
            comment = declared.prev_named_sibling
            return comment is not None and _RETURNS_SELF.search(file.text(comment)) is not None
        return file.text(written) in {"Self", "static"}

    def result(self, entity: Entity) -> Entities:
        """Return the result of calling something: an object of a class, or what a function returns."""
        if not isinstance(entity, CodeDefinition):
            return () if isinstance(entity, Module) else (OUTSIDE,)
        declared = self.code.declaration(entity)
        if declared is not None and declared.type in syntax.RETURNING:
            return self.returned(entity)
        return (entity,) if declared is not None and declared.type in syntax.CONSTRUCTED else ()

    def returned(self, definition: CodeDefinition) -> Entities:
        """Return what a function returns: by its written type, else by its first `return` that tells."""
        file, declared = self.code.file(definition.path), self.code.declaration(definition)
        if file is None or declared is None:
            return ()
        written = field_of(declared, "return_type", "result", "returns", "type") or result_type(declared)
        if written is not None:
            return self.typed(file, written)
        if file.language in _CURRIED:
            return self.value(file, expression_of(declared))
        if "untyped" not in file.rules:
            return ()
        if file.language == "php" and (told := documented(self, file, declared, "@return", "")):
            return told
        for word in ("return", "yield"):
            for node in file.values_of(word, declared):
                values = self.value(file, node)
                if any(entity is not OUTSIDE for entity in values):
                    return values
        return ()

    # Scopes

    def bound(self, file: SourceFile, name: str, node: Node) -> Binding | Import | None:
        """Return the innermost binding of a name around a place."""
        around = list(scopes(node))
        depths = {place_of(scope): -index for index, scope in enumerate(around)}
        places: list[tuple[int, bool, int, Binding | Import]] = []
        imports = [imported for imported in file.imports if name in imported.names]
        every = self._bindings(file, name)
        for depth, binding in [(depth, binding) for place, depth in depths.items() for binding in every.get(place, ())]:
            start, line = binding.node.start_byte, binding.node.start_point[0] + 1
            is_import = any(imported.start <= line <= imported.end for imported in imports)
            if not is_import and not _is_inside(node, binding.value) and place_of(binding.node) != place_of(node):
                places.append((depth, start < node.start_byte, start, binding))
        for imported in imports:
            start = file.range(imported.start, imported.end)[0]
            own_node = next((scope for scope in around if scope.start_byte <= start < scope.end_byte), around[-1])
            places.append((depths[place_of(own_node)], start < node.start_byte, start, imported))
        # The innermost, of those the last before the place, else the first behind it.
        order = max(places, key=lambda index: (*index[:2], index[2] if index[1] else -index[2]), default=None)
        return order[3] if order is not None else None

    def _bindings(self, file: SourceFile, name: str) -> dict[NodePlace, list[Binding]]:
        """Return every binding of a name in a file that can be seen without what it belongs to, by its scope.

        Names in bodies that are not read cannot be seen from any node that was.
        """
        if name not in file.bindings:
            found: dict[NodePlace, list[Binding]] = defaultdict(list)
            nodes = file.occurrences_parsed(name)
            for scope, binding in ((home(node, file.root), binding_of(node)) for node in nodes):
                is_seen = scope is not None and scope.type not in syntax.CLASSES
                if scope is not None and is_seen and binding is not None and binding.how is not How.MEMBER:
                    found[place_of(scope)].append(binding)
            file.bindings[name] = found
        return file.bindings[name]

    def unbound(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return a name that nothing around it binds: of the class, the package, a star import, or from outside."""
        near = self._of_class_around(file, name, node) or self.of_package(file, name) or self.starred(file, name)
        if file.language == "kotlin":  # a bare name is an extension of what is around it alone
            around = tuple(entity for classes in self.classes_around(file, node) for entity in classes)
            near = tuple(entity for entity in near if not self._is_unfit(entity, around))
        if near:
            return near
        if file.language == "rust":
            return (self.modules.child(rust_module(file, node), name) or self.modules.crate(name) or OUTSIDE,)
        if file.language == "lua" and name not in _LUA_TABLES:
            paths = self.code.named(f"{name}.lua")  # a global that some module makes of the table of another one
            return (Module(paths[0], "lua"),) if len(paths) == 1 else (OUTSIDE,)
        if "loose" not in file.rules or name in {"std", "System"}:
            return (OUTSIDE,)
        # In a language without imports by name (C, Ruby, PHP) a bare name means its definitions if so few.
        loose = self._loose(file, name, node)
        return loose if 0 < len({definition.key for definition in loose}) <= 3 else ()

    def _of_class_around(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return the member of a class around a place that a bare name means, in languages where it may."""
        around = self.classes_around(file, node, with_heads=False) if "member" in file.rules else ()
        every = (self.of_members(owners, name) for owners in around)
        members = (tuple(definition for definition in each if isinstance(definition, CodeDefinition)) for each in every)
        return next(filter(None, members), ())

    def _loose(self, file: SourceFile, name: str, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the definitions of a name that a file without imports by name may mean: no constructors, no tests."""
        definitions = [
            definition
            for definition in self.code.defined(name)
            if FAMILIES[definition.language] == FAMILIES[file.language]
        ]
        definitions = _narrowed(definitions, lambda definition: definition.owner.rpartition(".")[2] != name)
        if node.parent is not None and node.parent.type == "object_creation_expression":
            definitions = [definition for definition in definitions if self._is_class(definition)]
        if file.language == "swift":
            definitions = _narrowed(
                [definition for definition in definitions if not definition.owner],
                lambda definition: not self.code.is_extension(definition),
            )
            definitions = definitions[:1] if definitions and self.code.is_extension(definitions[0]) else definitions
        if not file.document.secondary:
            definitions = _narrowed(definitions, lambda definition: not is_secondary(definition.path))
        if file.language == "php":
            definitions = [
                definition for definition in definitions if not self.is_member(definition)
            ]  # a method is never called by its name alone
        if file.language in {"cpp", "csharp"}:
            definitions = self._in_scope(file, node, definitions) or definitions
            # A bare name is no method of another class: those around and their bases were looked at before.
            definitions = [
                definition
                for definition in definitions
                if not (definition.owner and self.code.is_function(definition) and self._is_method(definition))
            ]
        elif file.language == "ruby":
            definitions = self._of_ruby(file, name, node, definitions)
        return tuple(_narrowed(definitions, lambda definition: definition.path == file.path))

    def _of_ruby(self, file: SourceFile, name: str, node: Node, named: list[CodeDefinition]) -> list[CodeDefinition]:
        """Return what a bare name of Ruby may mean: a constant of the modules around, a method that can be mixed in."""
        if name[:1].isupper():
            names = (file.text(outer.child_by_field_name("name")) for outer in above(node) if outer.type in _RUBY)
            parts = ".".join(filter(None, reversed([*names]))).replace("::", ".").split(".")
            namespaces = [".".join(parts[:end]) for end in range(len(parts), -1, -1)]
            near = ([definition for definition in named if definition.owner == owner] for owner in namespaces)
            return next(filter(None, near), named)
        # The methods of a class are for its own objects; those of a module are for whoever includes it.
        mixed = [definition for definition in named if not definition.owner or self._is_module(definition)]
        return mixed or (named if len({definition.owner for definition in named}) == 1 else [])

    def _is_class(self, definition: CodeDefinition) -> bool:
        declared = self.code.declaration(definition)
        return declared is None or declared.type in syntax.CLASSES | syntax.ALIASES

    def _is_method(self, definition: CodeDefinition) -> bool:
        """Return whether the owner of a function is a class by its last name, the others may be missing."""
        homes = map(self.code.declaration, self.code.defined(definition.owner.rpartition(".")[2]))
        return any(node is not None and node.type not in _SPACES for node in homes)

    def _is_module(self, definition: CodeDefinition) -> bool:
        """Return whether the owner of a method of Ruby is a module."""
        homes = [
            home
            for home in self.code.defined(definition.owner.rpartition(".")[2])
            if home.qualified == definition.owner
        ]
        declared = (self.code.declaration(home) for home in homes)
        return any(node is not None and node.type == "module" for node in declared)

    def _in_scope(self, file: SourceFile, node: Node, named: list[CodeDefinition]) -> list[CodeDefinition]:
        """Return those in the namespaces and classes around a place or imported there; failing them no members."""
        names = (file.text(outer.child_by_field_name("name")) for outer in above(node) if outer.type in _NAMESPACES)
        parts = ".".join(filter(None, reversed([*names]))).replace("::", ".").split(".")
        namespaces = [{".".join(parts[:end])} for end in range(len(parts), -1, -1)]
        imported = {imported_name.target.replace("::", ".") for imported_name in file.imports}
        near = (
            [imported_name for imported_name in named if imported_name.owner in owners]
            for owners in (*namespaces, imported)
        )
        return next(filter(None, near), [definition for definition in named if not self.is_member(definition)])

    def is_member(self, definition: CodeDefinition) -> bool:
        """Return whether the owner of a definition is a class, not a namespace."""
        return any(
            owner.qualified == definition.owner for owner in self.code.defined(definition.owner.rpartition(".")[2])
        )

    def guess(self, file: SourceFile, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the methods of this name, where one class alone has it and the file names that class.

        For a call on something whose class cannot be told by syntax. Methods that override another one do not count.
        """
        name = file.text(node)
        imported = self._of_imported_trait(file, name) if file.language == "rust" else ()
        if file.language in {"csharp", "scala"} and owner_of(node) is not None:
            extending = self._extending(file, node)
            imported = tuple(definition for definition in extending if isinstance(definition, CodeDefinition))
        if imported or name in (syntax.LUA_METHODS if file.language == "lua" else syntax.COMMON):
            return imported
        named = (
            definition
            for definition in self.code.defined(name)
            if FAMILIES[definition.language] == FAMILIES[file.language]
        )
        methods = [definition for definition in named if definition.owner]
        methods = self._roots(_narrowed(methods, lambda definition: not is_secondary(definition.path)))
        owners = {method.owner.rpartition(".")[2] for method in methods}
        if file.language in {"lua", "php"} and len({method.key for method in methods}) > 1:
            return ()  # every module of Lua may call its table `M`
        is_method = node.parent is not None and node.parent.type == "method_index_expression"
        if is_method and len(methods) == 1:
            return tuple(method for method in methods if self.code.is_function(method))
        if len(owners) != 1 or not (file.path == methods[0].path or any(file.places(owners.pop()))):
            return ()
        return tuple(method for method in methods if self.code.is_function(method))

    def _roots(self, methods: list[CodeDefinition]) -> list[CodeDefinition]:
        """Return those of these methods of one name that override none of the others."""
        if not 1 < len(methods) <= 30:  # a name of more classes is not guessed
            return methods
        return [
            *self.code.answers.get(("roots", *methods), partial(self._roots_of, methods), tuple[CodeDefinition, ...]())
        ]

    def _roots_of(self, methods: list[CodeDefinition]) -> tuple[CodeDefinition, ...]:
        owners = {method: self._class_of(method) for method in methods}
        bases = {method: self.bases(owner) if owner is not None else () for method, owner in owners.items()}
        overriding = {
            method
            for method in methods
            if any(isinstance(each, CodeDefinition) for each in self.of_members(bases[method], method.name))
        }
        return tuple(method for method in methods if method not in overriding)

    def _class_of(self, method: CodeDefinition) -> CodeDefinition | None:
        """Return the class of a method in its own file."""
        named = self.code.defined(method.owner.rpartition(".")[2])
        return next((definition for definition in named if definition.key == (method.path, method.owner)), None)

    def _of_imported_trait(self, file: SourceFile, name: str) -> tuple[CodeDefinition, ...]:
        """Return the method of the one imported trait that has it, whatever it is called on."""
        imported = (
            entity
            for imported_item in file.imports
            for each in imported_item.names
            for entity in self.imported(file, imported_item, each)
        )
        traits = dict.fromkeys(
            definition
            for definition in imported
            if isinstance(definition, CodeDefinition) and self._is_trait(definition)
        )
        methods = [member for member in self.of_members(tuple(traits), name) if isinstance(member, CodeDefinition)]
        return tuple(methods) if len(methods) == 1 else ()

    def _is_trait(self, definition: CodeDefinition) -> bool:
        declared = self.code.declaration(definition)
        return declared is not None and declared.type == "trait_item"


def _names(file: SourceFile, node: Node, owner: CodeDefinition) -> bool:
    """Return whether the class around a base is the owner, not a class inside of it."""
    outer = next((other for other in above(node) if other.type in syntax.CLASSES or other.type == "type_spec"), None)
    name = outer.child_by_field_name("type" if outer.type == "impl_item" else "name") if outer is not None else None
    return name is None or owner.name in file.text(name)


def _body_of_unnamed(node: Node) -> Node | None:
    """Return the body of a class without a name; None for an object of another class that is made."""
    return next((child for child in node.named_children if child.type in {"class_body", "template_body"}), None)


def _bases_of_unnamed(node: Node) -> list[Node]:
    """Return the types that a class without a name inherits from: `A` and `B` of `object : A(), B { }`."""
    for child in node.named_children:
        if child.type == "delegation_specifiers":
            return [specifier.named_children[0] for specifier in child.named_children if specifier.named_child_count]
    first = node.child_by_field_name("type") or first_child(node)
    return [first] if first is not None else []


def base_of_unnamed(node: Node) -> Node | None:
    """Return the written base of a class without a name that a node is part of: `Plug` of `new Plug() { }`."""
    outer = next((other for other in above(node) if other.type in _UNNAMED), None)
    if outer is None or _body_of_unnamed(outer) is None:
        return None
    return next((base for base in _bases_of_unnamed(outer) if _is_inside(node, base)), None)


def _narrowed(named: list[CodeDefinition], fits: Callable[[CodeDefinition], bool]) -> list[CodeDefinition]:
    """Return those that fit, all of them if none does."""
    return [definition for definition in named if fits(definition)] or named


def _is_inside(node: Node, other: Node | None) -> bool:
    return other is not None and other.start_byte <= node.start_byte and node.end_byte <= other.end_byte
