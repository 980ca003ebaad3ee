"""An operation: its name, its arguments, what it does to the world, and how it is run against an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.calls.parameters import Parameter, checked_arguments, object_schema
from satchel.errors import SatchelError
from satchel.types import Failure

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.index.report import Progress

ShouldStop = Callable[[], bool]


class StoppedError(SatchelError):
    """Whoever asked does not want the answer any more."""


def never() -> bool:
    """Nobody wants it to stop."""
    return False


@dataclass(frozen=True, slots=True)
class Hints:
    """What an operation does to the world, for hosts that ask before they call.

    `is_idempotent`: a second call with the same arguments changes nothing more. `is_open`: it reaches beyond this
    machine, which none of ours does unless the user configured a model.
    """

    is_read_only: bool = True
    is_destructive: bool = False
    is_idempotent: bool = True
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer: the counted text, byte for byte, and the envelope that `--json` prints for the same request.

    `text` is empty for what only has data, and where nothing was found. `notes` are what the command line would say on
    standard error: why there is nothing, what to do next.
    """

    text: str
    envelope: Mapping[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the engine, the checked arguments that were given, and how to watch and stop the refresh."""

    engine: Satchel
    given: dict[str, Any]
    progress: Progress | None = None
    should_stop: ShouldStop = never

    def refreshed(self, engine: Satchel | None = None) -> list[Failure]:
        """Bring the index up to date unless `refresh` is false; returns what the answer must note.

        Raises StoppedError when it was stopped.
        """
        if not self.given.get("refresh", True):
            return []
        notes = (engine or self.engine).refresh(progress=self.progress, should_stop=self.should_stop)
        if self.should_stop():
            raise StoppedError("the call was cancelled: what is indexed so far is kept")
        return notes

    def chosen(self, *names: str, **renamed: str) -> dict[str, Any]:
        """The arguments of these names that were given; `renamed` are name = what the engine calls it."""
        wanted = dict(zip(names, names, strict=True)) | renamed
        return {there: self.given[here] for here, there in wanted.items() if here in self.given}

    @contextmanager
    def in_workspace(self) -> Iterator[Satchel]:
        """The engine for the `workspace` that is named, which is closed afterwards; ours where none is, or this one.

        Raises UsageError for a name that is not registered.
        """
        name = self.given.get("workspace")
        if name is None or name == self.engine.places.root.name:
            yield self.engine
            return
        with type(self.engine).open(workspace=name) as other:
            yield self.engine if other.places.root == self.engine.places.root else other


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked. `summary` is its first sentence, `details` the rest of its description.

    `answer` does the work for checked arguments; `output` is the JSON schema of the envelope.
    """

    name: str
    title: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[Call], Answered]
    output: Mapping[str, Any]
    details: str = ""
    hints: Hints = Hints()

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return f"{self.summary} {self.details}".rstrip()

    def json_schema(self, *, rare: bool = True) -> dict[str, Any]:
        """The JSON schema of the arguments, with or without those that are seldom wanted."""
        return object_schema(self.parameters, rare=rare)

    def run(
        self,
        engine: Satchel,
        arguments: Mapping[str, Any],
        progress: Progress | None = None,
        should_stop: ShouldStop = never,
    ) -> Answered:
        """The answer of this engine. `progress` and `should_stop` concern the refresh of the index before it.

        Raises UsageError for impossible arguments, StoppedError once stopped, else what the engine raises.
        """
        given = checked_arguments(self.name, self.parameters, arguments)
        return self.answer(Call(engine, given, progress, should_stop))
