from __future__ import annotations

from textwrap import dedent

import pytest

from satchel.assemble import blocks


def lines_of(text: str) -> list[str]:
    return dedent(text).strip("\n").split("\n")


def headers_at(text: str) -> list[str]:
    """The headers around the line that ends with HERE, in line order, without their indentation."""
    lines = lines_of(text)
    place = next(number for number, line in enumerate(lines, 1) if line.endswith("HERE"))
    ranges = sorted(blocks.headers(lines, (2, len(lines)), (place, place)))
    return [line.strip() for start, end in ranges for line in lines[start - 1 : end]]


PYTHON = """
    def f(rows):
        total = 0
        try:
            for row in rows:
                if row.bad:
                    continue
                # a comment
                elif row.good:
                    total += 1  # HERE
        except ValueError:
            pass
"""
PYTHON_ELSE = """
    def f(rows):
        for row in rows:
            if (
                row.good
                and row.fresh
            ):
                use(row)
            else:
                drop(row)  # HERE
"""
TYPESCRIPT = """
    export function f(rows: Row[]) {
      rows.forEach((row) => {
        switch (row.kind) {
          case 'a':
            return
          case 'b': {
            use(row) // HERE
          }
        }
      })
    }
"""
GO = """
    func f(ctx context.Context) error {
    \tfor {
    \t\tselect {
    \t\tcase <-ctx.Done():
    \t\t\treturn ctx.Err()
    \t\tcase row := <-rows:
    \t\t\tif row.Bad {
    \t\t\t\tcontinue
    \t\t\t}
    \t\t\tuse(row) // HERE
    \t\t}
    \t}
    }
"""
RUST = """
    fn f(rows: &[Row]) -> Result<()> {
        for row in rows {
            let value = match row.kind {
                Kind::A => 1,
                Kind::B if row
                    .is_fresh()
                => {
                    use_it(row) // HERE
                }
            };
        }
    }
"""
JAVA = """
    void f(List<Row> rows) {
        try {
            if (rows.isEmpty()) {
                return;
            } else if (rows.size() == 1) {
                one();
            } else {
                many(); // HERE
            }
        } finally {
            close();
        }
    }
"""
C = """
    static int f(int kind)
    {
        while (kind)
        {
    #ifdef DEBUG
            trace();
    #endif
    again:
            if (kind > 1)
            {
                use(kind); // HERE
            }
        }
    }
"""
RUBY = """
    def f(rows)
      rows.each do |row|
        case row.kind
        when :a
          one
        when :b
          begin
            two # HERE
          rescue IOError
            three
          end
        end
      end
    end
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(PYTHON, ["try:", "for row in rows:", "elif row.good:"], id="python"),
        pytest.param(
            PYTHON_ELSE, ["for row in rows:", "if (", "row.good", "and row.fresh", "):", "else:"], id="python, an else"
        ),
        pytest.param(TYPESCRIPT, ["rows.forEach((row) => {", "switch (row.kind) {", "case 'b': {"], id="typescript"),
        pytest.param(GO, ["for {", "select {", "case row := <-rows:"], id="go, whose cases are not indented"),
        pytest.param(
            RUST,
            ["for row in rows {", "let value = match row.kind {", "=> {"],
            id="rust",
        ),
        pytest.param(JAVA, ["try {", "} else if (rows.size() == 1) {", "} else {"], id="java"),
        pytest.param(C, ["while (kind)", "{", "if (kind > 1)", "{"], id="c, braces, directives and labels"),
        pytest.param(RUBY, ["rows.each do |row|", "case row.kind", "when :b", "begin"], id="ruby"),
    ],
)
def test_headers_are_those_of_the_enclosing_blocks(text: str, expected: list[str]) -> None:
    assert headers_at(text) == expected


def test_a_header_on_several_lines_is_shown_from_its_beginning() -> None:
    text = """
        fn f(rows: &[Row]) {
            if is_ready(
                rows,
                now,
            ) {
                start(rows); // HERE
            }
        }
    """
    assert headers_at(text) == ["if is_ready(", "rows,", "now,", ") {"]


def test_doc_strings_and_the_end_of_a_long_signature_are_not_headers() -> None:
    text = """
        def f(
            rows,
        ) -> None:
            \'\'\'Sort rows.

            rows : list, optional
                These are sorted. HERE
            \'\'\'
    """
    assert headers_at(text) == []


def test_the_innermost_headers_are_chosen_first() -> None:
    deep = ["def f():", *(f"{'    ' * depth}if level_{depth}:" for depth in range(1, 9)), f"{'    ' * 9}use()  # HERE"]
    headers = headers_at("\n".join(deep))
    assert headers == [f"if level_{depth}:" for depth in range(9 - blocks.MOST_HEADERS, 9)]
    long = ["def f():", f"    if {'x' * blocks.HEADER_CHARACTERS}:", "        if y:", "            use()  # HERE"]
    assert headers_at("\n".join(long)) == ["if y:"]


def test_edges_of_a_passage_are_at_borders_of_blocks() -> None:
    lines = lines_of(JAVA)
    assert blocks.snapped(lines, (2, 13), (4, 8)) == (4, 9)
    assert blocks.snapped(lines, (2, 13), (9, 11)) == (10, 13)
    assert blocks.snapped(lines, (2, 10), (7, 8)) == (7, 9)


@pytest.mark.parametrize("line", [" " * 100_000 + "x", "}" * 100_000 + "x", "{ " * 50_000, "(" + " " * 100_000 + "x"])
def test_lines_of_any_length_cost_little(line: str) -> None:
    lines = ["def f():", *[line, f"  {line}"] * 20, " " * 200_000 + "use()"]
    assert len(blocks.headers(lines, (2, len(lines)), (len(lines), len(lines)))) <= blocks.MOST_HEADERS
