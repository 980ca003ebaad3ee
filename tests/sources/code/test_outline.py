"""What is found in a source file: one realistic sample a language, and the rules one by one."""

from __future__ import annotations

from textwrap import dedent

import pytest

from satchel.sources.code.languages import GRAMMARS
from satchel.sources.code.outline import MAX_REFERENCES, MAX_SIGNATURE, outline
from satchel.types import EdgeType, Part, Role
from tests.sources.code.rendering import SAMPLES, assert_tiles, rendered, sample


def parts(text: str, language: str = "python") -> tuple[Part, ...]:
    text = dedent(text).lstrip("\n")
    found = outline(text, language)
    assert_tiles(found, text)
    return found.parts


def spans(text: str, language: str = "python") -> list[tuple[int, int, str]]:
    return [(part.start, part.end, part.name) for part in parts(text, language)]


def calls(part: Part) -> list[str]:
    return [one.target for one in part.references if one.type is EdgeType.CALLS]


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_a_sample_gives_the_outline_beside_it(language: str) -> None:
    found = outline(sample(language), language)
    assert found.parsed
    assert found.language == language
    assert_tiles(found, sample(language))
    assert rendered(found) == (SAMPLES / f"{language}.golden").read_text(encoding="utf-8")


def test_a_function_takes_comments_and_decorators_above_it_and_blank_lines_below() -> None:
    text = """
        import a

        # about f
        @one
        # between
        @two(
            3
        )
        def f():
            pass


        x = 1
    """
    assert spans(text) == [(1, 2, ""), (3, 12, "f"), (13, 13, "")]


def test_a_comment_above_a_blank_line_is_not_taken() -> None:
    assert spans("# licence\n\ndef f():\n    pass\n") == [(1, 2, ""), (3, 4, "f")]


def test_a_comment_behind_code_is_not_taken() -> None:
    assert spans("x = 1  # one\ndef f():\n    pass\n") == [(1, 1, ""), (2, 3, "f")]


def test_a_class_docstring_stays_with_the_class() -> None:
    assert spans('class A:\n    """Doc."""\n    def f(self): ...\n') == [(1, 2, "A"), (3, 3, "A.f")]


def test_gaps_are_cut_where_a_class_ends() -> None:
    text = """
        class A:
            def f(self):
                pass
            rest = 1
        top = 2
    """
    assert spans(text) == [(1, 1, "A"), (2, 3, "A.f"), (4, 4, ""), (5, 5, "")]


def test_a_class_without_methods_is_one_part_with_its_nested_classes() -> None:
    found = parts("class A:\n    x: int\n\n    class B:\n        y = 1\n")
    assert [(part.start, part.end, part.role) for part in found] == [(1, 5, Role.CLASS)]
    assert [(one.owner, one.name) for one in found[0].definitions] == [("", "A"), ("A", "x"), ("A", "B"), ("A.B", "y")]


def test_a_class_inside_a_module_is_a_part_even_without_methods() -> None:
    assert spans("mod m {\n    struct A;\n    struct B;\n}\n", "rust") == [(1, 1, "m"), (2, 2, "m.A"), (3, 4, "m.B")]


def test_functions_inside_functions_are_definitions_of_the_outer_part() -> None:
    found = parts("def f():\n    def g():\n        local = 1\n    class C:\n        def h(self): ...\n")
    assert [part.name for part in found] == ["f"]
    names = [(one.owner, one.name, one.line) for one in found[0].definitions]
    assert names == [("", "f", 1), ("f", "g", 2), ("f", "C", 4), ("f.C", "h", 5)]


def test_functions_below_conditions_are_outermost() -> None:
    assert spans("try:\n    import x\nexcept ImportError:\n    def f():\n        pass\n") == [(1, 3, ""), (4, 5, "f")]


def test_lone_closing_brackets_belong_to_the_part_before() -> None:
    text = "class A {\n  f() {\n  }\n}\n\nfunction g() {\n}\n"
    assert spans(text, "javascript") == [(1, 1, "A"), (2, 5, "A.f"), (6, 7, "g")]


