"""Merges that made a change of their own are in the history of the file that they changed."""

from __future__ import annotations

from pathlib import Path

from satchel import Satchel
from tests.repositories import commit, git, new_repository


def test_a_merge_with_a_change_of_its_own_is_in_the_history_of_the_file(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "root")
    commit(root, "Add a", {"sub/a.py": "one = 1\n\n\n\n\n\n\n\nlast = 9\n", "[b].py": "x = 1\n"})
    git(root, "checkout", "-q", "-b", "side")
    commit(root, "Change the end", {"sub/a.py": "one = 1\n\n\n\n\n\n\n\nlast = 10\n"})
    git(root, "checkout", "-q", "main")
    commit(root, "Change the start", {"sub/a.py": "one = 2\n\n\n\n\n\n\n\nlast = 9\n"})
    git(root, "merge", "-q", "--no-edit", "-m", "A clean merge", "side")
    git(root, "checkout", "-q", "-b", "other")
    commit(root, "Add c", {"c.py": "c = 1\n"})
    git(root, "checkout", "-q", "main")
    commit(root, "Add d", {"d.py": "d = 1\n"})
    git(root, "merge", "-q", "--no-commit", "--no-ff", "other")
    (root / "sub" / "a.py").write_text("one = 2\n\n\n\nevil_delta = 1\n\n\n\nlast = 10\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Merge other")
    with Satchel.open(root) as satchel:
        history = satchel.file_history("sub/a.py")
        subjects = {change.subject for change in history.changes}
        assert subjects == {"Add a", "Change the end", "Change the start", "Merge other"}
        assert history.total == 4
        assert {change.subject for change in satchel.file_history("sub").changes} == subjects
        assert [change.subject for change in satchel.file_history("[b].py").changes] == ["Add a"]
    with Satchel.open(root / "sub", root=root / "sub") as satchel:
        assert "Merge other" in {change.subject for change in satchel.file_history("a.py").changes}
