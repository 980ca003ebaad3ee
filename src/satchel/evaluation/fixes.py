"""Fixes of a repository's own history as questions with known answers, and the work trees of earlier commits.

The work tree of an earlier commit is made in a separate folder from git's objects. The folder is a repository, too: it
uses the objects of the real one, and its HEAD is the commit. So its index has the history up to that commit and nothing
later.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from satchel import lazy_numpy as np
from satchel.answer.pins import parse_pin
from satchel.errors import GitError, UsageError
from satchel.safety import sanitize
from satchel.sources.change import Entry, tree_entries
from satchel.sources.code.languages import kind_of, language_of
from satchel.sources.commits import Commit, read_commits
from satchel.sources.roles import file_role
from satchel.system.git import Repository, run, stream
from satchel.text import is_meaningful, wording, words
from satchel.types import Kind, ShouldStop, never


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the ends of its 95 % interval. All three are 0 without values."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of these values with its interval, which hardly depends on their order."""
    if not values:
        return Estimate(0.0, 0.0, 0.0)
    data = np.asarray(values, dtype=np.float64)
    # Number of samples: the ends of an interval vary by less than the printed precision.
    # The same values give the same interval
    drawn = np.random.default_rng(20_240_305).integers(0, len(data), size=(2_000, len(data)))
    means = data[drawn].mean(axis=1)
    edge = (1 - 0.95) / 2  # confidence
    low, high = np.quantile(means, [edge, 1 - edge])
    return Estimate(float(data.mean()), float(low), float(high))


COMMITS_READ = 5_000
"""Number of the newest commits that are searched for fixes."""

MAX_FILES = 5

_FIX = wording("a fix")
_REVERT = re.compile(r"^(?:revert|reapply|back ?out)\b|^this reverts commit", re.IGNORECASE | re.MULTILINE)
_RELEASE = wording("release")
_FORMATTING = wording("formatting")
_TRAILER = wording("trailer of a message")
_SIGNED = re.compile(
    r"^\s*(?:Signed-off|Co-authored|Reviewed|Acked|Tested|Reported)-by:.*$", re.IGNORECASE | re.MULTILINE
)
_NUMBER = re.compile(r"\(?(?:\b[Gg][Hh]-|#)\d+\)?")
_PREFIX = re.compile(r"^\s*(?:bug ?fix|hot ?fix|fix)(?:\([^)]*\))?!?:\s*", re.IGNORECASE)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Fix:
    """A question with its answer. `gold` are the line ranges at the parent that the fix changed, by path.

    Where it only added lines, the line before them marks the place. `time` is in seconds.
    """

    sha: str
    parent: str
    time: float
    subject: str
    question: str
    gold: Mapping[str, tuple[tuple[int, int], ...]]

    @property
    def names_a_file(self) -> bool:
        """True if the question contains the name of a changed file: such questions are easier."""
        text = self.question.lower()
        return any(path.rpartition("/")[2].lower() in text for path in self.gold)


@dataclass(slots=True)
class Mined:
    """Usable fixes, newest first, the number of commits that were read, and why the others are not usable."""

    fixes: list[Fix] = field(default_factory=list)
    commits: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def mine(repository: Repository, *, limit: int, since: float = 0.0, should_stop: ShouldStop = never) -> Mined:
    """Return the newest usable fixes of the history of HEAD. Raises GitError, and UsageError for a wrong limit."""
    if limit < 1:
        raise UsageError(f"limit is {limit}: give at least 1", "limit")
    mined = Mined()
    parents = _parents(repository)
    for commit in read_commits(repository, limit=COMMITS_READ, merges=True, should_stop=should_stop):
        if commit.time < since:
            continue
        if len(mined.fixes) >= limit:
            break
        mined.commits += 1
        parent = parents.get(commit.sha, ())
        reason = "merge" if len(parent) > 1 else "no parent" if not parent else unusable(commit)
        fix = reason or _fix(repository, commit, parent[0])
        if isinstance(fix, Fix):
            mined.fixes.append(fix)
        else:
            mined.left_out[fix] += 1
    return mined


