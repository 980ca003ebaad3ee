"""What a call of a tool says of the situation that it is made in."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from satchel.guidance.situation import make_situation
from satchel.results.tools import LONGEST_VALUE, MAX_VALUES, call_situation
from satchel.system.threads import Threads


def test_task_words_files_and_tags_are_found_in_the_parameters() -> None:
    result = call_situation(
        "edit", {"query": "why?", "task": " ", "intent": "fix", "paths": ["b.py", 3], "path": "a.py", "tags": ["x"]}
    )
    assert result["tool"] == "edit"
    assert (result["task"], result["intent"], result["tags"]) == ("why?", "fix", ["x"])
    assert result["files"] == ["a.py", "b.py"]
    assert make_situation(result).files == ("a.py", "b.py")


def test_a_parameter_of_another_kind_says_nothing() -> None:
    result = call_situation("edit", {"task": 3, "intent": None, "tags": "x", "error": ["a"], "path": 7})
    assert result == {"tool": "edit", "params": {"task": 3, "intent": None, "tags": "x", "error": ["a"], "path": 7}}


@pytest.mark.parametrize(
    ("value", "file"),
    [
        ("{root}/src/a.py", "src/a.py"),
        ("file://{root}/src/a%20b.py", "src/a b.py"),
        ("{root}/src/../c.py", "c.py"),
        ("{root}", None),
        ("/somewhere/else.py", None),
        ("https://example.org/a.py", None),
        ("two\nlines", None),
        ("src/a.py", "src/a.py"),
    ],
)
def test_paths_become_relative_to_the_root(tmp_path: Path, value: str, file: str | None) -> None:
    result = call_situation("read", {"path": value.format(root=tmp_path)}, tmp_path)
    assert result.get("files") == (None if file is None else [file])


def test_a_root_behind_a_link_holds_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    result = call_situation("read", {"path": str(tmp_path / "real" / "a.py")}, tmp_path / "link")
    assert result["files"] == ["a.py"]


def test_values_become_plain_and_short() -> None:
    result = call_situation(
        "edit",
        {"path": Path("a.py"), "text": "x" * 9_000, "many": [*range(1_000)], "odd": object(), "deep": {1: ("a",)}},
    )["params"]
    assert result["path"] == "a.py"
    assert len(result["text"]) == LONGEST_VALUE + 1
    assert len(result["many"]) < MAX_VALUES
    assert result["odd"] == "<object>"
    assert result["deep"] in ({}, {"1": ["a"]})
    assert call_situation("t", {"deep": {1: ("a",)}})["params"] == {"deep": {"1": ["a"]}}


def test_the_context_itself_is_no_parameter() -> None:
    assert call_situation("t", {"_context": object(), "a": 1})["params"] == {"a": 1}


def test_threads_do_the_work_in_order_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.system.threads.IDLE_SECONDS", 0.01)
    before = {*threading.enumerate()}
    daemons, order = Threads(1), list[int]()
    jobs = [daemons.submit(lambda number=number: order.append(number)) for number in range(5)]
    for job in jobs:
        job.result(300)
    assert order == [0, 1, 2, 3, 4]
    for thread in {*threading.enumerate()} - before:
        thread.join(300)
        assert not thread.is_alive()
    assert daemons.submit(lambda: 7).result(300) == 7
    assert daemons.busy == 0


def test_work_that_was_given_up_is_not_begun() -> None:
    daemons, go, begun = Threads(1), threading.Event(), list[int]()
    first = daemons.submit(go.wait)
    second = daemons.submit(lambda: begun.append(1))
    assert second.cancel()
    go.set()
    first.result(300)
    assert daemons.submit(lambda: "next").result(300) == "next"
    assert begun == []


def test_what_the_work_raises_reaches_whoever_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        Threads(2).submit(lambda: 1 / 0).result(300)
