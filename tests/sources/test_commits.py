"""Reading history: what a commit holds, which commits are visible, and histories made to confuse a reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import GitError
from satchel.sources import commits
from satchel.sources.commits import (
    LATEST_TIME,
    MESSAGE_LIMIT,
    Commit,
    diff_stat,
    new_commits,
    read_commits,
    visible_commits,
)
from satchel.system.git import Repository, find_repository
from tests.repositories import TIME, commit, git, git_bytes, new_repository


def found(path: Path) -> Repository:
    repository = find_repository(path)
    assert repository is not None
    return repository


def history(tree: Path, *, merges: bool = False) -> list[Commit]:
    return list(read_commits(found(tree), merges=merges))


def write(tree: Path, raw: bytes) -> None:
    """Make `main` a commit that no porcelain would write, given what follows the line of its tree."""
    empty = git_bytes(tree, "hash-object", "-t", "tree", "-w", "--stdin").strip()
    stdin = b"tree " + empty + b"\n" + raw
    sha = git(tree, "hash-object", "--literally", "-t", "commit", "-w", "--stdin", stdin=stdin).strip()
    git(tree, "update-ref", "refs/heads/main", sha)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "tree")


class TestOneCommit:
    """The parts of a commit."""

    def test_all_of_it(self, tree: Path) -> None:
        first = commit(tree, "first", {"a.py": "1\n"})
        sha = commit(tree, "Fix the thing\n\nBecause it broke.\n", {"src/b.py": "2\n", "a.py": None})
        assert history(tree)[0] == Commit(
            sha=sha,
            author="Ada",
            time=TIME,
            subject="Fix the thing",
            message="Fix the thing\n\nBecause it broke.",
            files=("a.py", "src/b.py"),
            file_count=2,
            parents=(first,),
            may_rename=True,
        )

    def test_the_newest_comes_first(self, tree: Path) -> None:
        shas = [commit(tree, f"number {number}", {"a.py": str(number)}) for number in range(4)]
        assert [found.sha for found in history(tree)] == shas[::-1]

    def test_an_empty_commit_and_an_empty_message(self, tree: Path) -> None:
        git(tree, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
        (only,) = history(tree)
        assert (only.subject, only.message, only.files, only.file_count) == ("", "", (), 0)

    def test_a_file_that_moved_unchanged(self, tree: Path) -> None:
        body = "a line\n" * 20
        commit(tree, "first", {"old/a.py": body, "old/b.py": "one\n", "old/c.py": "one\n", "empty.py": ""})
        commit(
            tree,
            "move",
            {"old/a.py": None, "new/z.py": body, "old/b.py": None, "new/b.py": "one\n", "old/c.py": None,
             "new/other.py": "one\n", "empty.py": None, "void.py": ""},
        )  # fmt: skip
        moved = history(tree)[0]
        assert moved.renames == (("old/b.py", "new/b.py"), ("old/a.py", "new/z.py"))
        assert moved.file_count == 8

    def test_a_file_that_moved_with_a_change(self, tree: Path) -> None:
        body = "".join(f"line {number}\n" for number in range(40))
        other = "".join(f"{number}: another\n" for number in range(40))
        commit(tree, "first", {"old/a.py": body, "old/b.py": "one\n", "c.md": "text\n"})
        commit(tree, "move", {"old/a.py": None, "new/a.py": f"import b\n{body}", "old/b.py": None, "new/b.py": "one\n"})
        commit(tree, "replace", {"new/a.py": None, "d.py": other})
        commit(tree, "another kind", {"c.md": None, "c.txt": "words\n"})
        read = history(tree)
        assert [found.may_rename for found in read] == [False, True, True, False]
        edited = commits.with_edited_renames(found(tree), read)
        assert [one.renames for one in edited] == [
            (), (), (("old/b.py", "new/b.py"), ("old/a.py", "new/a.py")), (),
        ]  # fmt: skip

    def test_a_copy_is_no_move(self, tree: Path) -> None:
        commit(tree, "first", {"a.py": "text\n"})
        commit(tree, "copy", {"b.py": "text\n"})
        assert history(tree)[0].renames == ()

    def test_more_files_than_anybody_asks_about(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commits, "FILES_LIMIT", 5)
        commit(tree, "many", {f"{number}.py": "" for number in range(12)})
        (many,) = history(tree)
        assert (len(many.files), many.file_count) == (5, 12)


class TestMerges:
    """Merges are left out unless asked for."""

    @pytest.fixture
    def merged(self, tree: Path) -> Path:
        commit(tree, "base", {"a.py": "1"})
        git(tree, "checkout", "-q", "-b", "side")
        commit(tree, "on the side", {"b.py": "2"}, GIT_COMMITTER_DATE="2024-03-05T13:00:00+00:00")
        git(tree, "checkout", "-q", "main")
        commit(tree, "on main", {"c.py": "3"}, GIT_COMMITTER_DATE="2024-03-05T14:00:00+00:00")
        git(tree, "merge", "-q", "--no-ff", "-m", "together", "side", GIT_COMMITTER_DATE="2024-03-05T15:00:00+00:00")
        return tree

    def test_left_out(self, merged: Path) -> None:
        assert [found.subject for found in history(merged)] == ["on main", "on the side", "base"]

    def test_asked_for(self, merged: Path) -> None:
        first, *others = history(merged, merges=True)
        assert (first.subject, len(first.parents), first.files) == ("together", 2, ())
        assert all(len(found.parents) < 2 for found in others)
        assert len(others) == 3


class TestWhatIsVisible:
    """Exactly the ancestors of HEAD at this moment."""

    @pytest.fixture
    def three(self, tree: Path) -> list[str]:
        return [commit(tree, f"number {number}", {"a.py": str(number)}) for number in range(3)]

    def test_nothing_before_the_first_commit(self, tree: Path) -> None:
        assert history(tree) == []
        assert visible_commits(found(tree)) == []

    def test_a_head_that_moved_back_hides_what_came_later(self, tree: Path, three: list[str]) -> None:
        git(tree, "checkout", "-q", "--detach", three[1])
        assert visible_commits(found(tree)) == [three[1], three[0]]
        assert [found.sha for found in history(tree)] == [three[1], three[0]]

    def test_other_branches_tags_and_stashes_are_not_seen(self, tree: Path, three: list[str]) -> None:
        git(tree, "checkout", "-q", "-b", "other")
        commit(tree, "elsewhere", {"b.py": ""})
        git(tree, "tag", "v1")
        git(tree, "checkout", "-q", "main")
        (tree / "a.py").write_text("stashed")
        git(tree, "stash", "-q")
        assert visible_commits(found(tree)) == three[::-1]

    def test_a_rebase_replaces_the_commits(self, tree: Path, three: list[str]) -> None:
        git(tree, "reset", "-q", "--hard", three[0])
        new = commit(tree, "instead", {"a.py": "new"})
        git(tree, "reflog", "expire", "--expire=now", "--all")
        git(tree, "gc", "-q", "--prune=now")
        assert visible_commits(found(tree)) == [new, three[0]]
        assert [found.sha for found in history(tree)] == [new, three[0]]

    def test_limits(self, tree: Path, three: list[str]) -> None:
        repository = found(tree)
        assert visible_commits(repository, 2) == [three[2], three[1]]
        assert [found.sha for found in read_commits(repository, limit=1)] == [three[2]]

    def test_commits_are_read_by_their_ids_and_without_known_ones(self, tree: Path, three: list[str]) -> None:
        repository = found(tree)
        assert [one.sha for one in read_commits(repository, only=[three[2], three[0]])] == [three[2], three[0]]
        assert [one.sha for one in read_commits(repository, without=[three[0]])] == [three[2], three[1]]

    def test_new_commits_are_a_chain_or_none(self, tree: Path, three: list[str]) -> None:
        added = new_commits(found(tree), three[0])
        assert added is not None
        assert [one.sha for one in added] == [three[2], three[1]]
        assert new_commits(found(tree), three[2]) is None
        git(tree, "checkout", "-q", "-b", "side", three[1])
        aside = commit(tree, "aside", {"b.py": ""})
        assert new_commits(found(tree), three[2]) is None  # it is no ancestor
        git(tree, "merge", "-q", "--no-edit", "main")
        assert new_commits(found(tree), aside) is None

    def test_a_work_tree_of_its_own_has_its_own_head(self, tree: Path, three: list[str], tmp_path: Path) -> None:
        git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "other"), three[0])
        assert visible_commits(found(tmp_path / "other")) == [three[0]]
        assert visible_commits(found(tree)) == three[::-1]

    def test_reading_stops_when_asked(self, tree: Path, three: list[str]) -> None:
        answers = iter([False, True])
        assert [found.sha for found in read_commits(found(tree), should_stop=lambda: next(answers))] == [three[2]]

    def test_reading_may_be_left_early(self, tree: Path, three: list[str]) -> None:
        reader = read_commits(found(tree))
        assert next(reader).sha == three[2]
        assert isinstance(reader, Iterator)
        reader.close()  # type: ignore[attr-defined]

    def test_a_head_without_its_commit_is_an_error(self, tree: Path) -> None:
        (tree / ".git/HEAD").write_text("0" * 39 + "1\n")
        with pytest.raises(GitError, match="bad object"):
            list(read_commits(found(tree)))


class TestHostileHistory:
    """Commits made to look like something else."""

    @pytest.mark.parametrize(
        "message",
        [
            "subject\n\n:100644 100644 " + "a" * 40 + " " + "b" * 40 + " M\nfake.py",
            "a" * 40 + "\n" + "b" * 40,
            "subject\n\nSigned-off-by: Eve <eve@example.invalid>\nFixes: everything\n\n\x1b[31mred\x1b[0m \u202e",
            "\n\n\nsubject after blank lines\n",
            "tags \U000e0041\U000e0042 and %H %x00 %B",
            "commit " + "c" * 40 + "\nAuthor: Eve",
        ],
    )
    def test_a_message_that_looks_like_output_of_git(self, tree: Path, message: str) -> None:
        sha = commit(tree, message, {"real.py": ""})
        commit(tree, "next", {"other.py": ""})
        _, odd = history(tree)
        assert (odd.sha, odd.files, odd.message) == (sha, ("real.py",), message.rstrip("\n"))
        assert odd.subject == message.strip().splitlines()[0].strip()

    def test_a_message_of_five_megabytes_is_cut(self, tree: Path) -> None:
        commit(tree, "first\n\n" + "x" * 5_000_000, {"a.py": ""})
        commit(tree, "second", {"b.py": ""})
        second, first = history(tree)
        assert (len(first.message), first.subject, first.files) == (MESSAGE_LIMIT, "first", ("a.py",))
        assert second.files == ("b.py",)

    def test_bytes_that_are_no_text_are_replaced(self, tree: Path) -> None:
        write(tree, b"author Ad\xe9 <a@b> 1 +0000\ncommitter Ada <a@b> 1 +0000\n\ncaf\xe9 message\n")
        (only,) = history(tree)
        assert (only.subject, only.author) == ("caf\ufffd message", "Ad\ufffd")

    def test_a_message_in_another_encoding_is_translated(self, tree: Path) -> None:
        git(tree, "config", "i18n.commitEncoding", "ISO-8859-1")
        commit(tree, "caf\udce9", {"a.py": ""})
        assert history(tree)[0].subject == "café"

    @pytest.mark.parametrize(
        ("path", "shown"),
        [
            ("-rf", "-rf"),
            ("--output=x", "--output=x"),
            ("a b\tc.py", "a b\tc.py"),
            ("new\nline.py", "new\nline.py"),
            (":100644 x", ":100644 x"),
            ('quote"d 漢.py', 'quote"d 漢.py'),
            ("bad\udcff.py", "bad\ufffd.py"),
        ],
    )
    def test_an_odd_path_is_data(self, tree: Path, path: str, shown: str) -> None:
        commit(tree, "odd", {path: "1\n", "z.py": "2\n"})
        (only,) = history(tree)
        assert sorted(only.files) == sorted([shown, "z.py"])
        assert diff_stat(found(tree), [only.sha]) == {only.sha: (2, 0)}

    @pytest.mark.parametrize(
        ("stamp", "time"),
        [
            ("0 +0000", 0.0),
            ("1 -0930", 1.0),
            ("4070908800 +0000", 4070908800.0),
            ("9999999999999 +0000", LATEST_TIME),
            ("99999999999999999999999 +0000", 0.0),
            ("-5 +0000", 0.0),
            ("nonsense", 0.0),
        ],
    )
    def test_any_date_sorts(self, tree: Path, stamp: str, time: float) -> None:
        write(tree, f"author Ada <a@b> {stamp}\ncommitter Ada <a@b> {stamp}\n\nold\n".encode())
        (only,) = history(tree)
        assert (only.time, only.subject) == (time, "old")

    def test_a_branch_named_like_an_option(self, tree: Path) -> None:
        sha = commit(tree, "first", {"a.py": ""})
        git(tree, "update-ref", "refs/heads/--output=x", sha)
        git(tree, "symbolic-ref", "HEAD", "refs/heads/--output=x")
        assert visible_commits(found(tree)) == [sha]


class TestIncompleteClones:
    """What is missing is left empty, and nothing is fetched."""

    @pytest.fixture
    def origin(self, tmp_path: Path) -> Path:
        origin = new_repository(tmp_path / "origin")
        git(origin, "config", "uploadpack.allowFilter", "true")
        for number in range(4):
            commit(origin, f"number {number}", {"a.py": f"{number}\n", f"{number}.py": ""})
        return origin

    def test_the_oldest_commit_of_a_shallow_clone_has_unknown_changes(self, origin: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--depth", "2", origin.as_uri(), "clone")
        newest, oldest = history(tmp_path / "clone")
        assert newest.files == ("3.py", "a.py")
        assert (oldest.subject, oldest.files, oldest.file_count) == ("number 2", (), 0)
        stats = diff_stat(found(tmp_path / "clone"), [newest.sha, oldest.sha])
        assert stats == {newest.sha: (1, 1), oldest.sha: None}

    def test_a_clone_without_contents_has_files_but_no_line_counts(self, origin: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--filter=blob:none", origin.as_uri(), "clone")
        origin.rename(tmp_path / "gone")
        read = history(tmp_path / "clone")
        assert [found.files for found in read] == [
            ("3.py", "a.py"),
            ("2.py", "a.py"),
            ("1.py", "a.py"),
            ("0.py", "a.py"),
        ]
        stats = diff_stat(found(tmp_path / "clone"), [found.sha for found in read])
        assert stats[read[1].sha] is None
        assert list(stats) == [found.sha for found in read]

    def test_a_clone_without_folders_still_has_messages(self, origin: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--filter=tree:0", origin.as_uri(), "clone")
        origin.rename(tmp_path / "gone")
        read = history(tmp_path / "clone")
        assert [found.subject for found in read] == [f"number {number}" for number in (3, 2, 1, 0)]
        assert read[-1].files == ()
        answers = iter([False, True])
        assert len(list(read_commits(found(tmp_path / "clone"), should_stop=lambda: next(answers)))) == 1

    def test_a_damaged_repository_is_an_error_and_not_a_short_history(self, origin: Path) -> None:
        folder = git(origin, "rev-parse", "HEAD~2^{tree}").strip()
        (origin / ".git" / "objects" / folder[:2] / folder[2:]).unlink()
        reader = read_commits(found(origin))
        with pytest.raises(GitError, match="unable to read tree"):
            list(reader)

    def test_grafts_and_replacements_are_followed_as_git_follows_them(self, origin: Path) -> None:
        tip, root = git(origin, "rev-parse", "HEAD", "HEAD~3").split()
        git(origin, "replace", "--graft", tip, root)
        assert visible_commits(found(origin)) == [tip, root]
        assert [found.sha for found in history(origin)] == [tip, root]


class TestDiffStat:
    """Line counts, for the few commits that are shown."""

    def test_lines_of_text_and_binary_files(self, tree: Path) -> None:
        first = commit(tree, "first", {"a.py": "1\n2\n3\n", "b.bin": b"\0" * 100})
        second = commit(tree, "second", {"a.py": "1\nx\n", "tab\tname": "1\n"})
        empty = commit(tree, "empty")
        assert diff_stat(found(tree), [second, empty, first, second]) == {second: (2, 2), empty: (0, 0), first: (3, 0)}

    def test_nothing_asked(self, tree: Path) -> None:
        assert diff_stat(found(tree), []) == {}

    def test_more_than_one_batch(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commits, "_STAT_BATCH", 2)
        shas = [commit(tree, "more", {"a.py": "x\n" * number}) for number in range(1, 6)]
        assert diff_stat(found(tree), shas) == dict.fromkeys(shas, (1, 0))

    def test_after_a_stop_the_commit_under_way_is_unknown(self, tree: Path) -> None:
        sha = commit(tree, "first", {"a.py": "1\n"})
        questions = count()
        assert diff_stat(found(tree), [sha], should_stop=lambda: next(questions) > 0) == {sha: None}

    def test_what_is_no_commit_is_an_error(self, tree: Path) -> None:
        commit(tree, "first", {"a.py": ""})
        with pytest.raises(GitError, match="bad"):
            diff_stat(found(tree), ["--all"])


def test_a_history_of_many_chunks_is_read_as_it_comes(tree: Path) -> None:
    script = b"".join(
        b"commit refs/heads/main\ncommitter Ada <a@b> %d +0000\ndata 5\nn%04d\n" % (number, number)
        for number in range(3_000)
    )
    git_bytes(tree, "fast-import", "--quiet", stdin=script)
    reader = read_commits(found(tree))
    assert [next(reader).subject for _ in range(3)] == ["n2999", "n2998", "n2997"]
    assert sum(1 for _ in reader) == 2_997


@given(
    st.lists(st.binary(max_size=30).map(lambda token: token.replace(b"\0", b"")), max_size=20),
    st.lists(st.integers(min_value=1, max_value=40), min_size=1),
)
def test_tokens_do_not_depend_on_where_the_stream_was_cut(tokens: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(token + b"\0" for token in tokens) + b"unfinished"
    chunks, position = [], 0
    for size in chain(sizes, [len(stream)]):
        chunks.append(stream[position : position + size])
        position += size
    assert list(chain.from_iterable(commits._tokens(chunks))) == tokens
