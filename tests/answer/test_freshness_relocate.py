"""Parts are found again by name and text, and nothing is taken for what it is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.answer.freshness import PartNow, relocate
from satchel.sources.outline import outline_file
from satchel.store.records import StoredChunk
from satchel.types import Part

SHOP = '''"""The shop."""

import time


class Client:
    """Sends orders."""

    def send(self, order):
        return post(order)

    def close(self):
        self.open = False


def post(order):
    return bool(order)
'''


def stored(parts: tuple[Part, ...]) -> list[StoredChunk]:
    seen: dict[str, int] = {}
    rows = []
    for row, part in enumerate(parts, 1):
        twin = seen[part.name] = seen.get(part.name, 0) + 1
        rows.append(StoredChunk(row, 1, part.role, part.name, twin, part.start, part.end, part.signature, part.summary))
    return rows


def places(before: str, after: str, path: str = "a.py") -> dict[str, PartNow | None]:
    """The place of each part by its name; a gap is called by its first line."""
    old = stored(outline_file(path, before)[1].parts)
    lines = before.split("\n")
    found = relocate(old, lines, outline_file(path, after)[1].parts, after.split("\n"))
    return {part.name or lines[part.start - 1]: found.get(part.row) for part in old}


def moved_by(before: str, after: str, path: str = "a.py") -> dict[str, int | str]:
    """How far each part moved, or `changed` or `gone`."""
    return {
        name: "gone" if place is None else "changed" if place.shift is None else place.shift
        for name, place in places(before, after, path).items()
    }


def test_nothing_moves_in_an_equal_text() -> None:
    assert set(moved_by(SHOP, SHOP).values()) == {0}


def test_lines_above_move_everything_below_and_change_only_their_own_part() -> None:
    assert moved_by(SHOP, SHOP.replace("import time\n", "import time\n\n\nRETRIES = 3\n\n")) == {
        '"""The shop."""': 0,
        "Client": 4,
        "Client.send": 4,
        "Client.close": 4,
        "post": 4,
    }


def test_a_method_with_another_body_has_changed_and_its_signature_is_the_new_one() -> None:
    after = SHOP.replace("def send(self, order):", "def send(self, order, *, twice=False):")
    place = places(SHOP, after)["Client.send"]
    assert place is not None
    assert (place.shift, place.start, place.end) == (None, 9, 10)
    assert "twice" in place.signature


def test_a_renamed_function_is_gone() -> None:
    assert moved_by(SHOP, SHOP.replace("def post", "def transmit"))["post"] == "gone"


def test_the_methods_of_a_renamed_class_are_found_under_their_new_name() -> None:
    found = places(SHOP, "\n" + SHOP.replace("class Client", "class Sender"))
    assert found["Client"] is None
    method = found["Client.send"]
    assert method is not None
    assert (method.name, method.shift) == ("Sender.send", 1)


def test_blank_lines_at_the_end_of_a_part_do_not_change_it() -> None:
    assert moved_by(SHOP, SHOP.replace("\n\n\ndef post", "\n\n\n\n\ndef post"))["Client.close"] == 0


TWINS = "def f():\n    return 1\n\n\ndef f():\n    return 2\n\n\ndef f():\n    return 3\n"


def test_twins_are_told_apart_by_their_text() -> None:
    old = stored(outline_file("a.py", TWINS)[1].parts)
    after = TWINS.replace("def f():\n    return 1\n\n\n", "")
    found = relocate(old, TWINS.split("\n"), outline_file("a.py", after)[1].parts, after.split("\n"))
    assert [found[row].shift if row in found else "gone" for row in (1, 2, 3)] == ["gone", -4, -4]


def test_as_many_changed_twins_as_before_are_paired_in_order() -> None:
    old = stored(outline_file("a.py", TWINS)[1].parts)
    after = TWINS.replace("return 1", "return 10").replace("return 3", "return 30")
    found = relocate(old, TWINS.split("\n"), outline_file("a.py", after)[1].parts, after.split("\n"))
    assert [(found[row].start, found[row].shift) for row in (1, 2, 3)] == [(1, None), (5, 0), (9, None)]


def test_a_changed_definition_among_new_twins_is_the_one_most_like_it() -> None:
    before = "def f():\n    first = 1\n    second = 2\n    return first + second\n"
    other = "def f():\n    raise NotImplementedError\n\n\n"
    after = other + before.replace("second = 2", "second = 3")
    found = moved_by(before, after)
    assert found == {"f": "changed"}
    place = places(before, after)["f"]
    assert place is not None
    assert place.start == 5


def test_a_definition_like_none_of_the_new_twins_is_gone() -> None:
    after = "def f():\n    raise KeyError\n\n\ndef f():\n    raise ValueError\n"
    assert moved_by("def f():\n    return 1\n", after) == {"f": "gone"}


def test_a_file_that_does_not_parse_any_more_keeps_what_stands_there_word_for_word() -> None:
    broken = SHOP.replace('"""The shop."""', ")]} <<<<<<< HEAD\n" * 3)
    found = moved_by(SHOP, broken)
    assert found["post"] == 3
    assert found['"""The shop."""'] == "gone"


NOTES = "# Guide\n\nRead this.\n\n## Install\n\nRun make.\n\n## Use\n\nType it.\n"


def test_sections_of_prose_are_found_by_their_heading_path() -> None:
    after = NOTES.replace("Run make.", "Run make install.\n\nTwice.")
    assert moved_by(NOTES, after, "guide.md") == {"Guide": 0, "Guide > Install": "changed", "Guide > Use": 2}


def test_text_without_names_is_known_by_its_exact_lines() -> None:
    before = "\n".join(f"line {number}" for number in range(60))
    old = stored(outline_file("a.txt", before)[1].parts)
    after = "new\n" + before.replace("line 59", "line sixty")
    found = relocate(old, before.split("\n"), outline_file("a.txt", after)[1].parts, after.split("\n"))
    assert found[1].shift == 1
    assert old[-1].row not in found


def test_lines_that_stand_there_several_times_are_taken_where_they_are_nearest() -> None:
    old = [StoredChunk(1, 1, "gap", "", 1, 3, 4, "", "")]
    after = ["a", "b", "x", "y", "a", "b", "a", "b"]
    assert relocate(old, ["", "", "a", "b"], (), after)[1] == PartNow(1, 2, -2, "", "")


def test_blank_lines_are_never_found_again() -> None:
    assert relocate([StoredChunk(1, 1, "gap", "", 1, 1, 2, "", "")], ["", ""], (), ["", "", ""]) == {}


SOURCE_LINES = st.sampled_from(
    ["def f():", "    return 1", "class A:", "    def g(self):", "        pass", "", "x = 1", "@property", "# note"]
)


@given(st.lists(SOURCE_LINES, min_size=1, max_size=30), st.lists(SOURCE_LINES, min_size=1, max_size=30))
def test_what_has_moved_is_the_same_text_and_what_has_changed_another(before: list[str], after: list[str]) -> None:
    old = stored(outline_file("a.py", "\n".join(before))[1].parts)
    found = relocate(old, before, outline_file("a.py", "\n".join(after))[1].parts, after)
    for part in old:
        place = found.get(part.row)
        if place is None:
            continue
        assert 1 <= place.start <= place.end <= len(after)
        now = after[place.start - 1 : place.end]
        was = "\n".join(before[part.start - 1 : part.end]).strip("\n").split("\n")
        if place.shift is None:
            assert now != was
            assert place.name == part.name
        else:
            assert before[place.start - place.shift - 1 : place.end - place.shift] == now
