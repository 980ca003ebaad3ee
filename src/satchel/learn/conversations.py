"""What was said and is remembered: to be listed by where it came from, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.errors import UsageError
from satchel.learn.entries import Remark
from satchel.learn.scope import Notebook, never_stop
from satchel.types import Kind


class Conversations:
    """The conversations in sight of one root. Every method reads what is stored now."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._store = notebook.store

    def listed(self, *, origin: str | None = None) -> list[Remark]:
        """The exchanges that are remembered, or those of one origin, in the order they were said in each session."""
        keys = list(self._store.iterate_keys(Kind.CONVERSATION))
        bundles = self._store.bundles(self._store.bundle_ids(Kind.CONVERSATION, keys).values())
        shown = sorted((self._notebook.shown(bundle) for bundle in bundles.values()), key=lambda bundle: bundle.key)
        return [
            Remark(bundle.key, bundle.title, bundle.created, bundle.origin)
            for bundle in shown
            if origin in (None, bundle.origin)
        ]

    def forget(self, identities: Sequence[str]) -> int:
        """Remove exchanges for good; returns how many. Raises UsageError for one that is not here, and removes none."""
        keys = [identity.removeprefix(f"{Kind.CONVERSATION}:") for identity in identities]
        with self._store.write() as writer:
            known = {remark.id for remark in self.listed()}
            for key in keys:
                if key not in known:
                    raise UsageError(f"no exchange {key!r} is remembered here: nothing was forgotten")
            writer.remove(Kind.CONVERSATION, keys)
            writer.merge(never_stop)
        return len(set(keys))
