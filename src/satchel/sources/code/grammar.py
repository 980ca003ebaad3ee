"""The grammars: which wheel and which queries belong to a language, loaded when first used and kept per process.

A query file marks what it finds with these captures, one of the first group to a pattern:

    @function       has a body; the outermost ones become parts
    @class          class, struct, trait, impl, interface, enum, type alias, object with functions
    @module         namespace or module: its classes count as outermost
    @scope          names everything that follows it (a namespace without braces)
    @overload       a declaration without a body that belongs to the function below it
    @constant       any other name that is defined (several: @constants)
    @call @inherit  the last identifier of what is called, of what is inherited from
    @possible_call  a call if a parenthesis or an exclamation mark follows
    @import         an import statement, read by `imports`
    @comment @doc   comments; strings that document
    @prefix         decorators and attributes: they belong to the declaration below or behind them
    @embedded       unparsed text that holds declarations of the same language
    @outer          starts where the declaration marked @inner should

    @name @body @owner     of the declaration; @declarator where C buries the name (as deep as it likes)
    @_word                 must match the regular expression of `(#set! when ...)`: the predicates of the binding
                           read the text in a way that crashes when the file was parsed through a read function
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_WHEELS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "bash": ("tree_sitter_bash", "language", ("bash",)),
    "c": ("tree_sitter_c", "language", ("c",)),
    "cpp": ("tree_sitter_cpp", "language", ("c", "cpp")),
    "csharp": ("tree_sitter_c_sharp", "language", ("csharp",)),
    "go": ("tree_sitter_go", "language", ("go",)),
    "java": ("tree_sitter_java", "language", ("java",)),
    "javascript": ("tree_sitter_javascript", "language", ("ecmascript", "javascript", "jsx")),
    "php": ("tree_sitter_php", "language_php", ("php",)),
    "python": ("tree_sitter_python", "language", ("python",)),
    "ruby": ("tree_sitter_ruby", "language", ("ruby",)),
    "rust": ("tree_sitter_rust", "language", ("rust",)),
    "tsx": ("tree_sitter_typescript", "language_tsx", ("ecmascript", "typescript", "jsx")),
    "typescript": ("tree_sitter_typescript", "language_typescript", ("ecmascript", "typescript")),
}

GRAMMARS = frozenset(_WHEELS)
"""The languages that have a grammar."""


class Mark(IntEnum):
    """The meaning of a pattern, in order of preference when two patterns match the same name."""

    FUNCTION = 0
    CLASS = 1
    MODULE = 2
    SCOPE = 3
    OVERLOAD = 4
    CONSTANT = 5
    CALL = 6
    INHERIT = 7
    POSSIBLE_CALL = 8
    IMPORT = 9
    COMMENT = 10
    DOC = 11
    PREFIX = 12
    EMBEDDED = 13
    OUTER = 14


@dataclass(frozen=True, slots=True)
class Grammar:
    """A compiled language: `marks[i]` says what pattern i of `query` finds, `conditions[i]` when."""

    language: Language
    query: Query
    marks: tuple[Mark, ...]
    conditions: tuple[re.Pattern[bytes] | None, ...]


_MARK = re.compile(r"@(" + "|".join(sorted((mark.name.lower() for mark in Mark), key=len, reverse=True)) + r")s?\b")


def _mark(pattern: str) -> Mark:
    """Return what a pattern finds: the mark of the highest preference in its text."""
    return min(Mark[name.upper()] for name in _MARK.findall(pattern))


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of a language in `GRAMMARS` (KeyError otherwise). Loads one wheel."""
    from importlib.resources import files  # here, because it brings ten modules that a question does not need

    from tree_sitter import Language, Query

    module, function, names = _WHEELS[language]
    loaded = Language(getattr(import_module(module), function)())
    folder = files(__package__) / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in names)
    query = Query(loaded, source)
    data = source.encode()
    marks = tuple(
        _mark(data[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode())
        for index in range(query.pattern_count)
    )
    settings = [query.pattern_settings(index).get("when") for index in range(query.pattern_count)]
    conditions = tuple(re.compile(setting.encode()) if setting else None for setting in settings)
    return Grammar(loaded, query, marks, conditions)
