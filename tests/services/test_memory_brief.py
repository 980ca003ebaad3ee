"""The brief: at the start of a session what matters, after a failure what failed like it and where."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer import plans
from satchel.answer.plans import own_files, question_of_failure, reported_errors, written_names
from satchel.errors import UsageError
from satchel.search.query import analyse
from satchel.types import Format
from tests.e2e.sample import sample_repository
from tests.memory.attempts import NOW, write_attempts
from tests.memory.samples import FALSIFIED, STARTED
from tests.oracle import o200k
from tests.safety.test_sanitize_redact import TOKENS

TRACE = """Traceback (most recent call last):
  File "/home/me/shop/client.py", line 21, in send_order
    raise RetryError(order)
shop.errors.RetryError: the order was refused
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    """An engine over a small repository, with a memory file of its own."""
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    with Satchel.open(sample_repository(tmp_path / "shop").root) as opened:
        yield opened


def headings(text: str) -> list[str]:
    """The section titles in a text."""
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


def memory(number: int, content: str, category: str, importance: float) -> bytes:
    """A line of an export, a day older with each number."""
    moment = f"2025-07-{28 - number:02d}T10:00:00Z"
    return json.dumps({
        "type": "memory", "id": f"mem_20250701_100000_{number:06x}", "content": content, "category": category,
        "importance": importance, "tags": [], "provenance": "user", "created_at": moment, "updated_at": moment,
    }).encode()  # fmt: skip


def test_a_session_starts_with_recent_events_and_the_memories_that_matter(engine: Satchel) -> None:
    lines = [
        memory(0, "Release 4.2 went out", "event", 0.3),
        memory(1, "The staging database was restored", "event", 0.3),
        memory(2, "Never deploy on Fridays", "decision", 0.9),
        memory(3, "The office plant is called Fern", "fact", 0.1),
    ]
    engine.import_memory(lines, here=True)
    write_attempts(engine, 12)
    context = engine.brief(now=NOW)
    assert context.text.startswith("# Brief\n")
    assert headings(context.text) == ["Recent Events", "Key Memories"]
    order = [context.text.index(text) for text in ("Release 4.2", "staging database", "Never deploy", "called Fern")]
    assert order == sorted(order)
    assert context.usage.used == o200k(context.text) <= 1000
    shown = [item.id for item in context.items]
    assert len(shown) == len(set(shown))
    assert context.sources_used["experiences"] >= 3
    assert engine.brief(now=NOW).text == context.text == asyncio.run(engine.abrief(now=NOW)).text


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("limit", [50, 200, 600])
def test_a_brief_is_inside_its_budget_in_every_format(engine: Satchel, format_: Format, limit: int) -> None:
    write_attempts(engine, 20)
    for failed in (None, TRACE):
        context = engine.brief(failed, max_tokens=limit, format=format_.value, now=NOW)
        assert context.usage.used == o200k(context.text) <= limit


def test_a_failure_finds_the_attempt_that_failed_like_it_the_known_error_and_the_code(engine: Satchel) -> None:
    write_attempts(engine, 40)
    engine.experiences.start(**(STARTED | {"goal": "Make send_order give up", "hypothesis": "RetryError is swallowed"}))
    done = engine.experiences.resolve(**FALSIFIED)
    engine.memories.add("RetryError in send_order means that the proxy is down", category="error")
    engine.memories.add("RetryError was renamed last year", category="fact")
    context = engine.brief(TRACE, now=NOW)
    assert headings(context.text) == ["What failed like this before", "Where in the code"]
    assert context.items[0].id.startswith(f"experience:{done.id}")
    assert "the proxy is down" in context.text
    assert "renamed last year" not in context.text
    code = [item for item in context.items if item.source == "code"]
    assert code[0].title == "shop/client.py"
    assert "def send_order" in code[0].content
    assert "- **Root cause**: wrong-assumption" in context.text
    assert context.usage.used <= 2000


def test_only_what_was_falsified_failed_before(engine: Satchel) -> None:
    engine.experiences.start(**(STARTED | {"hypothesis": "RetryError is swallowed in send_order"}))
    engine.experiences.resolve(status="confirmed", result="It was swallowed")
    assert "What failed like this before" not in engine.brief(TRACE).text


def test_a_failure_about_nothing_here_is_answered_with_nothing(engine: Satchel) -> None:
    context = engine.brief("zyzzyva quux: frobnication impossible\n")
    assert (context.text, context.items) == ("", ())


