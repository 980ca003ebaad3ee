"""Which calls drop their result: those that are a whole statement, in languages that have one."""

from __future__ import annotations

import re

import pytest

from satchel.search.resolve.syntax import is_dropped
from satchel.sources.code.languages import grammar
from satchel.sources.code.parse import syntax_tree

_NAMES = re.compile(rb"drop|keep")
SCRIPT = (
    "function f(){ drop(a); const x = keep(b); this.db.drop(c); await drop(d); keep(1).then(2); g(() => keep(4)); }"
)
SOURCES = {
    "python": "def f():\n    drop(a)\n    x = keep(b)\n    self.db.drop(c)\n    await drop(d)\n    keep(1).then(2)\n"
    "    print(keep(3))\n    return keep(e)\n",
    "javascript": SCRIPT,
    "typescript": SCRIPT,
    "go": "package p\nfunc f() { drop(a)\n x := keep(b)\n db.drop(c)\n keep(1).then(2)\n return keep(e) }",
    "java": "class A { int f(){ drop(a); int x = keep(b); this.db.drop(c); keep(1).then(2); return keep(e); } }",
    "rust": "fn f() { drop(a); let x = keep(b); self.db.drop(c); db::drop(d); keep(1).then(2); keep(4)?; keep(5) }",
    "c": "int f(){ drop(a); int x = keep(b); db->drop(c); print(keep(3)); (void)keep(4); return keep(e); }",
    "cpp": "int f(){ drop(a); int x = keep(b); db::drop(c); d->drop(2); print(keep(3)); return keep(e); }",
    "csharp": "class A { int f(){ drop(a); var x = keep(b); this.db.drop(c); await drop(d); return keep(e); } }",
    "php": "<?php function f(){ drop($a); $x = keep($b); $this->db->drop($c); DB::drop($d); return keep($e); }",
    "ruby": "def f\n  keep(a)\nend\n",  # the last expression is the result
}


@pytest.mark.parametrize("language", SOURCES)
def test_a_call_that_is_a_statement_drops_its_result(language: str) -> None:
    source = SOURCES[language].encode()
    tree = syntax_tree(source, grammar(language), language)
    assert tree is not None
    names = [(match[0], tree.root_node.descendant_for_byte_range(*match.span())) for match in _NAMES.finditer(source)]
    told = {(name.decode(), is_dropped(node)) for name, node in names if node is not None}
    assert told == {("keep", False), *([("drop", True)] if b"drop" in source else [])}
