"""What is compared, what follows a piece, and which passage of a long text is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from satchel.answer.candidates import Candidate, Step, cut_note, file_candidates, record_candidate
from satchel.answer.companions import followers, import_lines, indexed_imports
from satchel.answer.groups import Group
from satchel.answer.packing import BUDGET, VALUE, Inputs, Packing, TextFrame
from satchel.answer.sections import Section
from satchel.answer.source_lines import Lines
from satchel.answer.truncation import ELLIPSIS, LONGEST_UNIT, best_run, excerpt, matches, units_of
from satchel.answer.write import omissions
from satchel.tokens import counter
from satchel.types import Chunk, Detail, Freshness, Hit, Import, Kind, Location, Outline, Role, ScoredSpan

PARAGRAPH = (
    "A connection of the pool is given back when the work is done, also after an error, because an exhausted pool "
    "waits for ever; whoever takes two of them at once may wait for themselves, and a test would never see it."
)
COUNTER = counter("o200k_base")
GUIDE = Outline("python", (), (Import("os", ("os",), 1, 1), Import("json", ("json",), 2, 2)))


def section(kind: Kind, *candidates: Candidate, lines: Mapping[str, Lines] | None = None) -> Section:
    return Section(kind, 1.0, candidates, lines or {}, 100)


def packed(room: int, made: Section, value_range: float = 100.0) -> Packing:
    return Packing(Inputs((made,), COUNTER, TextFrame(), value_range), room).fit()


def record(identity: str, text: str, kind: Kind = Kind.MEMORY, **fields: float) -> Candidate:
    made = record_candidate(Hit(Chunk(identity, kind, identity, ""), 0.5, 1.0), text, fields.get("cap", 400))
    return replace(made, body=text)


def of_file(path: str, text: str, kind: Kind = Kind.DOC, name: str = "", *spans: ScoredSpan) -> tuple[Candidate, Lines]:
    lines = Lines(path, tuple(text.split("\n")))
    location = Location(path, 1, len(lines.lines))
    chunk = Chunk(f"{kind}:{path}{name}", kind, path, "", location=location, role=Role.FUNCTION)
    (made,) = file_candidates(Hit(chunk, 0.5, 1.0, spans), lines, 0 if spans else 10_000)
    return made, lines


def are_twins(one: Candidate, other: Candidate, kind: Kind, *lines: Lines) -> bool:
    """Whether the second is an origin of the first once that is shown."""
    first = replace(one, value=other.value + 1)
    made = section(kind, other, first, lines={text.path: text for text in lines})
    packing = packed(10_000, made)
    assert first in packing.shown
    twins = packing.groups[made][first.group].twins_of(first)
    assert twins in ([], [other])
    assert (other in packing.shown) is not bool(twins)
    return bool(twins)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The pool has nine connections.", "the POOL has nine connections", True),
        ("The pool has nine connections.", "The pool has eight connections.", False),
        ("...", "---", False),
    ],
)
def test_records_are_the_same_when_their_words_are(one: str, other: str, same: bool) -> None:
    assert are_twins(record("memory:1", one), record("memory:2", other), Kind.MEMORY) is same


def test_a_record_is_not_the_twin_of_itself() -> None:
    assert not are_twins(record("memory:1", "The same."), record("memory:1", "The same."), Kind.MEMORY)


def test_a_record_without_a_body_is_compared_by_what_it_shows() -> None:
    one, other = record("memory:1", "The pool waits."), record("memory:2", "The pool waits.")
    assert are_twins(replace(one, body=""), replace(other, body=""), Kind.MEMORY)


def test_prose_that_says_nearly_the_same_is_shown_once_and_records_are_not_merged_for_that() -> None:
    again = PARAGRAPH.replace("never see", "not see")
    (one, lines), (other, more) = of_file("a.md", PARAGRAPH), of_file("b.md", again)
    assert are_twins(one, other, Kind.DOC, lines, more)
    apart, others = of_file("c.md", "Times of the report are converted from UTC before the day is taken. " * 3)
    assert not are_twins(one, apart, Kind.DOC, lines, others)
    assert not are_twins(record("memory:1", PARAGRAPH), record("memory:2", again), Kind.MEMORY)


def test_short_lines_of_prose_that_differ_in_a_number_are_two() -> None:
    (one, lines), (other, more) = of_file("a.md", "Version 1.2.3 is out."), of_file("b.md", "Version 1.2.4 is out.")
    assert not are_twins(one, other, Kind.DOC, lines, more)


def test_of_code_only_white_space_is_folded_and_two_places_of_one_file_are_two() -> None:
    (one, lines), (other, more) = (
        of_file("a.py", "def f():\n    return 1", Kind.CODE),
        of_file("b.py", "def f():\n\treturn 1", Kind.CODE),
    )
    assert are_twins(one, other, Kind.CODE, lines, more)
    assert not are_twins(one, of_file("c.py", "def F():\n    return 1", Kind.CODE)[0], Kind.CODE, lines)
    place, text = of_file("a.py", "def f():\n    return 1", Kind.CODE, "::f")
    assert not are_twins(one, place, Kind.CODE, text)


def test_what_was_taken_back_is_the_twin_of_nothing() -> None:
    one, other = record(f"memory:{'long' * 30}", "The pool waits."), record("memory:2", "The pool waits.")
    one = replace(one, value=other.value + 0.5)
    made = section(Kind.MEMORY, one, other)
    room = 40
    packing = packed(room, made)
    assert packing.shown == {other}  # the first has no room
    packing = packed(1_000, made)
    assert packing.shown == {one}
    packing.take_back(1)
    assert packing.refill(room)
    assert packing.shown == {other}
    assert packing.groups[made][other.group].twins == ()
    assert packing.rejected[made] == {one: BUDGET}


def test_the_units_of_a_text_are_its_lines_and_the_sentences_of_a_long_line() -> None:
    line = "One sentence here. " * 20
    text = f"short\n{line}\n"
    units = units_of(text)
    assert "".join(units) == text
    assert units[0] == "short\n"
    assert units[1] == "One sentence here. "
    endless = "x" * 1_000
    assert [len(unit) for unit in units_of(endless)] == [LONGEST_UNIT] * 4 + [1_000 % LONGEST_UNIT]
    assert max(len(unit) for unit in units_of("word " * 200)) <= LONGEST_UNIT
    wide = "\u6587\u5b57\u3002" * 200
    assert "".join(units_of(wide)) == wide
    assert units_of(wide)[0] == "\u6587\u5b57\u3002"


def test_the_best_run_grows_to_the_better_side_while_there_is_room() -> None:
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 1) == (2, 2)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 2) == (2, 3)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 1, 1], 3) == (1, 3)
    assert best_run([0, 1, 3, 2, 0], [1, 1, 1, 9, 1], 3) == (0, 2)
    assert best_run([2, 0], [9, 1], 3) is None
    assert best_run([], [], 3) is None


def test_without_a_question_a_passage_is_the_beginning() -> None:
    assert matches(["a pool", "b"], frozenset()) == [0, 0]
    text = "\n".join(f"line {number}" for number in range(100))
    assert excerpt(text, frozenset(), 30).startswith("line 0\n")
    assert excerpt(text, frozenset(), 30).endswith(ELLIPSIS)


def test_a_paragraph_on_one_line_is_cut_at_sentences_around_what_was_asked() -> None:
    text = " ".join(f"Sentence {n} is about {'the exhausted pool' if n == 50 else 'weather'}." for n in range(100))
    passage = excerpt(text, frozenset({"pool", "exhaust"}), 200)
    assert "Sentence 50 is about the exhausted pool." in passage
    assert passage.startswith(f"{ELLIPSIS} Sentence ")
    assert len(passage) <= 204
    assert excerpt("x" * 500, frozenset(), 10) == ""
    assert excerpt("short", frozenset(), 10) == "short"


def span(
    text: str, start: int, end: int, path: str = "a.py", *, partial: bool = False
) -> tuple[Candidate, Group, Step]:
    """A shown span of a function that is the whole file, which is not as it was indexed."""
    lines = Lines(path, tuple(text.split("\n")), "now")
    chunk = Chunk(f"code:{path}", Kind.CODE, path, "", location=Location(path, 1, len(lines.lines)))
    (made,) = file_candidates(Hit(chunk, 0.5, 1.0, (ScoredSpan(start, end, 1.0),), partial=partial), lines, 0)
    return made, Group(Kind.CODE, path, lines).admitted(made, made.steps[0], 10), made.steps[0]


def ranges_after(made: tuple[Candidate, Group, Step]) -> list[tuple[int, int]]:
    candidate, group, step = made
    return [span for one in followers(None, frozenset())(candidate, step, group) for span in one.steps[0].ranges]


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
    (whole,) = followers(None, frozenset())(*at_once(span(lines_of(30), 10, 14)))
    (partial,) = followers(None, frozenset())(*at_once(span(lines_of(30), 10, 14, partial=True)))
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
    assert (imports.steps[0].ranges, imports.leader) == (((1, 1),), candidate)
    stale = Lines("a.py", group.lines.lines, marks=(None,) * 5 + (Freshness.STALE,))
    assert needed(stale) == []
    assert import_lines({}, lambda _: GUIDE)(candidate, step) == []
    other = Lines("a.py", group.lines.lines)
    assert import_lines({"a.py": other}, lambda _: Outline("python", ()))(candidate, step) == []
    beside = followers(import_lines({"a.py": group.lines}, lambda _: GUIDE), frozenset())
    assert [one.steps[0].detail for one in beside(candidate, step, group)] == [Detail.LINE, Detail.SPAN]
    assert beside(imports, imports.steps[0], group) == []


def test_the_indexed_imports_are_those_of_an_unchanged_file() -> None:
    fields = {"imports": [["os", ["os"], 1, 1]]}
    chunk = Chunk("code:a.py", Kind.CODE, "a", "", location=Location("a.py", 1, 2, "hash"), fields=fields)
    found = indexed_imports(chunk, Lines("a.py", ("import os", ""), "hash"))
    assert found is not None
    assert found.imports == (Import("os", ("os",), 1, 1),)
    assert indexed_imports(chunk, Lines("a.py", ("import os", ""), "other")) is None


def test_a_longer_passage_follows_a_passage_of_a_record_until_all_is_shown() -> None:
    text = " ".join(f"Sentence {number} is about weather." for number in range(60))
    candidate = record("memory:1", text, cap=100.0)
    follow = followers(None, frozenset())
    group, step, shown = Group(Kind.MEMORY, "memory:1", None), candidate.steps[0], 0
    while True:
        assert step.text.endswith(cut_note(candidate.chunk)) or step.text == text
        assert len(step.text) > shown
        shown = len(step.text)
        longer = follow(candidate, step, group)
        if not longer:
            break
        (candidate,) = longer
        step = candidate.steps[0]
    assert step == Step(Detail.FULL, text=text)


def test_a_record_that_is_shown_by_its_first_line_is_not_continued() -> None:
    candidate = record("memory:1", "First line.\nSecond line.")
    follow = followers(None, frozenset())
    assert follow(candidate, Step(Detail.LINE, text="First line."), Group(Kind.MEMORY, "memory:1", None)) == []


def test_what_is_left_out_is_listed_best_first_with_the_budget_that_would_show_it() -> None:
    rows = [replace(record(f"memory:{number}", f"Record number {number}."), value=float(number)) for number in range(3)]
    made = section(Kind.MEMORY, *rows)
    packing = packed(0, made, value_range=1.5)
    assert packing.rejected[made] == {rows[0]: VALUE, rows[1]: BUDGET, rows[2]: BUDGET}
    found = omissions(packing, 100)
    assert [(one.id, one.reason) for one in found] == [
        ("memory:2", BUDGET),
        ("memory:1", BUDGET),
        ("memory:0", VALUE),
    ]
    assert 100 < found[0].budget < found[1].budget
    assert (found[2].budget, found[2].path, found[2].start) == (0, "", 0)
    file, lines = of_file("a.py", "a = 1\nb = 2", Kind.CODE)
    files = packed(0, section(Kind.CODE, file, lines={"a.py": lines}))
    assert list(files.remaining(files.inputs.sections[0])) == [file]
    ((omission),) = omissions(files, 0)
    assert (omission.path, omission.start, omission.end) == ("a.py", 1, 2)
    assert len(omission.handle) == 8
