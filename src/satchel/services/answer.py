"""Answers to requests: the door between `Satchel` and the pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from satchel.answer import weights
from satchel.answer.copies import listed
from satchel.answer.floors import admitted
from satchel.answer.omissions import with_best_lines
from satchel.answer.request import (
    AssembleRequest,
    SearchOptions,
    check_limit,
    check_names,
    check_now,
    check_score,
    make_request,
    parse_kinds,
)
from satchel.answer.resources import Resources
from satchel.answer.search import kind_search, search, with_guesses
from satchel.errors import NothingChangedError, UsageError
from satchel.safety import sanitize
from satchel.search.chunks import in_workspace
from satchel.search.filters import parse_filters, parse_strategies, silent
from satchel.search.query import analyse
from satchel.search.searcher import CANDIDATE_SPANS, SPANS_PER_RECORD, balanced
from satchel.services.open_root import OpenRoot, attempts, resources_of
from satchel.services.receipts import ReceiptService, handles_of, with_account
from satchel.settings import Settings
from satchel.system.git import find_repository
from satchel.tokens import counter
from satchel.types import CONTEXT_TYPES, LINE_KINDS, Context, Failure, Hit, Kind, Usage
from satchel.vocabulary import checked_text, workspace_names

if TYPE_CHECKING:
    from satchel.answer.pattern import Matches
    from satchel.answer.session import Account
    from satchel.answer.situation import MakeGuides
    from satchel.sources.change import Change
    from satchel.store.protocol import Store

MAX_LESSONS = 12
"""Records that are tried for the lessons of a prompt."""

NAMED = 5
"""Most files named in a note; the others are counted."""

SHAPING_SETTINGS = ("index_", "redact_")
"""Prefixes of settings that shape answers and are not in a request: the index, and patterns of secrets."""

HARMLESS_SETTINGS = frozenset({"index_workers", "index_lock_wait_s"})
"""Settings of the index that change its speed but not its content."""

ONE_TREE = "a change is one of a single work tree: name one workspace, or leave out diff and staged"


def _is_unsure(context: Context) -> bool:
    """Return whether an answer says that something is not found, or that it is weak."""
    return not context.items or bool(context.meta.get("weak") or context.meta.get("missing_terms"))


def check_question(question: object, *, has_pins: bool = False) -> None:
    """Raise UsageError for a question without a word and without pins, and for one that is not a text."""
    if not checked_text("the question", question).strip() and not has_pins:
        raise UsageError("the question is empty: say what you look for, as in 'where are retries handled?'")


class Unasked(Struct, frozen=True):
    """What a prompt gets: lessons, and context with the request for it. `deliver` records that lessons were sent."""

    lessons: Context
    deliver: Callable[[], object]
    request: AssembleRequest
    context: Context


class AnswerService:
    """Answers of one opened root; `receipts` keeps their handles and sessions, `guides` makes its contexts."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService, guides: MakeGuides) -> None:
        self._root, self._receipts, self._guides = root, receipts, guides

    def search(self, question: str, options: SearchOptions, *, refresh: bool) -> list[Hit]:
        """As `Satchel.search`."""
        check_question(question)
        if unknown := sorted(options.keys() - SearchOptions.__annotations__.keys()):
            names = ", ".join(sorted({*SearchOptions.__annotations__, "refresh"}))
            raise UsageError(f"unknown option {', '.join(unknown)}: choose from {names}")
        limit, workspace = options.get("limit", 10), options.get("workspace", ())
        kinds, conditions = parse_kinds(options.get("types", ())), parse_filters(options.get("filters") or {})
        quiet = silent(parse_strategies(options.get("searches", ())))
        check_limit(limit)
        guesses, floor = check_names(options.get("names", ())), check_score(options.get("min_score"))
        query = analyse(sanitize.text(question, self._root.settings.redact_allow))
        moment = check_now(options.get("now"))
        candidates = max(CANDIDATE_SPANS, limit * SPANS_PER_RECORD)

        def found(root: OpenRoot, store: Store) -> list[Hit]:
            with root.memory_snapshot() as memory:
                resources = Resources(store, root.lines, root.key, memory=memory, embedder=root.embedder)
                available = resources.kinds()
                named = kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
                searched = [kind for kind in named if kind is not Kind.CONTEXT]
                asked = with_guesses(query, guesses, resources)
                ask = kind_search(resources, asked, candidates=candidates, filters=conditions, now=moment, silent=quiet)
                results = balanced({kind: ask(kind) for kind in searched})
                terms = frozenset(term.term for term in query.terms)

                def best(limit: int) -> list[Hit]:
                    safe = [sanitize.hit(hit, root.settings.redact_allow) for hit in admitted(results, limit, floor)]
                    return with_best_lines(safe, store, root.lines, terms)

                return listed(best, limit, root.lines)

        def hits(root: OpenRoot) -> list[Hit]:
            if refresh:
                root.refresh()
            hits = root.read(partial(found, root))
            return root.read(partial(found, root)) if refresh and not hits and root.catch_up() else hits

        guides = self._guide_hits(question, moment, limit) if Kind.CONTEXT in kinds else []
        if not workspace:
            return [*strong_first(hits(self._root)), *guides]
        roots = self._root.siblings(workspace_names(workspace)) or {"": self._root}
        every = [in_workspace(hit, f"{name}/" if name else "") for name, root in roots.items() for hit in hits(root)]
        return [*strong_first(best_each({hit.chunk.id: hit for hit in every}.values(), limit)), *guides]

    def _guide_hits(self, task: str, now: float, limit: int) -> list[Hit]:
        """Return the contexts and instruction files of this root that apply to a task, the strongest first."""
        from satchel.answer.situation import guide_hit

        guides, _ = self._guides(sanitize.text(task, self._root.settings.redact_allow), now)
        ordered = sorted(guides, key=lambda guide: (not guide.must, -guide.priority))
        return [guide_hit(guide, index) for index, guide in enumerate(ordered[:limit])]

    def left_out_matches(self, pattern: str) -> list[str]:
        """Return notes on a pattern without a match: a file that is left out and has one, and what was not searched."""
        from satchel.answer.pattern import expression  # as below

        form = expression(f"(?m){pattern}")

        def find(text: str) -> int:
            match = form.search(text)
            return int(match.start()) if match is not None else -1

        left = self._root.left_out([pattern], find=find)
        return [
            *(f"left out of the index: {location}" for location in left.places.values()),
            *filter(None, [str(left)]),
        ]

    def search_pattern(self, pattern: str, question: str, options: Mapping[str, Any], where: str = "") -> Matches:
        """As `Satchel.search_pattern`; `options` are those of a request."""
        from satchel.answer.inputs import is_path_wanted
        from satchel.answer.pattern import MAX_LINES, expression, for_texts, groups_of, packed  # few have a pattern
        from satchel.sources.notes import TaskFilter, is_note

        request = make_request(question, self._root.settings, options)
        today = datetime.fromtimestamp(request.asked.now or time.time()).astimezone().date()
        found: Any = TaskFilter(where, today) if where else expression(pattern)
        in_texts = None if where else for_texts(pattern)
        roots = self._root.siblings(request.asker.workspaces) or {"": self._root}
        terms = frozenset(term.term for term in analyse(request.asked.query).terms)

        def groups(root: OpenRoot, prefix: str) -> list[Any]:
            root.refresh()

            def wanted(path: str) -> bool:
                return is_path_wanted(request.scope, path) and (not where or is_note(path))

            return root.read(lambda store: list(groups_of(wanted, found, store, root.lines, prefix, in_texts)))

        every = [group for name, root in roots.items() for group in groups(root, f"{name}/" if name else "")]
        max_lines = 20 if where else MAX_LINES  # a task is worth its line
        return packed(every, terms, counter(request.budget.tokenizer), request.budget.max_tokens, max_lines)

    def request(self, question: str, **options: Any) -> AssembleRequest:
        """Return a checked request from the settings and these options, named as in `assemble`.

        With a `change` the question may be empty: then the change itself is the question. With `include` it may be
        empty, too: then the answer is what is included.
        """
        change = options.get("change")
        if change is not None and isinstance(question, str) and not question.strip():
            question = change.question
        check_question(question, has_pins=bool(options.get("include")))
        request = make_request(question, self._root.settings, options)
        if not self._root.siblings(request.asker.workspaces):
            return replace(request, asker=replace(request.asker, workspaces=()))
        if request.asked.change is not None:
            raise UsageError(ONE_TREE)
        return request

    def answer(
        self,
        request: AssembleRequest,
        notes: Sequence[Failure] = (),
        *,
        catch_up: Callable[..., bool] | None = None,
        counts_lines: bool = True,
    ) -> Context:
        """Return the context for a checked request, from the index as it is. `notes` become failures of the answer.

        Where that says that something is not found, or is weak, `catch_up` may bring the index up to date. The text is
        the same without `counts_lines`, which fills `insertions` and `deletions` of commits and may start git.
        """
        account = self._receipts.account_of(request)
        with self._receipts.traced(request.scope.limit) as tell:
            context = self._assembled(request, notes, account, counts_lines=counts_lines)
            if catch_up is not None and _is_unsure(context) and catch_up(workspaces=request.asker.workspaces):
                context = self._assembled(request, notes, account, counts_lines=counts_lines)
            tell(context)
        return self._receipts.keep(context, account, handles_of(context), request.asker.workspaces)

    def unrecorded(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return an answer without recording it: its handles cannot be expanded. For internal questions."""
        account = self._receipts.account_of(request)
        return with_account(self._assembled(request, notes, account), account, ())

    def unasked(self, request: AssembleRequest) -> Unasked:
        """Return the lessons of a prompt, on one line each, and the context for it without them, from one search.

        What the lessons do not need of their share is for the context. Nothing is recorded.
        """
        from satchel.answer.bearing import in_order, lesson_tokens  # here and below, because a search packs nothing
        from satchel.answer.lessons import lessons_context
        from satchel.answer.pipeline import assemble

        account = self._receipts.account_of(request)
        for attempt in attempts(self._root, request.asker.workspaces):
            with attempt as states:
                resources = resources_of(states, (), account, counts_lines=False)
                searched = search(request.asked, request.scope, request.budget.max_tokens, resources)
                noted = structs.replace(resources, notes=(*resources.notes, *searched.failures))
                share = replace(request.budget, max_tokens=lesson_tokens(request.budget.max_tokens))
                told = in_order(searched.lessons)[:MAX_LESSONS]
                lessons = lessons_context(share, request.form.format, noted, told, "", {"revision": resources.revision})
                request = request.within(max(request.budget.max_tokens - lessons.usage.used, 1))
                context = assemble(request, resources, self._guides, searched.without_lessons)
        deliver = partial(self._receipts.keep, lessons, account, handles_of(lessons))
        return Unasked(lessons, deliver, request, with_account(self._marked(context), account, ()))

    def deliver(self, request: AssembleRequest, context: Context) -> Context:
        """Record handles and session of an answer of `unrecorded` that is sent after all."""
        account = self._receipts.account_of(request)
        return self._receipts.keep(context, account, handles_of(context), request.asker.workspaces)

    def _assembled(
        self,
        request: AssembleRequest,
        notes: Sequence[Failure],
        account: Account | None,
        *,
        counts_lines: bool = True,
    ) -> Context:
        """Return the answer, with a mark of the settings that shaped it."""
        from satchel.answer.pipeline import assemble

        for attempt in attempts(self._root, request.asker.workspaces):
            with attempt as states:
                resources = resources_of(states, notes, account, counts_lines=counts_lines)
                context = assemble(request, resources, self._guides)
        return self._marked(context)

    def _marked(self, context: Context) -> Context:
        return replace(context, meta={**context.meta, "settings": settings_mark(self._root.settings)})

    def about_change(
        self, request: AssembleRequest, revision: str = "HEAD", *, staged: bool = False, is_asked: bool = True
    ) -> tuple[AssembleRequest, list[Failure]]:
        """Return the request about the change that is under way, and the notes of its answer.

        Without a question (`is_asked` false) the change itself is the question. Raises UsageError as `change`, and
        NothingChangedError if there is neither a question nor a change.
        """
        if request.asker.workspaces:
            raise UsageError(ONE_TREE)
        change = self.change(revision, staged=staged)
        if change.is_empty and not is_asked:
            since = f"since {revision}" if change.base else "yet"
            unseen = f" ({len(change.untracked)} untracked files aside)" if change.untracked else ""
            raise NothingChangedError(
                f"nothing changed in the {change.target} {since}{unseen}: name another revision, or ask a question"
            )
        query = request.asked.query
        if not is_asked:
            query = sanitize.text(change.question, self._root.settings.redact_allow)
        shares = {kind: int(request.budget.max_tokens * share) for kind, share in weights.REVIEWED.items()}
        reserves = {**shares, **request.budget.reserves}
        asked, budget = replace(request.asked, query=query, change=change), replace(request.budget, reserves=reserves)
        return replace(request, asked=asked, budget=budget), change_notes(change)

    def tests_of_change(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return the tests that cover the change of a request, one per line, the surest and nearest first."""
        from satchel.answer.render.change import tests_alone
        from satchel.search.change_impact import affected_by_change

        change, tokens = request.asked.change, counter(request.budget.tokenizer)
        assert change is not None
        affected = self._root.read(partial(affected_by_change, change))
        text = tests_alone(affected.tests, tokens, request.budget.max_tokens)
        usage = Usage(request.budget.max_tokens, tokens.count(text), tokens.name, tokens.exact, "")
        failures = sanitize.failures(notes, self._root.settings.redact_allow)
        meta = {"change": affected.data()}
        return Context(request.asked.query, text, request.form.format, (), usage, failures=failures, meta=meta)

    def change(self, revision: str = "HEAD", *, staged: bool = False) -> Change:
        """Return what differs between a revision and the work tree, or with `staged` the staging area; for `assemble`.

        Raises UsageError outside a git repository and for a revision that does not exist.
        """
        from satchel.sources.change import ChangeOptions, read_change

        root, settings = self._root.places.root, self._root.settings

        def changed(store: Store) -> Change:
            repository = find_repository(root)
            if repository is None:
                raise UsageError(f"{root} is in no git repository: there is nothing to compare it with")
            prefix = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
            indexed = frozenset(path for kind in LINE_KINDS for path in store.stamps(kind))
            below = "" if prefix == "." else f"{prefix}/"
            options = ChangeOptions(root, below, indexed, settings.index_max_file_bytes, settings.redact_allow)
            return read_change(repository, options, revision, staged=staged)

        return self._root.read(changed)


def best_each(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the `limit` most relevant records or files of each kind, kind by kind; those of a file stay together."""
    entries: dict[tuple[Kind, str], list[Hit]] = {}
    for hit in hits:
        name = hit.chunk.id if hit.chunk.location is None else hit.chunk.location.path
        entries.setdefault((hit.chunk.kind, name), []).append(hit)
    ranked = sorted(entries.items(), key=lambda entry: -entry[1][0].relevance)
    chosen: list[Hit] = []
    for wanted in CONTEXT_TYPES.values():
        of_kind = [own_hits for (kind, _), own_hits in ranked if kind is wanted]
        chosen += chain.from_iterable(of_kind[:limit])
    return chosen


def strong_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with those of kinds that match much less than the best one at the end."""
    best = {hit.chunk.kind: hit.relevance for hit in sorted(hits, key=lambda hit: hit.relevance)}
    minimum = max(best.values(), default=0.0) / weights.KIND_LEAD
    return sorted(hits, key=lambda hit: best[hit.chunk.kind] < minimum)


def settings_mark(settings: Settings) -> dict[str, str]:
    """Return a short hash of each setting that shapes answers and differs from its default, by name.

    Hashes are enough to name a difference, and do not show patterns of allowed secrets to readers of the answer.
    """
    plain = Settings()
    marks = {}
    for name in settings.__struct_fields__:
        value = getattr(settings, name)
        shapes = name.startswith(SHAPING_SETTINGS) and name not in HARMLESS_SETTINGS
        if shapes and value != getattr(plain, name):
            marks[name.replace("_", ".", 1)] = blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return marks


def change_notes(change: Change) -> list[Failure]:
    """Return notes on the files that an answer about a change does not cover."""
    notes = []
    if change.untracked and not any(file.status == "untracked" for file in change.files):
        hint = "`git add` makes them part of it"
        notes.append(Failure("change", f"{_listed(change.untracked, 'untracked file')} not part of the change", hint))
    if change.unread:
        notes.append(
            Failure("change", f"{_listed(change.unread, 'changed file')} not examined", "the change has too many")
        )
    return notes


def _listed(paths: Sequence[str], noun: str) -> str:
    shown = ", ".join(paths[:NAMED])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"{len(paths)} {noun}{'s' if len(paths) > 1 else ''} ({shown}{more}) {'are' if len(paths) > 1 else 'is'}"
