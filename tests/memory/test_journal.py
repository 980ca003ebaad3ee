from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import UsageError
from satchel.memory.journal import Journal
from satchel.memory.memories import Memories
from satchel.memory.scope import Notebook
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.memory.conftest import ELSEWHERE, HERE, MakeNotebook
from tests.memory.samples import CONFIRMED, FALSIFIED, STARTED


def test_an_experience_lives_from_start_to_resolution(notebook: Notebook) -> None:
    journal = Journal(notebook)
    begun = journal.start(**STARTED).experience
    assert (begun.status, begun.iteration_count, begun.session_id, begun.workspace) == ("active", 1, "default", HERE)
    assert journal.active() == begun
    changed = journal.update(hypothesis="A forgotten handle closes the session when it is collected")
    assert changed.iteration_count == 2
    assert [attempt.hypothesis for attempt in changed.history] == [STARTED["hypothesis"]]
    assert changed.action == STARTED["action"]
    journal.note("only when the pool is full")
    done = journal.resolve(**FALSIFIED)
    assert (done.status, done.confidence_tier, done.notes) == ("falsified", "silver", ("only when the pool is full",))
    assert done.outcome is not None
    assert not done.outcome.auto_captured
    assert journal.active() is None
    assert journal.get(done.id) == done
    assert journal.get(f"experience:{done.id}::surprise") == done
    assert journal.listed() == [done]


def test_an_active_experience_is_not_found_by_questions(notebook: Notebook) -> None:
    Journal(notebook).start(**STARTED)
    assert notebook.store.kinds() == {}
    Journal(notebook).resolve(**CONFIRMED)
    assert notebook.store.kinds() == {Kind.EXPERIENCE: 2}


def test_a_new_strategy_alone_is_no_new_attempt(notebook: Notebook) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    changed = journal.update(strategy="read-the-error")
    assert (changed.strategy, changed.iteration_count, changed.history) == ("read-the-error", 1, ())
    with pytest.raises(UsageError, match="nothing to update"):
        journal.update()


def test_a_second_start_is_refused_and_names_what_is_active(notebook: Notebook) -> None:
    journal = Journal(notebook)
    begun = journal.start(**STARTED).experience
    with pytest.raises(UsageError, match=f"{begun.id}: {begun.goal}"):
        journal.start(**STARTED)
    other = journal.start(**STARTED, session="night")
    assert [orphan.id for orphan in other.orphans] == [begun.id]
    assert journal.orphans() == [other.experience]
    assert {experience.id for experience in journal.listed(outcome="active")} == {begun.id, other.experience.id}


def test_each_repository_has_its_own_default_session(make_notebook: MakeNotebook) -> None:
    here, elsewhere = Journal(make_notebook(HERE)), Journal(make_notebook(ELSEWHERE))
    mine = here.start(**STARTED).experience
    theirs = elsewhere.start(**STARTED)
    assert theirs.orphans == ()
    here.resolve(**CONFIRMED)
    assert elsewhere.active() == theirs.experience
    assert [experience.id for experience in here.listed()] == [mine.id]
    assert elsewhere.get(mine.id).id == mine.id, "what is asked for by its id is found"


@pytest.mark.parametrize("call", ["update", "note", "resolve", "require_active"])
def test_nothing_is_changed_where_nothing_is_active(notebook: Notebook, call: str) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED, session="night")
    calls: dict[str, Callable[[], object]] = {
        "update": lambda: journal.update(action="look again"),
        "note": lambda: journal.note("hm"),
        "resolve": lambda: journal.resolve(**CONFIRMED),
        "require_active": journal.require_active,
    }
    with pytest.raises(UsageError, match=r"session 'default' has no active experience; active in session 'night'"):
        calls[call]()


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("surprise", r"was surprising \(surprise\)$"),
        ("root_cause", "the root cause has no category: choose root_cause from wrong-assumption"),
        ("root_cause_description", r"its description \(root_cause_description\)$"),
    ],
)
def test_a_falsified_hypothesis_needs_its_reason_by_hand(notebook: Notebook, missing: str, message: str) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    output = {name: text for name, text in FALSIFIED.items() if name != missing}
    with pytest.raises(UsageError, match=message):
        journal.resolve(**output)
    assert journal.active() is not None, "nothing is lost"


def test_a_falsified_hypothesis_without_any_reason_is_told_all_that_is_missing(notebook: Notebook) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    with pytest.raises(
        UsageError, match=r"\(surprise\).*\(root_cause, one of .*timing-issue.*\(root_cause_description\)"
    ):
        journal.resolve(status="falsified", result="no")


