"""What is said of candidates that are not shown."""

from __future__ import annotations

from dataclasses import replace

from satchel.answer.omissions import omissions
from satchel.answer.packing import BUDGET, VALUE
from satchel.types import Kind
from tests.answer.examples import of_file, packed, record, section


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