def test_several_functions_on_one_line_are_one_part_that_defines_all() -> None:
    found = parts("function a() {} function b() {}\nfunction c() {}\n", "javascript")
    assert [(part.start, part.end, part.name) for part in found] == [(1, 1, "a"), (2, 2, "c")]
    assert [one.name for one in found[0].definitions] == ["a", "b"]


def test_a_class_on_one_line_keeps_its_methods() -> None:
    found = parts("class A { f() { g() } }\n", "javascript")
    assert [(part.role, part.name) for part in found] == [(Role.CLASS, "A")]
    assert [one.name for one in found[0].definitions] == ["A", "f"]


def test_overloads_belong_to_the_implementation_below_them() -> None:
    text = (
        "/** Doc. */\nfunction f(a: string): void\nfunction f(a: any) {\n}\n"
        "declare function g(): void\nfunction h() {}\n"
    )
    assert spans(text, "typescript") == [(1, 4, "f"), (5, 5, ""), (6, 6, "h")]


def test_macros_with_items_are_read() -> None:
    text = "cfg_a! {\n    cfg_b! {\n        fn f() { g() }\n    }\n}\n"
    found = parts(text, "rust")
    assert [part.name for part in found] == ["", "f"]
    assert calls(found[1]) == ["g"]


def test_a_file_wide_namespace_is_in_the_names_but_is_no_part() -> None:
    text = "namespace A.B;\n\nclass C {\n    void F() { }\n}\n"
    assert spans(text, "csharp") == [(1, 2, ""), (3, 3, "A.B.C"), (4, 5, "A.B.C.F")]


def test_the_second_file_wide_namespace_replaces_the_first() -> None:
    text = "<?php\nnamespace A;\nfunction f() {}\nnamespace B;\nfunction g() {}\n"
    assert [name for _, _, name in spans(text, "php") if name] == ["A.f", "B.g"]


def test_a_module_wrapped_in_a_call_shows_its_functions() -> None:
    text = "define(function () {\n  function f() {\n    return 1\n  }\n  const g = () => 2\n  return f\n})\n"
    assert spans(text, "javascript") == [(1, 1, ""), (2, 4, "f"), (5, 5, "g"), (6, 7, "")]


def test_the_signature_has_no_decorator_no_comment_and_no_body() -> None:
    found = parts("@cached\ndef f(\n    a: int,\n):\n    # why\n    return a\n")
    assert found[0].signature == "def f(\n    a: int,\n):"


def test_the_signature_of_a_method_is_moved_to_the_margin() -> None:
    found = parts("class A:\n    def f(\n        self,\n    ):\n        pass\n")
    assert found[1].signature == "def f(\n    self,\n):"


def test_annotations_and_comments_between_them_are_no_signature() -> None:
    text = 'class A {\n    @One("x") // why\n    @Two\n    public void f() {}\n}\n'
    assert parts(text, "java")[1].signature == "public void f()"


def test_a_long_signature_is_cut_at_a_blank() -> None:
    names = ", ".join(f"argument_{index}" for index in range(100))
    signature = parts(f"def f({names}):\n    pass\n")[0].signature
    assert len(signature) <= MAX_SIGNATURE
    assert signature.endswith(",...")


def test_references_are_named_once_in_order_and_bounded() -> None:
    found = parts("def f():\n    a.b.c()\n    b()\n    a.c()\n")
    assert calls(found[0]) == ["c", "b"]
    many = "".join(f"    f{index}()\n" for index in range(MAX_REFERENCES + 50))
    assert len(calls(parts(f"def f():\n{many}")[0])) == MAX_REFERENCES


