"""What follows a piece that is shown."""

from __future__ import annotations

from satchel.answer.candidates import Candidate, Step
from satchel.answer.companions import companion_finder, import_lines, indexed_imports
from satchel.answer.file_candidates import file_candidates
from satchel.answer.record_candidates import cut_note
from satchel.answer.sections import Group
from satchel.answer.source_lines import Lines
from satchel.answer.text_lines import TextLines
from satchel.types import Chunk, Detail, Freshness, Hit, Import, Kind, Location, Outline, ScoredSpan
from tests.answer.examples import record

GUIDE = Outline("python", (), (Import("os", ("os",), 1, 1), Import("json", ("json",), 2, 2)))


def span(
    text: str, start: int, end: int, path: str = "a.py", *, partial: bool = False
) -> tuple[Candidate, Group, Step]:
    """A shown span of a function that is the whole file, which is not as it was indexed."""
    lines = Lines(path, TextLines(text), "now")
    chunk = Chunk(f"code:{path}", Kind.CODE, path, "", location=Location(path, 1, len(lines.lines)))
    (made,) = file_candidates(Hit(chunk, 0.5, 1.0, (ScoredSpan(start, end, 1.0),), partial=partial), lines, 0)
    return made, Group(Kind.CODE, path, lines).admitted(made, made.steps[0], 10), made.steps[0]


def ranges_after(made: tuple[Candidate, Group, Step]) -> list[tuple[int, int]]:
    candidate, group, step = made
    return [span for one in companion_finder(None, frozenset())(candidate, step, group) for span in one.steps[0].ranges]


def lines_of(count: int) -> str:
    return "\n".join(f"value_{number} = step({number})" for number in range(count))


def test_the_rest_of_a_small_function_follows_its_span_and_of_a_large_one_only_gaps() -> None:
    assert ranges_after(span(lines_of(30), 10, 14)) == [(1, 9), (15, 30)]
    assert ranges_after(span(lines_of(30), 1, 30)) == []
    assert ranges_after(span(lines_of(100), 10, 14)) == []
    made, group, step = span(lines_of(100), 10, 14)
    other = span(lines_of(100), 40, 44)
    assert ranges_after((made, group.admitted(other[0], other[2], 10), step)) == [(15, 39)]


def test_blank_lines_are_nothing_that_follows() -> None:
    assert ranges_after(span("a = 1\n\n\n\n\n\nb = 2", 1, 1)) == [(2, 7)]
    made, group, step = span("a = 1\n\n\n\n\n\n\nb = 2", 1, 1)
    assert ranges_after((made, group.admitted(made, Step(Detail.SPAN, ((8, 8),)), 1), step)) == []


def test_the_function_around_a_call_that_was_asked_about_comes_after_every_call() -> None:
    (whole,) = companion_finder(None, frozenset())(*at_once(span(lines_of(30), 10, 14)))
    (partial,) = companion_finder(None, frozenset())(*at_once(span(lines_of(30), 10, 14, partial=True)))
    assert partial.value < whole.value


def at_once(made: tuple[Candidate, Group, Step]) -> tuple[Candidate, Step, Group]:
    return made[0], made[2], made[1]


def test_imports_follow_what_uses_them_unless_the_text_is_of_former_times() -> None:
    text = "import os\nimport json\n\ndef f():\n    return os.name\n"
    candidate, group, step = span(text, 4, 5)
    assert group.lines is not None

    def needed(lines: Lines) -> list[Candidate]:
        return import_lines({lines.path: lines}, lambda _: GUIDE)(candidate, step)

    (imports,) = needed(group.lines)
    assert (imports.steps[0].ranges, imports.companion_of) == (((1, 1),), candidate)
    stale = Lines("a.py", group.lines.lines, marks=(None,) * 5 + (Freshness.STALE,))
    assert needed(stale) == []
    assert import_lines({}, lambda _: GUIDE)(candidate, step) == []
    other = Lines("a.py", group.lines.lines)
    assert import_lines({"a.py": other}, lambda _: Outline("python", ()))(candidate, step) == []
    beside = companion_finder(import_lines({"a.py": group.lines}, lambda _: GUIDE), frozenset())
    assert [one.steps[0].detail for one in beside(candidate, step, group)] == [Detail.LINE, Detail.SPAN]
    assert beside(imports, imports.steps[0], group) == []


def test_the_indexed_imports_are_those_of_an_unchanged_file() -> None:
    fields = {"imports": [["os", ["os"], 1, 1]]}
    chunk = Chunk("code:a.py", Kind.CODE, "a", "", location=Location("a.py", 1, 2, "hash"), fields=fields)
    found = indexed_imports(chunk, Lines("a.py", TextLines("import os\n"), "hash"))
    assert found is not None
    assert found.imports == (Import("os", ("os",), 1, 1),)
    assert indexed_imports(chunk, Lines("a.py", TextLines("import os\n"), "other")) is None


def test_a_longer_passage_follows_a_passage_of_a_record_until_all_is_shown() -> None:
    text = " ".join(f"Sentence {number} is about weather." for number in range(60))
    candidate = record("memory:1", text, cap=100.0)
    find_companions = companion_finder(None, frozenset())
    group, step, shown = Group(Kind.MEMORY, "memory:1", None), candidate.steps[0], 0
    while True:
        assert step.text.endswith(cut_note(candidate.chunk)) or step.text == text
        assert len(step.text) > shown
        shown = len(step.text)
        longer = find_companions(candidate, step, group)
        if not longer:
            break
        (candidate,) = longer
        step = candidate.steps[0]
    assert step == Step(Detail.FULL, text=text)


def test_a_record_that_is_shown_by_its_first_line_is_not_continued() -> None:
    candidate = record("memory:1", "First line.\nSecond line.")
    find_companions = companion_finder(None, frozenset())
    assert find_companions(candidate, Step(Detail.LINE, text="First line."), Group(Kind.MEMORY, "memory:1", None)) == []
