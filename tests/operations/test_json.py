from __future__ import annotations

import json

from satchel import __version__
from satchel.answer.request import request_data, request_fields, request_with
from satchel.operations.json import context_envelope, search_envelope
from satchel.types import (
    Chunk,
    Context,
    ContextItem,
    Cut,
    Detail,
    Failure,
    Format,
    Hit,
    Kind,
    Location,
    Omission,
    ScoredSpan,
    Signal,
    Usage,
)

FILE = ContextItem(
    id="code:a.py",
    source="code",
    title="a.py",
    content="x = 1",
    relevance=0.75,
    metadata={"language": "python"},
    tokens=12,
    detail=Detail.SPAN,
    location=Location("a.py", 1, 9, "hash"),
    spans=((1, 3), (7, 9)),
    signals=(Signal("words", 0.5, 1.0),),
    handle="abcd1234",
    cuts=(Cut("efgh5678", 1, 9, "A.b"),),
)
RECORD = ContextItem(id="commit:1", source="commit", title="Fix", content="Fix it", relevance=0.5)
CONTEXT = Context(
    query="why",
    text="the text",
    format=Format.XML,
    items=(FILE, RECORD),
    usage=Usage(400, 100, "o200k_base", exact=True, stopped="value"),
    overflow=(Omission("code:b.py", "code", "B", 0.2, "budget", 500, "b.py", 4, 8),),
    sources_used={"code": 1, "commits": 1},
    failures=(Failure("docs", "no answer", "ask again"),),
    meta={"revision": "7", "timings": {"search_ms": 1.5}},
)
REQUEST = request_with(query="why", kinds=(Kind.CODE,), format=Format.XML, exclude=("*.lock",), now=5.0)


def test_a_context_has_exactly_the_fields_that_were_promised() -> None:
    envelope = context_envelope(CONTEXT, REQUEST)
    assert list(envelope) == [
        "query", "text", "items", "overflow", "usage", "sources_used", "failures", "meta",
    ]  # fmt: skip
    assert list(envelope["items"][0]) == [
        "id", "source", "title", "content", "relevance", "tokens", "detail", "location", "metadata", "signals",
        "handle", "trust", "section", "cuts",
    ]  # fmt: skip
    assert list(envelope["usage"]) == ["limit", "used", "utilization", "tokenizer", "exact", "stopped"]


def test_every_value_stands_where_it_belongs() -> None:
    envelope = context_envelope(CONTEXT, REQUEST)
    assert (envelope["query"], envelope["text"]) == ("why", "the text")
    assert envelope["items"][0]["location"] == {
        "path": "a.py", "start_line": 1, "end_line": 9, "spans": [[1, 3], [7, 9]],
    }  # fmt: skip
    assert envelope["items"][0]["signals"] == [{"name": "words", "value": 0.5, "weight": 1.0}]
    assert envelope["items"][0]["detail"] == "window"
    assert envelope["items"][0]["cuts"] == [{"handle": "efgh5678", "start_line": 1, "end_line": 9, "name": "A.b"}]
    assert envelope["overflow"][0]["handle"] == ""
    assert envelope["items"][1]["location"] is None
    assert envelope["usage"]["utilization"] == 0.25
    assert envelope["overflow"][0]["location"] == {"path": "b.py", "start_line": 4, "end_line": 8}
    assert envelope["overflow"][0]["budget"] == 500
    assert envelope["failures"] == [{"source": "docs", "message": "no answer", "hint": "ask again"}]
    assert envelope["sources_used"] == {"code": 1, "commits": 1}


def test_meta_holds_all_that_the_answer_depends_on() -> None:
    meta = context_envelope(CONTEXT, REQUEST)["meta"]
    assert meta["version"] == __version__
    assert meta["revision"] == "7"
    assert meta["now"] == 5.0
    assert meta["request"]["types"] == ["code"]
    assert meta["request"]["exclude"] == ["*.lock"]
    assert meta["timings"] == {"search_ms": 1.5}


def test_the_request_is_complete() -> None:
    assert set(request_data(REQUEST)) == request_fields().keys() >= {"query", "types", "include", "workspace"}


def test_an_envelope_is_plain_json() -> None:
    envelope = context_envelope(CONTEXT, REQUEST)
    assert json.loads(json.dumps(envelope)) == envelope


def test_hits_are_shown_with_their_spans_and_signals() -> None:
    chunk = Chunk("code:a.py::f", Kind.CODE, "f", "", Location("a.py", 1, 30))
    hit = Hit(chunk, 0.5, -1.0, (ScoredSpan(4, 20, -1.0), ScoredSpan(1, 3, -2.0)), (Signal("name", 1.0, 0.5),))
    record = Hit(Chunk("commit:1", Kind.COMMIT, "Fix", ""), 0.25, -2.0)
    envelope = search_envelope("q", [hit, record], [Failure("code", "late")], "7")
    assert envelope["query"] == "q"
    assert envelope["hits"][0]["location"]["spans"] == [[4, 20], [1, 3]]
    assert envelope["hits"][0]["signals"] == [{"name": "name", "value": 1.0, "weight": 0.5}]
    assert envelope["hits"][1]["location"] is None
    assert envelope["failures"] == [{"source": "code", "message": "late", "hint": ""}]
    assert envelope["meta"] == {"version": __version__, "revision": "7"}
