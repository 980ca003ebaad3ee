"""A small shop with a history: twelve fixes, and commits of every kind that is no use."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.repositories import commit, git, new_repository

TOPICS = (
    ("parcel", "weight of a parcel is rounded down", "return round(value)", "return ceil(value)"),
    ("invoice", "invoice loses the currency symbol", "text = amount", "text = symbol + amount"),
    ("session", "session stays open after a timeout", "wait(limit)", "close(wait(limit))"),
    ("basket", "basket counts removed articles twice", "total = len(articles)", "total = len(set(articles))"),
    ("coupon", "coupon is accepted after its last day", "return day <= end", "return day < end"),
    ("address", "address without a street crashes the form", "street.strip()", "(street or '').strip()"),
    ("label", "label printer gets an empty barcode", "send('')", "send(barcode)"),
    ("refund", "refund is booked on the wrong account", "account = default", "account = customer"),
    ("stock", "stock level turns negative for bundles", "level -= count", "level = max(0, level - count)"),
    ("mailer", "mailer repeats the greeting in each paragraph", "greet(each)", "greet(first)"),
    ("ledger", "ledger forgets the last line of a statement", "lines[:-1]", "lines"),
    ("search", "search index misses words with umlauts", "word.lower()", "fold(word)"),
)
"""Module, message, the line before and the line after the fix."""


def module_text(topic: str, line: str) -> str:
    return (
        f'"""The {topic} of the shop."""\n\n\ndef open_{topic}(value, limit):\n    """Open the {topic}."""\n'
        f"    return value, limit\n\n\ndef change_{topic}(value, limit, articles=()):\n    {line}\n    return value\n"
    )


@dataclass
class History:
    """The repository, and the ids of its commits by what they are."""

    root: Path
    fixes: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


def _date(number: int) -> dict[str, str]:
    moment = f"2024-03-{1 + number // 24:02d}T{number % 24:02d}:00:00+00:00"
    return {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}


class _Writer:
    def __init__(self, root: Path) -> None:
        self.root, self.number = root, 0

    def commit(self, message: str, files: Mapping[str, str | bytes | None] | None = None) -> str:
        self.number += 1
        return commit(self.root, message, files, **_date(self.number))


@pytest.fixture(scope="session")
def history_made(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Made once: git is what takes the time."""
    root = new_repository(tmp_path_factory.mktemp("made") / "shop")
    writer, history = _Writer(root), History(root)
    begin: dict[str, str | bytes | None] = {f"shop/{topic}.py": module_text(topic, old) for topic, _, old, _ in TOPICS}
    begin |= {
        "README.md": "# Shop\n",
        "tests/test_shop.py": "def test_shop():\n    assert True\n",
        ".gitignore": "*.log\n",
    }
    history.others["first"] = writer.commit("Fix everything that was wrong in the shop at once", begin)
    for number, (topic, message, _, new) in enumerate(TOPICS):
        trailer = "Signed-off-by: Ada <ada@example.invalid>"
        text = f"fix({topic}): {message} (#{number + 1})\n\nThe {topic} was wrong.\n\n{trailer}"
        history.fixes.append(writer.commit(text, {f"shop/{topic}.py": module_text(topic, new)}))
    other = history.others
    other["release"] = writer.commit(
        "Bump version from 1.0 to 1.1, fix broken metadata", {"shop/version.py": "V = 2\n"}
    )
    other["docs"] = writer.commit("Fix wrong sentence about parcels in the manual", {"README.md": "# The shop\n"})
    other["tests"] = writer.commit(
        "Fix failing test of the basket", {"tests/test_shop.py": "def test_shop():\n    pass\n"}
    )
    other["formatting"] = writer.commit("Fix typo in the parcel module", {"shop/parcel.py": "# parcel\n"})
    other["no fix"] = writer.commit("Add vouchers for loyal customers of the shop", {"shop/voucher.py": "V = 1\n"})
    other["new"] = writer.commit("Handle vouchers of partner companies correctly", {"shop/partner.py": "P = 1\n"})
    other["short"] = writer.commit("Fix bug", {"shop/partner.py": "P = 2\n"})
    moved = {"shop/voucher.py": None, "shop/coupons/voucher.py": "V = 1\n", "shop/partner.py": "P = 3\n"}
    other["moves"] = writer.commit("Fix wrong place of the voucher module", moved)
    many = {f"shop/{topic}.py": f"# all of it\n{module_text(topic, new)}" for topic, _, _, new in TOPICS}
    other["many files"] = writer.commit("Fix missing headers in all modules of the shop", dict(many))
    long = {"shop/partner.py": "".join(f"P{number} = {number}\n" for number in range(200))}
    other["many lines"] = writer.commit("Fix wrong partner numbers after the import of the catalogue", long)
    other["revert"] = writer.commit(
        f'Revert "Fix wrong partner"\n\nThis reverts commit {other["short"]}.', {"a.py": "1\n"}
    )
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    writer.commit("Add a side dish to the menu", {"menu.py": "M = 1\n"})
    git(root, "checkout", "-q", "main")
    writer.number += 1
    message, date = "Merge branch side, fix wrong menu of the shop", _date(writer.number)["GIT_AUTHOR_DATE"]
    git(root, "merge", "-q", "--no-ff", "-m", message, "side", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    return history


@pytest.fixture
def history(history_made: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A copy of the repository, with folders of satchel of its own."""
    root = tmp_path / "shop"
    shutil.copytree(history_made.root, root)
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_INDEX_WORKERS", "1")
    return History(root, history_made.fixes, history_made.others)
