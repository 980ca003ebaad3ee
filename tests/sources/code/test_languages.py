"""Which language a file is in, and whether that makes it code."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.sources.code import languages
from satchel.sources.code.languages import GRAMMARS, SAMPLES, kind_of, language_of
from satchel.sources.code.parse import BRACED
from satchel.types import Kind


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("stubs/b.pyi", "python"),
        ("A.PY", "python"),
        ("x.mjs", "javascript"),
        ("x.jsx", "javascript"),
        ("x.d.ts", "typescript"),
        ("x.mts", "typescript"),
        ("x.tsx", "tsx"),
        ("x.go", "go"),
        ("src/lib.rs", "rust"),
        ("X.java", "java"),
        ("x.c", "c"),
        ("x.hpp", "cpp"),
        ("x.cs", "csharp"),
        ("x.rb", "ruby"),
        ("Rakefile", "ruby"),
        ("x.php", "php"),
        ("x.sh", "bash"),
        (".bashrc", "bash"),
        ("x.kt", "kotlin"),
        ("x.swift", "swift"),
        ("x.lua", "lua"),
        ("x.sql", "sql"),
        ("x.jq", "jq"),
        ("x.vue", "vue"),
        ("a.proto", "proto"),
        ("Makefile", "make"),
        ("Makefile.am", "make"),
        ("rules.mk", "make"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("Cargo.lock", "toml"),
        ("pyproject.toml", "toml"),
        (".editorconfig", "ini"),
        ("setup.cfg", "ini"),
        (".eslintrc", "json"),
        ("a.yml", "yaml"),
        ("Templates/Albums.base", "yaml"),
        ("Dockerfile.base", "dockerfile"),
        ("README", "markdown"),
        ("README.rst", "rst"),
        ("LICENSE", "text"),
        ("setup.py.in", "python"),
        ("version.in", "text"),
        ("data.csv", "csv"),
        ("what.unknown", None),
        ("noextension", None),
        (".hidden", None),
    ],
)
def test_the_name_tells_the_language(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        ("#!/bin/sh\n", "bash"),
        ("#!/usr/bin/env python3\n", "python"),
        ("#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("#! /usr/bin/perl -w\n", "perl"),
        ("#!/usr/bin/env node\n", "javascript"),
        ("#!/usr/bin/env -S FOO=1 ruby\n", "ruby"),
        ("#!/opt/thing\n", None),
        ("no interpreter", None),
        ("", None),
    ],
)
def test_the_first_line_tells_where_the_name_does_not(head: str, language: str | None) -> None:
    assert language_of("bin/tool", head) == language


def test_the_interpreter_of_a_script_counts_more_than_a_common_name() -> None:
    assert language_of("install") == "text"
    assert language_of("install", "#!/bin/bash\n") == "bash"


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a.h", "int f(void);\n", "c"),
        ("a.h", "#pragma once\nnamespace a {\n", "cpp"),
        ("a.h", "// class in a comment\nstruct a;\n", "c"),
        ("a.h", "#import <A.h>\n@interface B\n", "objective-c"),
        ("a.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n', "xml"),
        ("a.lock", '{\n "a": 1\n}', "json"),
        ("a.lock", "# a\n", "text"),
    ],
)
def test_the_text_tells_where_an_extension_serves_several(path: str, head: str, language: str) -> None:
    assert language_of(path, head) == language


@pytest.mark.parametrize("language", ["python", "kotlin", "sql", "css", "vue", "make", "dockerfile", "jq", "graphql"])
def test_programming_languages_are_code(language: str) -> None:
    assert kind_of("x", language) is Kind.CODE


@pytest.mark.parametrize(
    "language", ["markdown", "rst", "text", "toml", "yaml", "json", "ini", "xml", "csv", "notebook"]
)
def test_prose_configuration_and_data_are_chunks(language: str) -> None:
    assert kind_of("x", language) is Kind.DOC


def test_what_is_unknown_is_a_chunk() -> None:
    assert kind_of("what.unknown", None) is Kind.DOC
    assert kind_of("a.py", None) is Kind.CODE


def test_every_grammar_is_reached_by_some_name() -> None:
    extensions = [
        "sh",
        "c",
        "cpp",
        "cs",
        "ex",
        "go",
        "java",
        "js",
        "kt",
        "lua",
        "php",
        "py",
        "rb",
        "rs",
        "scala",
        "swift",
        "tf",
        "tsx",
        "ts",
    ]
    assert {language_of(f"x.{extension}") for extension in extensions} == GRAMMARS


def test_a_language_whose_sample_opens_a_brace_recovers_by_its_braces() -> None:
    # A function of Bash may be one command without braces, and a block of Terraform is no statement.
    with_brace = {language for language, text in SAMPLES.items() if "{" in text} - {"bash", "terraform"}
    assert with_brace - BRACED == set()


def test_a_query_with_a_predicate_that_crashes_the_binding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    query = '((call function: (identifier) @_word) @call (#eq? @_word "print"))'
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: query)
    with pytest.raises(ValueError, match=r"the queries of python have #eq\?"):
        languages.grammar.__wrapped__("python")
