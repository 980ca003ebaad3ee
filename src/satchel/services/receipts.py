"""What is kept of answers: handles to expand, ledgers of sessions; and why an item is in an answer.

A handle is a hash; the targets are in one file for each root, with one line of JSON for each handle, the newest last.
The file has no text: ids, paths, line numbers and keyed hashes only.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from satchel.answer.request import AssembleRequest, check_budget, check_session, parse_format
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.system import files, state_files, telemetry
from satchel.system.locations import Places
from satchel.types import Context, ContextItem, Failure, HandleTarget, Kind, Omission, ShownBefore
from satchel.vocabulary import DAY_SECONDS

if TYPE_CHECKING:
    from satchel.answer.pins import Pin
    from satchel.answer.session import Account, SessionFile
    from satchel.services.open_root import OpenRoot
    from satchel.services.stats import DeliveryStats
    from satchel.services.why import Standing
    from satchel.store.protocol import Store

SESSIONS = "sessions"
"""Name of the folder of session ledgers, in the state folder."""

MAX_BYTES = 4_000_000
"""Size above which the older half is dropped: the handles of about 300 answers, read in some 10 ms."""

LEFT_OUT = "-"
"""The `name` of a record that an answer named and did not show."""

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def handles_of(context: Context) -> list[HandleTarget]:
    """Return every handle of a context: of its items, their cuts and the omissions."""
    targets = []
    for item in context.items:
        kind = Kind(item.source)
        path, content_hash = (item.location.path, item.location.content_hash) if item.location is not None else ("", "")
        targets.append(HandleTarget(item.handle, kind, item.id, path, "", content_hash))
        if path:
            targets += [
                HandleTarget(cut.handle, kind, f"{item.id}::{cut.name}", path, cut.name, content_hash, ranges)
                for cut in item.cuts
                for ranges in [cut.rest or ((cut.start, cut.end),)]
            ]
    return [target for target in [*targets, *map(_left_out, context.overflow)] if target.handle]


def _left_out(omission: Omission) -> HandleTarget:
    ranges = omission.rest or (((omission.start, omission.end),) if omission.start else ())
    name = LEFT_OUT if not omission.path else omission.title if omission.title != omission.path else ""
    return HandleTarget(
        omission.handle, Kind(omission.source), omission.id, omission.path, name, omission.content_hash, ranges
    )


def reference_handles(context: Context) -> list[HandleTarget]:
    """Return the handles of the references: lines of a file, or a record."""
    return [
        HandleTarget(
            before.handle,
            Kind(before.source),
            before.id,
            before.path,
            "",
            before.content_hash,
            ((before.spans[0][0], before.spans[-1][1]),),
        )
        if before.spans
        else HandleTarget(before.handle, Kind(before.source), before.id)
        for before in context.shown_before
        if before.handle and before.source != Kind.CONTEXT  # those of instruction files lead to the files
    ]


def _is_stored(item: ContextItem | Omission) -> bool:
    return item.source != Kind.CONTEXT


def with_guide_handles(
    context: Context, paths: Mapping[str, str], root: Path, key: bytes, limit: int
) -> tuple[Context, list[HandleTarget]]:
    """Return the context with handles only for items that can be read again, and all its handles.

    `paths` names the file of each guide by the id of its item. The situation itself, records of registered keys and
    files that cannot be read any more lose their handles.
    """
    targets: list[HandleTarget] = []
    named: list[ContextItem | Omission | ShownBefore] = [*context.items, *context.overflow, *context.shown_before]
    for reference in named:
        if reference.source == Kind.CONTEXT and reference.id in paths:
            with contextlib.suppress(files.Skipped):
                raw = files.read_bytes(root, paths[reference.id], limit=limit).raw
                targets.append(
                    HandleTarget(
                        reference.handle,
                        Kind.CONTEXT,
                        reference.id,
                        paths[reference.id],
                        "",
                        files.content_hash(raw, key),
                    )
                )
    readable = {target.id for target in targets}

    def without_handle(source: str, identity: str) -> bool:
        return source == Kind.CONTEXT and identity not in readable

    items = tuple(replace(item, handle="") if without_handle(item.source, item.id) else item for item in context.items)
    overflow = tuple(
        structs.replace(omission, handle="") if without_handle(omission.source, omission.id) else omission
        for omission in context.overflow
    )
    stored = replace(context, items=tuple(filter(_is_stored, items)), overflow=tuple(filter(_is_stored, overflow)))
    return replace(context, items=items, overflow=overflow), [*targets, *handles_of(stored)]


class HandleLedger:
    """The file of one root. Several processes may write and read it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, places: Places) -> Self:
        """Return the ledger of a root."""
        return cls(places.state / "handles" / f"{places.index.name}.jsonl")

    def record(self, targets: Sequence[HandleTarget]) -> None:
        """Store these handles. If the folder cannot be written, this is only logged."""
        if not targets:
            return
        lines = "".join([f"{_ENCODE(structs.astuple(target))}\n" for target in targets])
        try:
            state_files.append(self._path, lines.encode("ascii"), most=MAX_BYTES)
        except OSError as error:
            telemetry.warning("handles not remembered", path=str(self._path), reason=error.strerror or str(error))

    def find(self, handles: Iterable[str]) -> Mapping[str, HandleTarget]:
        """Return the last row of each of these handles; unknown ones are left out."""
        names = set(handles)
        return {target.handle: target for target in self._targets() if target.handle in names}

    def shown(self, kind: Kind) -> Counter[str]:
        """Return how many recent answers, in all roots of the user, showed each record of a kind, by its key."""
        ledgers = map(HandleLedger, self._path.parent.glob("*.jsonl"))
        targets = (target for ledger in ledgers for target in ledger._targets(f'"{kind}"'.encode()))
        return Counter(
            target.id.partition(":")[2] for target in targets if target.kind is kind and target.name != LEFT_OUT
        )

    def _targets(self, mark: bytes = b"") -> Iterator[HandleTarget]:
        """Yield all rows with a mark, oldest first, without a line that a crash cut in two."""
        for line in (state_files.read(self._path) or b"").split(b"\n"):
            if mark not in line:
                continue
            with contextlib.suppress(ValueError, TypeError):
                handle, kind, identity, path, name, content_hash, ranges, *workspace = json.loads(line)
                spans = tuple((int(start), int(end)) for start, end in ranges)
                yield HandleTarget(handle, Kind(kind), identity, path, name, content_hash, spans, *workspace)


