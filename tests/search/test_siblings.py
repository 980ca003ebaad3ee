"""What shows how to add one more of a kind: where its siblings are named together, the smallest one, and its test."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Context, Satchel

NAMES = ("Even", "Odd", "Prime", "Square")
BODY = "".join(f"        value += {number}\n" for number in range(9))
CLASSES = "\n\n".join(
    f"class {name}Checker(Checker):\n    def check(self, value):\n{BODY * size}        return value\n"
    for size, name in enumerate(NAMES, 1)
)
BASE = "class Checker:\n    def check(self, value):\n        raise NotImplementedError\n"
REGISTER = "\n".join(["CHECKERS = [", *(f"    rules.{name}Checker," for name in NAMES), "]"])
NOISE = "".join(f"def write_checker_{number}(new):\n    return new + {number}\n\n\n" for number in range(30))
CHECKERS = {
    "app/base.py": BASE,
    "app/rules.py": f"from app.base import Checker\n\n\n{CLASSES}",
    "app/registry.py": f"from app import rules\n\n{REGISTER}\n",
    "app/output.py": NOISE,
    "tests/test_rules.py": "from app.rules import EvenChecker\n\n\ndef test_it():\n    assert EvenChecker().check(1)\n",
}
BUILDERS = {
    f"app/builders/{name}.py": f"def build(text):\n{BODY * size}" for size, name in enumerate(("xml", "web", "pdf"), 1)
}


def answer(root: Path, files: dict[str, str], question: str) -> Context:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with Satchel.open(root, root=root, environ={"SATCHEL_HOME": str(root.parent / "home")}) as satchel:
        satchel.index()
        return satchel.assemble(question, purpose="find")


@pytest.mark.parametrize(
    "question",
    ["how do I add a new checker", "How can we write another kind of checker?", "how do I add a checker policy"],
)
def test_a_recipe_shows_the_register_the_base_the_smallest_sibling_and_a_test(tmp_path: Path, question: str) -> None:
    text = answer(tmp_path / "root", CHECKERS, question).text
    assert all(f"rules.{name}Checker," in text for name in NAMES)
    assert "class EvenChecker(Checker):" in text
    assert "app/base.py" in text
    assert "EvenChecker().check(1)" in text
    assert "class SquareChecker(Checker):" not in text


def test_without_a_register_the_base_and_the_smallest_sibling_come_before_larger_ones(tmp_path: Path) -> None:
    files = {path: text for path, text in CHECKERS.items() if path != "app/registry.py"}
    text = answer(tmp_path / "root", files, "how do I add a new checker").text
    first, second, other = (text.find(f"class {name}") for name in ("Checker:", "EvenChecker(", "SquareChecker("))
    assert 0 < first < second
    assert other < 0 or other > second


def test_of_files_that_only_their_folder_has_in_common_the_smallest_is_shown(tmp_path: Path) -> None:
    first = answer(tmp_path / "root", {**BUILDERS, "app/output.py": NOISE}, "how do I add another builder").items[0]
    assert first.location is not None
    assert first.location.path == "app/builders/xml.py"


def test_another_question_about_the_kind_shows_no_register(tmp_path: Path) -> None:
    first = answer(tmp_path / "root", CHECKERS, "write_checker_7").items[0]
    assert first.location is not None
    assert first.location.path == "app/output.py"
