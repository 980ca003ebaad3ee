from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer.pins import Pin
from satchel.answer.request import AssembleRequest, request_data, request_fields, request_from, request_with
from satchel.errors import UsageError
from satchel.operations.json import context_envelope, replayed_envelope
from satchel.services.answer import settings_mark
from satchel.settings import Settings
from satchel.sources.change import Change, ChangedFile
from satchel.testing import TinyRepository
from satchel.types import Format, Kind
from tests.e2e.sample import CLIENT
from tests.e2e.test_question import QUESTION
from tests.safety.test_sanitize_redact import TOKENS

CHANGE = Change(
    "abc", "work tree", (ChangedFile("a.py", "modified", ((3, 4),), ("f",), ("g",), 2, 1),), "x = 1", ("b.py",)
)
REQUEST = request_with(
    query="why",
    kinds=(Kind.CODE,),
    format=Format.XML,
    exclude=("*.lock",),
    now=5.0,
    reserves={Kind.MEMORY: 300},
    pins=(Pin("a.py", 3, 9),),
    change=CHANGE,
)


def saved(satchel: Satchel, **options: Any) -> dict[str, Any]:
    """An answer as `--json` writes it."""
    satchel.index()
    request = satchel.request(QUESTION, **options)
    envelope: dict[str, Any] = json.loads(json.dumps(context_envelope(satchel.answer(request), request)))
    return envelope


@pytest.mark.parametrize(
    "request_",
    [request_with(query="why"), REQUEST, request_with(query="why", min_score=0.5, fill=True)],
    ids=["plain", "full", "fill"],
)
def test_a_request_survives_being_written_down(request_: AssembleRequest) -> None:
    data = json.loads(json.dumps(request_data(request_)))
    assert data == request_data(request_)
    assert request_from(data) == request_


def test_every_field_of_a_request_is_written_down() -> None:
    assert set(request_data(REQUEST)) == request_fields().keys()


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
def test_a_saved_answer_is_made_again_byte_for_byte(satchel: Satchel, layout: str) -> None:
    envelope = saved(satchel, format=layout, max_tokens=700)
    replay = satchel.replay(envelope)
    assert replay.differences == ()
    assert replay.context.text == envelope["text"]
    assert json.dumps(replayed_envelope(replay.context, replay.request, envelope)) == json.dumps(envelope)


def test_an_edit_since_is_named(satchel: Satchel, repository: TinyRepository) -> None:
    envelope = saved(satchel)
    repository.write({"shop/client.py": CLIENT.replace("0.1", "0.3")})
    satchel.index()
    found = satchel.replay(envelope).differences
    assert "changed: code:shop/client.py" in found
    assert any(line.startswith("store revision: ") for line in found)


def test_what_came_and_what_went_is_named(satchel: Satchel, repository: TinyRepository) -> None:
    envelope = saved(satchel, types=["code"])
    repository.write({"shop/waiting.py": "def backoff_between_attempts(order):\n    return order\n"})
    repository.remove("shop/client.py")
    satchel.index()
    found = satchel.replay(envelope).differences
    assert "not shown any more: code:shop/client.py" in found
    assert "shown now: code:shop/waiting.py" in found


def test_long_lists_of_differences_end(satchel: Satchel) -> None:
    envelope = saved(satchel)
    envelope["items"] = [{"id": f"code:gone{n}.py"} for n in range(30)]
    lines = satchel.replay(envelope).differences
    assert lines[-1].startswith("and ")
    assert len(lines) == 11


def test_another_version_and_another_setting_are_named(
    satchel: Satchel, repository: TinyRepository, tmp_path: Path
) -> None:
    envelope = saved(satchel)
    envelope["meta"]["version"] = "0.0.1"
    environ = {"SATCHEL_HOME": str(tmp_path / "home")}
    with Satchel.open(repository.root, environ=environ, settings={"redact.allow": ["x+"]}) as other:
        found = other.replay(envelope).differences
    assert found[0].startswith("version of satchel: 0.0.1 then, ")
    assert "setting redact.allow: has another value now" in found


def test_other_notes_and_other_bytes_are_named(satchel: Satchel) -> None:
    envelope = saved(satchel, fill=True)
    assert satchel.replay({**envelope, "text": "other"}).differences == ("text: other bytes from the same items",)
    noted = {**envelope, "failures": [{"source": "docs", "message": "no answer"}]}
    assert satchel.replay(noted).differences == ("notes: 1 then, 0 now",)
    turned = {**envelope, "items": envelope["items"][::-1]}
    assert satchel.replay(turned).differences == ("the same items are in another order",)


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"meta": {}},
        {"text": "x", "items": [], "meta": {"request": 3}},
        {"meta": {"request": {}}, "text": 3, "items": []},
    ],
)
def test_anything_else_is_no_saved_context(satchel: Satchel, damaged: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="this is not a saved context"):
        satchel.replay(damaged)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_tokens", "many", "max_tokens is 'many'"),
        ("max_tokens", -1, "-1"),
        ("types", ["moons"], "unknown context type"),
        ("query", 3, "query is not a text"),
        ("limit", "3", "limit is '3'"),
        ("format", "yaml", "damaged"),
        ("weights", {"moons": 1}, "damaged"),
        ("change", {"files": 3}, "damaged"),
        ("min_score", 7, "0 to 1"),
        ("moon_phase", 1, "moon_phase, which this version lacks"),
        ("soft", True, "soft budget, which is no longer offered"),
        ("file_weights", [["name", 2.0]], "changed weights of signals, which is no longer"),
    ],
)
def test_a_damaged_request_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        request_from({**request_data(REQUEST), field: value})


def test_a_request_of_an_older_version_that_used_nothing_withdrawn_is_asked_again() -> None:
    assert request_from({**request_data(REQUEST), "soft": False, "file_weights": []}) == REQUEST


def test_the_question_of_a_saved_request_is_made_safe() -> None:
    secret = TOKENS["github-token"]
    saved_question = {**request_data(REQUEST), "query": f"who\u200b uses {secret}"}
    assert request_from(saved_question).asked.query == "who uses [REDACTED:github-token]"
    assert request_from(saved_question, allow=("ghp_",)).asked.query == f"who uses {secret}"


def test_a_request_without_its_question_is_refused() -> None:
    data = request_data(REQUEST)
    del data["query"]
    with pytest.raises(UsageError, match="damaged"):
        request_from(data)


def test_only_settings_that_shape_answers_leave_a_mark_and_no_value() -> None:
    assert settings_mark(Settings()) == {}
    marks = settings_mark(Settings(redact_allow=("hunter[0-9]",), ui_color="never", index_commits=7, index_workers=3))
    assert set(marks) == {"redact.allow", "index.commits"}
    assert "hunter" not in json.dumps(marks)