def own_questions(path: Path) -> list[Fix]:
    """Return the questions of a file of JSON Lines, each with its right `files` (`src/a.py` or `src/a.py:10-20`).

    Raises UsageError for a line without them, and for a file without any question.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            question, gold = sanitize.text(row["question"]).strip(), dict[str, tuple[tuple[int, int], ...]]()
            for pin in map(parse_pin, row["files"]):
                gold[pin.path] = (*gold.get(pin.path, ()), (pin.start or 1, pin.end or 1_000_000))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f'{path}:{number}: write {{"question": "...", "files": ["src/a.py:10-20"]}}') from error
        if question and gold:
            rows.append(Fix(f"line {number}", "", 0.0, sanitize.line(question, 100), question, gold))
    if not rows:
        raise UsageError(f"{path} has no question")
    return rows


def _parents(repository: Repository) -> dict[str, tuple[str, ...]]:
    """Return the parents of each commit; the oldest ones of a shallow history have none."""
    listed = run(repository, "rev-list", "--parents", f"-n{COMMITS_READ}", "HEAD", "--").decode("ascii")
    rows = (line.split() for line in listed.splitlines())
    return {row[0]: tuple(row[1:]) for row in rows if row}


def unusable(commit: Commit) -> str:
    """Return why the message or the files of a commit exclude it, empty where they do not."""
    sources = [*filter(is_source, commit.files)]
    meaningful = {*filter(is_meaningful, words(question_of(commit.message)))}
    reasons = {
        "revert": _REVERT.search(commit.message),
        "release or bump": _RELEASE.search(commit.subject),
        "formatting or wording": _FORMATTING.search(commit.subject),
        "moves files": commit.renames,
        "no source file": not sources,
        "many files": len(sources) > MAX_FILES or commit.file_count > len(commit.files),
        "no fix": not _FIX.search(commit.message),
        # Significant words that a message needs; `fix bug` is not a question
        "says too little": len(meaningful) < 4,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def is_source(path: str) -> bool:
    """Return whether a file is source code: no test, example, document or generated file."""
    return file_role(path) == "source" and kind_of(path, language_of(path)) is Kind.CODE


def question_of(message: str) -> str:
    """Return the message as a question: without `fix:`, issue numbers and trailers, cleaned and redacted."""
    text = _NUMBER.sub("", _TRAILER.sub("", _SIGNED.sub("", _PREFIX.sub("", message))))
    lines = [line.rstrip() for line in sanitize.text(text).strip().split("\n")]
    # Length limit of the question: longer messages contain pasted discussions
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))[:2_000].strip()


def _fix(repository: Repository, commit: Commit, parent: str) -> Fix | str:
    """Return the fix, or why it is unusable. A partial clone lacks the changes of some commits."""
    try:
        patch = run(repository, "diff-tree", "-r", "-p", "-U0", "--no-renames", "--end-of-options", parent, commit.sha)
    except GitError:
        if not repository.partial:
            raise
        return "not in this clone"
    gold, changed = changed_lines(patch)
    gold = {path: ranges for path, ranges in gold.items() if is_source(path)}
    if not gold:
        return "only new files"
    # Limits of the source files and changed lines of a fix; larger ones have several answers and fit no budget
    if changed > 100:
        return "many lines"
    subject = sanitize.line(question_of(commit.subject) or commit.subject, 100)  # longest subject
    return Fix(commit.sha, parent, commit.time, subject, question_of(commit.message), gold)


def changed_lines(patch: bytes) -> tuple[dict[str, tuple[tuple[int, int], ...]], int]:
    """Return the old line ranges by path in a patch without context, and the lines changed in source files.

    New files and files with quoted names are omitted.
    """
    ranges: dict[str, list[tuple[int, int]]] = {}
    path, changed = "", 0
    removed = added = 0  # lines of the hunk that are still to come: they may look like anything
    for line in patch.split(b"\n"):
        if removed or added:
            removed, added = removed - line.startswith(b"-"), added - line.startswith(b"+")
        elif line.startswith(b"--- "):
            name = line[4:].removesuffix(b"\t")
            path = name[2:].decode("utf-8", "replace") if name.startswith(b"a/") else ""
        elif hunk := _HUNK.match(line):
            start, removed, added = map(int, hunk.groups(b"1"))
            if path:
                ranges.setdefault(path, []).append((max(start, 1), max(start + removed - 1, start, 1)))
                changed += removed + added if is_source(path) else 0
    return {path: tuple(rows) for path, rows in ranges.items()}, changed


_REGULAR = frozenset({"100644", "100755", "100664"})
"""Modes of files. Links and submodules are not written: they are not indexed either."""

BLOBS_AT_ONCE = 32
"""Files that one process of git gives; all of them are in memory at once."""

_SHA256_CONFIG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"


class Snapshot:
    """A folder with the files of one commit after the other; moving to a near one writes only what differs."""

    def __init__(self, folder: Path, repository: Repository, *, max_bytes: int) -> None:
        self.folder = folder
        self._repository = repository
        self._max_bytes = max_bytes
        self._blobs: dict[str, str] = {}

    def move_to(self, commit: str, should_stop: ShouldStop = never) -> None:
        """Write the files of this commit. Raises GitError, OSError. After a stop the folder may be incomplete."""
        if not (self.folder / ".git").is_dir():
            self._make(commit)
        entries = tree_entries(self._repository, commit)
        files = {path: entry.blob for path, entry in entries.items() if _is_file(path, entry)}
        for path in self._blobs.keys() - files.keys():
            (self.folder / path).unlink(missing_ok=True)
            del self._blobs[path]
        places: defaultdict[str, list[str]] = defaultdict(list)
        for path, blob in files.items():
            if self._blobs.get(path) != blob:
                places[blob].append(path)
        for blob, content in contents(self._repository, places, should_stop):
            for path in places[blob]:
                self._write(path, content)
                self._blobs[path] = blob
        (self.folder / ".git" / "HEAD").write_text(f"{commit}\n")

    def _make(self, commit: str) -> None:
        git = self.folder / ".git"
        (git / "objects" / "info").mkdir(parents=True)
        (git / "refs").mkdir()
        (git / "HEAD").write_text(f"{commit}\n")
        objects = self._repository.common_dir.resolve() / "objects"
        (git / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects) + b"\n")
        (git / "config").write_text(_SHA256_CONFIG if len(commit) == 64 else "")  # sha256 length
        shallow = self._repository.common_dir / "shallow"
        if self._repository.shallow:
            (git / "shallow").write_bytes(shallow.read_bytes())

    def _write(self, path: str, content: bytes) -> None:
        """Write a file. Anything in its way (such as a file that is a folder now) is removed first."""
        target = self.folder / path
        if len(content) > self._max_bytes:
            target.unlink(missing_ok=True)
            return
        for above in reversed(target.relative_to(self.folder).parents[:-1]):
            if (self.folder / above).is_file():
                (self.folder / above).unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        target.write_bytes(content)


def _is_file(path: str, entry: Entry) -> bool:
    """Return whether to write a file. A tree may contain paths that no work tree can have."""
    parts = path.split("/")
    is_odd = any(part in ("", ".", "..") or part.lower().rstrip(" .") == ".git" for part in parts)
    return entry.mode in _REGULAR and not is_odd and "\0" not in path


def contents(
    repository: Repository, blobs: Iterable[str], should_stop: ShouldStop = never
) -> Iterator[tuple[str, bytes]]:
    """Yield each blob with its bytes, without those that a partial clone lacks. Raises GitError."""
    ids = list(blobs)
    for first in range(0, len(ids), BLOBS_AT_ONCE):
        asked = ids[first : first + BLOBS_AT_ONCE]
        feed = "".join(f"{blob}\n" for blob in asked).encode("ascii")
        with stream(repository, "cat-file", "--batch", feed=feed, should_stop=should_stop) as chunks:
            reader = io.BytesIO(b"".join(chunks))
        for blob in asked:
            head = reader.readline()
            if head.endswith(b" missing\n"):
                continue
            size = int(head.rpartition(b" ")[2]) if head.endswith(b"\n") else 0
            content = reader.read(size + 1)
            if len(content) <= size:
                return  # it was stopped
            yield blob, content[:size]
