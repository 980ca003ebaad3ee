from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.services import receipts as handles_module
from satchel.services.receipts import HandleLedger, handles_of
from satchel.types import HandleTarget, Kind
from tests.e2e.test_question import QUESTION


def row(number: int) -> HandleTarget:
    return HandleTarget(
        f"h{number:07d}", Kind.CODE, f"code:a.py::f{number}", "a.py", f"f{number}", "hash", ((number, number + 1),)
    )


def test_what_was_recorded_is_found_again(tmp_path: Path) -> None:
    handles = HandleLedger(tmp_path / "state" / "shop.jsonl")
    handles.record([row(1), row(2)])
    assert handles.find(["h0000001", "nothing1"]) == {"h0000001": row(1)}


def test_a_line_of_an_earlier_version_is_read_and_several_ranges_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    path.write_text('["h0000001","code","code:a.py::f1","a.py","f1","hash",[[1,2]]]\n')
    several = HandleTarget("several1", Kind.CODE, "code:a.py::f", "a.py", "f", "hash", ((90, 99), (1, 40)))
    HandleLedger(path).record([several])
    assert HandleLedger(path).find(["h0000001", "several1"]) == {"h0000001": row(1), "several1": several}


def test_a_ledger_that_does_not_exist_yet_knows_nothing(tmp_path: Path) -> None:
    assert HandleLedger(tmp_path / "none.jsonl").find(["h0000001"]) == {}


def test_the_latest_meaning_of_a_handle_wins(tmp_path: Path) -> None:
    handles = HandleLedger(tmp_path / "shop.jsonl")
    handles.record([HandleTarget("same0000", Kind.CODE, "code:a.py", "a.py")])
    handles.record([HandleTarget("same0000", Kind.DOC, "doc:b.md", "b.md")])
    assert handles.find(["same0000"])["same0000"].path == "b.md"


def test_lines_that_a_crash_cut_in_two_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    handles = HandleLedger(path)
    handles.record([row(1)])
    path.write_bytes(path.read_bytes() + b'["h000\n[1]\n["a","moon","x","","","",[]]\n')
    handles.record([row(2)])
    assert set(handles.find(["h0000001", "h0000002"])) == {"h0000001", "h0000002"}


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "shop.jsonl"
    HandleLedger(path).record([row(1)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_older_half_is_forgotten_when_it_grows_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles_module, "MAX_BYTES", 4_000)
    path = tmp_path / "shop.jsonl"
    handles = HandleLedger(path)
    for number in range(200):
        handles.record([row(number)])
    assert path.stat().st_size <= 4_000
    assert handles.find(["h0000199"])
    assert not handles.find(["h0000000"])
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    handles = HandleLedger(tmp_path / "shop.jsonl")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: handles.record([row(number)]), range(100)))
    assert len(handles.find([f"h{number:07d}" for number in range(100)])) == 100


def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    HandleLedger(blocked / "shop.jsonl").record([row(1)])
    assert "handles not remembered" in capsys.readouterr().err


def test_every_item_cut_and_omission_of_an_answer_has_a_handle_that_is_known(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, max_tokens=200)
    given = handles_of(context)
    assert {item.handle for item in context.items} <= {one.handle for one in given}
    assert {out.handle for out in context.overflow} <= {one.handle for one in given}
    assert all(len(one.handle) == 8 for one in given)
    assert satchel.receipts.handles.find([one.handle for one in given]).keys() == {one.handle for one in given}


def test_questions_that_are_asked_only_to_learn_something_leave_no_handles(satchel: Satchel) -> None:
    satchel.index()
    context = satchel.answers.unrecorded(satchel.request(QUESTION))
    assert context.items
    assert not satchel.receipts.handles.find([item.handle for item in context.items])


def test_only_what_an_answer_shows_is_counted_and_what_it_left_out_is_expanded_all_the_same(satchel: Satchel) -> None:
    for day in ("Monday", "Tuesday", "Thursday"):
        satchel.memories.add(
            f"The deploy of {day} takes four minutes and {len(day)} seconds, unless the mirror is slow"
        )
    context = satchel.assemble("how long does the deploy take?", types=["memories"], max_tokens=100)
    assert context.items
    assert context.overflow
    counts = satchel.receipts.handles.shown(Kind.MEMORY)
    assert counts == {item.id.removeprefix("memory:"): 1 for item in context.items}
    (expanded,) = satchel.expand([context.overflow[0].handle]).items
    assert expanded.id == context.overflow[0].id
    assert satchel.receipts.handles.shown(Kind.MEMORY) == counts
