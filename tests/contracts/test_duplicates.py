"""The same thing seen twice is one thing: through the real writer, store, search and assembler."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.memory.model import Value
from satchel.memory.records import document_of
from satchel.testing import TinyRepository
from satchel.types import Context, ContextItem
from tests.eval_data import data_file
from tests.postgres import move_home

NOW = 1_800_000_000.0
WIDE: Mapping[str, Any] = {"max_tokens": 20_000, "limit": 50, "min_score": 0.0, "now": NOW}

PARAGRAPH = (
    "Orders are sent again with exponential backoff when the connection to the payment server drops in the middle of a "
    "request, at most five times, and every attempt carries the same key so that nothing is charged twice."
)
EDITED = PARAGRAPH.replace("at most five times", "up to six times").replace("nothing is", "nobody is")
FUNCTION = '''def backoff(attempt: int) -> float:
    """Seconds to wait before the next attempt of an order."""
    return min(0.1 * 2**attempt, 30.0)
'''


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyRepository:
    move_home(monkeypatch, tmp_path / "home")
    return TinyRepository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        yield opened


def one(context: Context, source: str) -> ContextItem:
    (item,) = [item for item in context.items if item.source == source]
    return item


def mark(number: int) -> str:
    """A word of its own for each pair."""
    letters = string.ascii_lowercase
    return "zqx" + "".join(letters[(number // 26**place) % 26] for place in range(3))


def test_paragraphs_that_differ_are_never_merged(repository: TinyRepository, satchel: Satchel) -> None:
    """None of 400 labelled pairs is one item: even those that say nearly the same differ in a word."""
    rows = [json.loads(line) for line in data_file("neardup.jsonl").read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        repository.write({f"docs/{mark(number)}/{side}.md": f"{row[side]}\n" for side in ("a", "b")})
    satchel.index()
    for number, row in enumerate(rows):
        items = satchel.assemble(mark(number), types=["docs"], refresh=False, **WIDE).items
        paths = {origin.partition(":")[2].partition("#")[0] for item in items for origin in item.origins}
        assert paths == {f"docs/{mark(number)}/{side}.md" for side in ("a", "b")}
        assert len(items) == 2 - (" ".join(row["a"].split()) == " ".join(row["b"].split()))


CHANGES = (("five", "nine"), ("not", "now"), ("Ada", "Bob"), ("5432", "6432"), ("1.2.3", "1.2.4"))


def test_100_texts_that_differ_in_a_number_name_or_negation_are_all_shown(
    repository: TinyRepository, satchel: Satchel
) -> None:
    for number in range(100):
        before, after = CHANGES[number % len(CHANGES)]
        text = f"{mark(number)} {PARAGRAPH} Port 5432 of version 1.2.3 is for Ada and not for more than five users."
        for side, said in (("a", text), ("b", text.replace(f" {before} ", f" {after} "))):
            repository.write({f"docs/{mark(number)}/{side}.md": f"{said}\n"})
    satchel.index()
    for number in range(100):
        items = satchel.assemble(mark(number), types=["docs"], refresh=False, **WIDE).items
        own = [item for item in items if f"docs/{mark(number)}/" in item.id]
        assert len(own) == 2


def test_two_functions_of_one_file_are_not_duplicates(repository: TinyRepository, satchel: Satchel) -> None:
    indented = "\n".join(f"    {line}" if line else "" for line in FUNCTION.split("\n"))
    repository.write({"src/waits.py": f"class Order:\n{indented}\n\nclass Refund:\n{indented}\n"})
    item = one(satchel.assemble("backoff attempt of an order", types=["code"], purpose="edit", **WIDE), "code")
    assert item.content.count("def backoff") == 2


def test_code_is_a_duplicate_only_when_it_is_equal(repository: TinyRepository, satchel: Satchel) -> None:
    repository.write({"src/a.py": FUNCTION, "src/b.py": FUNCTION.replace("30.0", "60.0")})
    context = satchel.assemble("backoff attempt of an order", types=["code"], **WIDE)
    assert {item.title for item in context.items} == {"src/a.py", "src/b.py"}


def test_equal_code_of_several_files_is_shown_once_and_its_places_are_told(
    repository: TinyRepository, satchel: Satchel
) -> None:
    languages = ("de", "fr", "it", "nl", "pl", "pt", "sv", "tr")
    files = {f"locale/{name}.py": f'NAME = "{name}"\n\n\n{FUNCTION}' for name in languages}
    repository.write(files)
    context = satchel.assemble("backoff attempt of an order", types=["code"], **WIDE)
    (shown,) = [item for item in context.items if "def backoff" in item.content]
    places = shown.metadata["also_at"]
    assert {shown.title, *(place["path"] for place in places)} == set(files)
    assert {(place["start_line"], place["end_line"], place["of_line"]) for place in places} == {(4, 6, 4)}
    assert {f"code:{place['path']}::backoff" for place in places} <= set(shown.origins)
    line = next(line for line in context.text.split("\n") if line.startswith("Also at: "))
    assert line.startswith(f"Also at: {shown.title}:4 = locale/")
    assert line.count(":4-6") == 5
    assert line.endswith(" and 2 more")
    assert context.usage.used <= context.usage.limit


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
def test_other_places_are_told_in_every_format_inside_the_budget(
    repository: TinyRepository, satchel: Satchel, layout: str
) -> None:
    from satchel.tokens import counter

    repository.write({f"locale/{name}.py": FUNCTION for name in "abc"})
    context = satchel.assemble("backoff attempt", types=["code"], format=layout, max_tokens=200, now=NOW)
    assert context.text.count("def backoff") == 1
    assert "locale/" in context.text.split("def backoff")[1]
    assert counter("o200k_base").count(context.text) == context.usage.used <= 200


def test_short_texts_are_duplicates_only_when_equal(satchel: Satchel) -> None:
    for said in (
        "Deploy version 1.2.3 of the shop",
        "Deploy version 1.2.4 of the shop",
        "Deploy  version 1.2.3 of the shop",
    ):
        satchel.memories.add(said)
    items = satchel.assemble("deploy version shop", types=["memories"], **WIDE).items
    assert sorted(" ".join(item.content.split()) for item in items) == [
        "Deploy version 1.2.3 of the shop", "Deploy version 1.2.4 of the shop",
    ]  # fmt: skip
    assert sum(len(item.origins) for item in items) == 1


def test_equal_bodies_of_two_kinds_are_one_item_and_the_more_relevant_one_lists_both(satchel: Satchel) -> None:
    """White space does not count."""
    memory = satchel.memories.add(PARAGRAPH).memory
    put_values(satchel, a_value("val_1", PARAGRAPH.replace(" ", "\n", 4), satchel.memory.notebook.workspace))
    context = satchel.assemble("orders payment server", types=["memories", "values"], **WIDE)
    assert [(item.id, item.origins) for item in context.items] == [(f"memory:{memory.id}", ("value:val_1",))]


def test_records_that_only_resemble_each_other_are_all_shown(satchel: Satchel) -> None:
    """Two experiences, memories or values that begin alike may end differently."""
    for text in (PARAGRAPH, EDITED):
        satchel.memories.add(text)
    workspace = satchel.memory.notebook.workspace
    put_values(
        satchel,
        a_value("val_1", f"{PARAGRAPH} Always.", workspace),
        a_value("val_2", EDITED.replace(" ", "  "), workspace),
    )
    context = satchel.assemble("orders payment server", types=["memories", "values"], **WIDE)
    assert {item.source for item in context.items} == {"memory", "value"}
    assert sorted(len(item.origins) for item in context.items) == [0, 0, 1]


def put_values(satchel: Satchel, *values: Value) -> None:
    with satchel.memory_store.write() as writer:
        writer.put([document_of(value) for value in values])
        writer.merge(lambda: False)


def a_value(identity: str, text: str, workspace: str, members: Sequence[str] = ()) -> Value:
    return Value(
        id=identity, text=text, axis="full", cluster_id="full_1", cluster_size=3, similarity_to_centroid=0.9,
        member_ids=tuple(members), domains={"debugging": 3}, strategies={}, label="", workspace=workspace, created=NOW,
    )  # fmt: skip


def test_a_source_with_other_candidates_is_never_emptied(satchel: Satchel) -> None:
    """In place of what is the same as an item of another kind, the next of its own is shown."""
    memory = satchel.memories.add(PARAGRAPH).memory
    workspace = satchel.memory.notebook.workspace
    other = (
        "The payment server drops the connection of orders on Sundays, when the night job restarts it, which needs a "
        "minute or two since the machines were moved to the other building, where nobody is at the weekend to look."
    )
    put_values(satchel, a_value("val_1", PARAGRAPH, workspace), a_value("val_2", other, workspace))
    options = {**WIDE, "limit": 2, "fill": True}
    context = satchel.assemble("orders payment server drops connection", types=["memories", "values"], **options)
    assert one(context, "memory").origins == ("value:val_1",)
    assert one(context, "value").id == "value:val_2"
    assert one(context, "memory").id == f"memory:{memory.id}"
    assert [(row.id, row.reason) for row in context.overflow] == [("value:val_1", "duplicate")]


def test_a_text_is_not_lost_to_one_that_is_not_shown(repository: TinyRepository, satchel: Satchel) -> None:
    """With room for one item, what says the same as it stays out as something that has no room."""
    repository.write({"docs/a.md": f"# Orders\n\n{PARAGRAPH}\n", "docs/b.md": f"# Orders\n\n\n{PARAGRAPH}\n"})
    for limit in (1, 2):
        context = satchel.assemble("orders payment server", types=["docs"], **{**WIDE, "limit": limit})
        (item,) = context.items
        assert len(item.origins) == limit
        assert [row.reason for row in context.overflow] == ["limit" if limit == 1 else "duplicate"]


def test_a_commit_that_touched_a_shown_file_is_linked(repository: TinyRepository, satchel: Satchel) -> None:
    repository.commit("Wait with backoff between attempts of an order", {"src/a.py": FUNCTION, "src/b.py": "x = 1\n"})
    context = satchel.assemble("backoff attempt of an order", types=["code", "commits"], **WIDE)
    assert one(context, "commit").metadata["touches"] == ["src/a.py"]
    assert one(context, "commit").metadata["files_changed"] == ["src/a.py", "src/b.py"]


def test_a_value_that_rests_on_a_shown_experience_is_linked(satchel: Satchel) -> None:
    satchel.experiences.start(
        domain="debugging", strategy="root-cause-analysis", goal="Stop orders from being charged twice",
        hypothesis="The attempt has no key", action="Send a key", prediction="One charge",
    )  # fmt: skip
    ended = satchel.experiences.resolve(status="confirmed", result="One charge", lesson="Keys", takeaway="Send keys")
    put_values(satchel, a_value("val_1", "Orders carry keys", satchel.memory.notebook.workspace, [ended.id, "x"]))
    context = satchel.assemble("orders keys charged twice", types=["experiences", "values"], **WIDE)
    assert one(context, "value").metadata["rests_on"] == [ended.id]
