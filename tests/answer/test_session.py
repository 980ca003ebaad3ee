"""What a session has received is named and not sent again, unless it changed or was asked for."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer.session import MAX_BYTES, Ledger, SentItem, SessionFile, add_items
from satchel.errors import UsageError
from satchel.operations.json import context_envelope, expanded_envelope, graph_envelope
from satchel.types import Context, Format
from tests.answer.sessions import QUESTIONS, Seen, opened
from tests.contracts.five import POOL
from tests.oracle import o200k
from tests.rendered import parse_references

QUESTION = QUESTIONS[0]
POOL_FILE = "shop/pool.py"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """Tests only ask it, each in sessions of its own."""
    with opened(tmp_path_factory.mktemp("sessions")) as satchel:
        yield satchel


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Satchel]:
    """An engine whose files a test may change."""
    with opened(tmp_path) as satchel:
        yield satchel


def ask(satchel: Satchel, session: str, question: str = QUESTION, **options: Any) -> Context:
    return satchel.assemble(question, session=session, **{"max_tokens": 700, **options})


def edit(satchel: Satchel, old: str, new: str, path: str = POOL_FILE) -> None:
    file = satchel.places.root / path
    file.write_text(file.read_text().replace(old, new))
    satchel.index()


def shown(context: Context) -> dict[str, tuple[tuple[int, int], ...]]:
    return {item.title if item.spans else item.id: item.spans for item in context.items}


def test_without_a_session_nothing_is_kept(engine: Satchel) -> None:
    context = engine.assemble(QUESTION, max_tokens=700)
    assert context.shown_before == ()
    assert "session" not in context.meta
    assert "shown_before" not in context_envelope(context, engine.request(QUESTION))
    assert engine.receipts.account("") is None
    assert engine.assemble(QUESTION, max_tokens=700, session="").text == context.text


def test_a_second_answer_names_what_the_first_one_showed(engine: Satchel) -> None:
    first, second = ask(engine, "twice"), ask(engine, "twice")
    assert first.text == engine.assemble(QUESTION, max_tokens=700).text
    assert not {item.id for item in first.items} & {item.id for item in second.items}
    assert {one.id for one in second.shown_before} <= {item.id for item in first.items}
    assert f"Shown before: {POOL_FILE}:1-" in second.text
    assert second.usage.used == o200k(second.text) <= 700


def test_the_room_that_becomes_free_goes_to_what_was_left_out(engine: Satchel) -> None:
    first, second = (ask(engine, "freed", max_tokens=260, fill=True) for _ in range(2))
    assert second.items
    left = {row.id.partition("::")[0] for row in first.overflow}
    assert any(item.id.partition("::")[0] in left for item in second.items)


def test_when_all_was_shown_before_the_text_says_so_line_by_line(engine: Satchel) -> None:
    for _ in range(3):
        context = ask(engine, "all", max_tokens=2000, fill=True)
    assert context.items == ()
    assert context.text.count("\nShown before: ") == len(context.shown_before) > 3
    assert "*0 items from 0 sources*" in context.text
    assert context.usage.used == o200k(context.text)
    tiny = ask(engine, "all", max_tokens=20)
    assert (tiny.text, tiny.usage.used) == ("", 0)


def test_references_that_have_no_room_beside_new_items_are_counted(engine: Satchel) -> None:
    ask(engine, "counted", max_tokens=2000, types=["code"])
    context = ask(engine, "counted", max_tokens=150)
    assert context.items
    assert "\nShown before: and 1 more" in context.text
    assert not parse_references(context.text, Format.MARKDOWN)
    assert context.usage.used == o200k(context.text) <= 150


def test_sessions_know_nothing_of_each_other(engine: Satchel) -> None:
    ask(engine, "one")
    assert ask(engine, "another").shown_before == ()


@pytest.mark.parametrize("layout", list(Format))
def test_references_read_back_in_every_format(engine: Satchel, layout: Format) -> None:
    session = f"format {layout}"
    ask(engine, session, format=layout)
    context = ask(engine, session, QUESTIONS[3], format=layout)
    named = parse_references(context.text, layout)
    assert named
    assert [one.handle for one in named] == [one.handle for one in context.shown_before[: len(named)]]
    assert [one.ranges for one in named] == [one.spans for one in context.shown_before[: len(named)]]


def test_the_handle_of_a_reference_gives_what_was_shown_again(engine: Satchel) -> None:
    ask(engine, "again", fill=True)
    second = ask(engine, "again", fill=True)
    lines = next(one for one in second.shown_before if one.path == POOL_FILE)
    assert engine.expand([lines.handle]).items[0].content == POOL.rstrip("\n")
    record = next(one for one in second.shown_before if one.source == "commit")
    assert "It was exhausted." in engine.expand([record.handle]).text


def test_a_changed_definition_is_shown_again_and_the_others_are_not(own: Satchel) -> None:
    ask(own, "edited")
    edit(own, "    while not pool:\n", "    while len(pool) == 0:\n")
    context = ask(own, "edited")
    assert shown(context)[POOL_FILE] == ((4, 8),)
    assert any(one.path == POOL_FILE and one.spans[-1] == (11, 13) for one in context.shown_before)


def test_lines_that_only_moved_are_named_where_they_stand_now(own: Satchel) -> None:
    ask(own, "moved")
    edit(own, '"""The connection pool."""', '# New\n# head\n\n"""The connection pool."""')
    context = ask(own, "moved")
    spans = next(one.spans for one in context.shown_before if one.path == POOL_FILE)
    assert spans == ((4, 16),)
    assert all(end < 4 for _, end in shown(context).get(POOL_FILE, ()))


def test_a_change_of_one_short_line_is_not_taken_for_a_sliver(own: Satchel) -> None:
    ask(own, "short", "take_connection", include=[f"{POOL_FILE}:4-7"], types=["code"], max_tokens=120)
    ask(own, "short", "take_connection", include=[f"{POOL_FILE}:8"], types=["code"], max_tokens=120)
    edit(own, "return pool.pop()", "return pool[0]")
    assert "return pool[0]" in ask(own, "short", "take_connection exhausted", types=["code"]).text


def test_what_is_pinned_is_asked_for(engine: Satchel) -> None:
    ask(engine, "pinned")
    context = ask(engine, "pinned", include=[f"{POOL_FILE}:4-8"])
    assert shown(context)[POOL_FILE] == ((4, 8),)
    named = [span for one in context.shown_before if one.path == POOL_FILE for span in one.spans]
    assert named[0][0] == 1
    assert all(end < 4 or start > 8 for start, end in named)


def test_what_was_expanded_counts_as_received(engine: Satchel) -> None:
    handle = next(item.handle for item in engine.assemble(QUESTION, types=["code"]).items if item.title == POOL_FILE)
    expanded = engine.expand([handle], session="expanded")
    assert "give_connection" in expanded.text
    assert expanded_envelope(expanded, [handle])["meta"]["session"] == "expanded"
    assert POOL_FILE not in shown(ask(engine, "expanded"))
    assert engine.expand([handle], session="expanded").text == expanded.text


def test_a_record_of_which_a_line_was_shown_is_shown_in_full_when_there_is_room(engine: Satchel) -> None:
    asked: dict[str, Any] = {"types": ["memories"]}
    short = ask(engine, "longer", "stale price cache second", max_tokens=80, **asked)
    full = ask(engine, "longer", "stale price cache second", max_tokens=500, **asked)
    assert [item.detail for item in (*short.items, *full.items)] == ["line", "full"]
    assert full.items[0].content.startswith(short.items[0].content)
    assert ask(engine, "longer", "stale price cache second", max_tokens=80, **asked).items == ()


def test_a_record_that_the_session_has_is_named_or_counted_in_a_budget_that_has_no_room_for_a_part_of_it(
    own: Satchel,
) -> None:
    for name in ("pool", "worker"):
        own.memories.add(f"The {name} waits for a connection. {f'It is told to the next {name} in the queue. ' * 90}")
    first = ask(own, "small", "who waits for a connection", types=["memories"])
    assert first.items
    for budget in (20, 60, 120):
        again = ask(own, "small", "who waits for a connection", types=["memories"], max_tokens=budget)
        assert not {item.id for item in first.items} & {item.id for item in again.items}
        assert again.usage.used <= budget


@pytest.mark.parametrize("strategy", ["signature-first", "bookend"])
def test_a_file_that_was_shown_in_part_and_that_a_strategy_cannot_shorten_enough_is_no_failure(
    own: Satchel, strategy: str
) -> None:
    fields = ", ".join(f"connection_{number}" for number in range(300))
    body = "".join(f"    queue.wait('for the connection of worker {number}')\n" for number in range(150))
    (own.places.root / "waiting.py").write_text(f"def wait_for_connections({fields}):\n{body}")
    own.index()
    question = "wait for the connection of worker 7"
    assert ask(own, strategy, question, include=["waiting.py:5-20"], types=["code"]).items
    for budget in (20, 300, 600):
        again = ask(own, strategy, question, max_tokens=budget, strategy=strategy, purpose="edit", types=["code"])
        assert again.usage.used <= budget


def test_places_without_lines_count_as_shown_only_where_no_lines_are_wanted(engine: Satchel) -> None:
    types: dict[str, Any] = {"types": ["code"]}
    places = ask(engine, "places", show_code=False, **types)
    assert places.items
    assert ask(engine, "places", show_code=False, **types).items == ()
    assert shown(ask(engine, "places", **types)) == shown(places)
    assert ask(engine, "places", **types).items == ()


def test_a_filled_budget_and_a_change_keep_account_too(own: Satchel) -> None:
    assert ask(own, "filled", fill=True).items
    assert ask(own, "filled", fill=True).shown_before
    (own.places.root / POOL_FILE).write_text(POOL + "\n\nLIMIT = 10\n")
    request, notes = own.answers.about_change(own.request("limit", session="diff"), is_asked=False)
    first, second = own.answer(request, notes), own.answer(request, notes)
    assert first.items
    assert {one.id for one in second.shown_before} <= {item.id for item in first.items}
    assert not set(shown(first).items()) & set(shown(second).items())


def test_a_brief_and_a_premortem_are_not_repeated(engine: Satchel) -> None:
    first, second = (engine.brief(session="brief") for _ in range(2))
    assert first.items
    assert not {item.content for item in first.items} & {item.content for item in second.items}
    premortem = engine.premortem("debugging", session="brief")
    again = engine.premortem("debugging", session="brief")
    assert not {item.content for item in premortem.items} & {item.content for item in again.items}


def test_what_a_session_has_still_says_what_is_worth_showing(engine: Satchel) -> None:
    """Where the best was sent before, the next answer does not fill its place with what the first one left out."""
    first = ask(engine, "worth", types=["code"])
    assert {row.reason for row in first.overflow} == {"value"}
    assert first.usage.stopped == "value"
    second = ask(engine, "worth", types=["code"])
    assert (second.items, bool(second.shown_before), second.usage.stopped) == ((), True, "value")
    assert ask(engine, "worth", types=["code"], fill=True).items


def test_a_graph_names_nodes_that_were_shown_and_shows_one_that_is_asked_for(engine: Satchel) -> None:
    first, second = (engine.graph("connection pool", session="graph") for _ in range(2))
    assert first.items
    assert not {item.id for item in first.items} & {item.id for item in second.items}
    assert "\nShown before: " in second.text
    assert second.usage.used == o200k(second.text) <= second.usage.limit
    named = engine.graph(f"code:{POOL_FILE}::take_connection", session="graph")
    assert f"code:{POOL_FILE}::take_connection" in {item.id for item in named.items}
    request = engine.graphs.graph_request("connection pool", session="graph", format="json")
    data = engine.graphs.graph_answer(request)
    assert json.loads(data.text)["meta"]["shownBefore"]
    assert parse_references(data.text, Format.JSON)[0].handle == data.shown_before[0].handle
    assert graph_envelope(data, request)["shown_before"]


def test_a_graph_and_a_question_know_what_the_other_one_showed(engine: Satchel) -> None:
    engine.graph("take_connection", session="both")
    assert all(start > 8 or end < 4 for start, end in shown(ask(engine, "both")).get(POOL_FILE, ()))
    ask(engine, "other way")
    nodes = {item.id for item in engine.graph("exhausted pool", session="other way").items}
    assert not nodes & {f"code:{POOL_FILE}::take_connection", f"code:{POOL_FILE}::give_connection"}


def test_a_situation_guides_once(own: Satchel) -> None:
    (own.places.root / "AGENTS.md").write_text("# Rules\n\nReturn every connection.\n")
    situation = {"task": "return the connection to the pool", "files": [POOL_FILE]}
    first, second = (own.situation(situation, session="agent", max_tokens=1500) for _ in range(2))
    assert "Return every connection." in first.text
    assert "Return every connection." not in second.text
    rules = next(one for one in second.shown_before if one.title.endswith("AGENTS.md"))
    assert "Return every connection." in own.expand([rules.handle]).text
    (own.places.root / "AGENTS.md").write_text("# Rules\n\nReturn every connection twice.\n")
    assert "connection twice." in own.situation(situation, session="agent", max_tokens=1500).text


def test_files_that_a_rule_injects_are_not_sent_again(own: Satchel) -> None:
    (own.places.root / "context.yaml").write_text('injection_rules: [{inject: "files:docs/*.md"}]\n')
    first, second = (own.situation({"task": "anything"}, session="rules", max_tokens=1500) for _ in range(2))
    assert "docs/guide.md" in shown(first)
    assert "docs/guide.md" not in shown(second)
    assert any(one.path == "docs/guide.md" for one in second.shown_before)


def test_the_envelope_names_session_state_and_references(engine: Satchel) -> None:
    secret = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    ask(engine, secret)
    request = engine.request(QUESTION, session=secret)
    envelope = context_envelope(engine.answer(request), request)
    assert envelope["meta"]["ledger"].partition("-")[0].isdecimal()
    assert envelope["shown_before"][0].keys() == {"id", "source", "title", "handle", "location"}
    assert secret not in json.dumps(envelope)
    names = [path.name for path in (engine.places.state / "sessions").iterdir()]
    assert not any(secret in name for name in names)


def ledger_state(engine: Satchel, session: str) -> str:
    account = engine.receipts.account(session)
    return account.meta["ledger"] if account is not None else ""


def test_equal_state_gives_equal_bytes_and_replay_goes_back_to_it(engine: Satchel) -> None:
    ask(engine, "replayed", fill=True)
    request = engine.request(QUESTIONS[1], session="replayed", max_tokens=700, fill=True)
    state = ledger_state(engine, "replayed")
    context = engine.answer(request)
    assert context.meta["ledger"] == state != ledger_state(engine, "replayed")
    assert context.shown_before
    saved = json.loads(json.dumps(context_envelope(context, request)))
    assert not engine.replay(saved).differences
    assert engine.replay(saved).context.text == context.text
    engine.forget_session("replayed")
    assert any(line.startswith("ledger of the session") for line in engine.replay(saved).differences)


def test_a_forgotten_session_is_told_everything_again(engine: Satchel) -> None:
    first = ask(engine, "cleared")
    assert engine.forget_session("cleared")
    assert ask(engine, "cleared").text == first.text
    assert not engine.forget_session("never heard of")
    assert not engine.forget_session("")


@pytest.mark.parametrize("session", ["a/../b", "x\ny", "\ud800", "语言", "a" * 500, " spaced "])
def test_an_id_may_hold_anything(engine: Satchel, session: str) -> None:
    assert ask(engine, session).items
    assert ask(engine, session).shown_before
    assert engine.forget_session(session)


@pytest.mark.parametrize("session", ["a" * 501, "\u200b\u200b", 7], ids=["long", "invisible", "number"])
def test_an_impossible_id_is_refused(engine: Satchel, session: Any) -> None:
    with pytest.raises(UsageError, match="session"):
        ask(engine, session)


def ledger(satchel: Satchel, session: str) -> Path:
    return satchel.receipts.session_file(session).path


@pytest.mark.parametrize("line", ["[[1]]", "{}", "nonsense", '[["a","b",-1,[[1]],false]]', '[["a",1,-1,'])
def test_a_damaged_line_of_a_ledger_is_passed_over(engine: Satchel, line: str) -> None:
    first = ask(engine, f"damaged {line}")
    path = ledger(engine, f"damaged {line}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text(f"{line}\n{path.read_text()}")
    assert not set(shown(first)) & set(shown(ask(engine, f"damaged {line}")))
    path.write_text(f"{line}\n")
    assert shown(ask(engine, f"damaged {line}")) == shown(first)


def test_a_ledger_that_cannot_be_kept_is_a_named_failure_and_the_answer_is_full(engine: Satchel) -> None:
    full = ask(engine, "sessionless first")
    path = ledger(engine, "unwritable")
    path.mkdir(parents=True)
    context = ask(engine, "unwritable")
    assert "cannot be kept" in context.text
    assert shown(context) == shown(full)
    assert [failure.source for failure in context.failures] == ["session"]
    path.rmdir()


def test_a_disk_that_fills_up_while_answering_is_named_too(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SessionFile, "append", full)
    context = ask(engine, "full")
    assert context.items
    assert "No space left" in context.failures[0].message


def test_parallel_answers_of_a_session_lose_nothing(engine: Satchel) -> None:
    with ThreadPoolExecutor(4) as threads:
        contexts = list(threads.map(lambda question: ask(engine, "parallel", question, refresh=False), QUESTIONS))
    seen = Seen()
    for context in contexts:
        list(seen.faults(context))
    for question in QUESTIONS:
        assert not list(seen.unread(ask(engine, "parallel", question), engine.places.root))
    rows = engine.receipts.session_file("parallel").read().items
    assert {row.key for row in rows} >= {item.id for context in contexts for item in context.items}


def test_the_older_half_is_forgotten_when_a_ledger_grows_too_large(tmp_path: Path) -> None:
    file = SessionFile(tmp_path, "root", "large")
    for start in range(0, 20_000, 2_000):
        file.append([SentItem(f"memory:{start + number}", "0" * 16) for number in range(2_000)])
        assert file.path.stat().st_size <= MAX_BYTES
    assert file.path.stat().st_size > MAX_BYTES // 8
    assert file.read().items[-1].key == "memory:19999"


def test_old_ledgers_are_removed_when_a_new_session_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, old = (SessionFile(tmp_path, "root", name) for name in ("kept", "old"))
    for file in (kept, old):
        file.append([SentItem("memory:a", "digest")])
    os.utime(old.path, (1, 1))
    add_items(kept, kept.read(), [SentItem("memory:b", "digest")])
    assert old.path.exists()
    add_items(kept, Ledger(), [SentItem("memory:c", "digest")])
    assert kept.path.exists()
    assert not old.path.exists()
    (tmp_path / "folder.jsonl").mkdir()
    os.utime(tmp_path / "folder.jsonl", (1, 1))
    add_items(kept, Ledger(), [SentItem("memory:c", "digest")])
    assert "old session not removed" in capsys.readouterr().err
