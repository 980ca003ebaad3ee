"""Whether every grammar loads and finds the definition in one line of its language.

A grammar that loads and finds nothing is worse than one that is missing: the index would look complete.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel.doctor.check import Check, fail, ok
from satchel.sources.code.grammar import GRAMMARS
from satchel.sources.code.outline import outline

PROBE = "probe"

SAMPLES: Mapping[str, str] = {
    "bash": "probe() { echo 1; }\n",
    "c": "int probe(int x) { return x; }\n",
    "cpp": "int probe(int x) { return x; }\n",
    "csharp": "class Holder { int probe(int x) { return x; } }\n",
    "go": "package a\n\nfunc probe(x int) int { return x }\n",
    "java": "class Holder { int probe(int x) { return x; } }\n",
    "javascript": "function probe(x) { return x }\n",
    "php": "<?php function probe($x) { return $x; }\n",
    "python": "def probe(x):\n    return x\n",
    "ruby": "def probe(x)\n  x\nend\n",
    "rust": "fn probe(x: i32) -> i32 { x }\n",
    "tsx": "function probe(x: number) { return <b>{x}</b> }\n",
    "typescript": "function probe(x: number): number { return x }\n",
}
"""Language -> a text that defines `probe`."""

REINSTALL = "install the grammars again: pip install --force-reinstall satchel"


def grammars() -> Check:
    """Load every grammar and parse its sample."""
    broken = [f"{language} {problem}" for language in sorted(GRAMMARS) if (problem := problem_of(language))]
    if broken:
        return fail("grammars", f"these languages would be indexed without definitions: {'; '.join(broken)}", REINSTALL)
    return ok("grammars", f"{len(GRAMMARS)} languages find their definitions")


def problem_of(language: str) -> str:
    """What is wrong with a grammar, empty if nothing is."""
    sample = SAMPLES.get(language)
    if sample is None:
        return "has no sample"
    try:
        found = outline(sample, language)
    except (ImportError, OSError, ValueError, TypeError, AttributeError) as error:
        return f"does not load ({type(error).__name__}: {error})"
    names = {definition.name for part in found.parts for definition in part.definitions}
    names |= {part.name.rpartition(".")[2] for part in found.parts}
    return "" if PROBE in names else "finds no definition"
