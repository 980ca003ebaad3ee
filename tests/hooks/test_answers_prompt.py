"""A prompt gets the little that is relevant to it, or nothing."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from satchel.config import SETTINGS
from satchel.hooks.answers import USUAL_WORDS, asks_something, peculiarity, prompt_certainty, usual_shares
from tests.hooks.conftest import Host
from tests.safety.test_sanitize_redact import TOKENS

QUESTION = "where is an order sent again when the connection drops?"


def test_a_prompt_gets_what_answers_it_within_its_budget(host: Host) -> None:
    answer, output = host.told("claude-code/prompt", prompt=QUESTION)
    text = output["hookSpecificOutput"]["additionalContext"]
    assert output["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "def send_order" in text
    assert "systemMessage" not in output
    assert 0 < answer.tokens <= 800
    assert answer.items()[0]["id"] == "code:shop/client.py"


@pytest.mark.parametrize(
    "text",
    [
        "yes", "ok, go on", "thanks, that looks good", "/compact", "/review the retry", "!ls client.py", "#remember it",
        "<task-notification>send_order is done</task-notification>", "run the tests again", "",
        "who painted the ceiling of the chapel in Rome?", "recommend a good novel about medieval pirates",
    ],
)  # fmt: skip
def test_small_talk_commands_of_the_host_and_other_subjects_get_nothing(host: Host, text: str) -> None:
    answer, output = host.told("claude-code/prompt", prompt=text)
    assert output == {}
    assert answer.reason


@pytest.mark.parametrize(
    ("prompt", "record"),
    [
        ("write tests for it", "A test names the rule that it protects, and mocks no database"),
        ("commit it and open a pull request", "Branches are named after the ticket, as F-12-short-words"),
        ("ship it", "Nothing is deployed on a Friday after noon"),
        ("installiere die Pakete neu", "pnpm only; npm breaks the lock file"),
        ("who looks at the dead letters?", "Dead letters are looked at by Priya on Mondays"),
        ("what if the provider refuses one?", "What the provider refuses is tried again after five minutes"),
    ],
)
def test_a_short_order_of_usual_work_and_a_short_question_get_what_is_remembered(
    host: Host, prompt: str, record: str
) -> None:
    with host.engine() as engine:
        engine.memories.add(record, category="decision")
        engine.memories.add("The shelf in the hall is painted blue")
    text = host.ask(prompt)
    assert record in text
    assert "shelf" not in text


def test_words_of_every_project_are_not_enough_and_a_word_of_this_one_is(host: Host) -> None:
    """The sample shop has code for both prompts; only the second is about the shop more than about any program."""
    with host.engine() as engine:
        usual = peculiarity("Fix the error when a file is read", engine)
        own = peculiarity("Fix the backoff when an order is read", engine)
    assert usual < 1.0 < own


def test_a_prompt_with_a_name_that_is_nowhere_is_less_certain(host: Host) -> None:
    with host.engine() as engine:
        context = engine.answers.unrecorded(engine.request(QUESTION, max_tokens=800))
        sure = prompt_certainty(QUESTION, context, engine)
        lost = replace(context, meta={**context.meta, "missing_terms": ["kafka", "websocket"]})
        assert prompt_certainty(QUESTION, lost, engine) < sure
        assert prompt_certainty(QUESTION, replace(context, items=()), engine) == 0.0
    assert SETTINGS["hooks.min_relevance"].default <= sure <= 1.0


def test_the_table_of_usual_words_has_each_stem_once_with_its_share() -> None:
    stems = [stem for line in USUAL_WORDS.read_text(encoding="utf-8").splitlines() for stem in line.split()[1:]]
    assert len(stems) == len(set(stems)) == len(usual_shares())
    assert usual_shares()["return"] > usual_shares()["pars"] > 0.0
    assert max(usual_shares().values()) <= 0.5


def test_a_file_that_is_attached_or_that_hosts_load_is_not_sent_again(host: Host) -> None:
    (host.root / "AGENTS.md").write_text("Orders are sent again when the connection drops: see send_order.\n")
    with host.engine() as engine:
        engine.index()
    config = host.home / "config" / "satchel.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[hooks]\nmin_relevance = 0.02\n")
    assert "### shop/client.py" in host.ask(QUESTION)
    host.session = "session-2"
    text = host.ask(f"@shop/client.py {QUESTION}")
    assert "### shop/client.py" not in text
    assert "- docs/guide.md:" in text
    assert "AGENTS.md" not in text


def test_what_a_session_has_is_not_sent_again_and_another_session_gets_it(host: Host) -> None:
    first = host.ask(QUESTION)
    assert "def send_order" in first
    assert "def send_order" not in host.ask(f"once more: {QUESTION}")
    host.session = "session-2"
    assert host.ask(QUESTION) == first


def test_the_same_prompt_told_twice_is_answered_once(host: Host) -> None:
    assert host.ask(QUESTION)
    answer, output = host.told("claude-code/prompt", prompt=QUESTION)
    assert (answer.outcome, output) == ("nothing", {})
    assert "a moment ago" in answer.reason


def test_a_session_without_a_name_gets_its_answer_every_time(host: Host) -> None:
    host.session = ""
    assert host.ask(QUESTION) == host.ask(QUESTION) != ""


def test_without_an_index_one_is_begun_in_the_background_and_nothing_is_shown(new_host: Host) -> None:
    answer, output = new_host.told("claude-code/prompt", prompt=QUESTION)
    assert output == {"systemMessage": "satchel is indexing this folder; prompts get context as soon as it is done"}
    assert "being built" in answer.reason
    assert new_host.started == [["refresh", str(new_host.root)]]


def test_a_first_run_that_has_published_nothing_yet_is_no_index(new_host: Host) -> None:
    with new_host.engine() as engine:
        assert engine.store.revision == "0"  # a file without anything in it
        assert (engine.places.index / "index.db").exists()
    answer, output = new_host.told("claude-code/prompt", prompt=QUESTION)
    assert "being built" in answer.reason
    assert "hookSpecificOutput" not in output
    assert new_host.started == [["refresh", str(new_host.root)]]


def test_a_folder_that_is_no_project_is_not_indexed_unasked(new_host: Host) -> None:
    folder = new_host.root.parent / "downloads"
    folder.mkdir()
    answer = new_host.tell("claude-code/prompt", prompt=QUESTION, cwd=str(folder))
    assert "not a project" in answer.reason
    assert new_host.started == []


def test_an_index_that_nobody_looked_at_for_a_while_is_refreshed_after_it_has_answered(host: Host) -> None:
    lock = next(host.home.glob("cache/index/*/index.lock"))
    assert host.ask(QUESTION)
    assert host.started == []
    os.utime(lock, (1, 1))
    (host.root / "shop/client.py").write_text("def unrelated() -> None: ...\n")
    text = host.ask("how does send_order wait with its backoff between attempts?")
    assert "def send_order" not in text or "stale" in text
    assert host.started == [["refresh", str(host.root)]]


def test_cursor_takes_no_context_with_a_prompt_and_is_not_kept_waiting(host: Host) -> None:
    answer, output = host.told("cursor/prompt", prompt=QUESTION)
    assert output == {}
    assert "takes no context" in answer.reason


def test_what_may_have_nothing_to_do_with_the_project_gets_nothing(host: Host) -> None:
    config = host.home / "config" / "satchel.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[hooks]\nmin_relevance = 1.0\n")
    assert host.ask(f"{QUESTION} perhaps in another galaxy") == ""
    assert "relevant" in host.tell("claude-code/prompt", prompt=f"{QUESTION} or in zanzibar").reason


def test_secrets_in_a_prompt_are_neither_kept_nor_shown(host: Host) -> None:
    secret = TOKENS["github-token"]
    text = host.ask(f"why does send_order fail with {secret}?")
    kept = "".join(path.read_text() for path in (host.state / "hooks").rglob("*.json"))
    assert secret not in text + kept + json.dumps(host.entries())
    assert "why does send_order fail" in kept


@pytest.mark.parametrize("text", ["fix `x`", "see src/a.py", "what is max_tokens", "parseHttp breaks", "run() hangs"])
def test_a_prompt_that_names_something_asks_for_it(text: str) -> None:
    assert asks_something(text)
