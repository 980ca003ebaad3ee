"""The part of the engine that speaks before it is asked: the premortem, and the brief at a start or after a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from satchel import outside
from satchel.assemble.request import AssembleRequest, make_request
from satchel.errors import UsageError
from satchel.search.filters import make_filters
from satchel.types import Context, Failure

if TYPE_CHECKING:
    from satchel.settings import Settings


class Engine(Protocol):
    """What the methods here need of the engine."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    def answer(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """The context for a checked request."""

    def refresh(self) -> list[Failure]:
        """Bring the index up to date."""

    def premortem_request(self, domain: str, strategy: str | None = None, **options: Any) -> AssembleRequest:
        """The checked request of a premortem."""

    def brief_request(self, after_failure: str | None = None, **options: Any) -> AssembleRequest:
        """The checked request of a brief."""

    def premortem(self, domain: str, strategy: str | None = None, **options: Any) -> Context:
        """What went wrong before."""

    def brief(self, after_failure: str | None = None, **options: Any) -> Context:
        """What to know."""


class Foresight:
    """Methods that need no question."""

    def premortem_request(self: Engine, domain: str, strategy: str | None = None, **options: Any) -> AssembleRequest:
        """The checked request of `premortem`. Raises UsageError for an unknown domain or strategy; it lists all."""
        from satchel.assemble.plans import PREMORTEM, PREMORTEM_LIMIT, PREMORTEM_TOKENS

        chosen = {"max_tokens": PREMORTEM_TOKENS, "limit": PREMORTEM_LIMIT} | options
        filters = make_filters(domain=domain, strategy=strategy)
        return make_request("", self.settings, {**chosen, "filters": filters, "plan": PREMORTEM})

    def brief_request(self: Engine, after_failure: str | None = None, **options: Any) -> AssembleRequest:
        """The checked request of `brief`. Raises UsageError for a failure that says nothing."""
        from satchel.assemble import plans

        if after_failure is None:
            chosen = {"max_tokens": plans.BRIEF_TOKENS, "limit": plans.BRIEF_LIMIT} | options
            return make_request("", self.settings, {**chosen, "plan": plans.BRIEF})
        if not after_failure.strip():
            raise UsageError("the failure is empty: give the output of the command that failed")
        text = outside.text(after_failure, self.settings.redact_allow)[-plans.FAILURE_CHARACTERS :]
        chosen = {"max_tokens": plans.FAILURE_TOKENS, "limit": plans.FAILURE_LIMIT} | options
        return make_request(text, self.settings, {**chosen, "plan": plans.FAILURE})

    def premortem(self: Engine, domain: str, strategy: str | None = None, **options: Any) -> Context:
        """What went wrong before in this domain, and with this strategy, as far as it is remembered; empty if nothing.

        Options as in `assemble`: `max_tokens` (default 1,500), `limit` (experiences a section, default 10), `format`,
        `tokenizer`, `now`. Raises UsageError for an unknown domain or strategy; the message lists all.
        """
        return self.answer(self.premortem_request(domain, strategy, **options))

    def brief(self: Engine, after_failure: str | None = None, *, refresh: bool = True, **options: Any) -> Context:
        """What to know when a session starts, or with the output of a failed command what failed like this before.

        Options as in `assemble`; the budget is 1,000 tokens, after a failure 2,000. Only after a failure the code is
        looked at, and the index brought up to date first.
        """
        request = self.brief_request(after_failure, **options)
        return self.answer(request, self.refresh() if refresh and after_failure is not None else ())

    async def apremortem(self: Engine, domain: str, strategy: str | None = None, **options: Any) -> Context:
        """`premortem` as a coroutine."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(self.premortem, domain, strategy, **options)

    async def abrief(self: Engine, after_failure: str | None = None, **options: Any) -> Context:
        """`brief` as a coroutine."""
        import asyncio

        return await asyncio.to_thread(self.brief, after_failure, **options)
