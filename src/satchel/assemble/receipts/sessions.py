"""Sessions at the engine: an answer finds the ledger of its session, and adds to it what it showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from satchel.assemble.receipts.ledger import Given
from satchel.types import Context, ContextItem, Failure, Kind

if TYPE_CHECKING:
    from satchel.assemble.pins import Pin
    from satchel.assemble.receipts.session import Account
    from satchel.assemble.receipts.session_file import SessionFile
    from satchel.roots import Places
    from satchel.settings import Settings

FOLDER = "sessions"
"""Below the state folder."""


class Engine(Protocol):
    """What the methods here need of the engine."""

    places: Places
    _key: bytes

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    def session_file(self, session: str) -> SessionFile:
        """The ledger of a session."""

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


def reference_handles(context: Context) -> list[Given]:
    """What the handles of the references stand for: these lines of a file, or a record."""
    return [
        Given(
            one.handle, Kind(one.source), one.id, one.path, "", one.content_hash, ((one.spans[0][0], one.spans[-1][1]),)
        )
        if one.spans
        else Given(one.handle, Kind(one.source), one.id)
        for one in context.shown_before
        if one.handle and one.source != Kind.CONTEXT  # those of instruction files lead to the files
    ]


class Sessions:
    """Methods about what sessions have received already."""

    def session_file(self: Engine, session: str) -> SessionFile:
        """The ledger of a session in this root; its id is checked already."""
        from satchel.assemble.receipts.session_file import SessionFile

        return SessionFile(self.places.state / FOLDER, self.places.index.name, session)

    def forget_session(self: Engine, session: str) -> bool:
        """Forget what a session has received, because its host cleared or compacted what it knew.

        Returns whether anything was known of it. Raises UsageError for an impossible id.
        """
        from satchel.assemble.request import check_session

        checked = check_session(session)
        return bool(checked) and self.session_file(checked).forget()

    def ledger_state(self: Engine, session: str = "") -> str:
        """What a session has received so far, as one value; empty without a session."""
        account = self.account(session, is_kept=False)
        return account.meta["ledger"] if account is not None else ""

    def account(
        self: Engine,
        session: str,
        state: str = "",
        *,
        pins: Sequence[Pin] = (),
        is_kept: bool = True,
        shows_lines: bool = True,
    ) -> Account | None:
        """What a session has received, or had in a former `state` of its ledger; None without a session.

        A ledger that cannot be read, or written where the answer is to be kept, is a failure of the account: then
        everything counts as new.
        """
        if not session:
            return None
        from satchel import outside
        from satchel.assemble.receipts.session import Account
        from satchel.assemble.receipts.session_file import Ledger

        file, failures, ledger = self.session_file(session), [], Ledger()
        try:
            ledger = file.read(state)
            if is_kept:
                file.check_writable()
        except OSError as error:
            failures.append(_unusable(error))
        if ledger.damaged:
            lines = f"{ledger.damaged} line{'s' if ledger.damaged > 1 else ''}"
            message = f"the ledger of this session is damaged ({lines} of it): everything counts as new"
            failures.append(Failure("session", message, "it begins again with this answer"))
        shown = outside.line(session, len(session) + 1, self.settings.redact_allow)
        return Account(shown, self._key, ledger, tuple(failures), tuple(pins), shows_lines)

    def note_shown(self: Engine, session: str, account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
        """Add what an answer showed to the ledger of its session; what that came to if it failed."""
        if account is None or not items:
            return []
        from satchel.assemble.receipts.session_file import EMPTY, prune

        file, rows = self.session_file(session), account.rows(items)
        try:
            if account.ledger.damaged:
                file.restart(rows)
            else:
                file.append(rows)
        except OSError as error:
            return [] if account.failures else [_unusable(error)]
        if account.ledger.state == EMPTY:  # once a session: there is no other moment to look at the old ones
            prune(file.path.parent, self.settings.session_keep_days)
        return []


def _unusable(error: OSError) -> Failure:
    reason = error.strerror or str(error)
    message = f"the ledger of this session cannot be kept ({reason}): what is shown now may be shown again"
    return Failure("session", message, "see whether the state folder can be written")


def with_account(context: Context, account: Account | None, found: Sequence[Failure]) -> Context:
    """The answer with what it says of its session."""
    if account is None:
        return context
    meta: dict[str, Any] = {**context.meta, **account.meta}
    return replace(context, failures=(*context.failures, *found), meta=meta)
