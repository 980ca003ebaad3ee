"""A script does not come before the document that answers: in a repository of documents, or much better than code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.answer.fill_policy import is_of_documents
from satchel.testing import TinyRepository
from tests.postgres import environment

SUBJECTS = {
    "backup": "The backup runs at two in the morning and is kept for thirty days in the second data centre.",
    "vacation": "Vacation is requested two weeks before, and the team lead confirms it by the end of the week.",
    "invoice": "An invoice is sent on the first of the month; the customer has fourteen days to pay it.",
    "laptop": "A lost laptop is reported at once, and the disk is wiped from the console.",
    "release": "The release is cut on Tuesday, and nobody deploys on a Friday.",
    "onboarding": "The onboarding takes five days: accounts, the tour of the office, and a first small task.",
    "incident": "During an incident one person writes to the customers and another one leads the work.",
    "expense": "An expense above fifty euros needs a receipt and the name of the project.",
    "office": "The office opens at seven; the last person locks the door and sets the alarm.",
    "hiring": "Hiring begins with a call of half an hour, then a small task and a day with the team.",
}
PAGES = {
    f"handbook/{number:02}-{subject}{'-faq' * later}.md": (
        f"# {'Questions about ' * later}{subject.title()}\n\n{text}\n\n## Who to ask\n\n"
        + ("The people team answers within a day. " * 12)
        + "\n"
    )
    for later in (0, 1)
    for number, (subject, text) in enumerate(SUBJECTS.items(), 1)
}
SCRIPTS = {
    "tools/backup.py": "def backup(target):\n    return ['backup', 'runs', 'kept', target]\n",
    "tools/invoice.py": "def send_invoice(customer, month):\n    return ('invoice', customer, month)\n",
    "tools/release.py": "def release(day):\n    return day != 'friday'\n",
}
SOURCE = {
    f"shop/part_{number}.py": "".join(f"def step_{number}_{part}(order):\n    return order\n\n\n" for part in range(60))
    for number in range(12)
}
QUESTIONS = {
    "when does the backup run and how long is it kept": "backup",
    "how is an invoice sent to the customer": "invoice",
    "on which day is the release": "release",
}


@pytest.fixture(scope="module", params=["documents", "code"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bool, Satchel]]:
    """Whether the repository is one of documents, and its engine: 20 pages and 3 scripts, and the same beside code."""
    folder = tmp_path_factory.mktemp(request.param)
    is_handbook = request.param == "documents"
    made = TinyRepository(folder / "handbook")
    made.commit("Begin", PAGES | SCRIPTS | ({} if is_handbook else SOURCE))
    with Satchel.open(made.root, environ=environment(folder / "home")) as opened:
        opened.index()
        yield is_handbook, opened


def test_two_thirds_of_the_text_decide_what_a_repository_is_of(asked: tuple[bool, Satchel]) -> None:
    is_handbook, engine = asked
    assert is_of_documents(engine.store) is is_handbook


def first_path(engine: Satchel, question: str) -> str:
    location = engine.assemble(question, max_tokens=600).items[0].location
    assert location is not None
    return location.path


def test_a_page_that_answers_leads(asked: tuple[bool, Satchel]) -> None:
    _, engine = asked
    for question, subject in QUESTIONS.items():
        path = first_path(engine, question)
        assert path.startswith("handbook/"), question
        assert subject in path, question


def test_a_script_leads_where_a_page_is_hardly_better(asked: tuple[bool, Satchel]) -> None:
    _, engine = asked
    assert first_path(engine, "what does send_invoice take: a customer and a month") == "tools/invoice.py"


def test_beside_code_a_list_and_an_answer_begin_with_the_page_that_is_much_better(asked: tuple[bool, Satchel]) -> None:
    is_handbook, engine = asked
    question = next(iter(QUESTIONS))
    context = engine.assemble(question, purpose="find")
    assert context.items[0].source == "doc"
    # In a repository of documents the page leads by less.
    assert engine.search(question)[0].chunk.kind.value == ("code" if is_handbook else "doc")
    assert {item.source for item in context.items} == {"doc", "code"}
    assert context.usage.used < 600
