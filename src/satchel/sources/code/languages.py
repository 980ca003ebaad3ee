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
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from satchel.text import pattern
from satchel.types import Kind

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


# Python 3.11 takes ten times as long to find `Mark.CALL` as a plain name.
FUNCTION, CLASS, MODULE, SCOPE, OVERLOAD, CONSTANT, CALL, INHERIT, *_MARKS_OF_FILE = Mark
POSSIBLE_CALL, IMPORT, COMMENT, DOC, PREFIX, EMBEDDED, OUTER = _MARKS_OF_FILE
CAPTURES = tuple(mark.name.lower() for mark in Mark)
"""The capture of each mark."""


class Grammar(NamedTuple):
    """A compiled language: `marks[i]` says what pattern i of `query` finds, `conditions[i]` when."""

    language: Language
    query: Query
    marks: tuple[Mark, ...]
    conditions: tuple[re.Pattern[bytes] | None, ...]


_MARK = pattern(r"@(" + "|".join(sorted(CAPTURES, key=len, reverse=True)) + r")s?\b")


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


_CODE: dict[str, str] = {
    "ada": "adb ads ada",
    "assembly": "asm s",
    "astro": "astro",
    "awk": "awk",
    "bash": "sh bash zsh ksh bats ebuild",
    "batch": "bat cmd",
    "bazel": "bzl bazel star",
    "c": "c",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "coffeescript": "coffee",
    "common-lisp": "lisp lsp cl",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp txx cu cuh ino",
    "crystal": "cr",
    "csharp": "cs csx cake",
    "css": "css scss sass less styl pcss",
    "cython": "pyx pxd pxi",
    "d": "d di",
    "dart": "dart",
    "elixir": "ex exs heex",
    "elm": "elm",
    "erlang": "erl hrl",
    "fish": "fish",
    "fortran": "f f77 f90 f95 f03 f08 for",
    "fsharp": "fs fsi fsx",
    "glsl": "glsl vert frag geom comp hlsl wgsl metal",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle gvy",
    "haskell": "hs lhs",
    "html": "html htm xhtml jinja jinja2 j2 ejs hbs mustache erb haml slim twig cshtml razor liquid njk",
    "java": "java",
    "javascript": "js jsx mjs cjs es6",
    "jq": "jq",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "lua luau rockspec",
    "make": "mk mak make",
    "nim": "nim nims",
    "nix": "nix",
    "objective-c": "m mm",
    "ocaml": "ml mli mll mly",
    "pascal": "pas pp dpr lpr",
    "perl": "pl pm t",
    "php": "php php3 php4 php5 php7 phtml",
    "powershell": "ps1 psm1 psd1",
    "prolog": "pro prolog",
    "proto": "proto",
    "puppet": "epp",
    "python": "py pyi pyw",
    "r": "r rmd",
    "racket": "rkt",
    "ruby": "rb rake gemspec ru podspec jbuilder builder",
    "rust": "rs",
    "scala": "scala sc sbt",
    "scheme": "scm ss",
    "solidity": "sol",
    "sql": "sql psql ddl",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "terraform": "tf tfvars hcl",
    "thrift": "thrift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "vb": "vb vbs bas",
    "verilog": "v sv svh vh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "zig": "zig zon",
}

_TEXT: dict[str, str] = {
    "asciidoc": "adoc asciidoc asc",
    "config": "conf cnf",
    "csv": "csv tsv psv",
    "diff": "diff patch",
    "dotenv": "env",
    "ini": "ini cfg properties editorconfig desktop service socket timer gitconfig",
    "json": "json jsonc json5 jsonl ndjson geojson webmanifest code-workspace har avsc map lock",
    "markdown": "md markdown mdx mkd mkdn mdc qmd",
    "notebook": "ipynb",
    "org": "org",
    "po": "po pot",
    "rst": "rst rest",
    "tex": "tex sty cls bib",
    "text": "txt text log list lst in inc out snap golden expected",
    "toml": "toml",
    "xml": "xml xsd xsl xslt svg plist csproj vbproj fsproj props targets resx wsdl pom xaml rss nuspec ui",
    "yaml": "yaml yml",
}

_NAMES: dict[str, str] = {
    "bash": "bashrc bash_profile zshrc zprofile profile pkgbuild apkbuild configure",
    "bazel": "build workspace",
    "cmake": "cmakelists.txt",
    "dockerfile": "dockerfile containerfile",
    "earthfile": "earthfile",
    "groovy": "jenkinsfile",
    "ini": "gitattributes gitconfig gitmodules npmrc pylintrc flake8 coveragerc",
    "json": "babelrc eslintrc prettierrc composer.lock pipfile.lock flake.lock",
    "just": "justfile",
    "make": "makefile gnumakefile bsdmakefile makefile.am makefile.in kbuild",
    "markdown": "readme changelog contributing",
    "procfile": "procfile",
    "python": "sconstruct sconscript wscript",
    "requirements": "requirements.txt constraints.txt",
    "ruby": "gemfile rakefile vagrantfile podfile fastfile brewfile guardfile capfile",
    "starlark": "tiltfile",
    "text": "license licence copying copyright notice authors contributors maintainers codeowners news todo install "
    "history changes thanks version patents unlicense",
    "toml": "cargo.lock poetry.lock uv.lock pipfile pdm.lock",
    "vim": "vimrc",
    "yaml": "clang-format clang-tidy yarn.lock",
}

