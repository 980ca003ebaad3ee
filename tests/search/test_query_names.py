"""Likely names from the caller are signals: they lift what defines them, and cost nothing where they are wrong."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.search import weights
from satchel.search.mentions import _plain_names
from satchel.search.query import analyse, with_names
from satchel.testing import TinyRepository

FILES = {
    "shop/limits.py": "MAX_OPEN_CARTS = 12\n\n\ndef refuse(cart):\n    return cart.number > MAX_OPEN_CARTS\n",
    "shop/page.py": "def show(page):\n    for visitor in page.visitors:\n        visitor.greet(page)\n",
    "shop/mail.py": "def remind(visitor):\n    visitor.send('your page is waiting')\n",
}
QUESTION = "why can a visitor of the page not put more things aside"


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("names")
    repository = TinyRepository(folder / "shop")
    repository.commit("Open the shop", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine


def first(satchel: Satchel, *names: str) -> str:
    return satchel.assemble(QUESTION, names=names, types=["code"]).items[0].title


def test_a_likely_name_leads_to_its_definition(satchel: Satchel) -> None:
    assert first(satchel) != "shop/limits.py"
    assert first(satchel, "MAX_OPEN_CARTS", "refuse", "cart_limit") == "shop/limits.py"


def test_names_that_occur_nowhere_change_nothing_and_are_not_told_as_missing(satchel: Satchel) -> None:
    plain, named = (satchel.assemble(QUESTION, names=names) for names in ((), ("frobnicator", "zzyzx_quota")))
    assert plain.text == named.text
    assert "frobnicator" not in named.meta["missing_terms"]


@pytest.mark.parametrize("purpose", ["find", "read"])
def test_a_guess_whose_parts_occur_and_that_does_not_costs_nothing(satchel: Satchel, purpose: str) -> None:
    wrong = (
        "VisitorPage",
        "send_limits",
        "refuse_visitor",
        "PageNumber",
        "greetMail",
        "cartLimit",
        "Visitor.refuseAll",
    )
    plain, named = (satchel.assemble(QUESTION, names=names, purpose=purpose) for names in ((), wrong))
    assert (plain.text, plain.items) == (named.text, named.items)
    hits, guessed = (satchel.search(QUESTION, names=names) for names in ((), wrong))
    assert hits == guessed


def test_a_guess_may_be_in_camel_case_where_the_code_has_underscores(satchel: Satchel) -> None:
    for guess in ("maxOpenCarts", "MaxOpenCarts", "max_open_carts"):
        assert "shop/limits.py" in [item.title for item in satchel.assemble(QUESTION, names=[guess]).items]


def test_names_do_not_make_a_question_about_something_else_look_answered(satchel: Satchel) -> None:
    plain = satchel.assemble("which driver handles bluetooth pairing")
    named = satchel.assemble("which driver handles bluetooth pairing", names=["visitor", "page"])
    assert plain.meta["missing_terms"] == named.meta["missing_terms"]
    assert named.meta["strength"] <= plain.meta["strength"] + 0.01


def test_a_saved_answer_with_names_is_replayed_with_them(satchel: Satchel) -> None:
    request = satchel.request(QUESTION, names="MAX_OPEN_CARTS, refuse")
    assert request.asked.names == ("MAX_OPEN_CARTS", "refuse")


def test_a_name_weighs_less_beside_a_question_that_names_things_itself() -> None:
    vague, telling = (
        {term.term: term.weight for term in with_names(analyse(text), ["quota"]).terms}
        for text in ("why is it slow", "why is `read_all` slow")
    )
    assert weights.NAMES_BESIDE_NAMES < weights.NAMES_WEIGHT
    assert telling["quota"] < vague["quota"]


def test_only_terms_that_the_question_lacks_count_as_guessed() -> None:
    terms = {term.term: term.guessed for term in with_names(analyse("the page is slow"), ["page", "quota"]).terms}
    assert (terms["page"], terms["quota"]) == (False, True)


@pytest.mark.parametrize("names", [["x" * 101], [f"name{number}" for number in range(31)], 7, [7]])
def test_impossible_names_are_refused(satchel: Satchel, names: object) -> None:
    with pytest.raises(UsageError, match="names"):
        satchel.request(QUESTION, names=names)  # type: ignore[arg-type]


def test_a_path_is_found_in_another_case_and_a_bare_name_only_in_its_own(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "spelled")
    text = "def step():\n    return 1\n"
    names = [f"src/{name}/app.py" for name in ("alpha", "beta", "gamma")]
    repository.commit("Start", {**dict.fromkeys(names, text)})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        for name in names:
            asked = f"what does step do in {name.title().replace('.Py', '.py')}?"
            for question in (asked, asked.upper()):
                first = satchel.assemble(question, types=["code"]).items[0]
                assert (first.title, "mention" in str(first.signals)) == (name, True)
    named = analyse("why does Vue.js stop in Src/Page.vue and Größe.md?")
    assert _plain_names(named) == {"Vue.js"}
    apart = analyse(unicodedata.normalize("NFD", "what does docs/Größe.md say?"))
    assert [mention.text for mention in apart.paths] == [unicodedata.normalize("NFC", "docs/Größe.md")]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("where does MySQL write the clause of an insert", "shop/dialects/mysql.py"),
        ("where does PostgreSQL write the clause of an insert", "shop/dialects/postgresql.py"),
        ("where does SQLite write the clause of an insert", "shop/dialects/sqlite.py"),
    ],
)
def test_a_technology_in_camel_case_outweighs_its_siblings(tmp_path: Path, question: str, path: str) -> None:
    repository = TinyRepository(tmp_path / "shop")
    body = "def write_insert(clause):\n    return f'insert {clause}'\n"
    names = ("mysql", "postgresql", "sqlite", "standard")
    repository.commit("Write inserts", {f"shop/dialects/{name}.py": body for name in names})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        hits = engine.search(question, types=["code"])
    assert hits[0].chunk.location is not None
    assert hits[0].chunk.location.path == path


def test_a_name_in_camel_case_as_a_word_does_not_count_as_a_word_of_the_question() -> None:
    terms = {term.term: term for term in analyse("where is SQLite opened").terms}
    assert terms["sqlite"].guessed
    assert terms["sqlite"].weight < terms["=sqlite"].weight
    assert not {term.term: term for term in analyse("is SQLite sqlite").terms}["sqlite"].guessed
    assert "read_fil" not in {term.term for term in analyse("where is read_file").terms}
