"""The language of a file, by its name and, if necessary, by its first lines."""

from __future__ import annotations

import re

from satchel.sources.code.grammar import GRAMMARS
from satchel.types import Kind

__all__ = ["GRAMMARS", "kind_of", "language_of"]

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


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: language for language, words in table.items() for word in words.split()}


_BY_EXTENSION = _by_word(_CODE) | _by_word(_TEXT)
_BY_NAME = _by_word(_NAMES)
_BY_INTERPRETER = _by_word(_INTERPRETERS)

_SHEBANG = re.compile(r"#![ \t]*(?:\S*/)?([^/\s]+)(?:[ \t]+(?:-\S+[ \t]+)*(?:\w+=\S*[ \t]+)*(\S+))?")
_CPLUSPLUS = re.compile(
    r"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected):)|\bstd::", re.M
)
_OBJECTIVE_C = re.compile(r"^\s*(?:@interface|@protocol|@implementation|#import)\b", re.MULTILINE)
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE TS)")


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
