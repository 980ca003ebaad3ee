"""Finding repositories without git, and running git where the repository is an enemy."""

from __future__ import annotations

import os
import resource
import select
import shutil
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import GitError
from satchel.index import update
from satchel.index.walk import walk
from satchel.sources.commits import diff_stat, read_commits, visible_commits
from satchel.system import git as git_module
from satchel.system.git import Repository, find_repository, head, repository_at, run, shallow_boundary, stream
from satchel.system.locations import repository_name
from tests.repositories import commit, git, git_allowing_failure, git_bytes, new_repository


def found(path: Path) -> Repository:
    repository = find_repository(path)
    assert repository is not None
    return repository


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with two commits."""
    tree = new_repository(tmp_path / "tree")
    commit(tree, "first", {"src/a.py": "x = 1\n"})
    commit(tree, "second", {"src/a.py": "x = 2\n"})
    return tree


class TestFinding:
    """Where a repository is, without starting git."""

    @pytest.fixture(autouse=True)
    def _no_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(git_module, "_command", None)  # whatever would start git fails

    def test_from_the_top_and_from_below(self, tree: Path) -> None:
        expected = Repository(tree.resolve(), tree.resolve() / ".git", tree.resolve() / ".git")
        assert find_repository(tree) == find_repository(tree / "src") == expected
        assert find_repository(tree / "src" / "not" / "there") == expected

    def test_nowhere(self, tmp_path: Path) -> None:
        assert find_repository(tmp_path) is None

    def test_a_work_tree_of_its_own_shares_the_common_folder(self, tree: Path, tmp_path: Path) -> None:
        git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
        other = found(tmp_path / "other" / "src")
        assert other.work_tree == (tmp_path / "other").resolve()
        assert other.common_dir == found(tree).common_dir
        assert other.git_dir == other.common_dir / "worktrees" / "other"
        assert head(other) == head(found(tree))
        assert git_module.other_work_trees(other) == [tree.resolve()]
        assert git_module.other_work_trees(found(tree)) == [other.work_tree]
        foreign = new_repository(tmp_path / "foreign")
        (other.git_dir / "gitdir").write_text(f"{foreign / '.git'}\n")
        assert git_module.other_work_trees(found(tree)) == []

    def test_a_submodule(self, tree: Path, tmp_path: Path) -> None:
        root = new_repository(tmp_path / "root")
        git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tree), "module")
        assert found(root / "module").git_dir == (root / ".git" / "modules" / "module").resolve()

    def test_a_git_folder_that_is_a_link_counts_if_the_repository_names_the_folder(
        self, tree: Path, tmp_path: Path
    ) -> None:
        (tree / ".git").rename(tmp_path / "elsewhere")
        (tree / ".git").symlink_to(tmp_path / "elsewhere")
        assert "does not name this folder" in found(tree).refusal
        git(tree, "config", "core.worktree", str(tree))
        assert head(found(tree)) == git(tree, "rev-parse", "HEAD").strip()

    @pytest.mark.parametrize("name", ["gitdir file", "link", "commondir", "copied work tree"])
    def test_the_repository_of_somebody_else_is_refused(self, tree: Path, tmp_path: Path, name: str) -> None:
        private, here = tree / ".git", tmp_path / "here"
        if name == "copied work tree":
            git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
            (tmp_path / "other").rename(here)
        elif name == "link":
            here.mkdir()
            (here / ".git").symlink_to(private)
        elif name == "commondir":
            new_repository(here)
            (here / ".git" / "commondir").write_text(f"{private}\n")
        else:
            here.mkdir()
            (here / ".git").write_text(f"gitdir: {private}\n")
        refused = found(here)
        assert repository_name(refused.common_dir) != repository_name(private)
        for read in (head, visible_commits, lambda one: run(one, "log", git(tree, "rev-parse", "HEAD").strip())):
            with pytest.raises(GitError, match="does not name this folder"):
                read(refused)

    def test_a_bare_repository_lying_in_a_tree_is_not_one(self, tree: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--bare", str(tree), "bare.git")
        assert find_repository(tmp_path / "bare.git") is None
        assert find_repository(tmp_path / "bare.git" / "refs") is None

    @pytest.mark.parametrize(
        "prepare",
        [
            lambda entry: entry.mkdir(),
            lambda entry: entry.write_text("gitdir: nowhere\n"),
            lambda entry: entry.write_text("nothing of git"),
            lambda entry: entry.write_text("gitdir: a\0b"),
            lambda entry: entry.write_text("gitdir: .git"),
            lambda entry: entry.write_bytes(b"gitdir: " + b"x/" * 100_000),
            lambda entry: entry.symlink_to(".git"),
            os.mkfifo,
        ],
        ids=["empty", "nowhere", "text", "nul", "itself", "long", "loop", "pipe"],
    )
    def test_a_git_entry_that_leads_nowhere_is_passed_over(
        self, tmp_path: Path, prepare: Callable[[Path], None]
    ) -> None:
        (tmp_path / "odd").mkdir()
        prepare(tmp_path / "odd" / ".git")
        assert repository_at(tmp_path / "odd") is None

    def test_a_pipe_for_a_head_is_not_opened(self, tree: Path) -> None:
        (tree / ".git" / "HEAD").unlink()
        os.mkfifo(tree / ".git" / "HEAD")
        assert repository_at(tree) is None

    def test_shallow_and_partial_clones_are_known(self, tree: Path, tmp_path: Path) -> None:
        git(tree, "config", "uploadpack.allowFilter", "true")
        url = tree.resolve().as_uri()
        git(tmp_path, "clone", "-q", "--depth", "1", url, "shallow")
        git(tmp_path, "clone", "-q", "--filter=blob:none", url, "partial")
        shallow, partial = found(tmp_path / "shallow"), found(tmp_path / "partial")
        assert (shallow.shallow, shallow.partial) == (True, False)
        assert (partial.shallow, partial.partial) == (False, True)
        assert shallow_boundary(shallow) == {head(shallow)}
        assert shallow_boundary(partial) == frozenset()


class TestHead:
    """Which commit HEAD names."""

    def test_a_branch_detached_and_packed(self, tree: Path) -> None:
        first, second = git(tree, "rev-parse", "HEAD~1", "HEAD").split()
        assert head(found(tree)) == second
        git(tree, "pack-refs", "--all")
        assert head(found(tree)) == second
        git(tree, "checkout", "-q", "--detach", "HEAD~1")
        assert head(found(tree)) == first
        git(tree, "checkout", "-q", "-b", "deep/er/branch")
        assert head(found(tree)) == first

    def test_no_commit_yet(self, tmp_path: Path) -> None:
        assert head(found(new_repository(tmp_path / "new"))) is None

    def test_a_branch_without_commits_beside_others(self, tree: Path) -> None:
        git(tree, "checkout", "-q", "--orphan", "fresh")
        git(tree, "pack-refs", "--all")
        assert head(found(tree)) is None

    def test_a_head_that_only_git_understands(self, tree: Path) -> None:
        (tree / ".git" / "HEAD").unlink()
        (tree / ".git" / "HEAD").symlink_to("refs/heads/main")
        assert head(found(tree)) == git(tree, "rev-parse", "HEAD").strip()

    def test_refs_that_are_not_files(self, tree: Path) -> None:
        (tree / ".git" / "reftable").mkdir()  # so that a missing file proves nothing
        git(tree, "checkout", "-q", "--orphan", "fresh")
        assert head(found(tree)) is None

    @pytest.mark.parametrize("content", ["ref: ../../outside", "nonsense", ""])
    def test_a_head_that_leads_out_is_not_followed(self, tree: Path, content: str) -> None:
        (tree.parent / "outside").write_text("a" * 40)
        (tree / ".git" / "HEAD").write_text(content)
        with pytest.raises(GitError, match="not a git repository"):
            head(found(tree))

    def test_a_ref_that_leads_out_is_a_branch_without_commits(self, tree: Path) -> None:
        for folder in (tree, tree.parent):
            (folder / "outside").write_text("a" * 40)
        (tree / ".git" / "HEAD").write_text("ref: refs/../../outside")
        assert head(found(tree)) is None


class TestRunning:
    """One process, watched until it is gone."""

    def test_the_output_of_a_command(self, tree: Path) -> None:
        assert run(found(tree), "cat-file", "blob", "HEAD:src/a.py") == b"x = 2\n"
        assert run(found(tree), "ls-tree", "-r", "--name-only", "HEAD") == b"src/a.py\n"

    def test_an_error_says_what_git_said(self, tree: Path) -> None:
        with pytest.raises(GitError, match="git rev-parse ended with exit code 128: fatal: ambiguous argument"):
            run(found(tree), "rev-parse", "nowhere")

    def test_a_command_that_could_run_programs_is_a_mistake(self, tree: Path) -> None:
        for name in ("status", "diff", "blame", "show", "fetch", "grep"):
            with pytest.raises(ValueError, match="not one of the commands"):
                run(found(tree), name)

    def test_an_option_in_the_place_of_a_revision_is_data(self, tree: Path) -> None:
        with pytest.raises(GitError, match="bad revision"):
            run(found(tree), "log", "--end-of-options", "--output=" + str(tree / "written"), "--")
        assert not (tree / "written").exists()

    def test_leaving_early_ends_git_without_an_error(self, tree: Path) -> None:
        with stream(found(tree), "log", "-p") as chunks:
            assert next(chunks)

    def test_an_error_of_the_reader_passes_through(self, tree: Path) -> None:
        with pytest.raises(KeyError), stream(found(tree), "log"):
            raise KeyError

    def test_no_git(self, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(GitError, match="is it installed and on PATH"):
            run(found(tree), "rev-parse", "HEAD")
        assert head(found(tree)) is not None

    @pytest.fixture
    def fake_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def install(script: str) -> None:
            program = tmp_path / "bin" / "git"
            program.parent.mkdir()
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

        return install

    def test_a_git_that_floods_is_stopped(self, tree: Path, fake_git: Callable[[str], None]) -> None:
        fake_git("yes")
        with pytest.raises(GitError, match="git log wrote more than 128 MB and was stopped"):
            run(found(tree), "log")
        asked = iter([False, False, True])
        with stream(found(tree), "log", should_stop=lambda: next(asked)) as chunks:
            assert sum(map(len, chunks)) > 0

    def test_a_git_that_never_ends_is_stopped_though_it_talks(
        self, tree: Path, fake_git: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake_git("while :; do echo x; done")
        monkeypatch.setattr(git_module, "TOTAL_LIMIT", 0.1)
        with pytest.raises(GitError, match=r"git log took more than 0\.1 seconds and was stopped"):
            run(found(tree), "log")

    @pytest.mark.parametrize(
        ("said", "message"),
        [("warning: odd\\nfatal: broken", "fatal: broken"), ("odd\\nodder", "odd"), ("", "no message")],
    )
    def test_the_error_of_git_is_named_and_not_a_warning_before_it(
        self, tree: Path, fake_git: Callable[[str], None], said: str, message: str
    ) -> None:
        fake_git(f"printf '{said}' >&2; exit 3")
        with pytest.raises(GitError, match=f"git log ended with exit code 3: {message}$"):
            run(found(tree), "log")

    @pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system cannot bound another process")
    def test_the_memory_of_git_is_bounded(self, tree: Path, fake_git: Callable[[str], None]) -> None:
        fake_git("while [ $(ulimit -v) = unlimited ]; do :; done; ulimit -v")
        assert int(run(found(tree), "log")) == git_module.MEMORY_LIMIT // 1024

    def test_children_of_git_end_with_it(self, tree: Path, tmp_path: Path, fake_git: Callable[[str], None]) -> None:
        os.mkfifo(tmp_path / "open")
        source = os.open(tmp_path / "open", os.O_RDONLY | os.O_NONBLOCK)
        fake_git(f"exec 3>'{tmp_path}/open'; sleep 300 & echo begun; wait")  # far longer than is waited below
        with stream(found(tree), "log") as chunks:
            assert next(chunks) == b"begun\n"
        nobody_writes = select.poll()
        nobody_writes.register(source, 0)
        assert nobody_writes.poll(60_000)
        os.close(source)

    @pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & wait", "echo begun; sleep 60", "exec >&-; sleep 60"])
    def test_a_git_that_hangs_is_killed_with_its_children(
        self, tree: Path, fake_git: Callable[[str], None], script: str
    ) -> None:
        fake_git(script)
        with pytest.raises(GitError, match=r"git log gave no output for 0\.1 seconds and was stopped"):
            run(found(tree), "log", timeout=0.1)

    def test_a_git_that_complains_at_length_does_not_block(self, tree: Path, fake_git: Callable[[str], None]) -> None:
        fake_git("head -c 1000000 /dev/zero | tr '\\0' '\\033' >&2; echo done; exit 3")
        with pytest.raises(GitError, match="git log ended with exit code 3: ") as caught:
            run(found(tree), "log")
        assert "\033" not in str(caught.value)

    def test_the_git_variables_of_the_caller_change_nothing(
        self, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = head(found(tree))
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF"):
            monkeypatch.setenv(name, str(tmp_path / "nowhere"))
        monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
        assert run(found(tree), "rev-parse", "HEAD").decode().strip() == expected
        assert not (tmp_path / "trace").exists()

    def test_a_repository_of_somebody_else_is_readable(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert git_allowing_failure(tree, "log", GIT_TEST_ASSUME_DIFFERENT_OWNER="1") == 128
        foreign = {**git_module._ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
        monkeypatch.setattr(git_module, "_ENVIRONMENT", foreign)
        assert len(list(read_commits(found(tree)))) == 2

    def test_a_lock_left_behind_is_no_obstacle(self, tree: Path) -> None:
        for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"):
            (tree / ".git" / name).touch()
        assert len(list(read_commits(found(tree)))) == 2

    def test_a_folder_that_no_command_reads_may_be_a_link(self, tree: Path, tmp_path: Path) -> None:
        shutil.rmtree(tree / ".git" / "hooks", ignore_errors=True)
        (tree / ".git" / "hooks").symlink_to(tmp_path)
        assert len(list(read_commits(found(tree)))) == 2


def read_everything(tree: Path) -> None:
    """Do all that satchel ever does with git."""
    repository = found(tree)
    known = head(repository)
    assert known is not None
    shas = [commit.sha for commit in read_commits(repository, merges=True)]
    assert shas
    assert known in visible_commits(repository)
    diff_stat(repository, shas)
    run(repository, "ls-tree", "-r", "-z", "HEAD")
    with suppress(GitError) if repository.partial else nullcontext():
        run(repository, "diff-tree", "-r", "-p", "-z", "HEAD")
        run(repository, "log", "-p")
    with suppress(GitError) if repository.partial else nullcontext():
        run(repository, "cat-file", "blob", "HEAD:src/a.py")
    walk(tree)


def promise(tree: Path, url: str) -> None:
    """Make a clone out of a repository whose contents git would fetch when they are asked for."""
    git(tree, "config", "core.repositoryFormatVersion", "1")
    git(tree, "config", "extensions.partialClone", "origin")
    git(tree, "config", "remote.origin.promisor", "true")
    git(tree, "config", "remote.origin.url", url)
    blob = git(tree, "rev-parse", "HEAD:src/a.py").strip()
    (tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    git(tree, "config", "core.abbrev", "40")


def sign(tree: Path) -> None:
    """Give HEAD a signature that nobody made."""
    headers, _, message = git_bytes(tree, "cat-file", "commit", "HEAD").partition(b"\n\n")
    forged = b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n forged\n -----END PGP SIGNATURE-----\n\n"
    sha = git(tree, "hash-object", "-t", "commit", "-w", "--stdin", stdin=headers + forged + message).strip()
    git(tree, "update-ref", "refs/heads/main", sha)


def use_attributes(tree: Path, attribute: str) -> None:
    for folder, name in ((tree, ".gitattributes"), (tree / ".git" / "info", "attributes")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"*.py {attribute}\n")
    (tree / "src" / "a.py").write_text("x = 3\n")


PLAIN_FETCH = ("cat-file", "-p", "HEAD:src/a.py")
# Configuration that runs a program, how to set the scene, and the plain command that falls for it.
TRAPS: dict[str, tuple[dict[str, str], Callable[[Path], None], tuple[str, ...]]] = {
    "fsmonitor": ({"core.fsmonitor": "{program}"}, lambda _: None, ("status",)),
    "hooks": ({"core.hooksPath": "{hooks}"}, lambda _: None, ("checkout", "-q", "HEAD~1")),
    "editor": ({"core.editor": "{program}"}, lambda _: None, ("commit", "--allow-empty")),
    "textconv": ({"diff.x.textconv": "{program}"}, lambda tree: use_attributes(tree, "diff=x"), ("log", "-p")),
    "diff driver": ({"diff.x.command": "{program}"}, lambda tree: use_attributes(tree, "diff=x"), ("diff",)),
    "external diff": ({"diff.external": "{program}"}, lambda tree: use_attributes(tree, "diff"), ("diff",)),
    "clean filter": ({"filter.x.clean": "{program}"}, lambda tree: use_attributes(tree, "filter=x"), ("diff",)),
    "process filter": ({"filter.x.process": "{program}"}, lambda tree: use_attributes(tree, "filter=x"), ("diff",)),
    "gpg": ({"log.showSignature": "true", "gpg.program": "{program}"}, sign, ("log", "--oneline")),
    "credentials": ({"credential.helper": "!{program}"}, lambda _: None, ("credential", "fill")),
    "ssh": ({"core.sshCommand": "{program}"}, lambda tree: promise(tree, "ssh://git@host.invalid/x"), PLAIN_FETCH),
    "proxy": ({"core.gitProxy": "{program}"}, lambda tree: promise(tree, "git://host.invalid/x"), PLAIN_FETCH),
    "upload pack": (
        {"remote.origin.uploadpack": "{program}", "protocol.file.allow": "always", "protocol.allow": "always"},
        lambda tree: promise(tree, str(tree)),
        PLAIN_FETCH,
    ),
    "ext transport": (
        {"protocol.ext.allow": "always"},
        lambda tree: promise(tree, f"ext::{tree.parent / 'program'}"),
        PLAIN_FETCH,
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_hostile_configuration_never_runs_its_program(tree: Path, trap: str) -> None:
    settings, prepare, plain = TRAPS[trap]
    folder, marker = tree.parent, tree.parent / "marker"
    program, hooks = folder / "program", folder / "hooks"
    program.write_text(f"#!/bin/sh\n: > '{marker}'\nexit 1\n")
    program.chmod(0o755)
    hooks.mkdir()
    for hook in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction"):
        (hooks / hook).symlink_to(program)
    prepare(tree)
    for key, value in settings.items():
        git(tree, "config", key, value.format(program=program, hooks=hooks))
    marker.unlink(missing_ok=True)

    read_everything(tree)
    assert not marker.exists()
    git_allowing_failure(tree, *plain, stdin=b"protocol=https\nhost=host.invalid\n\n")
    assert marker.exists(), "the trap of this test does not work, so the test proves nothing"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.worktree", "../../nowhere"),
        ("core.bare", "true"),
        ("diff.orderFile", "nowhere"),
        ("diff.relative", "true"),
        ("log.showRoot", "false"),
        ("log.follow", "true"),
        ("log.date", "human"),
        ("log.diffMerges", "dense-combined"),
        ("format.pretty", "oneline"),
        ("color.ui", "always"),
        ("core.abbrev", "5"),
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("i18n.logOutputEncoding", "UTF-16"),
        ("core.quotePath", "true"),
        ("core.attributesFile", "nowhere"),
        ("log.decorate", "full"),
    ],
)
def test_no_setting_of_a_repository_changes_what_is_read(tree: Path, key: str, value: str) -> None:
    commit(tree, "é third", {"ü.txt": "x"})
    expected = list(read_commits(found(tree)))
    git(tree, "config", key, value)
    assert list(read_commits(found(tree))) == expected
    assert diff_stat(found(tree), [expected[0].sha]) == {expected[0].sha: (1, 0)}


OPENED = ["packed-refs", "shallow", "info/grafts", "objects/info/alternates", "refs/heads/pipe", "objects/pack/a.idx"]


@pytest.mark.parametrize("name", [*OPENED, "linked"])
def test_a_pipe_below_git_is_refused_at_once(tree: Path, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    if name == "linked":
        (tree / ".git" / "shallow").symlink_to(tmp_path / "pipe")
    else:
        (tree / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tree / ".git" / name)
    with pytest.raises(GitError, match=r"a pipe or a device|a link to another place"):
        run(found(tree), "log", timeout=60)


@pytest.mark.parametrize("name", ["objects", "pack", "refs"])
def test_objects_and_refs_of_another_repository_are_refused(tree: Path, tmp_path: Path, name: str) -> None:
    here, private = new_repository(tmp_path / "here") / ".git", tree.resolve() / ".git"
    (here / "refs" / "heads" / "main").write_text(git(tree, "rev-parse", "HEAD"))
    place = Path("objects/pack" if name == "pack" else name)
    shutil.rmtree(here / place)
    (here / place).symlink_to(private / place)
    with pytest.raises(GitError, match="another"):
        run(found(here.parent), "log")


def test_a_shared_clone_has_the_history_of_its_source(tree: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--shared", f"{tree}/", "clone")
    git(tmp_path / "clone", "remote", "remove", "origin")
    assert (tmp_path / "clone" / ".git" / "objects" / "info" / "alternates").exists()
    assert (
        run(found(tmp_path / "clone"), "log", "--format=%H").split()[0].decode()
        == git(tree, "rev-parse", "HEAD").strip()
    )


def tree_bomb(folder: Path) -> Path:
    """A repository of 12 objects that describe ten billion files."""
    new_repository(folder)
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=b"x").strip()
    mode, kind, entry = "100644", "blob", blob
    for _ in range(10):
        listing = "".join(f"{mode} {kind} {entry}\t{name}\n" for name in range(10))
        mode, kind, entry = "040000", "tree", git(folder, "mktree", stdin=listing.encode()).strip()
    git(folder, "update-ref", "HEAD", git(folder, "commit-tree", entry, "-m", "bomb").strip())
    (folder / "a.py").write_text("def wait_for_lock():\n    return 1\n")
    return folder


def test_a_git_bomb_costs_only_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "MEMORY_LIMIT", 96 << 20)
    monkeypatch.setattr(git_module, "OUTPUT_LIMIT", 1 << 20)
    monkeypatch.setattr(update, "PATIENCE_SECONDS", 0.0)
    with Satchel.open(tree_bomb(tmp_path / "bomb")) as satchel:
        context = satchel.assemble("what does wait_for_lock return")
        assert "def wait_for_lock" in context.text
        assert [failure.source for failure in context.failures] == ["commits"]
        with pytest.raises(GitError, match="wrote more than"):
            satchel.answers.change()
        monkeypatch.setattr(update, "read_commits", None)  # the same HEAD is not tried again at each question
        assert satchel.assemble("what does wait_for_lock return").failures == context.failures


def test_pipes_under_the_names_that_git_opens_do_not_hold_it_up(tree: Path) -> None:
    for name in (".gitattributes", ".mailmap", ".gitignore", ".gitmodules"):
        os.mkfifo(tree / name)
    os.mkfifo(tree / "src" / ".gitattributes")
    git(tree, "config", "log.mailmap", "true")
    read_everything(tree)