def test_a_captured_outcome_needs_no_reason_and_is_gold(notebook: Notebook) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    done = journal.resolve(status="falsified", result="pytest ended with 1", auto_captured=True)
    assert (done.confidence_tier, done.surprise, done.root_cause) == ("gold", "", None)


def test_an_abandoned_experience_has_its_own_tier(notebook: Notebook) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    assert journal.resolve(status="abandoned", result="the bug report was withdrawn").confidence_tier == "abandoned"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"status": "done"}, "choose from confirmed, falsified, abandoned"),
        ({"result": ""}, "the result is empty"),
        ({"result": "x" * 2001}, "2,001 characters, at most 2,000"),
        ({"takeaway": "T"}, "a takeaway needs a lesson"),
        ({"root_cause": "bad-luck"}, "unknown root cause 'bad-luck'"),
    ],
)
def test_an_impossible_resolution_is_refused(notebook: Notebook, change: dict[str, Any], text: str) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    with pytest.raises(UsageError, match=text):
        journal.resolve(**(CONFIRMED | change))
    assert journal.active() is not None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"domain": "optimization"}, "unknown domain 'optimization'.*debugging, refactoring"),
        ({"strategy": "root_cause_analysis"}, "did you mean root-cause-analysis"),
        ({"goal": " "}, "the goal is empty"),
        ({"hypothesis": "x" * 1001}, "the hypothesis has 1,001 characters, at most 1,000"),
        ({"session": " "}, "the session is empty"),
    ],
)
def test_an_impossible_start_is_refused(notebook: Notebook, change: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Journal(notebook).start(**(STARTED | change))
    assert Journal(notebook).listed() == []


def test_the_list_takes_every_filter(notebook: Notebook) -> None:
    journal = Journal(notebook)
    journal.start(**STARTED)
    first = journal.resolve(**FALSIFIED)
    journal.start(**(STARTED | {"domain": "testing", "strategy": "ask-user", "hypothesis": "it will work"}))
    second = journal.resolve(**CONFIRMED)
    assert [experience.id for experience in journal.listed()] == [second.id, first.id]
    assert journal.listed(domain="testing") == journal.listed(strategy="ask-user") == [second]
    assert journal.listed(outcome="falsified") == journal.listed(tier="silver") == [first]
    assert journal.listed(tier="bronze") == journal.listed(since=second.created) == journal.listed(limit=1) == [second]
    with pytest.raises(UsageError, match="choose from active, confirmed"):
        journal.listed(outcome="won")
    with pytest.raises(UsageError, match="there is no experience 'ghap_zzz'"):
        journal.get("ghap_zzz")


def test_of_many_that_start_at_once_in_one_session_one_wins(make_notebook: MakeNotebook) -> None:
    make_notebook()  # the file exists
    refused: list[UsageError] = []

    def begin() -> None:
        try:
            Journal(make_notebook()).start(**STARTED)
        except UsageError as error:
            refused.append(error)

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert len(Journal(make_notebook()).listed(outcome="active")) == 1


def test_words_are_merged_while_experiences_pile_up(notebook: Notebook) -> None:
    journal, memories = Journal(notebook), Memories(notebook)
    for number in range(20):
        journal.start(**STARTED)
        journal.resolve(**CONFIRMED)
        memories.add(f"fact number {number}")
    assert isinstance(notebook.store, SqliteStore)
    counted = notebook.store._rows("SELECT kind, count(*) FROM segments GROUP BY kind")
    assert all(count <= 9 for _, count in counted), counted
    assert len(memories.search("fact", limit=50)) == len(journal.listed()) == 20


def test_an_active_experience_of_another_repository_is_not_suggested(make_notebook: MakeNotebook) -> None:
    other = Journal(make_notebook(ELSEWHERE)).start(**STARTED).experience
    with pytest.raises(UsageError) as refused:
        Journal(make_notebook()).get(other.id[:-1])
    assert other.id not in str(refused.value)
    assert Journal(make_notebook()).get(other.id) == other


def test_an_experience_keeps_the_files_that_it_is_about(notebook: Notebook) -> None:
    journal = Journal(notebook)
    begun = journal.start(**STARTED, files=["src/*.py"]).experience
    journal.touch(begun.id, ["src/pool.py", "src/pool.py", "odd[1].py"])
    done = journal.resolve(**FALSIFIED, files=["tests/"])
    assert done.files == ("src/*.py", "src/pool.py", "odd[[]1].py", "tests/")
    assert journal.correct(done.id, files=["docs/"]).files == (*done.files, "docs/")
    with pytest.raises(UsageError, match="leads outside"):
        journal.correct(done.id, files=["../elsewhere"])
    journal.start(**STARTED)
    journal.touch(str(journal.require_active().id), [f"{number}.py" for number in range(80)])
    assert len(journal.require_active().files) == 50