@pytest.mark.parametrize(
    "log",
    [
        "TypeError: unsupported operand in the glyph renderer\n",
        "npm ERR! code ELIFECYCLE\nnpm ERR! errno 2\nnpm ERR! build: `webpack --mode production`\n",
        'File "/srv/pdf/glyphs.py", line 15, in flush_glyphs\n    canvas.flush(page)\nGlyphError: page has no canvas\n',
        "[ERROR] Failed to execute goal org.apache.maven.plugins: OrderSheet.java:[42,17] cannot find symbol\n",
    ],
    ids=["sentence", "npm", "trace of others", "maven"],
)
def test_a_failure_like_nothing_here_is_silent(engine: Satchel, log: str) -> None:
    write_attempts(engine, 40)
    context = engine.brief(log, now=NOW)
    assert [(item.source, item.title, item.relevance) for item in context.items] == []


def test_an_attempt_that_is_not_like_the_failure_is_not_shown_beside_its_code(engine: Satchel) -> None:
    write_attempts(engine, 40)
    trace = 'File "/home/me/shop/client.py", line 21, in _post\n    canvas.flush(page)\nGlyphError: no canvas\n'
    context = engine.brief(trace, now=NOW)
    assert headings(context.text) == ["Where in the code"]
    assert context.items[0].title == "shop/client.py"
    assert all(item.relevance >= 0.01 for item in context.items)


def test_an_empty_failure_is_an_error(engine: Satchel) -> None:
    with pytest.raises(UsageError, match="the failure is empty"):
        engine.brief(" \n")


def test_secrets_of_a_failure_are_in_no_answer(engine: Satchel) -> None:
    secret = TOKENS["github-token"]
    context = engine.brief(f"RetryError: token {secret} refused in send_order\n", format="json")
    assert secret not in context.text + context.query


@pytest.mark.parametrize(
    ("log", "errors", "files"),
    [
        (TRACE, ["shop.errors.RetryError: the order was refused"], ["client.py"]),
        (
            "E       AssertionError: assert 0.2 == 3\ntests/test_client.py:5: AssertionError\n",
            ["AssertionError: assert 0.2 == 3"],
            ["test_client.py"],
        ),
        (
            "TypeError: no\n    at renderList (/a/src/list.js:10:5)\n    at run (/a/node_modules/jest/run.js:3:1)\n",
            ["TypeError: no"],
            ["list.js"],
        ),
        ("thread 'main' panicked at src/main.rs:4:5:\nno order\n", ["no order"], ["main.rs"]),
        ("panic: runtime error: index out of range\n", ["panic: runtime error: index out of range"], []),
        (
            "java.lang.NullPointerException: no\n\tat App.main(App.java:14)\n",
            ["java.lang.NullPointerException: no"],
            ["App.java"],
        ),
    ],
    ids=["python", "pytest", "javascript", "rust", "go", "java"],
)
def test_a_log_names_its_errors_and_its_own_files(log: str, errors: list[str], files: list[str]) -> None:
    query = analyse(log)
    assert reported_errors(query)[: len(errors)] == errors or set(errors) <= set(reported_errors(query))
    assert len(reported_errors(query)) <= plans.FAILURE_ERRORS
    assert own_files(query)[: len(files)] == files


def test_a_log_without_error_and_names_is_searched_as_it_is() -> None:
    query = analyse("it stopped and nobody knows")
    assert (reported_errors(query), written_names(query)) == ([], [])
    assert question_of_failure(query) == query.text


@pytest.mark.parametrize("log", ["ok all good", "5 passed in 0.20s", "Build completed successfully"])
def test_a_log_of_success_shows_nothing(engine: Satchel, log: str) -> None:
    assert engine.brief(after_failure=log).items == ()


@pytest.mark.parametrize("max_tokens", [150, 300, 1_000])
def test_what_is_pinned_comes_first_in_every_brief_and_is_bounded(engine: Satchel, max_tokens: int) -> None:
    for number in range(30):
        engine.memories.add(f"An important rule of this place, number {number}, said at some length", importance=1.0)
    pinned = [
        engine.memories.add(f"Never push to main, rule {number}", importance=0.1).memory.id for number in range(8)
    ]
    engine.memories.pin(pinned[:1])
    brief = engine.brief(max_tokens=max_tokens)
    assert headings(brief.text)[0] == "Pinned"
    assert "Never push to main, rule 0" in brief.text
    engine.memories.pin(pinned)
    shown = [item for item in engine.brief(max_tokens=max_tokens).items if "Never push to main" in item.content]
    assert 1 <= len(shown) <= 5
    assert [memory.tags for memory in engine.memories.pin(pinned, is_pinned=False)] == [()] * 8
    assert "Pinned" not in headings(engine.brief(max_tokens=max_tokens).text)
