"""`expand`, `why`, `replay`, `--explain`, `--handles` and `--diff`, as a person types them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.cli.conftest import FILES, Satchel
from tests.cli.test_ask_context import QUESTION, lines
from tests.oracle import o200k

pytestmark = pytest.mark.usefixtures("shop")


def test_a_handle_of_an_answer_expands(satchel: Satchel) -> None:
    item = satchel("context", QUESTION, "--types", "code", "--json").json["items"][0]
    ran = satchel("expand", item["handle"])
    assert (ran.code, ran.err) == (0, "")
    assert FILES["shop/client.py"] in f"{ran.out}\n"
    envelope = satchel("expand", item["handle"], "--json").json
    assert envelope["text"] == ran.out
    assert list(envelope) == ["handles", "text", "items", "overflow", "usage", "failures", "meta"]
    assert "<context>" in satchel("expand", item["handle"], "--format", "xml").out


def test_what_does_not_fit_is_said_with_the_budget_that_shows_it(satchel: Satchel) -> None:
    handle = satchel("context", QUESTION, "--types", "code", "--json").json["items"][0]["handle"]
    ran = satchel("expand", handle, "--max-tokens", "20")
    assert (ran.code, ran.out) == (1, "")
    assert f"note: {handle} does not fit: --max-tokens " in ran.err


def test_what_changed_is_said_on_standard_error(satchel: Satchel, shop: TinyRepository) -> None:
    shop.write({"shop/client.py": FILES["shop/client.py"].replace("0.1", "0.7")})
    handle = satchel("context", QUESTION, "--types", "code", "--json").json["items"][0]["handle"]
    shop.write({"shop/client.py": FILES["shop/client.py"].replace("0.1", "0.8")})
    satchel("index")
    ran = satchel("expand", handle)
    assert (ran.code, ran.out) == (1, "")
    assert "has changed and no copy of it is left" in ran.err


@pytest.mark.parametrize("handle", ["aaaaaaaa", "nothing"])
def test_an_unknown_handle_ends_with_two(satchel: Satchel, handle: str) -> None:
    ran = satchel("expand", handle)
    assert ran.code == 2
    assert ran.err.startswith("error: ")


def test_handles_in_the_text_stand_in_the_footer_and_are_counted(satchel: Satchel, shop: TinyRepository) -> None:
    body = "".join(f"    total += {n}  # wait for backoff {n}\n" for n in range(120))
    shop.commit("Grow", {"shop/large.py": f"def backoff_total(total):\n{body}    return total\n"})
    asked = ("context", "where is backoff_total waiting", "--types", "code", "--max-tokens", "700")
    plain, listed = satchel(*asked).out, satchel(*asked, "--handles").out
    assert "Handles:" not in plain
    entry = listed.split("Handles: ")[1].split("\n")[0]
    assert o200k(listed) <= 700
    place, handle = entry.split("; ")[0].rsplit(" ", 1)
    assert place.startswith("shop/large.py:1-")
    assert place.endswith(" more of backoff_total")
    assert "total += 118" in satchel("expand", handle).out


def test_why_says_rank_signals_and_lines(satchel: Satchel) -> None:
    ran = satchel("why", "backoff", QUESTION)
    assert ran.code == 0
    assert ran.out.startswith("code:shop/client.py::backoff\n  shown: lines ")
    assert "  rank 1 of " in ran.out
    assert "one place matches well" in ran.out
    assert lines(ran.err) == []


def test_why_says_what_keeps_something_out(satchel: Satchel) -> None:
    ran = satchel("why", "shop/prices.py", "when the connection drops")
    assert ran.out == "code:shop/prices.py\n  not shown, no match: no word of the question is in it\n"
    assert "not shown, filter" in satchel("why", "backoff", QUESTION, "--exclude", "shop/*").out


def test_why_as_json_has_every_field(satchel: Satchel) -> None:
    data = satchel("why", "backoff", QUESTION, "--json").json
    assert (data["target"], data["question"]) == ("backoff", QUESTION)
    row = data["standings"][0]
    assert row["is_shown"]
    assert {signal["name"] for signal in row["signals"]} >= {"best part", "file score"}
    assert list(row) == [
        "id", "source", "path", "rank", "of", "place", "chunks", "relevance", "signals", "is_shown", "shown",
        "reason", "detail", "budget",
    ]  # fmt: skip


def test_why_about_nothing_here_ends_with_two_and_near_names(satchel: Satchel) -> None:
    ran = satchel("why", "clinet.py", QUESTION)
    assert ran.code == 2
    assert "did you mean shop/client.py?" in ran.err


def test_a_saved_answer_is_replayed_byte_for_byte(satchel: Satchel, tmp_path: Path) -> None:
    saved = satchel("context", QUESTION, "--json")
    file = tmp_path / "saved.json"
    file.write_text(saved.out)
    ran = satchel("replay", str(file))
    assert (ran.code, ran.out, lines(ran.err)) == (0, saved.json["text"], [])
    assert satchel("replay", str(file), "--json").out == saved.out
    file.write_text(json.dumps(saved.json, indent=2, ensure_ascii=False))
    assert satchel("replay", str(file), "--json", "--no-refresh").out == f"{file.read_text()}\n"


def test_a_replay_from_standard_input(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = satchel("context", QUESTION, "--json", "--explain")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(saved.out.encode())))
    assert satchel("replay", "-", "--json").out == saved.out


def test_a_replay_names_what_differs(satchel: Satchel, shop: TinyRepository, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(satchel("context", QUESTION, "--json").out)
    shop.write({"shop/client.py": FILES["shop/client.py"].replace("0.1", "0.3")})
    ran = satchel("replay", str(file))
    assert ran.code == 1
    assert "0.3 * 2**attempt" in ran.out
    assert "note: differs: changed: code:shop/client.py" in ran.err


@pytest.mark.parametrize(
    ("content", "message"), [("{", "is not JSON"), ("[1]", "does not contain a saved context"), ("{}", "not a saved")]
)
def test_what_is_no_saved_answer_is_refused(satchel: Satchel, tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "saved.json"
    file.write_text(content)
    ran = satchel("replay", str(file))
    assert ran.code == 2
    assert message in ran.err


def test_a_file_that_is_not_there_is_said_so(satchel: Satchel, tmp_path: Path) -> None:
    ran = satchel("replay", str(tmp_path / "none.json"))
    assert ran.code == 2
    assert "cannot be read" in ran.err


def test_explain_names_about_the_budget_that_would_show_it(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--max-tokens", "90", "--explain", "--json", "--fill")
    row = min((row for row in ran.json["overflow"] if row["budget"]), key=lambda row: row["budget"])
    assert row["reason"] == "budget"
    assert f"~{row['budget']:,}" in ran.err
    assert row["handle"] in ran.err
    again = satchel("context", QUESTION, "--max-tokens", str(2 * row["budget"]), "--json", "--fill").json
    assert not any(one["id"] == row["id"] for one in again["overflow"])


@pytest.fixture
def edited(shop: TinyRepository) -> TinyRepository:
    shop.commit(
        "Use it", {"shop/orders.py": "from shop.client import backoff\n\n\ndef pause(n):\n    return backoff(n)\n"}
    )
    shop.write({"shop/client.py": FILES["shop/client.py"].replace("0.1", "0.3")})
    return shop


def test_a_change_alone_shows_what_it_concerns(satchel: Satchel, edited: TinyRepository) -> None:
    assert edited
    for asked in (("--diff",), ("--diff", "HEAD"), ("--diff=HEAD",)):
        ran = satchel("context", *asked)
        assert ran.code == 0
        assert "return backoff(n)" in ran.out
        assert ran.out.index("0.3 * 2**attempt") < ran.out.index("return backoff(n)"), "what changed comes first"
    envelope = satchel("context", "--diff", "--json").json
    assert envelope["meta"]["request"]["change"]["files"][0]["names"] == ["backoff"]
    assert "change" in {signal["name"] for item in envelope["items"] for signal in item["signals"]}


def test_a_change_with_a_question_answers_both(satchel: Satchel, edited: TinyRepository) -> None:
    assert edited
    for asked in (("a discount on the price", "--diff"), ("--diff", "a discount on the price")):
        ran = satchel("context", *asked)
        assert "def discount" in ran.out
        assert "return backoff(n)" in ran.out


def test_only_what_is_staged(satchel: Satchel, edited: TinyRepository) -> None:
    ran = satchel("context", "--staged")
    assert ran.code == 1
    assert "nothing changed in the staging area since HEAD" in ran.err
    edited._git("add", "-A")
    assert "return backoff(n)" in satchel("context", "--staged").out


def test_a_replayed_change_needs_no_change(satchel: Satchel, edited: TinyRepository, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(satchel("context", "--diff", "--json").out)
    edited._git("add", "-A")
    ran = satchel("replay", str(file), "--json")
    assert ran.out == file.read_text()


def test_no_change_is_an_answer_and_no_wrong_call(satchel: Satchel) -> None:
    ran = satchel("context", "--diff", "--json")
    assert (ran.code, ran.json["error"]["type"]) == (1, "NothingChangedError")
    assert "nothing changed in the work tree since HEAD" in ran.json["error"]["message"]


def test_a_revision_that_a_shallow_clone_lacks_is_told_with_what_to_do(
    satchel: Satchel, edited: TinyRepository, tmp_path: Path
) -> None:
    base = edited._git("rev-list", "--max-parents=0", "HEAD").strip()
    edited._git("clone", "--quiet", "--depth", "1", f"file://{edited.root}", str(tmp_path / "shallow"))
    ran = satchel("context", "--diff", base, "--root", str(tmp_path / "shallow"))
    assert ran.code == 2
    assert "this is a shallow clone" in ran.err
    assert "fetch-depth: 0" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'QUESTION|-'"),
        (("--diff", "nowhere"), "there is no revision 'nowhere' here"),
        (("--diff", "HEAD..HEAD"), "is a range"),
    ],
)
def test_a_change_that_cannot_be_is_a_wrong_call(satchel: Satchel, arguments: tuple[str, ...], message: str) -> None:
    ran = satchel("context", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_outside_a_repository_there_is_no_change(
    satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(folder)
    ran = satchel("context", "--diff", "--root", str(folder))
    assert ran.code == 2
    assert "is in no git repository" in ran.err
