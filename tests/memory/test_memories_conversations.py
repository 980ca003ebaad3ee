from __future__ import annotations

import pytest

from satchel.errors import UsageError
from satchel.memory.memories import Conversations
from satchel.memory.portable import put_exchanges
from satchel.memory.scope import Notebook
from satchel.sources.conversations import Exchange
from tests.memory.conftest import ELSEWHERE, HERE, MakeNotebook


def said(session: str, second: int, text: str) -> Exchange:
    return Exchange(session, f"{second:08d}", float(second), text)


@pytest.fixture
def here(make_notebook: MakeNotebook) -> Notebook:
    notebook = make_notebook(HERE)
    put_exchanges([said("a", 2, "second"), said("a", 1, "first")], notebook, origin="claude-code")
    put_exchanges([said("b", 1, "other")], notebook, origin="meeting")
    put_exchanges([said("c", 1, "foreign")], make_notebook(ELSEWHERE), origin="meeting")
    return notebook


def test_exchanges_are_listed_in_the_order_they_were_said_in(here: Notebook) -> None:
    assert [remark.title for remark in Conversations(here).listed()] == ["first", "second", "other"]
    assert [remark.title for remark in Conversations(here).listed(origin="meeting")] == ["other"]
    assert Conversations(here).listed(origin="unknown") == []


def test_forgotten_exchanges_are_gone_and_others_stay(here: Notebook, make_notebook: MakeNotebook) -> None:
    conversations = Conversations(here)
    ids = [remark.id for remark in conversations.listed(origin="claude-code")]
    assert conversations.forget([f"conversation:{ids[0]}", ids[1]]) == 2
    assert [remark.title for remark in conversations.listed()] == ["other"]
    assert [remark.title for remark in Conversations(make_notebook(ELSEWHERE)).listed()] == ["foreign"]


def test_an_exchange_that_is_not_here_is_an_error_and_nothing_is_forgotten(
    here: Notebook, make_notebook: MakeNotebook
) -> None:
    (foreign,) = Conversations(make_notebook(ELSEWHERE)).listed()
    first = Conversations(here).listed()[0].id
    with pytest.raises(UsageError, match="nothing was forgotten"):
        Conversations(here).forget([first, foreign.id])
    assert len(Conversations(here).listed()) == 3