class ReceiptService:
    """Handles and sessions of one opened root."""

    def __init__(self, root: OpenRoot) -> None:
        self._root = root
        self.handles = HandleLedger.of(root.places)

    def traced(self, limit: int | None = None) -> AbstractContextManager[Callable[[Context], None]]:
        """Return a telemetry span around an answer; it gives the function that adds the answer to the span."""
        content = self._root.settings.telemetry_content
        return telemetry.retrieval(self._root.places.index.name, content=content, limit=limit)

    def keep(
        self,
        context: Context,
        account: Account | None,
        handles: Sequence[HandleTarget],
        workspaces: Sequence[str] = (),
    ) -> Context:
        """Record the handles of an answer and its items for the session; return it with failures to do so."""
        self._record([*handles, *reference_handles(context)], workspaces)
        return with_account(context, account, _note_shown(account, context.items))

    def _record(self, handles: Sequence[HandleTarget], workspaces: Sequence[str]) -> None:
        """Record handles, those of an answer from several workspaces with the one that each belongs to."""
        roots = self._root.siblings(workspaces)
        self.handles.record([in_one_of(target, roots) if roots else target for target in handles])

    def account_of(self, request: AssembleRequest) -> Account | None:
        """Return the account of the session of a request."""
        return self.account(
            request.asker.session, request.asker.ledger, pins=request.asked.pins, shows_lines=request.form.show_code
        )

    def account(
        self, session: str, state: str = "", *, pins: Sequence[Pin] = (), shows_lines: bool = True
    ) -> Account | None:
        """Return the account of a session, or of a former `state` of its ledger; None without a session."""
        if not session:
            return None
        from satchel.answer.session import Account, read_ledger

        file = self.session_file(session)
        ledger, failures = read_ledger(file, state)
        shown = sanitize.line(session, len(session) + 1, self._root.settings.redact_allow)
        return Account(shown, self._root.key, file, ledger, failures, tuple(pins), shows_lines)

    def session_file(self, session: str) -> SessionFile:
        """Return the ledger of a session in this root; its id is checked already."""
        from satchel.answer.session import SessionFile

        return SessionFile(self._root.places.state / SESSIONS, self._root.places.index.name, session)

    def stats(self, days: int = 7, *, now: float | None = None) -> DeliveryStats:
        """Return what agents received here in the last `days` days: tokens, lessons, and what came too late."""
        from satchel.answer.session import recent_ledgers
        from satchel.services.stats import delivery_stats

        places, since = self._root.places, (time.time() if now is None else now) - days * DAY_SECONDS
        ledgers = recent_ledgers(places.state / SESSIONS, places.index.name, since)
        with self._root.memory_snapshot() as memory:
            return delivery_stats(places, memory, ledgers, self._root.settings.budget_tokenizer, days, since)

    def forget_session(self, session: str) -> bool:
        """Forget what a session has received, because its host cleared it; returns whether there was anything."""
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
        """Return the full text of these handles, from the revision of their answer; of places, lines as they are now.

        A `session` gets it even if it has it already, and is not sent it again afterwards. Text that has changed since,
        and of which no copy is left, becomes a failure. Raises UsageError for a handle that is too old or of another
        root.
        """
        from satchel.services.expand import expand
        from satchel.tokens import counter

        settings, targets = self._root.settings, self._targets(handles)
        workspaces = [target.workspace for target in targets.values() if target.workspace]
        context = expand(
            [*targets.values()],
            {"": self._root, **self._root.siblings(workspaces)},
            counter=counter(tokenizer or settings.budget_tokenizer),
            max_tokens=check_budget(settings.budget_max_tokens if max_tokens is None else max_tokens),
            layout=parse_format(format or settings.context_format),
        )
        new = [target for target in handles_of(context) if target.handle not in targets]  # the others keep their lines
        self._record(new, workspaces)
        account = self.account(check_session(session))
        failures = account.failures if account is not None else ()
        return with_account(context, account, [*failures, *_note_shown(account, context.items)])

    def _targets(self, handles: Sequence[str]) -> dict[str, HandleTarget]:
        """Return the targets of handles and places, in their order. Raises UsageError."""
        from satchel.services.expand import check_handles, is_place, place_handle

        names = check_handles(handles)
        targets = dict(self.handles.find([name for name in names if not is_place(name)]))
        targets |= {name: place_handle(name, self._root) for name in names if is_place(name)}
        if unknown := [name for name in names if name not in targets]:
            raise UsageError(
                f"unknown handle {', '.join(unknown)}: ask the question again here ({self._root.places.root}), "
                "and use the handles of that answer"
            )
        return {name: targets[name] for name in names}

    def document(self, identity: str, **options: Any) -> Context:
        """Return the full text of a chunk by its id; options as in `expand`. Raises UsageError for an unknown id."""
        from satchel.services.expand import chunk_handle

        target = chunk_handle(identity, self._root)
        if target is None:
            raise UsageError(f"there is no document {clean_field(identity)!r} here: `satchel search` shows ids")
        self.handles.record([target])
        return self.expand([target.handle], **options)

    def why(self, target: str, request: AssembleRequest, ask: Callable[[AssembleRequest], Context]) -> list[Standing]:
        """Return rank and signals of a path, symbol or chunk id for a request, and why it is shown or not.

        There are several if the name is not unique, best first. `ask` answers requests. Raises UsageError for an
        unknown name.
        """
        from satchel.services.why import why

        def asked(store: Store) -> list[Standing]:
            try:
                return why(target, request, store, self._root.store_of, ask, self._root.embedder)
            except UsageError:
                looked = self._root.left_out([target], store) if isinstance(target, str) else None
                if looked is None or target not in looked.places:
                    raise
                location = looked.places[target]
            raise UsageError(
                f"{clean_field(target)} is not in the index: {location}; `satchel doctor` names what is left out"
            )

        return self._root.read(asked)


def _note_shown(account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
    """Add the items of an answer to the ledger of its session; return failures."""
    if account is None or not items:
        return []
    from satchel.answer.session import add_items

    failure = add_items(account.file, account.ledger, account.sent_items(items))
    return [] if failure is None or account.failures else [failure]


def in_one_of(target: HandleTarget, roots: Mapping[str, OpenRoot]) -> HandleTarget:
    """Return a handle of an answer from several workspaces with the workspace that it belongs to."""
    kind, _, key = target.id.partition(":")
    name, _, rest = key.partition("/")
    if target.path or target.kind is Kind.NOTE:
        path = target.path.partition("/")[2]
        return structs.replace(target, id=f"{kind}:{rest}", path=path, workspace=name) if name in roots else target
    known = (
        name for name, root in roots.items() if root.store_of(target.kind).document(target.kind, key.partition("::")[0])
    )
    return structs.replace(target, workspace=next(known, ""))


def with_account(context: Context, account: Account | None, failures: Sequence[Failure]) -> Context:
    """Return the answer with the state of its session, and failures of its ledger."""
    if account is None:
        return context
    return replace(context, failures=(*context.failures, *failures), meta={**context.meta, **account.meta})
