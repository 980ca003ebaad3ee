"""Places that people paste into a question are shown, or said to be absent: lines, ranges, links, folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

LONG = "def weigh(parcel):\n" + "".join(f"    step_{number}(parcel)\n" for number in range(2, 200))
FILES = {
    "src/pay/core.py": LONG,
    "src/pay/later.py": "def later(order):\n    return order\n",
    "src/mail/core.py": "def remind(visitor):\n    # of what was ordered\n    return visitor\n",
    "docs/guide.md": "# Guide\n\n" + "".join(f"Step {number} of the way.\n\n" for number in range(80)),
    "main.go": "package main\n\nfunc main() {\n\trun()\n}\n",
}
FORGE = "https://github.com/example/shop/blob/main/src/pay/core.py"


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("pasted")
    repository = TinyRepository(folder / "shop")
    repository.commit("Open the shop", FILES)
    repository.write({"build/out.py": "left_out = 1\n", ".gitignore": "build\n"})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(
    ("question", "path", "lines"),
    [
        ("please fix src/pay/core.py:120", "src/pay/core.py", [120]),
        ("why does pay/core.py:120 run?", "src/pay/core.py", [120]),
        ("see src/pay/core.py:120.", "src/pay/core.py", [120]),
        ("explain src/pay/core.py#L120", "src/pay/core.py", [120]),
        ("src/pay/core.py, line 120, looks wrong", "src/pay/core.py", [120]),
        ("look at src/pay/core.py lines 118-131", "src/pay/core.py", range(118, 132)),
        ("look at `src/pay/core.py` lines 118 to 131", "src/pay/core.py", range(118, 132)),
        ("lines 118-131 of src/pay/core.py", "src/pay/core.py", range(118, 132)),
        ("./src/pay/core.py:118-131 again", "src/pay/core.py", range(118, 132)),
        ("what is in line 3 of main.go", "main.go", [3]),
        (f"{FORGE}#L120", "src/pay/core.py", [120]),
        (f"why is {FORGE}?plain=1#L118-L131 slow", "src/pay/core.py", range(118, 132)),
        ("https://gitlab.com/example/shop/-/blob/main/src/pay/core.py#L118-131", "src/pay/core.py", range(118, 132)),
        ("https://bitbucket.org/example/shop/src/9f3/src/pay/core.py#lines-118:131", "src/pay/core.py", [118, 131]),
        (r"what is wrong in src\pay\core.py:120", "src/pay/core.py", [120]),
        (r"why does C:\code\shop\src\pay\core.py:120 fail", "src/pay/core.py", [120]),
        ("KeyError at /home/me/shop/main.go:3 in production", "main.go", [3]),
        ("\x1b[31mKeyError\x1b[0m at \x1b[36msrc/pay/core.py\x1b[0m:\x1b[33m120\x1b[0m", "src/pay/core.py", [120]),
        ("fix docs/guide.md:101 please", "docs/guide.md", [101]),
    ],
)
def test_the_lines_of_a_pasted_place_are_shown_first(
    satchel: Satchel, question: str, path: str, lines: list[int]
) -> None:
    for purpose in ("find", "read"):
        context = satchel.assemble(question, purpose=purpose, max_tokens=1_500, types=["code", "docs"])
        item = next(item for item in context.items if item.source == ("doc" if path.endswith(".md") else "code"))
        shown = {line for start, end in item.spans for line in range(start, end + 1)}
        assert (item.title, context.meta["weak"]) == (path, False)
        assert shown.issuperset(lines)


def test_a_line_in_a_pasted_log_or_far_down_in_an_issue_does_not_come_first(satchel: Satchel) -> None:
    for question in (
        "why is a visitor reminded twice\n\n```\nsomething at src/pay/core.py:120 went on\n```",
        "why is a visitor reminded twice\n\n" + "The visitor gets two. " * 20 + "It may be src/pay/core.py:120 or not.",
    ):
        assert satchel.search(question, types=["code"])[0].chunk.title == "remind"


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("what is in src/pay/gone.py", ["src/pay/gone.py"]),
        ("what is in src/other/core.py", ["src/other/core.py"]),
        ("please fix src/pay/core.py:9999", ["src/pay/core.py:9999"]),
        ("please fix gone.go:12", ["gone.go"]),
        ("https://github.com/example/shop/blob/main/src/gone.py#L3", ["src/gone.py"]),
        ("how are orders sent in src/pay/cmd", ["src/pay/cmd"]),
        ("what is sent in pkg/pay/factory", ["pkg/pay/factory"]),
    ],
)
def test_a_place_that_is_not_here_is_said_to_be_absent(satchel: Satchel, question: str, absent: list[str]) -> None:
    told = satchel.assemble(question, types=["code", "docs"]).meta["missing_terms"]
    assert [word for word in told if "/" in word or "." in word] == absent


@pytest.mark.parametrize(
    "question",
    [
        "what is in build/out.py",
        "does it run on example.com:8080 and/or localhost:80",
        "is it read/write/execute for an order",
        "an order fails\n\n" + "the order failed " * 30 + "in src/pay/gone.py:12 of my own project",
    ],
)
def test_what_is_no_place_of_the_project_or_only_left_out_is_not_said_to_be_absent(
    satchel: Satchel, question: str
) -> None:
    told = satchel.assemble(question, types=["code", "docs"]).meta["missing_terms"]
    assert not [word for word in told if "/" in word or "." in word]


@pytest.mark.parametrize(
    "question",
    [
        "what does the order return in src/mail",
        "which order is returned in the folder mail",
        "what does an order in mail/ return",
        "order in the mail folder",
    ],
)
def test_the_files_of_a_folder_that_the_question_names_come_first(satchel: Satchel, question: str) -> None:
    hits = satchel.search(question, types=["code"])
    assert [hit.chunk.location and hit.chunk.location.path for hit in hits][:1] == ["src/mail/core.py"]


def test_a_short_function_at_a_named_line_is_shown_without_any_word_of_the_question(tmp_path: Path) -> None:
    names = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    functions = (f"func {one}{other.title()}() int {{\n\treturn 1\n}}\n\n" for one in names for other in names)
    repository = TinyRepository(tmp_path / "mux")
    repository.commit("Begin", {"mux.go": "package mux\n\n" + "".join(functions)})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        for question in ("please fix mux.go:20", "mux.go#L20", "look at mux.go lines 20-21", "mux.go L20-L21 is wrong"):
            assert "20\t\treturn 1\n" in engine.assemble(question, purpose="find").text
