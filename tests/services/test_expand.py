from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.testing import TinyRepository
from satchel.types import Context, ContextItem, Omission
from tests.e2e.sample import CLIENT
from tests.e2e.test_question import QUESTION
from tests.oracle import o200k

LONG = "def long_function(order):\n" + "".join(
    f"    order = order + {number}  # step {number} of the backoff\n" for number in range(120)
)


def ask(satchel: Satchel, **options: object) -> Context:
    given: dict[str, object] = {"types": ["code"], "max_tokens": 300, **options}
    return satchel.assemble(QUESTION, **given)  # type: ignore[arg-type]


def client(context: Context) -> ContextItem:
    return next(item for item in context.items if item.title == "shop/client.py")


def left_out(satchel: Satchel) -> Omission:
    """A definition that holds no number, so that the edits of these tests do not change it."""
    rows = ask(satchel, max_tokens=120).overflow
    return next(row for row in rows if row.path == "shop/client.py" and row.title.startswith("Client."))


def test_an_item_expands_to_its_whole_file(satchel: Satchel) -> None:
    expanded = satchel.expand([client(ask(satchel)).handle])
    assert expanded.items[0].content == CLIENT.rstrip("\n")
    assert "0.1 * 2**attempt" in expanded.text
    assert expanded.failures == ()


def test_what_stayed_out_expands_to_the_lines_that_were_left_out(satchel: Satchel) -> None:
    out = left_out(satchel)
    expanded = satchel.expand([out.handle])
    assert expanded.items[0].content == "\n".join(CLIENT.split("\n")[out.start - 1 : out.end])
    assert expanded.items[0].spans == ((out.start, out.end),)


def test_a_definition_shown_in_part_expands_to_all_of_it(satchel: Satchel, repository: TinyRepository) -> None:
    body = "".join(
        f"    order = order + {n}  # step {n} of the backoff, which waits for the warehouse\n" for n in range(50)
    )
    repository.commit("Add steps", {"shop/steps.py": f"def all_steps(order):\n{body}"})
    context = satchel.assemble("step 17 of the backoff of all_steps", types=["code"], max_tokens=500)
    item = next(item for item in context.items if item.title == "shop/steps.py")
    assert len(item.content) < len(body)
    assert item.cuts[0].rest == ()
    assert satchel.expand([item.cuts[0].handle]).items[0].content == f"def all_steps(order):\n{body}".rstrip("\n")


def branches(name: str) -> str:
    """A function of 205 lines with forty branches; one of them is about lost parcels."""
    rows = []
    for number in range(40):
        what = "a lost parcel of the courier" if number == 29 else f"stage {number} of the pipeline"
        rows += [f"    if order.stage == {number}:", f"        # {what}", f"        order.log({number})"]
        rows += [f"        order.total += {number}", f"        order.count -= {number}"]
    return "\n".join(
        [f"def {name}(order):", "    for order in order.parts:", "        order.open()", "", *rows, "    return order"]
    )


