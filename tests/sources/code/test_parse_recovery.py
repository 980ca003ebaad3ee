"""Syntax that a grammar does not know must not hide what stands around it."""

from __future__ import annotations

import pytest

from satchel.sources.code.outline import outline
from satchel.sources.code.parse import first_branches
from tests.sources.code.rendering import assert_tiles

CALL_SIGNATURES = """\
import { H } from './h'

export interface Handler<E> {
  // one
  <P extends string>(
    handler: H<E, P>
  ): Base<
    X<[E, P]>,
    P
  >

  // two
  <P extends string, Q>(
    ...handlers: [H<E, P>, H<E, Q>]
  ): Base<
    X<[E, P]>,
    Q
  >
}

export interface Other {
  name: string
}

export function after(): void {
  call()
}
"""

BRANCHES = """\
#include "a.h"

static int open_it(int x)
{
#ifdef FAST
    if (x) {
        fast(x);
#else
    if (!x) {
        slow(x);
#endif
    }
    return x;
}

#if 0
static int never(void) {
    return 0;
}
#else
static int always(void) {
    return 1;
}
#endif

int last(void) {
    return always();
}
"""


def names(text: str, language: str) -> dict[str, tuple[int, int]]:
    found = outline(text, language)
    assert_tiles(found, text)
    return {part.name: (part.start, part.end) for part in found.parts if part.name}


def test_an_interface_with_call_signatures_does_not_swallow_the_file() -> None:
    assert names(CALL_SIGNATURES, "typescript") == {"Handler": (3, 20), "Other": (21, 24), "after": (25, 27)}


def test_braces_that_open_in_two_branches_do_not_swallow_the_file() -> None:
    found = names(BRANCHES, "c")
    assert {"open_it": (3, 15), "last": (26, 28)}.items() <= found.items()
    assert found.keys() == {"open_it", "never", "always", "last"}


def test_imports_are_told_once_even_when_read_twice() -> None:
    assert [one.target for one in outline(BRANCHES, "c").imports] == ["a.h"]
    assert [one.target for one in outline(CALL_SIGNATURES, "typescript").imports] == ["./h"]


def test_a_function_with_an_error_ends_where_its_brace_stands() -> None:
    text = "int a(void) {\n  if (x) {{\n  y(;\n}\n\nint b(void) {\n  return 2;\n}\n"
    assert names(text, "c")["b"] == (6, 8)


def test_a_label_in_the_first_column_begins_no_block() -> None:
    text = "int f(void) {\n  if (a) { b(;\n\nagain: switch (c) { }\n\nout:\n  return 1;\n}\n\nint g(void) {\n}\n"
    found = names(text, "c")
    assert found["f"][1] < found["g"][0]


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("#if A\nx\n#endif\ny", "x y"),
        ("#if A\nx\n#else\ny\n#endif", "x"),
        ("#if 0\nx\n#else\ny\n#endif", "y"),
        ("#if 0 // never\nx\n#endif", "x"),
        ("#if A\nx\n#elif B\ny\n#else\nz\n#endif", "x"),
        ("#if 0\nx\n#elif B\ny\n#else\nz\n#endif", "y"),
        ("#ifndef A\n#if B\nx\n#else\ny\n#endif\nz\n#endif", "x z"),
        ("#if A && \\\n  B\nx\n#endif", "x"),
        ("#if A\n#else\n#include <b>\ny\n#endif", "#include <b>"),
        ("#endif\nx\n#else\ny", "x y"),
        ("#define IF\nx", "#define IF x"),
    ],
)
def test_the_first_branch_is_kept(source: str, kept: str) -> None:
    result = first_branches(source.encode())
    assert len(result) == len(source)
    assert result.count(b"\n") == source.count("\n")
    assert " ".join(result.decode().split()) == kept


MACROS = """#define LIB_BEGIN_NAMESPACE namespace lib {
LIB_BEGIN_NAMESPACE
LIB_EXPORT template <typename Char> class appender;
namespace detail {
template <typename Char>
struct padding {
  LIB_CONSTEXPR padding(int width)
      : size(width) {
    if (width > 0) size = width;
  }
  size_t total() const { return size; }
};

template <typename T, LIB_ENABLE_IF(is_integer<T>::value)>
LIB_INLINE auto write(T value) -> int {
  return value;
}
}
LIB_EXPORT template <typename... T>
LIB_INLINE auto format(const char* fmt, T&&... args) -> int {
  return 1;
}
LIB_END_NAMESPACE
"""


def test_macros_beside_declarations_of_cpp_do_not_hide_them() -> None:
    found = names(MACROS, "cpp")
    assert found["detail.write"] == (14, 18)
    assert {"detail.padding", "detail.padding.padding", "detail.padding.total", "format"} <= found.keys()
    assert max(end - start for start, end in found.values()) < 5
