"""Import of conversations into the memory file. An exchange is written once, and again only when it has grown."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from satchel.errors import UsageError
from satchel.memory.model import ImportReport, LineProblem
from satchel.memory.records import exchange_document
from satchel.memory.scope import Notebook, never_stop
from satchel.sources.conversations import Exchange, read_transcript
from satchel.system import files
from satchel.types import Kind

CLAUDE_CODE = "claude-code"
"""The name of the format, and the origin of its exchanges."""

LINE_BYTES = 8_000_000
"""Size limit of a line of a transcript: images are embedded as text; a line without one has a thousandth of it."""

TRANSCRIPT_BYTES = 512_000_000
"""Size limit of a transcript: weeks of work in one session have a tenth of it."""

ELSEWHERE = "of another folder"
"""Reason under which skipped exchanges are counted; a file without any exchange of this root counts as one."""

_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")')


def put_exchanges(exchanges: Iterable[Exchange], notebook: Notebook, *, origin: str) -> ImportReport:
    """Write exchanges in one transaction. Those that are stored already with the same text are not written.

    An exchange of another workspace is moved to that of the notebook.
    """
    documents = {document.key: document for document in (exchange_document(row, notebook, origin) for row in exchanges)}
    store = notebook.store
    stored = store.documents(store.document_ids(Kind.CONVERSATION, list(documents)).values())
    same = {
        row.key
        for row in stored.values()
        if (row.content_hash, row.workspace) == (documents[row.key].content_hash, documents[row.key].workspace)
    }
    news = [document for key, document in sorted(documents.items()) if key not in same]
    if news:
        with store.write() as writer:
            writer.put(news)
            writer.merge(never_stop)
    updated = len(stored) - len(same)
    return ImportReport(len(news) - updated, updated, len(same))


def import_transcript(
    lines: Iterable[bytes], notebook: Notebook, *, name: str = "transcript", root: Path | None = None
) -> ImportReport:
    """Import one transcript, line by line. Broken lines are reported, the rest is imported.

    `name` is the session of lines that name none. With a `root`, only exchanges in it are imported.
    """
    transcript = read_transcript(lines, name, clean=notebook.safe, line_bytes=LINE_BYTES)
    mine = [row for row in transcript.exchanges if root is None or _is_below(row.folder, root)]
    done = put_exchanges(mine, notebook, origin=CLAUDE_CODE)
    problems = tuple(LineProblem(number, message) for number, message in transcript.broken)
    others = len(transcript.exchanges) - len(mine)
    passed_over = {**transcript.passed_over, **({ELSEWHERE: others} if others else {})}
    return ImportReport(done.added, done.updated, done.unchanged, problems, passed_over)


def import_transcripts(paths: Sequence[Path], notebook: Notebook, root: Path) -> ImportReport:
    """Import transcripts from files, and from all files below folders, one transaction per file.

    All exchanges of a file in `paths` are imported; of a folder (Claude Code keeps all projects in one) only those in
    `root`. An unreadable file is reported as line 0. Raises UsageError for a path without transcripts.
    """
    reports = [_import_file(path, notebook, None if path in paths else root) for path in transcript_files(paths)]
    passed_over: Counter[str] = Counter()
    for report in reports:
        passed_over.update(report.passed_over)
    return ImportReport(
        sum(report.added for report in reports),
        sum(report.updated for report in reports),
        sum(report.unchanged for report in reports),
        tuple(problem for report in reports for problem in report.problems),
        dict(sorted(passed_over.items())),
    )


def transcript_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and every `*.jsonl` below the folders, in order. Raises UsageError where there is none."""
    files_below: list[Path] = []
    for path in paths:
        below = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path] if path.exists() else []
        if not below:
            what = "holds no *.jsonl file" if path.is_dir() else "does not exist"
            raise UsageError(f"{path} {what}: Claude Code keeps its transcripts below ~/.claude/projects")
        files_below += below
    return list(dict.fromkeys(files_below))


def _import_file(path: Path, notebook: Notebook, root: Path | None) -> ImportReport:
    try:
        raw = files.read_bytes(path.parent, path.name, limit=TRANSCRIPT_BYTES).raw
    except files.Skipped as skipped:
        return ImportReport(problems=(LineProblem(0, f"{path.name}: {skipped}"),))
    if root is not None and not any(_is_below(folder, root) for folder in _folders(raw)):
        return ImportReport(passed_over={ELSEWHERE: 1})  # most files: their lines need not be read
    lines = (line.removesuffix(b"\n") for line in io.BytesIO(raw))  # one at a time: a list would double the memory
    report = import_transcript(lines, notebook, name=path.stem, root=root)
    named = tuple(replace(problem, message=f"{path.name}: {problem.message}") for problem in report.problems)
    return replace(report, problems=named)


def _folders(raw: bytes) -> list[str]:
    """Return the folders that the lines of a transcript name, each once."""
    return [json.loads(folder.decode("utf-8", "replace")) for folder in dict.fromkeys(_FOLDER.findall(raw))]


def _is_below(folder: str, root: Path) -> bool:
    """Return whether a folder, which may be deleted by now, is a root or in it."""
    if not folder:
        return False
    try:
        real = Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file system takes
        return False
    return Path(folder).is_relative_to(root) or real.is_relative_to(root.resolve())
