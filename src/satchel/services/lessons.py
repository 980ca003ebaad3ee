"""Lessons in one root: what is remembered about files that are about to be edited.

It is apart from the other guidance because a hook asks it before every edit: contexts and rules need not be loaded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Unpack

from msgspec import structs

from satchel.answer.lessons import lessons_context
from satchel.answer.request import AssembleRequest, PackingOptions, make_request
from satchel.errors import GitError
from satchel.guidance.bound import bound_records, ruling_records
from satchel.safety.sanitize import clean_field
from satchel.search.lessons import behind_newer
from satchel.services.open_root import OpenRoot, attempts, resources_of
from satchel.services.receipts import ReceiptService, handles_of
from satchel.store.protocol import Store
from satchel.system.git import Repository, find_repository, head, run
from satchel.tokens import counter
from satchel.types import LESSON_KINDS, Context, Failure, Format, Hit, Kind
from satchel.vocabulary import WORK_SHARE, OutcomeStatus

MAX_FILES = 20
"""Most files of one edit whose lessons are told."""

NAMED_FILES = 3
"""Most files of an edit that are named above its lessons."""

BETWEEN = 2
"""Tokens of the blank line between the lessons and the rest of a brief."""

LAST_FILES = "the files of the last commits"
"""Words above the lessons of files that were worked on lately: these are many, and few of them have lessons."""

RECENT_COMMITS = 5
"""Last commits whose files count as what was worked on lately, of a branch with fewer commits of its own."""

BRANCH_COMMITS = 30
"""Most commits of a branch whose files count."""

RECENT_EXPERIENCES = 3
"""Last experiences whose files count: what their sessions changed may not be committed yet."""

_BASES = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/heads/main", "refs/heads/master")
"""What a branch begins at; those that are missing do not count."""

FAILURE_WEIGHT = 0.8
"""Importance that a failed experience has among memories."""

EXPERIENCE_WEIGHT = 0.5
"""Importance that any other experience has among memories."""


class LessonService:
    """The lessons of one opened root."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root, self._receipts = root, receipts

    def told(
        self, files: Sequence[str] | None, *, ruling: bool = False, **options: Unpack[PackingOptions]
    ) -> tuple[Context, Callable[[], object]]:
        """Return the lessons bound to these files (relative to the root), and what records that they were sent.

        Without files they are those that were worked on lately. The most important come first, then the newest. Options
        as in `Satchel.situation`; a `session` gets each lesson once. With `ruling` only those that count whatever is
        done with the files.
        """
        request = make_request("", self._root.settings, options)
        account = self._receipts.account_of(request)
        recent, failures = recent_files(self._root.places.root) if files is None else (files, [])
        about = LAST_FILES if files is None else ", ".join(clean_field(path) for path in recent[:NAMED_FILES])
        for attempt in attempts(self._root):
            with attempt as states:
                resources = resources_of(states, failures, account)
                kinds = LESSON_KINDS if resources.memory is not None else ()
                touched = experienced_files(resources.memory) if files is None and resources.memory is not None else []
                named = [*dict.fromkeys((*touched, *recent))][:MAX_FILES]
                records = ruling_records if ruling else bound_records
                bound = (
                    records(resources.store_of(kind), kind, named, resources.store, request.asked.now) for kind in kinds
                )
                hits = behind_newer(sorted(chain.from_iterable(bound), key=_order))
                context = lessons_context(
                    request.budget, request.form.format, resources, hits, about, {"revision": resources.revision}
                )
        return context, partial(self._receipts.keep, context, account, handles_of(context))

    def brief(self, request: AssembleRequest, answer: Callable[[AssembleRequest], Context]) -> Context:
        """Return the brief of a request, which `answer` gives: in Markdown after the lessons of the last files."""
        if request.form.format is not Format.MARKDOWN:
            return answer(request)
        room = max(int(request.budget.max_tokens * WORK_SHARE), 1)
        lessons, deliver = self.told(
            None,
            max_tokens=room,
            tokenizer=request.budget.tokenizer,
            session=request.asker.session,
            now=request.asked.now,
        )
        if not lessons.items:
            return answer(request)
        exclude = (*request.scope.exclude, *(item.id for item in lessons.items))
        rest = max(request.budget.max_tokens - lessons.usage.used - BETWEEN, 1)
        context = answer(replace(request, scope=replace(request.scope, exclude=exclude)).within(rest))
        deliver()
        text = "\n\n".join(filter(None, (lessons.text, context.text if context.items else "")))
        used = counter(request.budget.tokenizer).count(text)
        return replace(
            context,
            text=text,
            items=(*lessons.items, *context.items),
            usage=structs.replace(context.usage, limit=request.budget.max_tokens, used=used),
            sources_used=dict(Counter(lessons.sources_used) + Counter(context.sources_used)),
        )


def recent_files(root: Path) -> tuple[list[str], list[Failure]]:
    """Return the files below a root that the commits of the branch touched, the newest first, and failures.

    Of a branch without commits of its own, as the main one, those of the last commits count.
    """
    repository = find_repository(root)
    if repository is None:
        return [], []
    below = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
    prefix = "" if below == "." else f"{below}/"
    try:
        if head(repository) is None:
            return [], []
        count = min(max(_commits_of_branch(repository), RECENT_COMMITS), BRANCH_COMMITS)
        options = ("--no-merges", "--name-only", "-z", "--no-renames", "--format=")
        listed = run(repository, "log", f"-n{count}", *options, "HEAD", "--")
    except GitError as error:
        return [], [Failure("git", str(error), "what was worked on lately is unknown")]
    paths = (os.fsdecode(path.strip(b"\n")) for path in listed.split(b"\0"))
    return list(dict.fromkeys(path.removeprefix(prefix) for path in paths if path and path.startswith(prefix))), []


def _commits_of_branch(repository: Repository) -> int:
    """Return the number of commits since the branch began, at most `BRANCH_COMMITS`."""
    options = ("--ignore-missing", "--no-merges", "--count", f"-n{BRANCH_COMMITS}")
    return int(run(repository, "rev-list", *options, "HEAD", *(f"^{base}" for base in _BASES), "--"))


def experienced_files(memory: Store) -> list[str]:
    """Return the files that the sessions of the last experiences changed, the newest first."""
    newest = memory.newest(Kind.EXPERIENCE, RECENT_EXPERIENCES)
    documents = memory.documents(newest)
    listed = (documents[identity].fields.get("files") or () for identity in newest if identity in documents)
    return list(dict.fromkeys(chain.from_iterable(listed)))


def _order(hit: Hit) -> tuple[float, float, str]:
    chunk = hit.chunk
    has_failed = chunk.fields.get("outcome_status") == OutcomeStatus.FALSIFIED
    weight = FAILURE_WEIGHT if has_failed else EXPERIENCE_WEIGHT
    return -(chunk.importance or 0.0) if chunk.kind is Kind.MEMORY else -weight, -chunk.created, chunk.id
