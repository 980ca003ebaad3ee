from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.search.change_impact import _share, blended, impact_of_change
from satchel.search.query import analyse
from satchel.services.answer import change_notes
from satchel.sources.change import Change
from satchel.testing import TinyRepository
from satchel.types import Context
from tests.e2e.sample import CLIENT, sample_repository
from tests.memory.samples import STARTED

ORDERS = """from shop.client import Client


def send_all(orders):
    for order in orders:
        Client().send_order(order)
"""
MORE = {
    "shop/orders.py": ORDERS,
    "shop/special.py": "from shop.client import Client\n\n\nclass SlowClient(Client):\n    pass\n",
    "shop/elsewhere.py": "def sort(rows, backoff):\n    return backoff(rows)\n",
    "tests/test_orders.py": "from shop.orders import send_all\n\n\ndef test_all():\n    send_all([])\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = sample_repository(tmp_path / "shop")
    made.commit("Send many orders", MORE)
    return made


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        yield opened


def edited(
    satchel: Satchel, repository: TinyRepository, before: str, after: str, path: str = "shop/client.py"
) -> Change:
    text = (repository.root / path).read_text()
    assert before in text
    repository.write({path: text.replace(before, after)})
    satchel.index()
    return satchel.change()


def concerned(satchel: Satchel, change: Change, **options: Any) -> Context:
    return satchel.answer(satchel.request("", change=change, **options), change_notes(change))


def nearness(satchel: Satchel, change: Change) -> dict[str, float]:
    """Name of a definition -> how near it is to the change."""
    with satchel.store.snapshot() as store:
        weights = impact_of_change(change, store).related
        parts = store.chunks(weights)
        return {parts[row].name: related.weight for row, related in weights.items()}


def test_callers_tests_and_callees_are_found_by_relation(satchel: Satchel, repository: TinyRepository) -> None:
    weights = nearness(satchel, edited(satchel, repository, "2**attempt", "3**attempt"))
    assert weights["backoff"] == 1.0
    assert weights["Client.send_order"] == 0.9
    assert weights["test_backoff_doubles"] == 0.7
    assert "discount" not in weights


def test_a_call_of_something_else_of_that_name_is_not_concerned(satchel: Satchel, repository: TinyRepository) -> None:
    assert "sort" not in nearness(satchel, edited(satchel, repository, "2**attempt", "3**attempt"))


def test_a_changed_method_concerns_its_callers_and_what_it_calls(satchel: Satchel, repository: TinyRepository) -> None:
    weights = nearness(satchel, edited(satchel, repository, 'return "sent"', 'return "done"'))
    assert weights["send_all"] == 0.9
    assert weights["backoff"] == weights["RetryError"] == weights["Client._post"] == 0.45


def test_a_changed_class_concerns_who_inherits_and_who_makes_it(satchel: Satchel, repository: TinyRepository) -> None:
    weights = nearness(satchel, edited(satchel, repository, "Sends orders.", "Sends all orders."))
    assert weights["SlowClient"] == 0.8
    assert weights["send_all"] == 0.9


def test_callers_of_what_was_deleted_are_found(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, CLIENT[CLIENT.index("\n\ndef backoff") :], "\n")
    assert change.files[0].removed == ("backoff",)
    context = concerned(satchel, change)
    assert "time.sleep(backoff(attempt))" in context.text
    assert "assert backoff(1) == 2 * backoff(0)" in context.text


def test_tests_that_reach_the_change_over_one_more_call_come_last(satchel: Satchel, repository: TinyRepository) -> None:
    weights = nearness(satchel, edited(satchel, repository, 'return "sent"', 'return "done"'))
    assert weights["test_all"] == 0.5


def test_code_that_only_makes_the_class_of_a_changed_method_is_not_concerned(
    satchel: Satchel, repository: TinyRepository
) -> None:
    tests = "from shop.client import Client\n\n\ndef test_session(app):\n    app.client = Client()\n"
    repository.commit("Test the application", {"tests/test_app.py": tests})
    assert "test_session" not in nearness(satchel, edited(satchel, repository, 'return "sent"', 'return "done"'))


def test_code_that_passes_on_what_changed_is_concerned(satchel: Satchel, repository: TinyRepository) -> None:
    used = "from shop.client import backoff\n\n\ndef wait(delay=backoff):\n    return retry(delay or backoff)\n"
    repository.commit("Wait", {"shop/wait.py": used, "shop/only.py": "from shop.client import backoff\n"})
    weights = nearness(satchel, edited(satchel, repository, "2**attempt", "3**attempt"))
    assert weights["wait"] == 0.75
    assert not any("only" in name for name in weights)


def test_the_commits_that_wrote_the_changed_lines_and_the_documents_that_name_them_are_shown(
    satchel: Satchel, repository: TinyRepository
) -> None:
    text = (repository.root / "shop/client.py").read_text()
    repository.commit("Wait longer, because the server was flooded", {"shop/client.py": text.replace("2**a", "4**a")})
    repository.commit("Say hello elsewhere", {"shop/client.py": f"{text.replace('2**a', '4**a')}\n\nHELLO = 1\n"})
    repository.commit("Explain", {"docs/waiting.md": "# Waiting\n\nThe delay comes from `backoff`.\n"})
    repository.commit("Advertise", {"docs/other.md": "# Attempt\n\nEvery attempt is fun.\n"})
    change = edited(satchel, repository, "4**attempt", "3**attempt")
    assert len(change.files[0].commits) == 1
    context = satchel.answer(*satchel.answers.about_change(satchel.request("the change"), is_asked=False))
    assert "because the server was flooded" in context.text
    assert "docs/waiting.md" in context.text
    assert "docs/other.md" not in context.text
    assert context.text.index("3**attempt") < context.text.index("flooded")


def remember(satchel: Satchel, goal: str, surprise: str) -> None:
    satchel.experiences.start(**STARTED | {"goal": goal, "hypothesis": f"{goal} is simple", "action": "Change it"})
    satchel.experiences.resolve(
        status="falsified", result="It failed", surprise=surprise, root_cause="wrong-assumption",
        root_cause_description=surprise,
    )  # fmt: skip


def past(context: Context) -> list[str]:
    return [item.content for item in context.items if item.source == "experience"]


def test_past_failures_of_a_changed_file_are_shown(satchel: Satchel, repository: TinyRepository) -> None:
    remember(satchel, "Speed up parcels", "Everything in client.py is shared by two threads")
    remember(satchel, "Paint the fence", "The paint was frozen")
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    for context in (concerned(satchel, change), satchel.assemble("who waits how long", change=change)):
        (shown,) = past(context)
        assert "shared by two threads" in shown


@pytest.mark.parametrize(("types", "fill"), [(["experiences"], True), (["experiences"], False), ([], False)])
def test_a_question_beside_a_change_finds_no_fewer_experiences(
    satchel: Satchel, repository: TinyRepository, types: list[str], *, fill: bool
) -> None:
    remember(satchel, "Compute the discount of a price", "It was rounded twice before the total was shown")
    remember(satchel, "Send a voucher by mail", "The discount was lost with the attachment")
    text = (repository.root / "shop/client.py").read_text()
    for name in ("carrier", "warehouse", "pallet", "driver", "tracking", "insurance", "customs", "pickup"):
        text += f"\n\ndef {name}_of_parcel(order, {name}_table):\n    return {name}_table[order]\n"
    repository.write({"shop/client.py": text})
    satchel.index()
    question = "where is the discount of a voucher lost"
    asked: dict[str, Any] = {"types": types, "fill": fill}
    alone = satchel.answer(satchel.request(question, **asked))
    beside = {
        item.id: item for item in satchel.answer(satchel.request(question, change=satchel.change(), **asked)).items
    }
    experiences = [item for item in alone.items if item.source == "experience"]
    assert experiences
    assert all(beside[item.id].relevance >= item.relevance for item in experiences)


def test_a_past_failure_of_the_file_ranks_with_the_answers_of_the_question_not_above(
    satchel: Satchel, repository: TinyRepository
) -> None:
    remember(satchel, "Speed up parcels", "Everything in client.py is shared by two threads")
    remember(satchel, "Compute the discount of a price", "It was rounded twice before the total was shown")
    question = "why was the discount lost after a holiday of the bank"
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    asked: dict[str, Any] = {"types": ["experiences"], "fill": True}
    (alone,) = satchel.assemble(question, **asked).items
    beside = {item.id.partition("::")[0]: item for item in satchel.assemble(question, change=change, **asked).items}
    assert len(beside) == 2
    assert max(item.relevance for item in beside.values()) == alone.relevance


def test_the_changed_lines_are_shown_before_the_code_that_calls_them(
    satchel: Satchel, repository: TinyRepository
) -> None:
    context = concerned(satchel, edited(satchel, repository, "2**attempt", "3**attempt"))
    client = next(item for item in context.items if item.title == "shop/client.py")
    own = next(piece for piece in client.pieces if piece.name == "backoff")
    assert "3**attempt" in own.text
    assert "time.sleep(backoff(attempt))" in context.text
    assert any(signal.name == "change" for signal in client.signals)


def test_changed_prose_is_not_shown_back(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "exponential backoff", "linear backoff", "docs/guide.md")
    context = satchel.answer(satchel.request("backoff when the connection drops", change=change))
    assert "linear backoff" not in context.text


def test_a_change_of_documents_alone_shows_its_lines(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "exponential backoff", "linear backoff", "docs/guide.md")
    assert "linear backoff" in concerned(satchel, change).text


def test_a_change_of_a_file_without_definitions_shows_its_lines(satchel: Satchel, repository: TinyRepository) -> None:
    repository.commit("Settings", {"deploy.yaml": "stage: test\nretries: 3\n"})
    change = edited(satchel, repository, "retries: 3", "retries: 4", "deploy.yaml")
    assert "retries: 4" in concerned(satchel, change).text


def test_commits_that_touched_the_same_files_are_shown(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "percent / 100", "percent / 1000", "shop/prices.py")
    context = concerned(satchel, change, types=["commits"])
    assert "Add prices with discounts" in context.text
    assert "Write the guide" not in context.text


def test_a_question_beside_a_change_keeps_its_own_answer(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    context = satchel.answer(satchel.request("how is a discount on the price computed", change=change))
    titles = [item.title for item in context.items]
    assert "shop/prices.py" in titles
    assert "shop/client.py" in titles


def test_the_words_of_a_change_weigh_little_beside_a_question(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    query = blended(analyse("discount of a price"), change)
    weights = {term.term: term.weight for term in query.terms}
    assert weights["backoff"] < weights["discount"]
    assert "backoff" in {mention.text for mention in query.symbols}
    alone = blended(analyse(""), change)
    assert {term.term: term.weight for term in alone.terms}["backoff"] > weights["backoff"]


def test_a_large_caller_is_shown_around_its_calls(satchel: Satchel, repository: TinyRepository) -> None:
    body = "".join(f"    total = total + {n}  # filler line about nothing in particular {n}\n" for n in range(80))
    call = "    total = backoff(total)\n"
    large = f"from shop.client import backoff\n\n\ndef large(total):\n{body}{call}{body}    return total\n"
    repository.commit("Grow", {"shop/large.py": large})
    satchel.index()
    context = concerned(satchel, edited(satchel, repository, "2**attempt", "3**attempt"), max_tokens=1500)
    item = next(item for item in context.items if item.title == "shop/large.py")
    assert "total = backoff(total)" in item.content
    assert len(item.content) < len(large) / 3


def test_untracked_and_unread_files_are_noted(satchel: Satchel, repository: TinyRepository) -> None:
    repository.write({f"shop/loose{n}.py": f"x = {n}\n" for n in range(7)})
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    failures = concerned(satchel, change).failures
    assert failures[0].message.startswith("7 untracked files (shop/loose0.py, ")
    assert "and 2 more) are not part of the change" in failures[0].message


def test_the_same_change_gives_the_same_bytes(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    assert concerned(satchel, change).text == concerned(satchel, satchel.change()).text


def test_budgets_hold_for_changes_too(satchel: Satchel, repository: TinyRepository) -> None:
    change = edited(satchel, repository, "2**attempt", "3**attempt")
    for budget in (1, 50, 120, 300, 900):
        assert concerned(satchel, change, max_tokens=budget).usage.used <= budget


def test_the_share_of_a_commit_does_not_depend_on_the_order_of_its_paths() -> None:
    weights = {"a": 0.1, "b": 0.7, "c": 0.3, "d": 1e-9, "e": 2.4}
    orders = list(itertools.permutations(weights))
    assert len({sum(weights[path] for path in order) for order in orders}) > 1
    assert len({_share(order, order[:3], weights) for order in orders if set(order[:3]) == {"a", "b", "c"}}) == 1
