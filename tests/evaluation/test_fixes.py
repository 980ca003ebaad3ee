"""Which commits become questions, what is asked, and which lines are the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.errors import UsageError
from satchel.evaluation.fixes import Snapshot, changed_lines, mine, question_of
from satchel.sources.commits import visible_commits
from satchel.system.git import Repository, repository_at
from tests.evaluation.conftest import TOPICS, History
from tests.repositories import git


def repository(history: History) -> Repository:
    result = repository_at(history.root)
    assert result is not None
    return result


def test_small_fixes_are_found_and_everything_else_is_counted_with_its_reason(history: History) -> None:
    mined = mine(repository(history), limit=100)
    assert [fix.sha for fix in mined.fixes] == list(reversed(history.fixes))
    assert dict(mined.left_out) == {
        "no parent": 1, "release or bump": 1, "no source file": 2, "formatting or wording": 1, "no fix": 2,
        "only new files": 1, "says too little": 1, "moves files": 1, "many files": 1, "many lines": 1, "revert": 1,
        "merge": 1,
    }  # fmt: skip
    assert mined.commits == len(mined.fixes) + sum(mined.left_out.values())


def test_a_question_is_the_message_without_its_numbers_and_trailers(history: History) -> None:
    fix = mine(repository(history), limit=1).fixes[0]
    topic, message, _, _ = TOPICS[-1]
    assert fix.question == f"{message}\n\nThe {topic} was wrong."
    assert fix.subject == message
    assert fix.gold == {"shop/search.py": ((10, 10),)}
    assert not fix.names_a_file


def test_a_limit_takes_the_newest_and_a_time_bounds_them(history: History) -> None:
    newest = mine(repository(history), limit=3)
    assert [fix.sha for fix in newest.fixes] == history.fixes[:-4:-1]
    since = mine(repository(history), limit=100, since=newest.fixes[-1].time)
    assert [fix.sha for fix in since.fixes] == history.fixes[:-4:-1]
    with pytest.raises(UsageError, match="limit is 0"):
        mine(repository(history), limit=0)


def test_a_stop_ends_the_search(history: History) -> None:
    assert mine(repository(history), limit=100, should_stop=lambda: True).fixes == []


def test_lines_of_a_patch_that_look_like_headers_are_lines() -> None:
    patch = (
        b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@ def a():\n---- a/b.py\n-@@ -9 +9 @@\n"
        b"+++ b/c.py\n+x\n\\ No newline at end of file\n@@ -9,0 +10,2 @@\n+new\n+lines\n@@ -0,0 +1 @@\n+top\n"
        b"@@ -20 +22,0 @@\n-gone\n"
        b'diff --git "a/\\303.py" "b/\\303.py"\n--- "a/\\303.py"\n+++ "b/\\303.py"\n@@ -1 +1 @@\n-a\n+b\n'
        b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+n\n"
        b"--- a/docs/a file.md\t\n+++ b/docs/a file.md\t\n@@ -1 +1 @@\n-a\n+b\n"
    )
    result, changed = changed_lines(patch)
    assert result == {"a.py": ((3, 4), (9, 9), (1, 1), (20, 20)), "docs/a file.md": ((1, 1),)}
    assert changed == 8


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Fix: the lamp is off (GH-12)\n\nFixes #12\nCloses: https://example.com/12\n", "the lamp is off"),
        (
            "The lamp is off\n\n\n\n\nReally.\n\nChange-Id: I0123\nReviewed-by: B <b@c.com>",
            "The lamp is off\n\nReally.",
        ),
        (f"Fixes a lamp that stays {'off ' * 20}", f"Fixes a lamp that stays {'off ' * 19}off"),
    ],
)
def test_messages_become_questions(message: str, question: str) -> None:
    assert question_of(message) == question


def test_a_clone_without_old_contents_asks_about_what_it_has(history: History, tmp_path: Path) -> None:
    git(history.root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", history.root.as_uri(), "partial")
    partial = repository_at(tmp_path / "partial")
    assert partial is not None
    mined = mine(partial, limit=100)
    assert mined.fixes == []
    assert mined.left_out["not in this clone"] >= len(TOPICS)


def test_a_shallow_clone_asks_about_what_it_has(history: History, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=17", history.root.as_uri(), "shallow")
    shallow = repository_at(tmp_path / "shallow")
    assert shallow is not None
    mined = mine(shallow, limit=100)
    assert 0 < len(mined.fixes) < len(TOPICS)
    assert mined.left_out["no parent"] == 1
    snapshot = Snapshot(tmp_path / "past", shallow, max_bytes=1_000_000)
    snapshot.move_to(mined.fixes[-1].parent)
    past = repository_at(tmp_path / "past")
    assert past is not None
    assert visible_commits(past)[0] == mined.fixes[-1].parent