def shown_rows(context: Context) -> dict[int, str]:
    """The shown lines of the only item by number; no line is shown twice."""
    rows = [
        (number, text)
        for piece in context.items[0].pieces
        for number, text in enumerate(piece.text.split("\n"), piece.start)
    ]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def test_the_rest_of_a_long_function_comes_best_first_until_every_line_was_shown_once(
    satchel: Satchel, repository: TinyRepository
) -> None:
    text = branches("settle")
    repository.commit("Add stages", {"shop/stages.py": text + "\n"})
    context = satchel.assemble("settle: lost parcel of the courier", types=["code"], max_tokens=400, show_handles=True)
    item = next(item for item in context.items if item.title == "shop/stages.py")
    shown = {n: row for piece in item.pieces for n, row in enumerate(piece.text.split("\n"), piece.start)}
    assert any("lost parcel" in row for row in shown.values())
    cut = item.cuts[0]
    assert cut.rest
    assert f"more of settle {cut.handle}" in context.text
    first = satchel.expand([cut.handle], max_tokens=600)
    rest = first.items[0].cuts[0]
    assert f"more of settle {rest.handle}" in first.text
    assert min(cut.rest[0]) in shown_rows(first)
    second = satchel.expand([rest.handle], max_tokens=4000)
    assert second.items[0].cuts == ()
    steps = [shown, shown_rows(first), shown_rows(second)]
    assert o200k(first.text) == first.usage.used <= 600
    assert sum(map(len, steps)) - sum(not row for step in steps for row in step.values()) == text.count("\n")
    merged = steps[0] | steps[1] | steps[2]
    lines = text.split("\n")
    assert all(merged[number] == lines[number - 1] for number in merged)
    assert {number for number, row in enumerate(lines, 1) if row} <= set(merged)


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
@pytest.mark.parametrize("max_tokens", [60, 90, 150, 233, 400, 700, 1500])
def test_no_step_through_a_long_function_is_over_its_budget(
    satchel: Satchel, repository: TinyRepository, layout: str, max_tokens: int
) -> None:
    repository.commit("Add stages", {"shop/stages.py": branches("settle") + "\n"})
    context = satchel.assemble("settle: lost parcel of the courier", types=["code"], max_tokens=400)
    cuts = next(item for item in context.items if item.title == "shop/stages.py").cuts
    seen: set[int] = set()
    while cuts:
        step = satchel.expand([cuts[0].handle], max_tokens=max_tokens, format=layout)
        assert o200k(step.text) == step.usage.used <= max_tokens
        if not step.items:
            assert step.overflow[0].handle == cuts[0].handle
            break
        rows = set(shown_rows(step))
        assert not rows & seen
        seen |= rows
        cuts = step.items[0].cuts


def test_a_part_of_a_long_function_that_is_left_out_leads_to_all_that_is_left(
    satchel: Satchel, repository: TinyRepository
) -> None:
    repository.commit("Add stages", {"shop/stages.py": branches("settle") + "\n"})
    context = satchel.assemble("settle order stage pipeline log", types=["code"], max_tokens=500)
    item = next(item for item in context.items if item.title == "shop/stages.py")
    rows = [row for row in context.overflow if row.title == "settle"]
    assert [row.handle for row in rows] == [item.cuts[0].handle]
    assert rows[0].rest == item.cuts[0].rest


def test_a_record_expands_to_its_whole_text(satchel: Satchel) -> None:
    context = satchel.assemble("linear wait hammered the server", types=["commits"])
    expanded = satchel.expand([context.items[0].handle])
    assert "A linear wait hammered the server." in expanded.text
    assert expanded.sources_used == {"commit": 1}


def test_case_and_repeats_of_a_handle_do_not_matter(satchel: Satchel) -> None:
    handle = client(ask(satchel)).handle
    assert satchel.expand([handle.upper(), handle]).text == satchel.expand([handle]).text


def test_lines_that_another_handle_gives_anyway_are_shown_once(satchel: Satchel) -> None:
    context = ask(satchel, max_tokens=180)
    inside = next(row for row in context.overflow if row.path == "shop/client.py")
    assert satchel.expand([inside.handle, client(context).handle]).text == satchel.expand([client(context).handle]).text


def test_a_committed_file_that_changed_since_is_shown_as_it_was(satchel: Satchel, repository: TinyRepository) -> None:
    handle = client(ask(satchel)).handle
    repository.write({"shop/client.py": "# all gone\n"})
    expanded = satchel.expand([handle])
    assert expanded.items[0].content == CLIENT.rstrip("\n")
    assert expanded.items[0].metadata["origin"] == "git"


def test_a_deleted_file_is_shown_as_it_was(satchel: Satchel, repository: TinyRepository) -> None:
    handle = client(ask(satchel)).handle
    repository.remove("shop/client.py")
    repository.commit("Remove the client")
    assert satchel.expand([handle]).items[0].content == CLIENT.rstrip("\n")


def test_the_index_still_has_what_was_never_committed(satchel: Satchel, repository: TinyRepository) -> None:
    repository.write({"shop/client.py": CLIENT.replace("0.1", "0.7")})
    handle = client(ask(satchel)).handle
    repository.write({"shop/client.py": CLIENT.replace("0.1", "0.8")})
    expanded = satchel.expand([handle])
    assert "0.7 * 2**attempt" in expanded.text
    assert expanded.items[0].metadata["origin"] == "index"


