"""Answers to requests, and their handles, session ledgers, ranks and replays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from satchel.assemble.gather import NOT_SEARCHED, Workbench, admitted, kind_search
from satchel.assemble.pipeline import assemble
from satchel.assemble.request import (
    AssembleRequest,
    check_budget,
    check_limit,
    check_now,
    check_score,
    check_session,
    make_request,
    parse_format,
    parse_kinds,
)
from satchel.errors import UsageError
from satchel.receipts.handles import HandleLedger, HandleTarget, handles_of, reference_handles
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.search.chunks import in_workspace
from satchel.search.filters import parse_filters, parse_strategies, silent
from satchel.search.query import analyse
from satchel.search.searcher import CANDIDATE_SPANS, SPANS_PER_RECORD, balanced
from satchel.settings import Settings
from satchel.system import telemetry
from satchel.system.git import find_repository
from satchel.types import CONTEXT_TYPES, Context, ContextItem, Failure, Hit, Kind
from satchel.vocabulary import Moment, checked_text, workspace_names

if TYPE_CHECKING:
    from satchel.assemble.section import Pin
    from satchel.open_root import OpenRoot
    from satchel.receipts.session import Account, SessionFile
    from satchel.receipts.why import Standing
    from satchel.sources.change import Change
    from satchel.store.protocol import Store

SESSIONS = "sessions"
"""Name of the folder of session ledgers, in the state folder."""

NAMED = 5
"""Most files named in a note; the others are counted."""


SHAPING_SETTINGS = ("index_", "redact_")
"""Prefixes of settings that shape answers and are not in a request: the index, and patterns of secrets."""

HARMLESS_SETTINGS = frozenset({"index_workers", "index_lock_wait_s"})
"""Settings of the index that change its speed but not its content."""


ONE_TREE = "a change is one of a single work tree: name one workspace, or leave out diff and staged"


def check_question(question: object) -> None:
    """Raise UsageError for a question without a word, and for one that is not a text."""
    if not checked_text("the question", question).strip():
        raise UsageError("the question is empty: say what you look for, as in 'where are retries handled?'")


class ReceiptService:
    """Answers of one opened root."""

    def __init__(self, root: OpenRoot) -> None:
        self._root = root
        self.handles = HandleLedger.of(root.places)

    def search(
        self,
        question: str,
        *,
        types: Iterable[str] = (),
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
        searches: Iterable[str] = (),
        now: Moment | None = None,
        min_score: float | None = None,
        refresh: bool = True,
        workspace: str | Sequence[str] = (),
    ) -> list[Hit]:
        """Return the best hits of each kind asked for (by default all that have chunks), at most `limit` each.

        Those of several workspaces (`workspace`: `web,api`) are one list by relevance.

        `filters` restrict records, as in `{"category": "error"}` (names: `satchel.search.filters.Filters`);
        `searches` are the retrievers to use (names: `satchel.search.filters`). Without a `min_score`, weak
        matches are left out.
        """
        check_question(question)
        kinds, conditions, quiet = parse_kinds(types), parse_filters(filters or {}), silent(parse_strategies(searches))
        if Kind.CONTEXT in kinds:
            raise UsageError(NOT_SEARCHED, "types")
        check_limit(limit)
        if workspace:
            ask = partial(ReceiptService.search, question=question, types=types, limit=limit, filters=filters,
                          searches=searches, now=now, min_score=min_score, refresh=refresh)  # fmt: skip
            roots = self._root.siblings(workspace_names(workspace)) or {"": self._root}
            found = [
                in_workspace(hit, f"{name}/" if name else "")
                for name, one in roots.items()
                for hit in ask(ReceiptService(one))
            ]
            return best_each({hit.chunk.id: hit for hit in found}.values(), limit)
        root, allow = self._root, self._root.settings.redact_allow
        if refresh:
            root.refresh()
        query = analyse(sanitize.text(question, allow))
        most, moment = max(CANDIDATE_SPANS, limit * SPANS_PER_RECORD), check_now(now)

        def hits(store: Store) -> list[Hit]:
            with root.memory_snapshot() as memory:
                bench = Workbench(store, root.lines, root.key, memory=memory, embedder=root.embedder)
                available = bench.kinds()
                searched_kinds = kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
                ask = kind_search(bench, query, candidates=most, filters=conditions, now=moment, silent=quiet)
                best = admitted(balanced({kind: ask(kind) for kind in searched_kinds}), limit, check_score(min_score))
                return [sanitize.hit(hit, allow) for hit in best]

        return root.read(hits)

    def request(self, question: str, **options: Any) -> AssembleRequest:
        """Return a checked request from the settings and these options, named as in `assemble`.

        With a `change` the question may be empty: then the change itself is the question.
        """
        change = options.get("change")
        if change is not None and isinstance(question, str) and not question.strip():
            question = _question_of(change)
        check_question(question)
        settings = self._root.settings
        request = make_request(sanitize.text(question, settings.redact_allow), settings, options)
        if not self._root.siblings(request.workspaces):
            return replace(request, workspaces=())
        if request.change is not None:
            raise UsageError(ONE_TREE)
        return request

    def answer(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return the context for a checked request, from the index as it is. `notes` become failures of the answer."""
        account = self._account_of(request)
        with self.traced(request.limit) as tell:
            context = self._assembled(request, notes, account)
            tell(context)
        return self.keep(context, account, request.session, handles_of(context), request.workspaces)

    def unrecorded(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return an answer without recording it: its handles cannot be expanded. For internal questions."""
        account = self._account_of(request)
        return with_account(self._assembled(request, notes, account), account, ())

    def deliver(self, request: AssembleRequest, context: Context) -> Context:
        """Record handles and session of an answer of `unrecorded` that is sent after all."""
        account = self._account_of(request)
        return self.keep(context, account, request.session, handles_of(context), request.workspaces)

    def _assembled(self, request: AssembleRequest, notes: Sequence[Failure], account: Account | None) -> Context:
        """Return the answer, with a mark of the settings that shaped it."""
        context = self.with_benches(partial(assemble, request), notes, account, request.workspaces)
        return replace(context, meta={**context.meta, "settings": settings_mark(self._root.settings)})

    def with_benches(
        self,
        work: Callable[[Workbench, Sequence[Failure]], Context],
        notes: Sequence[Failure],
        account: Account | None,
        workspaces: Sequence[str],
    ) -> Context:
        """Run `work` on one published state of the root, or of all these workspaces (`OpenRoot.with_bench`)."""
        roots = [*self._root.siblings(workspaces).items()]
        if not roots:
            return self._root.with_bench(work, notes, account)

        def add(benches: tuple[Workbench, ...], failures: Sequence[Failure]) -> Context:
            if len(benches) == len(roots):
                return work(replace(benches[0], others=benches[1:]), failures)
            name, root = roots[len(benches)]
            return root.with_bench(
                lambda bench, own: add((*benches, replace(bench, prefix=f"{name}/")), own), failures, account
            )

        return add((), notes)

    def traced(self, limit: int | None = None) -> AbstractContextManager[Callable[[Context], None]]:
        """Return a telemetry span around an answer; it gives the function that adds the answer to the span."""
        content = self._root.settings.telemetry_content
        return telemetry.retrieval(self._root.places.index.name, content=content, limit=limit)

    def keep(
        self,
        context: Context,
        account: Account | None,
        session: str,
        handles: Sequence[HandleTarget],
        workspaces: Sequence[str] = (),
    ) -> Context:
        """Record the handles of an answer and its items for the session; return it with failures to do so."""
        self._record([*handles, *reference_handles(context)], workspaces)
        return with_account(context, account, self._note_shown(session, account, context.items))

    def _record(self, handles: Sequence[HandleTarget], workspaces: Sequence[str]) -> None:
        """Record handles, those of an answer from several workspaces with the one that each belongs to."""
        roots = self._root.siblings(workspaces)
        self.handles.record([in_one_of(row, roots) if roots else row for row in handles])

    def _account_of(self, request: AssembleRequest) -> Account | None:
        return self.account(request.session, request.ledger, pins=request.pins, shows_lines=request.show_code)

    def account(
        self, session: str, state: str = "", *, pins: Sequence[Pin] = (), shows_lines: bool = True
    ) -> Account | None:
        """Return the account of a session, or of a former `state` of its ledger; None without a session."""
        if not session:
            return None
        from satchel.receipts.session import Account, read_ledger

        ledger, failures = read_ledger(self.session_file(session), state)
        shown = sanitize.line(session, len(session) + 1, self._root.settings.redact_allow)
        return Account(shown, self._root.key, ledger, failures, tuple(pins), shows_lines)

    def _note_shown(self, session: str, account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
        """Add the items of an answer to the ledger of its session; return failures."""
        if account is None or not items:
            return []
        from satchel.receipts.session import add_rows

        failure = add_rows(self.session_file(session), account.ledger, account.rows(items))
        return [] if failure is None or account.failures else [failure]

    def session_file(self, session: str) -> SessionFile:
        """Return the ledger of a session in this root; its id is checked already."""
        from satchel.receipts.session import SessionFile

        return SessionFile(self._root.places.state / SESSIONS, self._root.places.index.name, session)

    def forget_session(self, session: str) -> bool:
        """Forget what a session has received, because its host cleared or compacted its context.

        Returns whether there was anything to forget. Raises UsageError for an impossible id.
        """
        checked = check_session(session)
        return bool(checked) and self.session_file(checked).forget()

    def expand(
        self,
        handles: Sequence[str],
        *,
        max_tokens: int | None = None,
        format: str | None = None,  # noqa: A002 - the name of the option
        tokenizer: str | None = None,
        session: str = "",
    ) -> Context:
        """Return the full text of these handles, from the revision of their answer.

        A `session` gets it even if it has it already, and is not sent it again afterwards. Text that has changed since,
        and of which no copy is left, becomes a failure. Raises UsageError for a handle that is too old or of another
        root.
        """
        from satchel.receipts.expand import check_handles, expand
        from satchel.tokens import counter

        settings = self._root.settings
        names = check_handles(handles)
        rows = self.handles.find(names)
        unknown = [handle for handle in names if handle not in rows]
        if unknown:
            raise UsageError(
                f"unknown handle {', '.join(unknown)}: ask the question again here ({self._root.places.root}), "
                "and use the handles of that answer"
            )
        workspaces = [row.workspace for row in rows.values() if row.workspace]
        context = expand(
            [rows[handle] for handle in names],
            {"": self._root, **self._root.siblings(workspaces)},
            counter=counter(tokenizer or settings.budget_tokenizer),
            max_tokens=check_budget(settings.budget_max_tokens if max_tokens is None else max_tokens),
            layout=parse_format(format or settings.context_format),
        )
        new = [row for row in handles_of(context) if row.handle not in rows]  # the others keep their lines
        self._record(new, workspaces)
        account = self.account(check_session(session))
        failures = account.failures if account is not None else ()
        return with_account(context, account, [*failures, *self._note_shown(session, account, context.items)])

    def document(self, identity: str, **options: Any) -> Context:
        """Return the full text of a chunk by its id: a file, a part of one, or a record. Options as in `expand`.

        Raises UsageError for an id that no store here has.
        """
        from satchel.receipts.expand import chunk_handle

        row = chunk_handle(identity, self._root)
        if row is None:
            raise UsageError(f"there is no document {clean_field(identity)!r} here: `satchel search` shows ids")
        self.handles.record([row])
        return self.expand([row.handle], **options)

    def why(self, target: str, question: str, *, refresh: bool = True, **options: Any) -> list[Standing]:
        """Return rank and signals of a path, symbol or chunk id for a question, and why it is shown or not.

        There are several if the name is not unique, best first. Options are those of `assemble`. Raises UsageError for
        an unknown name.
        """
        from satchel.receipts.why import why

        request = self.request(question, **options)
        notes = self._root.refresh() if refresh else []
        ask = partial(self.unrecorded, notes=notes)
        return self._root.read(lambda store: why(target, request, store, self._root.store_of, ask, self._root.embedder))

    def about_change(
        self, request: AssembleRequest, revision: str = "HEAD", *, staged: bool = False, is_asked: bool = True
    ) -> tuple[AssembleRequest, list[Failure]]:
        """Return the request about the change that is under way, and the notes of its answer.

        Without a question (`is_asked` false) the change itself is the question. Raises UsageError as `change`, and if
        there is neither a question nor a change.
        """
        if request.workspaces:
            raise UsageError(ONE_TREE)
        change = self.change(revision, staged=staged)
        if not change.files and not is_asked:
            since = f"since {revision}" if change.base else "yet"
            unseen = f" ({len(change.untracked)} untracked files aside)" if change.untracked else ""
            raise UsageError(
                f"nothing changed in the {change.target} {since}{unseen}: name another revision, or ask a question"
            )
        query = request.query if is_asked else _question_of(change)
        return replace(request, query=query, change=change), change_notes(change)

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
            indexed = frozenset(store.stamps(Kind.CODE)) | frozenset(store.stamps(Kind.DOC))
            below = "" if prefix == "." else f"{prefix}/"
            options = ChangeOptions(root, below, indexed, settings.index_max_file_bytes, settings.redact_allow)
            return read_change(repository, options, revision, staged=staged)

        return self._root.read(changed)


def in_one_of(row: HandleTarget, roots: Mapping[str, OpenRoot]) -> HandleTarget:
    """Return a handle of an answer from several workspaces with the workspace that it belongs to."""
    kind, _, key = row.id.partition(":")
    name, _, rest = key.partition("/")
    if row.path or row.kind is Kind.NOTE:
        path = row.path.partition("/")[2]
        return replace(row, id=f"{kind}:{rest}", path=path, workspace=name) if name in roots else row
    known = (name for name, root in roots.items() if root.store_of(row.kind).document(row.kind, key.partition("::")[0]))
    return replace(row, workspace=next(known, ""))


def best_each(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the `limit` most relevant hits of each kind, kind by kind."""
    ranked = sorted(hits, key=lambda hit: -hit.relevance)
    return [hit for kind in CONTEXT_TYPES.values() for hit in [one for one in ranked if one.chunk.kind is kind][:limit]]


def settings_mark(settings: Settings) -> dict[str, str]:
    """Return a short hash of each setting that shapes answers and differs from its default, by name.

    Hashes are enough to name a difference, and do not show patterns of allowed secrets to readers of the answer.
    """
    plain = Settings()
    marks = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        shapes = field.name.startswith(SHAPING_SETTINGS) and field.name not in HARMLESS_SETTINGS
        if shapes and value != getattr(plain, field.name):
            marks[field.name.replace("_", ".", 1)] = blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return marks


def with_account(context: Context, account: Account | None, failures: Sequence[Failure]) -> Context:
    """Return the answer with the state of its session, and failures of its ledger."""
    if account is None:
        return context
    return replace(context, failures=(*context.failures, *failures), meta={**context.meta, **account.meta})


def _question_of(change: Change) -> str:
    """Return the question of a change that comes without one: its definitions by name, else its files."""
    names = [f"`{name}`" for name in change.names]
    return " ".join(names or [file.path for file in change.files]) or f"no change in the {change.target}"


def change_notes(change: Change) -> list[Failure]:
    """Return notes on the files that an answer about a change does not cover."""
    notes = []
    if change.untracked:
        hint = "`git add` makes them part of it"
        notes.append(Failure("change", f"{_listed(change.untracked, 'untracked file')} not part of the change", hint))
    if change.unread:
        notes.append(
            Failure("change", f"{_listed(change.unread, 'changed file')} not looked into", "they are not indexed")
        )
    return notes


def _listed(paths: Sequence[str], noun: str) -> str:
    shown = ", ".join(paths[:NAMED])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"{len(paths)} {noun}{'s' if len(paths) > 1 else ''} ({shown}{more}) {'are' if len(paths) > 1 else 'is'}"
