"""Commits that a question names: by a hash, a number or a link, through the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.search.references import refers_to_commits
from satchel.testing import TinyRepository

FORGE = "https://forge.example.org/ada/shop"


class Shop:
    """A repository with the hashes of its commits."""

    def __init__(self, repository: TinyRepository) -> None:
        self.lamp = repository.commit(
            "Add a lamp (#12)", {"src/lamp.py": "def change_lamp(colour):\n    return colour\n"}
        )
        self.lock = repository.commit(
            "Lock the till while it counts\n\nTwo cashiers counted at once.\nFixes #13, which #12 began.",
            {"src/till.py": "def count_till(lock):\n    with lock:\n        return 12\n"},
        )
        repository.commit("Paint the door", {"src/door.py": "def paint(fix):\n    return 123\n"})
        self.satchel = Satchel.open(repository.root)

    def asked(self, question: str) -> list[str]:
        """The ids of the items of an answer, in its order."""
        return [item.id for item in self.satchel.assemble(question, max_tokens=2_000).items]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("references")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        made = Shop(TinyRepository(folder / "shop"))
        yield made
        made.satchel.close()


@pytest.mark.parametrize("form", ["what did {} change?", "{}", "explain commit {}", f"{FORGE}/commit/{{}}"])
def test_a_question_about_a_hash_shows_that_commit_alone(shop: Shop, form: str) -> None:
    for digits in (7, 12, 40):
        context = shop.satchel.assemble(form.format(shop.lock[:digits]), max_tokens=2_000)
        assert [item.id for item in context.items] == [f"commit:{shop.lock}"]
        assert not context.meta["weak"]
        assert not context.meta["missing_terms"]


@pytest.mark.parametrize("question", ["what was fixed in #13", f"{FORGE}/issues/13", f"{FORGE}/-/merge_requests/13"])
def test_a_number_or_a_link_shows_the_commit_that_names_it(shop: Shop, question: str) -> None:
    assert shop.asked(question) == [f"commit:{shop.lock}"]


def test_the_commit_with_a_number_in_its_subject_comes_before_one_that_mentions_it(shop: Shop) -> None:
    assert shop.asked(f"summarise {FORGE}/pull/12/files") == [f"commit:{shop.lamp}", f"commit:{shop.lock}"]


def test_the_other_words_of_a_question_about_a_commit_find_code(shop: Shop) -> None:
    first, *others = shop.asked(f"where is the till that {shop.lamp[:8]} needs counted")
    assert first == f"commit:{shop.lamp}"
    assert "code:src/till.py" in [one.partition("#")[0].partition("::")[0] for one in others]


def test_a_number_that_no_commit_names_is_only_a_word(shop: Shop) -> None:
    found = shop.asked("where does the till return 12")
    assert found[0].startswith("code:src/till.py")
    assert shop.asked("#99") == []


@pytest.mark.parametrize(
    ("question", "refers"),
    [
        ("why does 0a1b2c3 lock", True),
        ("see #4", True),
        ("the address 0xc0001b2000", False),
        ("the color #ffeedd1", False),
        ("id 550e8400-e29b-41d4-a716-446655440000", False),
        ("#0 0x4f3a in next src/unicode.c:44", False),
        ("what is in &#39; here", False),
        ("#4 " + "and so on " * 20, False),
    ],
)
def test_only_a_short_question_with_a_hash_or_a_number_refers_to_commits(question: str, refers: bool) -> None:
    assert refers_to_commits(question) == refers