def test_what_is_gone_altogether_is_said_so(satchel: Satchel, repository: TinyRepository) -> None:
    repository.write({"shop/client.py": CLIENT.replace("0.1", "0.7")})
    handle = client(ask(satchel)).handle
    repository.remove("shop/client.py")
    satchel.index()
    expanded = satchel.expand([handle])
    assert "no copy of it is left" in expanded.failures[0].message
    assert expanded.failures[0].hint == "ask the question again"


def test_outside_a_repository_the_index_is_what_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "client.py").write_text(CLIENT)
    with Satchel.open(folder, root=folder, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        handle = opened.assemble(QUESTION, types=["code"]).items[0].handle
        (folder / "client.py").write_text("# gone\n")
        assert opened.expand([handle]).items[0].metadata["origin"] == "index"


def test_the_budget_holds_and_the_rest_has_a_handle_of_its_own(satchel: Satchel, repository: TinyRepository) -> None:
    repository.commit("Add steps", {"shop/long.py": LONG})
    item = satchel.assemble("step 77 of the backoff of long_function", types=["code"]).items[0]
    shown: list[str] = []
    handle = item.handle
    for _ in range(40):
        part = satchel.expand([handle], max_tokens=400)
        assert o200k(part.text) == part.usage.used <= 400
        shown.append(part.items[0].content)
        if not part.items[0].cuts:
            break
        handle = part.items[0].cuts[0].handle
    assert "\n".join(shown) == LONG.rstrip("\n")


def test_what_does_not_fit_at_all_is_in_the_overflow_with_the_budget_that_shows_it(satchel: Satchel) -> None:
    handle = client(ask(satchel)).handle
    nothing = satchel.expand([handle], max_tokens=20)
    assert (nothing.items, nothing.text, nothing.usage.used) == ((), "", 0)
    needed = nothing.overflow[0].budget
    assert satchel.expand([handle], max_tokens=needed).items[0].content == CLIENT.rstrip("\n")


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
def test_every_format_stays_inside_the_budget(satchel: Satchel, layout: str) -> None:
    handle = client(ask(satchel)).handle
    for budget in (1, 40, 80, 150, 400):
        expanded = satchel.expand([handle], max_tokens=budget, format=layout)
        assert o200k(expanded.text) == expanded.usage.used <= budget


def test_secrets_are_redacted_again_on_the_way_out(satchel: Satchel, repository: TinyRepository) -> None:
    secret = "ghp_" + "A1b2C3d4" * 4 + "E5f6"
    repository.commit("Add a token", {"shop/backoff.py": f'TOKEN = "{secret}"  # backoff between attempts\n'})
    item = satchel.assemble("backoff between attempts token", types=["code"]).items
    handle = next(one.handle for one in item if one.title == "shop/backoff.py")
    repository.remove("shop/backoff.py")
    assert secret not in satchel.expand([handle]).text
    assert "TOKEN" in satchel.expand([handle]).text


def test_an_unknown_handle_is_a_clear_error(satchel: Satchel) -> None:
    with pytest.raises(UsageError, match="unknown handle aaaaaaaa: ask the question again"):
        satchel.expand(["aaaaaaaa"])


def test_a_handle_of_another_root_is_unknown_here(satchel: Satchel, tmp_path: Path) -> None:
    handle = client(ask(satchel)).handle
    other = TinyRepository(tmp_path / "other")
    with (
        Satchel.open(other.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as elsewhere,
        pytest.raises(UsageError, match="unknown handle"),
    ):
        elsewhere.expand([handle])


@pytest.mark.parametrize("handle", ["short", "a2b3c4d5e", "ä2b3c4d5", ""])
def test_what_cannot_be_a_handle_is_refused(satchel: Satchel, handle: str) -> None:
    with pytest.raises(UsageError, match="is not a handle"):
        satchel.expand([handle])


def test_no_handle_at_all_is_refused(satchel: Satchel) -> None:
    with pytest.raises(UsageError, match="no handle was given"):
        satchel.expand([])