def test_self_is_no_name_to_refer_to() -> None:
    assert calls(parts("impl A {\n    fn f() -> Self {\n        Self { a: g() }\n    }\n}\n", "rust")[1]) == ["g"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a.b as c, d.e\n", [("a.b", ("c",)), ("d.e", ("d",))]),
        ("from . import x\nfrom ..y import *\n", [(".", ("x",)), ("..y", ("*",))]),
        ("def f():\n    from a import (\n        b as c,\n    )\n", [("a", ("c",))]),
    ],
)
def test_python_imports(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(one.target, one.names) for one in outline(text, "python").imports] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a, { b as c, d } from './e'\n", [("./e", ("a", "c", "d"))]),
        ("import * as ns from 'x'\n", [("x", ("ns",))]),
        ("export * as ns from 'x'\nexport * from 'y'\n", [("x", ("ns",)), ("y", ("*",))]),
        ("const { a: { b }, c } = require('x')\n", [("x", ("c",))]),
        ("require('x')\nrequired('y')\n", [("x", ())]),
        ("async function f() {\n  await import('z')\n}\n", [("z", ())]),
    ],
)
def test_javascript_imports(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(one.target, one.names) for one in outline(text, "javascript").imports] == expected


def test_an_import_over_several_lines_says_so() -> None:
    assert [(one.start, one.end) for one in outline("\nfrom a import (\n    b,\n)\n", "python").imports] == [(2, 4)]


def test_a_file_of_the_wrong_language_is_cut_by_lines() -> None:
    text = "Dear reader,\n\n" + "this is: prose } ) and not a program at all ;; !\n" * 60
    found = outline(text, "go")
    assert not found.parsed
    assert len(found.parts) > 1
    assert_tiles(found, text)


def test_data_under_a_wrong_extension_does_no_harm() -> None:
    text = '{\n  "a": [1, 2],\n  "b": null\n}\n'
    assert_tiles(outline(text, "python"), text)
    assert_tiles(outline(text, "rust"), text)


@pytest.mark.parametrize("language", sorted(GRAMMARS))
@pytest.mark.parametrize("text", ["", "\n", "   \n\n\t\n", "x", "\n\n# only\n", "// only\n\n\n", "\ufeff\n", "}\n"])
def test_files_with_nearly_nothing_in_them(language: str, text: str) -> None:
    found = outline(text, language)
    assert_tiles(found, text)
    assert len(found.parts) <= 1
    assert all(part.role is Role.GAP for part in found.parts)


def test_lines_are_counted_by_line_feeds_only() -> None:
    text = "x = 'a\x0cb\u2028c\x85d'\ndef f():\n    return '\r'\n"
    assert spans(text) == [(1, 1, ""), (2, 3, "f")]


def test_text_that_is_not_ascii_keeps_its_names_and_lines() -> None:
    text = "# für später\ndef größe(wörter):\n    '''Zählt. Mehr.'''\n    return länge('😀')\n"
    found = parts(text)[0]
    assert (found.name, found.signature, found.summary) == ("größe", "def größe(wörter):", "Zählt.")
    assert calls(found) == ["länge"]


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert_tiles(outline("x = '\ud800'\ndef f(): ...\n", "python"), "x = ''\ndef f(): ...\n")


def test_a_branch_of_the_preprocessor_does_not_end_a_class_of_csharp() -> None:
    text = """
        namespace Shop
        {
            public class Reader
        #if NETSTANDARD
                : Base
        #else
                : Other
        #endif
            {
                int First()
                {
        #if OLD
                    if (a)
                    {
        #else
                    if (b)
                    {
        #endif
                    }
                    return 1;
                }

                int Second() { return 2; }
            }
        }
    """
    names = [name for _, _, name in spans(text, "csharp") if name]
    assert names == ["Shop", "Shop.Reader", "Shop.Reader.First", "Shop.Reader.Second"]


def test_a_constructor_of_kotlin_on_a_line_of_its_own_does_not_end_its_class() -> None:
    text = "actual class Text\n@Hidden internal actual constructor(\n  val size: Int,\n) {\n  fun run() {\n  }\n}\n"
    assert [name for _, _, name in spans(text, "kotlin")] == ["Text", "Text.run"]
