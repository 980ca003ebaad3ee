"""The language of a file, by its name and, if necessary, by its first lines; its grammar, and its comment marks.

A grammar is a wheel and its queries, loaded when first used and kept per process. A query file marks what it finds with
these captures, one of the first group to a pattern:

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
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.text import pattern
from satchel.types import Kind

if TYPE_CHECKING:
    from tree_sitter import Language, Query


def _table() -> dict[str, dict[str, str]]:
    """Return the values of each language in `languages.txt`, which begins with its format, by their keys."""
    table: dict[str, dict[str, str]] = {}
    heading, values = "", dict[str, str]()
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line.startswith("  "):
            key, _, value = line.strip().partition(" ")
            values[key] = value
        elif line and not line.startswith("#"):
            values = table[line] = {"heading": heading}
    return table


_LANGUAGES = _table()
_KINDS = {name: Kind(values["heading"]) for name, values in _LANGUAGES.items()}

LANGUAGES = frozenset(name for name, kind in _KINDS.items() if kind is Kind.CODE)
"""Programming languages that files are recognised by."""

PROSE = frozenset({"asciidoc", "markdown", "org", "rst"}) | {
    name for name, kind in _KINDS.items() if kind.traits.is_prose and kind is not Kind.DOC
}
"""Languages of documents that people read: these among the docs, which are also configuration and data, and all that
are listed under another kind of prose."""

GRAMMARS = frozenset(name for name, values in _LANGUAGES.items() if "grammar" in values)
"""The languages that have a grammar."""

SAMPLES = {name: _LANGUAGES[name]["sample"].replace("\\n", "\n") for name in GRAMMARS}
"""A text that defines `probe`, by language."""


def _words(key: str) -> dict[str, list[str]]:
    return {name: values[key].split() for name, values in _LANGUAGES.items() if key in values}


FAMILIES = {name: values.get("family", name) for name, values in _LANGUAGES.items()}
"""The languages that import each other have one family: `ecmascript` for JavaScript and TypeScript."""

RULES = {name: frozenset(words) for name, words in _words("rules").items()}
"""The rules by which names are resolved, by language."""

MODULES = {FAMILIES[name]: tuple(words) for name, words in _words("modules").items()}
"""What follows the path of an import in the name of a file, by family."""


def _by_word(key: str) -> dict[str, str]:
    return {word: name for name, words in _words(key).items() for word in words}


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


# Python 3.11 takes ten times as long to find `Mark.CALL` as a plain name.
FUNCTION, CLASS, MODULE, SCOPE, OVERLOAD, CONSTANT, CALL, INHERIT, *_MARKS_OF_FILE = Mark
POSSIBLE_CALL, IMPORT, COMMENT, DOC, PREFIX, EMBEDDED, OUTER = _MARKS_OF_FILE
CAPTURES = tuple(mark.name.lower() for mark in Mark)
"""The capture of each mark."""


class Grammar(Struct, frozen=True):
    """A compiled language: `marks[i]` says what pattern i of `query` finds, `conditions[i]` when."""

    language: Language
    query: Query
    marks: tuple[Mark, ...]
    conditions: tuple[re.Pattern[bytes] | None, ...]


_PREDICATE = pattern(r"#[\w-]+[?!](?<!#set!)")
"""A predicate of a query that the binding of tree-sitter would evaluate, and crash."""

_MARK = pattern(r"@(" + "|".join(sorted(CAPTURES, key=len, reverse=True)) + r")s?\b")


def _mark(pattern: str) -> Mark:
    """Return what a pattern finds: the mark of the highest preference in its text."""
    return min(Mark[name.upper()] for name in _MARK.findall(pattern))


def _binding(package: str) -> ModuleType:
    """Return the machine code of a grammar without its package, which imports 8 ms of modules for queries of its own.

    Raises ImportError if it is not installed.
    """
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else []
    binding = PathFinder.find_spec(f"{package}._binding", folders)
    if binding is None or binding.loader is None:
        raise ImportError(f"the grammar {package} is not installed", name=package)
    module = module_from_spec(binding)
    binding.loader.exec_module(module)
    return module


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of a language in `GRAMMARS` (KeyError otherwise). Loads one wheel."""
    from tree_sitter import Language, Query

    module, function, *names = _LANGUAGES[language]["grammar"].split()
    loaded = Language(getattr(_binding(module), function)())
    folder = Path(__file__).with_name("queries")
    source = "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in names)
    if foreign := _PREDICATE.search(source):
        raise ValueError(f"the queries of {language} have {foreign[0]}: only (#set! when ...) is read, see @_word")
    query = Query(loaded, source)
    data = source.encode()
    marks = tuple(
        _mark(data[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode())
        for index in range(query.pattern_count)
    )
    settings = [query.pattern_settings(index).get("when") for index in range(query.pattern_count)]
    conditions = tuple(re.compile(setting.encode()) if setting else None for setting in settings)
    return Grammar(loaded, query, marks, conditions)


_BY_EXTENSION, _BY_NAME, _BY_INTERPRETER = map(_by_word, ("files", "names", "interpreters"))

_SHEBANG = pattern(r"#![ \t]*(?:\S*/)?([^/\s]+)(?:[ \t]+(?:-\S+[ \t]+)*(?:\w+=\S*[ \t]+)*(\S+))?")
_CPLUSPLUS = pattern(
    r"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected):)|\bstd::", re.M
)
_OBJECTIVE_C = pattern(r"^\s*(?:@interface|@protocol|@implementation|#import)\b", re.MULTILINE)
NOTEBOOK = "notebook"
NOTEBOOK_MARK = pattern(r"\S+ %% \[notebook(?: (\w+))?\]$", re.MULTILINE)
"""The first line of a readable notebook (`satchel.sources.notebook`), with the language of its kernel if known."""

_XML = pattern(r"\s*<(?:\?xml|!DOCTYPE TS)")


def language_of(path: str, head: str = "") -> str | None:
    """Return the language of a file, None if unknown.

    `path` decides by file name, then extension (letter case ignored); `head` (the start of the readable text, a few
    kilobytes are enough) by interpreter line where there is no extension, where one extension serves several languages,
    and by the kernel of a notebook.
    """
    name = path.rpartition("/")[2].lower().lstrip(".")
    stem, _, extension = name.rpartition(".")
    if not stem:
        is_hidden = path.rpartition("/")[2].startswith(".")
        return _by_interpreter(head) or _BY_NAME.get(name) or (_BY_EXTENSION.get(name) if is_hidden else None)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.partition(".")[0] in {"dockerfile", "containerfile"}:
        return "dockerfile"
    if extension == "in" and "." in stem:
        return language_of(stem, head) or "text"
    return _settle(extension, _BY_EXTENSION.get(extension), head)


def _settle(extension: str, language: str | None, head: str) -> str | None:
    """Decide by the text if the extension is ambiguous."""
    if extension == "h":
        if _OBJECTIVE_C.search(head):
            return "objective-c"
        return "cpp" if _CPLUSPLUS.search(head) else "c"
    if extension == "ts" and _XML.match(head):
        return "xml"
    if language == NOTEBOOK:
        match = NOTEBOOK_MARK.match(head)
        return (match and match[1]) or NOTEBOOK
    if extension == "lock":
        return "json" if head.lstrip().startswith("{") else "text"
    if language is None:
        return _by_interpreter(head)
    return language


def _by_interpreter(head: str) -> str | None:
    match = _SHEBANG.match(head)
    if match is None:
        return None
    program = match[2] if match[1] == "env" and match[2] else match[1]
    return _BY_INTERPRETER.get(program.rpartition("/")[2].lower().rstrip("0123456789."))


def is_notebook(path: str) -> bool:
    """Return whether a file is a Jupyter notebook by its name."""
    return path.lower().endswith(".ipynb")


def extent(path: str, limit: int) -> tuple[int, int]:
    """Return the largest size in bytes of which a file is read as a whole, and how much of a larger one is read.

    `limit` is the setting. Code in a language with a grammar is rarely data, so four times as much is read of it.
    Of a larger file without one the start tells what it is; a megabyte of a table would cost more than it says.
    """
    if is_notebook(path):
        return 4 * limit, 0  # a part of its JSON is not a notebook
    return (4 * limit, limit) if language_of(path) in GRAMMARS else (limit, limit // 16)


def kind_of(path: str, language: str | None) -> Kind:
    """Return the kind that a language is listed under, doc for none; `language` None is derived from `path`."""
    language = language or language_of(path)
    return Kind.DOC if language is None else _KINDS.get(language, Kind.CODE)


_MARKS = {name: tuple(mark.replace("_", " ") for mark in marks) for name, marks in _words("comment").items()}
_REMARKS = {name: [marks[0].strip()] for name, marks in _MARKS.items()} | _words("remark")


def comment_mark(language: str) -> str:
    """Return what begins a comment line in a language, `#` where there is nothing of the kind."""
    opening, *closing = _REMARKS.get(language, [""])
    return opening if opening and not closing else "#"


def comment_lines(lines: Sequence[str], language: str) -> tuple[tuple[int, int], ...]:
    """Return the line ranges (from 1) of comment lines; none for a language without a comment mark here."""
    marks = _MARKS.get(language)
    if marks is None:
        return ()
    ranges: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(marks):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return tuple((first, last) for first, last in ranges)


def comment(language: str, remark: str) -> str:
    """Return the remark (one line) as a comment; in square brackets if the language has none."""
    opening, *closing = _REMARKS.get(language, [""])
    return " ".join([opening, remark, *closing]) if opening else f"[{remark}]"
