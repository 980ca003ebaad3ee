"""Names with dots, whatever the language."""

from __future__ import annotations

import pytest

from satchel.sources.code.syntax import MAX_NAME, dotted


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        ("plain", "go", "plain"),
        ("ns::Box<T>::size", "cpp", "ns.Box.size"),
        ("A<B<C>>::d", "cpp", "A.d"),
        ("Box<T>::operator<<", "cpp", "Box.operator<<"),
        ("operator bool", "cpp", "operatorbool"),
        ("A::~A", "cpp", "A.~A"),
        ("operators", "cpp", "operators"),
        ("Store.prototype.remove", "javascript", "Store.remove"),
        ("module.exports.create", "javascript", "create"),
        ("module.exports", "javascript", "exports"),
        ("this.items.add", "typescript", "items.add"),
        ("[Symbol.iterator]", "typescript", "iterator"),
        ("'quoted-key'", "javascript", "quoted-key"),
        ("#secret", "javascript", "#secret"),
        ("a[b].c", "javascript", "c"),
        ("Shapes::Other", "ruby", "Shapes.Other"),
        ("<=>", "ruby", "<=>"),
        ("[]=", "ruby", "[]="),
        ("empty?", "ruby", "empty?"),
        (":symbol", "ruby", "symbol"),
        ("App\\Shapes", "php", "App.Shapes"),
        ("&'a super::Shape<T>", "rust", "Shape"),
        ("[u8; 4]", "rust", "u8"),
        ("dyn Fn(A) -> B", "rust", "B"),
        ("Company.Shapes", "csharp", "Company.Shapes"),
        ("+", "csharp", "+"),
        ("deploy-all", "bash", "deploy-all"),
    ],
)
def test_a_name_is_written_with_dots(text: str, language: str, name: str) -> None:
    assert dotted(text, language) == name


def test_a_name_is_never_endless() -> None:
    assert len(dotted("a" * 1_000, "python")) == MAX_NAME
    assert len(dotted("'" + "a b" * 1_000 + "'", "javascript")) <= MAX_NAME
