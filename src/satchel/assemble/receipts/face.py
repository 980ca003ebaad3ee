"""What the engine offers around an answer: expand, explain, why, replay, and the change that is under way.

A base class of the engine, so that the engine itself stays a list of what it wires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from satchel import outside, telemetry
from satchel.assemble.gather import MEMORY_KINDS, Workbench
from satchel.assemble.pipeline import assemble
from satchel.assemble.receipts.ledger import HandleLedger, handles_of
from satchel.assemble.receipts.replay import settings_mark
from satchel.assemble.receipts.sessions import Sessions, reference_handles, with_account
from satchel.assemble.request import (
    AssembleRequest,
    check_budget,
    check_session,
    make_request,
    parse_format,
)
from satchel.clean import clean_field
from satchel.errors import UsageError
from satchel.types import Context, ContextItem, Failure, Kind

if TYPE_CHECKING:
    from satchel.assemble.pins import Pin
    from satchel.assemble.receipts.replay import Replay
    from satchel.assemble.receipts.session import Account
    from satchel.assemble.receipts.why import Standing
    from satchel.config import Settings
    from satchel.embed.protocol import Embedder
    from satchel.roots import Places
    from satchel.sources.change import Change
    from satchel.store.protocol import Store

Answer = TypeVar("Answer")


def check_question(question: str) -> None:
    """Raise UsageError for a question that holds nothing."""
    if not question.strip():
        raise UsageError("the question is empty: say what you look for, as in 'where are retries handled?'")


class Engine(Protocol):
    """What the methods here need of the engine."""

    places: Places
    _key: bytes

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def store(self) -> Store:
        """The index."""

    @property
    def memory(self) -> Store:
        """The durable memory."""

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors, None where words alone count."""

    @property
    def handles(self) -> HandleLedger:
        """The handles that were given lately."""

    def refresh(self) -> list[Failure]:
        """Bring the index up to date; what an answer has to note."""

    def request(self, question: str, **options: Any) -> AssembleRequest:
        """A checked request."""

    def unrecorded(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """The answer to a request; its handles are not remembered."""

    def expand(
        self,
        handles: Sequence[str],
        *,
        max_tokens: int | None = None,
        format: str | None = None,  # noqa: A002 - the name of the option
        tokenizer: str | None = None,
        session: str = "",
    ) -> Context:
        """What handles stand for."""

    def store_of(self, kind: Kind) -> Store:
        """The store that holds a kind."""

    def change(self, revision: str = "HEAD", *, staged: bool = False) -> Change:
        """What is being changed."""

    def account(
        self,
        session: str,
        state: str = "",
        *,
        pins: Sequence[Pin] = (),
        is_kept: bool = True,
        shows_lines: bool = True,
    ) -> Account | None:
        """What a session has received."""

    def note_shown(self, session: str, account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
        """Add what was shown to the ledger of a session."""

    def replays_tree(self, saved: Mapping[str, Any]) -> bool:
        """Whether a replay looks at the tree first."""

    def replayed_situation(self, saved: Mapping[str, Any], notes: Sequence[Failure]) -> tuple[Context, AssembleRequest]:
        """A saved situation once more."""

    def _marked(self, request: AssembleRequest, notes: Sequence[Failure], account: Account | None) -> Context:
        """The answer with the settings that shaped it."""

    def _with_bench(self, work: Callable[[Workbench, Sequence[Failure]], Answer]) -> Answer:
        """What `work` makes of one published state of index and memory."""

    def _read(self, work: Callable[[Store, Sequence[Failure]], Answer]) -> Answer:
        """What `work` makes of one published state."""


class Receipts(Sessions):
    """Methods about answers that were given, or could be given."""

    def request(self: Engine, question: str, **options: Any) -> AssembleRequest:
        """A checked request from the settings and these options, named as in `assemble`.

        With a `change` the question may be empty: then the change itself is the question.
        """
        change = options.get("change")
        if change is not None and not question.strip():
            from satchel.assemble.receipts.current import question_of  # here, because few requests are about a change

            question = question_of(change)
        check_question(question)
        return make_request(outside.text(question, self.settings.redact_allow), self.settings, options)

    def store_of(self: Engine, kind: Kind) -> Store:
        """The store that holds a kind: memories and experiences have a file of their own."""
        return self.memory if kind in MEMORY_KINDS else self.store

    @property
    def handles(self: Engine) -> HandleLedger:
        """The handles that answers about this root gave lately."""
        return HandleLedger(self.places.state / "handles" / f"{self.places.index.name}.jsonl")

    def answer(self: Engine, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """The context for a checked request, from the index as it is. It carries `notes` as its own failures."""
        account = self.account(request.session, request.ledger, pins=request.pins, shows_lines=request.show_code)
        source = self.places.index.name
        with telemetry.span(
            telemetry.RETRIEVAL, source, {telemetry.DATA_SOURCE: source, telemetry.TOP_K: request.limit}
        ) as span:
            context = self._marked(request, notes, account)
            telemetry.tell(span, context, content=self.settings.telemetry_content)
        self.handles.record([*handles_of(context), *reference_handles(context)])
        return with_account(context, account, self.note_shown(request.session, account, context.items))

    def unrecorded(self: Engine, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """`answer` without a trace: its handles lead nowhere. For questions that are asked only to learn something."""
        account = self.account(
            request.session, request.ledger, pins=request.pins, is_kept=False, shows_lines=request.show_code
        )
        return with_account(self._marked(request, notes, account), account, ())

    def deliver(self: Engine, request: AssembleRequest, context: Context) -> Context:
        """What `answer` leaves behind, for an answer of `unrecorded` that is sent after all: handles, and the ledger.

        For those who only know afterwards whether an answer can be sent.
        """
        account = self.account(request.session, request.ledger, pins=request.pins, shows_lines=request.show_code)
        self.handles.record([*handles_of(context), *reference_handles(context)])
        return with_account(context, account, self.note_shown(request.session, account, context.items))

    def _marked(self: Engine, request: AssembleRequest, notes: Sequence[Failure], account: Account | None) -> Context:
        """The answer from the index as it is, with the settings that shaped it."""
        failed = account.failures if account is not None else ()

        def work(bench: Workbench, found: Sequence[Failure]) -> Context:
            problems = tuple(dict.fromkeys((*notes, *failed, *found)))
            return assemble(request, replace(bench, account=account), problems)

        context = self._with_bench(work)
        return replace(context, meta={**context.meta, "settings": settings_mark(self.settings)})

    def expand(
        self: Engine,
        handles: Sequence[str],
        *,
        max_tokens: int | None = None,
        format: str | None = None,  # noqa: A002 - the name of the option
        tokenizer: str | None = None,
        session: str = "",
    ) -> Context:
        """The whole of what these handles stand for, from the revision that the answer came from.

        It is asked for, so a `session` gets it in any case, and is not sent it again afterwards.

        What changed since and is left nowhere becomes a failure that says where it stands now. Raises UsageError for
        a handle that was not given lately, or by another root.
        """
        from satchel.assemble.receipts.expand import Desk, check_handles, expand
        from satchel.tokens import counter

        settings = self.settings
        asked = check_handles(handles)
        known = self.handles.find(asked)
        unknown = [handle for handle in asked if handle not in known]
        if unknown:
            raise UsageError(
                f"unknown handle {', '.join(unknown)}: ask the question again here ({self.places.root}), "
                "and use the handles of that answer"
            )
        context, fresh = expand(
            [known[handle] for handle in asked],
            Desk(self.places.root, self._key, settings.index_max_file_bytes, settings.redact_allow, self.store_of),
            counter=counter(tokenizer or settings.budget_tokenizer),
            max_tokens=check_budget(settings.budget_max_tokens if max_tokens is None else max_tokens),
            layout=parse_format(format or settings.context_format),
        )
        self.handles.record([*fresh, *handles_of(context)])
        account = self.account(check_session(session))
        failed = [] if account is None else [*account.failures]
        return with_account(context, account, [*failed, *self.note_shown(session, account, context.items)])

    def document(self: Engine, identity: str, **options: Any) -> Context:
        """The whole of a document by its id: a file, a part of one, or a record. Options as in `expand`.

        Raises UsageError for an id that nothing indexed or remembered here has.
        """
        from satchel.assemble.receipts.documents import given_for
        from satchel.assemble.receipts.expand import Desk

        settings = self.settings
        desk = Desk(self.places.root, self._key, settings.index_max_file_bytes, settings.redact_allow, self.store_of)
        given = given_for(identity, desk)
        if given is None:
            raise UsageError(f"there is no document {clean_field(identity)!r} here: `satchel search` shows ids")
        self.handles.record([given])
        return self.expand([given.handle], **options)

    def why(self: Engine, target: str, question: str, *, refresh: bool = True, **options: Any) -> list[Standing]:
        """How a path, a symbol or a document id stands for a question: its rank, its signals, and why it is in or out.

        Several where the name is not unique, best first. Options are those of `assemble`. Raises UsageError for a
        name that is nowhere.
        """
        from satchel.assemble.receipts.why import why

        request = self.request(question, **options)
        notes = self.refresh() if refresh else []
        ask = partial(self.unrecorded, notes=notes)
        return self._read(lambda store, _: why(target, request, store, self.store_of, ask, self.embedder))

    def replay(self: Engine, saved: Mapping[str, Any], *, refresh: bool = True) -> Replay:
        """Ask a saved question (an envelope of `satchel context --json`) again and name what differs.

        A saved situation is asked as one. Raises UsageError for anything else than a saved context.
        """
        from satchel.assemble.receipts.replay import Replay, differences, saved_request

        refresh = refresh and self.replays_tree(saved)
        if "situation" in (saved.get("meta") or {}):
            context, request = self.replayed_situation(saved, self.refresh() if refresh else ())
            return Replay(request, context, differences(saved, context))
        request = saved_request(saved)
        context = self.unrecorded(request, self.refresh() if refresh else ())
        return Replay(request, context, differences(saved, context))

    def replays_tree(self, saved: Mapping[str, Any]) -> bool:
        """Whether a replay looks at the tree first, as the saved answer did: briefs and premortems do not."""
        from satchel.assemble.receipts.replay import is_of_the_tree

        return is_of_the_tree(saved)

    def about_change(
        self: Engine, request: AssembleRequest, revision: str = "HEAD", *, staged: bool = False, is_asked: bool = True
    ) -> tuple[AssembleRequest, list[Failure]]:
        """The request about the change that is under way, and what its answer has to note.

        Where nobody asked anything (`is_asked` false), the change itself is the question. Raises UsageError as
        `change`, and where there is neither a question nor a change.
        """
        from satchel.assemble.receipts.current import about, notes_of

        change = self.change(revision, staged=staged)
        return about(request, change, revision, is_asked=is_asked), notes_of(change)

    def change(self: Engine, revision: str = "HEAD", *, staged: bool = False) -> Change:
        """What differs between a revision and the work tree, or with `staged` the staging area; for `assemble`.

        Raises UsageError outside a git repository and for a revision that does not exist.
        """
        from satchel.assemble.receipts.current import current_change

        settings = self.settings
        return self._read(
            lambda store, _: current_change(
                self.places.root, store, settings.index_max_file_bytes, settings.redact_allow, revision, staged=staged
            )
        )

    async def aexpand(self, handles: Sequence[str], **options: Any) -> Context:
        """`expand` as a coroutine."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(self.expand, handles, **options)  # type: ignore[misc]

    async def awhy(self, target: str, question: str, **options: Any) -> list[Standing]:
        """`why` as a coroutine."""
        import asyncio

        return await asyncio.to_thread(self.why, target, question, **options)  # type: ignore[misc]
