"""A run that compares answers with a reranker and without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from satchel import Satchel
from satchel.cli.application import run
from satchel.evaluation.run import evaluate, report_data
from tests.evaluation.conftest import History
from tests.guidance.judge_server import JudgeServer, judge_server

LIMIT = 3


def worst_first(body: dict[str, Any]) -> object:
    return {"results": [{"index": at, "relevance_score": at} for at in range(len(body["documents"]))]}


def test_fixes_are_asked_with_the_reranker_and_without_it(
    history: History, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with judge_server() as server:
        server.whole = worst_first
        for name, value in {"ENDPOINT": server.url, "MODEL": "bad", "KEY_VARIABLE": "RANK_KEY"}.items():
            monkeypatch.setenv(f"SATCHEL_RERANK_{name}", value)
        monkeypatch.setenv("RANK_KEY", "abc")
        monkeypatch.chdir(history.root)
        assert run(["eval", "-n", str(LIMIT), "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        _check(history, server, report)
        assert run(["eval", "-n", str(LIMIT)]) == 0
        assert "against rerank.endpoint=: " in capsys.readouterr().out
        assert len(server.requests) == LIMIT, "answers are kept"


def _check(history: History, server: JudgeServer, report: dict[str, Any]) -> None:
    assert [request["path"] for request in server.requests] == ["/v1/rerank"] * LIMIT
    assert server.keys == ["Bearer abc"] * LIMIT
    with Satchel.open(history.root) as satchel:
        asked, plain = (evaluate(satchel, limit=LIMIT, changed=one) for one in ({}, {"rerank.endpoint": ""}))
    assert (asked.asked, plain.asked) == (0, 0), "answers are kept"
    assert report["against"]["measures"] == report_data(plain)["measures"]
    assert plain.answers[0].rank == 1
    assert [answer.rank for answer in asked.answers] != [1] * LIMIT