_INTERPRETERS: dict[str, str] = {
    "awk": "awk gawk mawk",
    "bash": "sh bash dash zsh ksh ash",
    "fish": "fish",
    "groovy": "groovy",
    "javascript": "node nodejs bun",
    "jq": "jq gojq",
    "julia": "julia",
    "lua": "lua luajit",
    "make": "make",
    "perl": "perl",
    "php": "php",
    "powershell": "pwsh",
    "python": "python pypy",
    "r": "rscript",
    "ruby": "ruby jruby",
    "tcl": "tclsh wish",
    "typescript": "deno ts-node tsx",
}

_TEXT_LANGUAGES = frozenset(_TEXT) | {"requirements", "procfile"}

LANGUAGES = frozenset(_CODE) | frozenset(_NAMES) - _TEXT_LANGUAGES
"""Programming languages that files are recognised by."""


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: language for language, words in table.items() for word in words.split()}


_BY_EXTENSION = _by_word(_CODE) | _by_word(_TEXT)
_BY_NAME = _by_word(_NAMES)
_BY_INTERPRETER = _by_word(_INTERPRETERS)

_SHEBANG = pattern(r"#![ \t]*(?:\S*/)?([^/\s]+)(?:[ \t]+(?:-\S+[ \t]+)*(?:\w+=\S*[ \t]+)*(\S+))?")
_CPLUSPLUS = pattern(
    r"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected):)|\bstd::", re.M
)
_OBJECTIVE_C = pattern(r"^\s*(?:@interface|@protocol|@implementation|#import)\b", re.MULTILINE)
_XML = pattern(r"\s*<(?:\?xml|!DOCTYPE TS)")


def language_of(path: str, head: str = "") -> str | None:
    """Return the language of a file, None if unknown.

    `path` decides by file name, then extension (letter case ignored); `head` (the start of the text, a few kilobytes
    are enough) by interpreter line where there is no extension, and where one extension serves several languages.
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


def kind_of(path: str, language: str | None) -> Kind:
    """Return code for programming languages, doc for prose, configuration, data and unknown languages.

    If `language` is None, it is derived from `path`.
    """
    language = language or language_of(path)
    return Kind.DOC if language is None or language in _TEXT_LANGUAGES else Kind.CODE


_HASH = (
    "awk bazel cmake coffeescript config crystal dockerfile dotenv elixir fish graphql ini jq julia just make nim nix "
    "perl po powershell procfile puppet r requirements starlark tcl terraform toml yaml"
)
_SLASHES = (
    "asciidoc cython css d dart fsharp glsl groovy kotlin objective-c pascal proto scala solidity swift thrift "
    "verilog vue svelte zig"
)
_DASHES = "ada elm haskell lua sql vhdl"
_SEMICOLONS = "assembly clojure common-lisp racket scheme"

_MARKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_HASH.split(), ("#",)),
    **dict.fromkeys(_SLASHES.split(), ("//", "/*", "*/", "* ")),
    **dict.fromkeys(_DASHES.split(), ("--",)),
    **dict.fromkeys(_SEMICOLONS.split(), (";",)),
    "batch": ("rem ", "REM ", "::"),
    "cython": ("#",),
    "erlang": ("%",),
    "fortran": ("!",),
    "ini": ("#", ";"),
    "tex": ("%",),
    "vim": ('"',),
}


def line_mark(language: str) -> str:
    """Return the mark of a comment line; empty for a language without one here."""
    return _MARKS.get(language, ("",))[0].strip()


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


_SLASH_LANGUAGES = frozenset(
    ["c", "cpp", "csharp", "go", "java", "javascript", "php", "rust", "tsx", "typescript", "json"]
)
"""JSON has no comments, but its dialects have this mark, and readers recognise it."""

_HASH_LANGUAGES = frozenset(["bash", "python", "ruby"])
_BLOCKS = {"css": ("/*", "*/"), "ocaml": ("(*", "*)"), "coq": ("(*", "*)")} | dict.fromkeys(
    ["markdown", "html", "xml", "vue", "svelte", "astro"], ("<!--", "-->")
)


def comment(language: str, remark: str) -> str:
    """Return the remark (one line) as a comment; in square brackets if the language has none."""
    if language in _BLOCKS:
        opening, closing = _BLOCKS[language]
        return f"{opening} {remark} {closing}"
    mark = "//" if language in _SLASH_LANGUAGES else "#" if language in _HASH_LANGUAGES else line_mark(language)
    return f"{mark} {remark}" if mark else f"[{remark}]"
