"""What is forgotten can be brought back for thirty days, or is removed for good; nothing else is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from satchel import Satchel
from satchel.errors import UsageError
from satchel.memory.memories import Conversations, Memories
from satchel.memory.portable import put_exchanges
from satchel.memory.records import trash_of
from satchel.memory.scope import Notebook
from satchel.operations.operation import Answered
from satchel.operations.registry import OPERATIONS
from satchel.sources.conversations import Exchange
from satchel.testing import HashEmbedder, TinyRepository
from satchel.vocabulary import TRASH_DAYS
from tests.memory.lessons import STORIES, write_story
from tests.memory.samples import CONFIRMED, STARTED
from tests.postgres import environment, server_url

DAY = 86_400


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Begin", {"README.md": "# Shop\n"})
    return made


@pytest.fixture(params=["file", "server"])
def engine(request: pytest.FixtureRequest, repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    """A root whose memory is in a file, or on a server."""
    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)} if request.param == "server" else {}
    with Satchel.open(
        repository.root, environ=environment(tmp_path / "home", **server), embedder=HashEmbedder(dimension=128)
    ) as opened:
        yield opened


def remember(engine: Satchel, **arguments: Any) -> Answered:
    return OPERATIONS["remember"].run(engine, arguments)


def everything(engine: Satchel) -> list[str]:
    return sorted(engine.export_memory())


@pytest.mark.parametrize("for_good", [False, True])
def test_what_was_linked_since_it_was_chosen_is_named_and_can_be_brought_back(engine: Satchel, for_good: bool) -> None:
    old, new = (engine.memories.add(f"The port is {number}").memory.id for number in (80, 443))
    chosen = engine.memory.find([new])
    engine.memories.supersede(old, new)  # as another process may
    assert engine.memory.forget(chosen, for_good=for_good).ids == [new, old]
    assert set(engine.memory.trash().ids) == ({old} if for_good else {new, old})


def test_a_receipt_says_what_went_and_how_it_comes_back(engine: Satchel) -> None:
    kept = engine.memories.add("The queue runs on port 9670", tags=["queue"]).memory
    gone = engine.memories.add("Zebras are striped", importance=0.9).memory
    before = everything(engine)
    answered = remember(engine, action="forget", question="zebra", confirm=True)
    assert answered.envelope["forgotten"] is True
    assert answered.text.startswith(f"forgotten: {gone.id}")
    assert answered.notes == ("`remember` with action restore and its id brings one back within 30 days",)
    assert [memory.id for memory in engine.memories.listed()] == [kept.id]
    assert engine.memories.search("zebras striped") == []
    assert remember(engine, action="list", forgotten=True).text == answered.text
    restored = remember(engine, action="restore", ids=[gone.id])
    assert restored.envelope["forgotten"] is False
    assert restored.notes == ("restored 1",)
    assert everything(engine) == before
    assert [match.memory for match in engine.memories.search("zebras striped")] == [gone]
    assert remember(engine, action="list", forgotten=True).notes == ("nothing was forgotten here in the last days",)


def test_links_of_replaced_memories_come_back(engine: Satchel) -> None:
    first = engine.memories.add("The port is 1").memory
    second = engine.memories.supersede(first.id, "The port is 2").memory
    third = engine.memories.supersede(second.id, "The port is 3").memory
    before = everything(engine)
    engine.memories.forget([second.id])
    assert engine.memories.get(third.id).supersedes == ""
    assert {memory.id for memory in engine.memory.bring_back([second.id]).memories} == {first.id, second.id}
    assert everything(engine) == before
    engine.memories.forget([third.id])
    (only,) = engine.memory.bring_back([first.id]).memories
    assert engine.memories.get(only.id).superseded_by == "", "what replaced it is still in the trash, so it is current"
    assert engine.memory.bring_back([third.id]).ids == [third.id, second.id]
    assert engine.memories.get(third.id).supersedes == second.id


def test_experiences_come_back_with_what_rests_on_them(engine: Satchel) -> None:
    ids = write_story(engine.experiences, "cache", 12)
    for story in ("database", "timezone"):
        write_story(engine.experiences, story, 12)
    engine.embed()
    groups = [group for grouping in engine.values.cluster("full") for group in grouping.clusters]
    group = next(group for group in groups if ids[0] in group.members)
    value = engine.values.accept(STORIES["cache"][1], group.id)
    gone = value.member_ids[:2]
    remember(engine, action="forget", ids=[*gone])
    assert engine.values.get(value.id).cluster_size == value.cluster_size - 2
    remember(engine, action="restore", ids=[*gone])
    again = engine.values.get(value.id)
    assert sorted(again.member_ids) == sorted(value.member_ids)
    assert replace(again, member_ids=()) == replace(value, member_ids=())
    remember(engine, action="forget", ids=[value.id])
    assert engine.values.listed() == []
    assert remember(engine, action="restore", ids=[value.id]).envelope["values"][0]["id"] == value.id
    assert engine.values.get(value.id) == again


def test_an_active_experience_comes_back_unless_its_session_has_another(engine: Satchel) -> None:
    first = engine.experiences.start(**STARTED, session="s").experience
    engine.experiences.forget([first.id])
    second = engine.experiences.start(**STARTED, session="s").experience
    with pytest.raises(UsageError, match="session 's' has another active experience: resolve it first"):
        engine.memory.bring_back([first.id])
    engine.experiences.resolve(**CONFIRMED, session="s")
    assert engine.memory.bring_back([first.id]).experiences == [first]
    assert {one.id: one.status for one in engine.experiences.listed()} == {first.id: "active", second.id: "confirmed"}


def test_an_origin_comes_back_with_its_conversations(engine: Satchel) -> None:
    memory = engine.memories.add("From the meeting", origin="meeting").memory
    engine.memory.remember_exchanges([Exchange("a", "1", 1.0, "who deploys?", ("Ann",))], origin="meeting")
    before = everything(engine)
    gone = remember(engine, action="forget", origin="meeting", confirm=True).subject
    assert len(gone) == 2
    assert engine.conversations.listed() == []
    assert remember(engine, action="restore", ids=[f"conversation:{gone[1]}", memory.id]).subject == gone
    assert everything(engine) == before


@pytest.mark.parametrize("is_in_trash", [True, False])
def test_for_good_leaves_nothing_to_bring_back(engine: Satchel, is_in_trash: bool) -> None:
    memory = engine.memories.add("The canary is called tunafish").memory
    if is_in_trash:
        remember(engine, action="forget", ids=[memory.id])
    answered = remember(engine, action="forget", ids=[memory.id], for_good=True)
    assert answered.text.startswith(f"forgotten: {memory.id}")
    assert answered.notes == ()
    with pytest.raises(
        UsageError, match=f"{memory.id}' is not in the trash: what is forgotten stays there for 30 days"
    ):
        remember(engine, action="restore", ids=[memory.id])
    assert engine.memory_store.metas("trash:") == {}


def test_restoring_needs_ids_and_the_trash_has_no_filters(engine: Satchel) -> None:
    with pytest.raises(UsageError, match="give the ids to restore"):
        remember(engine, action="restore")
    with pytest.raises(UsageError, match="category does not apply to what is forgotten"):
        remember(engine, action="list", forgotten=True, category="fact")
    assert engine.memory.trash().ids == []


def test_what_an_import_stored_anew_is_not_in_the_trash(engine: Satchel) -> None:
    memory = engine.memories.add("Imported again").memory
    lines = [line.encode() for line in engine.export_memory()]
    engine.memories.forget([memory.id])
    engine.import_memory(lines)
    assert engine.memory.trash().ids == []
    remember(engine, action="forget", ids=[memory.id], for_good=True)
    assert engine.memories.listed() == []
    assert engine.memory_store.metas("trash:") == {}


def test_after_thirty_days_the_trash_is_emptied_from_the_file_too(notebook: Notebook, tmp_path: Path) -> None:
    gone = Memories(notebook).add("The canary is called tunafish").memory
    put_exchanges([Exchange("a", "1", 1.0, "said")], notebook, origin="talk")
    Memories(notebook).forget([gone.id])
    Conversations(notebook).forget([remark.id for remark in Conversations(notebook).listed()])
    assert len(trash_of(notebook.store)) == 2
    for days, left in ((TRASH_DAYS - 1, 2), (TRASH_DAYS + 1, 0)):
        moment = notebook.clock() + days * DAY
        Memories(structs.replace(notebook, clock=partial(float, moment))).add(f"Later by {days} days")
        assert len(trash_of(notebook.store)) == left
    assert not any(b"tunafish" in path.read_bytes() for path in tmp_path.rglob("memory*.db*"))


def test_the_trash_moves_with_its_folder(tmp_path: Path, repository: TinyRepository) -> None:
    home = environment(tmp_path / "home")
    with Satchel.open(repository.root, environ=home) as before:
        kept, gone = (before.memories.add(text).memory for text in ("It stays", "It goes"))
        before.memories.forget([gone.id])
    moved = repository.root.rename(tmp_path / "renamed")
    with Satchel.open(moved, environ=home) as after:
        assert after.memory.trash().ids == []
        after.memory.move(repository.root)
        assert after.memory.trash().ids == [gone.id]
        after.memory.bring_back([gone.id])
        assert {memory.id for memory in after.memories.listed()} == {kept.id, gone.id}


def test_random_operations_lose_nothing_that_was_not_named(repository: TinyRepository, tmp_path: Path) -> None:
    """Two doors to one file: what is there and what is in the trash is always what was said to them."""
    draw, home = random.Random(7), environment(tmp_path / "home")
    here: dict[str, str] = {}
    gone: dict[str, str] = {}
    with Satchel.open(repository.root, environ=home) as first, Satchel.open(repository.root, environ=home) as second:
        for step in range(200):
            door, action = draw.choice([first, second]), draw.choice(["add", "supersede", "forget", "restore"])
            memories, current = door.memories, door.memories.listed()
            if action == "add" or not current:
                new = memories.add(f"Note {step} of the harbour").memory
                here[new.id] = new.content
            elif action == "supersede":
                new = memories.supersede(draw.choice(current).id, f"Note {step} of the river").memory
                here[new.id] = new.content
            elif action == "forget":
                for memory in memories.forget([draw.choice(current).id]):
                    gone[memory.id] = here.pop(memory.id)
            elif gone:
                for identity in door.memory.bring_back([draw.choice([*gone])]).ids:
                    here[identity] = gone.pop(identity)
            assert {memory.id: memory.content for memory in memories.listed(superseded=True)} == here
            assert {*door.memory.trash().ids} == gone.keys()


def test_records_that_replaced_each_other_at_different_times_come_back(engine: Satchel) -> None:
    first = engine.memories.add("The port is 1").memory
    second = engine.memories.supersede(first.id, "The port is 2").memory
    engine.memory.forget(engine.memory.find([second.id]))
    engine.memory.bring_back([first.id])
    third = engine.memories.add("The port is 3").memory
    engine.memories.supersede(third.id, first.id)
    engine.memory.forget(engine.memory.find([first.id]))
    assert engine.memory.bring_back([second.id]).ids[0] == second.id
    assert {memory.id for memory in engine.memories.listed(superseded=True)} >= {first.id, second.id}
