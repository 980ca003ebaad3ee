"""Operations: name, arguments with checks and schemas, and how to run one on an engine.

Types and names of arguments are checked here, because Python checks them for callers of the engine. The engine checks
which values are possible, so that messages are the same everywhere; the schemas list them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from satchel.errors import SatchelError, UsageError
from satchel.types import Data, Failure, Json, ShouldStop, never
from satchel.vocabulary import MOMENT_EXAMPLE, parse_moment, workspace_names

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.index.run import Progress

SHOWN_CHARACTERS = 60
"""Characters of a wrong value in a message."""

OPTIONS, HELP = "options", "help"
"""The argument that may contain others over MCP and HTTP, and the one in it that explains them."""


class StoppedError(SatchelError):
    """The caller cancelled the call."""


class Shape(StrEnum):
    """The JSON type of an argument. A moment is a date, a date with time, or seconds since the epoch."""

    TEXT = "text"
    NUMBER = "number"
    COUNT = "whole number"
    SWITCH = "true or false"
    TEXTS = "list of texts"
    OBJECT = "object"
    COUNTS = "object of whole numbers"
    MOMENT = "moment"


class Parameter(Struct, frozen=True):
    """One argument. `aliases` are other accepted names.

    `choices` are all possible texts, or examples if `is_open`; `least` and `most` limit numbers. `default` is the value
    without the argument, None if settings or the engine decide.

    A model is asked to fill one that `is_wished` in every call. The list of tools does not name one that `is_rare`,
    which the help of its operation explains, and leaves choices out that are `listed_by` another tool.

    The command line has the option `--name-with-hyphens`, or the `flags`; `bare` is the value of an option without
    one. A list is written with commas, or by repeating the option if it has flags.
    """

    name: str
    shape: Shape
    meaning: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    default: str | int | bool | None = None
    is_required: bool = False
    is_wished: bool = False
    is_rare: bool = False
    listed_by: str = ""
    is_open: bool = False
    aliases: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    bare: str | int | None = None

    def schema(self) -> Json:
        """Return the JSON schema of the value."""
        schema: Json = {**_RULES[self.shape][0]}
        if self.choices:
            limited = {"type": "string", "examples" if self.is_open else "enum": list(self.choices)}
            schema = {**schema, "items": limited} if self.shape is Shape.TEXTS else limited
        facts = {"minimum": self.least, "maximum": self.most, "default": self.default, "description": self.meaning}
        return schema | {name: value for name, value in facts.items() if value is not None}

    def checked(self, value: Any) -> Any:
        """Return the value in the type of the engine. Raises UsageError for another shape."""
        _, example, check = _RULES[self.shape]
        try:
            return check(value)
        except (TypeError, ValueError, OverflowError):
            shown = _shown(repr(value))
            raise UsageError(f"{self.name} is {shown}: give {example}", self.name) from None


def _shown(wrong: str) -> str:
    """Return a wrong name or value as a message shows it."""
    from satchel.safety.sanitize import clean_field  # here, because most calls are right

    return clean_field(wrong, SHOWN_CHARACTERS)


def text(name: str, meaning: str, choices: Sequence[str] = (), **options: Any) -> Parameter:
    """Return a parameter that is a text, or one of a few."""
    return Parameter(name, Shape.TEXT, meaning, tuple(map(str, choices)), **options)


def object_schema(parameters: Sequence[Parameter]) -> Json:
    """Return the JSON schema of all arguments. Aliases are not listed, so it allows additional properties."""
    required = [parameter.name for parameter in parameters if parameter.is_required]
    schema: Json = {"type": "object", "properties": {parameter.name: parameter.schema() for parameter in parameters}}
    return schema | ({"required": required} if required else {})


def checked_arguments(operation: str, parameters: Sequence[Parameter], values: Data) -> Json:
    """Return the arguments under the names of the parameters; None is not sent. Raises UsageError for unfit ones."""
    spellings = {name: known for known in parameters for name in (known.name, *known.aliases)}
    arguments: Json = {}
    for name, value in values.items():
        if name not in spellings:
            raise UsageError(_unknown(operation, str(name), list(spellings), parameters))
        if value is None:
            continue
        parameter = spellings[name]
        if parameter.name in arguments:
            raise UsageError(f"{_shown(name)} is given under two names: give {parameter.name} alone")
        arguments[parameter.name] = parameter.checked(value)
    for known in parameters:
        if known.is_required and known.name not in arguments:
            raise UsageError(f"{operation} needs {known.name}: {known.meaning} {', '.join(known.choices)}".rstrip())
    return arguments


def _unknown(operation: str, name: str, spellings: Sequence[str], parameters: Sequence[Parameter]) -> str:
    from difflib import get_close_matches  # here, because only errors need it

    near = get_close_matches(name.lower(), spellings, n=1)
    suggestion = f" (did you mean {near[0]}?)" if near else ""
    choice = f"choose from {', '.join(parameter.name for parameter in parameters)}" if parameters else "it has none"
    return f"{operation} has no argument {_shown(name)!r}{suggestion}: {choice}"


def _instance(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _count(value: Any) -> int:
    if not _number(value).is_integer():
        raise TypeError
    return int(value)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return [_instance(text, str) for text in value]


def _object(value: Any) -> Json:
    return {_instance(name, str): inner for name, inner in _instance(value, Mapping).items()}


def _moment(value: Any) -> float:
    try:
        return parse_moment(value if isinstance(value, str) else _number(value))
    except UsageError as error:
        raise ValueError from error


_RULES: Mapping[Shape, tuple[Data, str, Callable[[Any], Any]]] = {
    Shape.TEXT: ({"type": "string"}, "a text", lambda value: _instance(value, str)),
    Shape.NUMBER: ({"type": "number"}, "a number", _number),
    Shape.COUNT: ({"type": "integer"}, "a whole number", _count),
    Shape.SWITCH: ({"type": "boolean"}, "true or false", lambda value: _instance(value, bool)),
    Shape.TEXTS: (
        {"type": "array", "items": {"type": "string"}}, 'a list of texts, as in ["one", "two"]', _texts,
    ),
    Shape.OBJECT: ({"type": "object"}, 'an object, as in {"name": "value"}', _object),
    Shape.COUNTS: (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        'an object of whole numbers, as in {"memories": 300}',
        lambda value: {name: _count(inner) for name, inner in _object(value).items()},
    ),
    # Numbers are accepted as moments too, but lists of types confuse some clients.
    Shape.MOMENT: ({"type": "string"}, MOMENT_EXAMPLE, _moment),
}  # fmt: skip
"""Shape -> its JSON schema, an example for messages, and a check that returns the value in the type of the engine."""


class Hints(Struct, frozen=True):
    """The effects of an operation, for hosts that ask before a call.

    `is_idempotent`: a second call with the same arguments changes nothing more. No operation reaches beyond this
    machine unless the user configured a model.
    """

    is_read_only: bool = True
    is_destructive: bool = False
    is_idempotent: bool = True


class Answered(Struct, frozen=True):
    """The answer of an operation: the counted text, byte for byte, and the envelope, the same for every interface.

    `text` is empty if there is only data, or no result. `notes` explain an empty answer and name the next step.
    `subject` is the value that the engine returned, for an interface in this process that shows more of it.
    """

    text: str
    envelope: Data
    notes: tuple[str, ...] = ()
    subject: Any = None


class Spelling(Struct, frozen=True):
    """How an interface writes the arguments and operations that a note names."""

    min_score: str = "min_score 0"
    max_tokens: str = "max_tokens"
    limit: str = "limit"
    expand: str = "`expand` with its handle"
    remember: str = "`remember`"
    experience: str = "`experience`"
    resolve: str = "resolve it with that session"
    forget: str = "forget one of the two"
    restore: str = "`remember` with action restore and its id"
    supersede: str = "store with supersedes {old} and text {new} links them"


class Caller(Struct, frozen=True):
    """The caller of an operation: progress and cancellation of the refresh, and the spelling of notes.

    `session` is that of a connection, for experiences where neither the call, the host nor the settings name one.
    `shows_data` is whether the fields of an answer are shown, and not its text alone: some of them need a git process.
    """

    progress: Progress | None = None
    should_stop: ShouldStop = never
    spelling: Spelling = Spelling()
    session: str = ""
    shows_data: bool = True

    def refresh(self, engine: Satchel, workspaces: Sequence[str] = (), *, files_first: bool = False) -> list[Failure]:
        """Bring the index up to date; returns the failures for the answer. Raises StoppedError if cancelled."""
        notes = engine.refresh(
            progress=self.progress, should_stop=self.should_stop, workspaces=workspaces, files_first=files_first
        )
        if self.should_stop():
            raise StoppedError("the call was cancelled: what is indexed so far is kept")
        return notes


class OperationCall(Struct, frozen=True):
    """One request: the engine, the checked arguments, and the caller."""

    engine: Satchel
    arguments: Json
    caller: Caller = Caller()

    def refreshed(self, workspaces: Sequence[str] = (), *, files_first: bool = False) -> list[Failure]:
        """Bring the index, or those of these workspaces, up to date unless `refresh` is false; returns the failures."""
        is_wanted = self.arguments.get("refresh", True)
        return self.caller.refresh(self.engine, workspaces, files_first=files_first) if is_wanted else []

    @property
    def catch_up(self) -> Callable[..., bool] | None:
        """Compares the tree where an answer finds nothing, unless `refresh` is false: `OpenRoot.catch_up`."""
        if not self.arguments.get("refresh", True):
            return None
        return partial(self.engine.opened.catch_up, self.caller.should_stop)

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The names of the argument `workspace`."""
        return workspace_names(self.arguments.get("workspace", ""))

    def chosen(self, names: Sequence[str]) -> Json:
        """Return the arguments of these names that are present."""
        return {name: self.arguments[name] for name in names if name in self.arguments}


class Operation(Struct, frozen=True):
    """An operation. `summary` is the first sentence of its description, `details` the rest.

    `leading` names the arguments that a list of tools shows, because a model reads all of it; the others are options.
    `answer` does the work for checked arguments; `output` returns the JSON schema of the envelope, which few processes
    need.
    """

    name: str
    title: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[OperationCall], Answered]
    output: Callable[[], Data]
    details: str = ""
    hints: Hints = Hints()
    leading: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The summary and the details."""
        return f"{self.summary} {self.details}".rstrip()

    @property
    def reads_tree(self) -> bool:
        """Whether the operation reads the files of the root, which may take long and can be stopped."""
        return self.name == "status" or any(parameter.name == "refresh" for parameter in self.parameters)

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The arguments that are not `leading`."""
        return tuple(parameter for parameter in self.parameters if parameter.name not in self.leading)

    def json_schema(self) -> Json:
        """Return the JSON schema of the arguments."""
        return object_schema(self.parameters)

    def checked(self, arguments: Data) -> Json:
        """Return the arguments under the names of the parameters. Raises UsageError for invalid ones."""
        return checked_arguments(self.name, self.parameters, arguments)

    def run(self, engine: Satchel, arguments: Data, caller: Caller | None = None) -> Answered:
        """Return the answer of this engine. Raises UsageError, StoppedError, and the errors of the engine."""
        return self.answer(OperationCall(engine, self.checked(arguments), caller or Caller()))


def option_help(operation: Operation) -> str:
    """Return one line for each option: name, type, meaning and choices."""
    return "\n".join(
        f"{option.name} ({option.shape}): {option.meaning}"
        + (f" One of {', '.join(option.choices)}." if option.choices else "")
        for option in operation.options
    )


def flat(arguments: Data) -> Json:
    """Return the arguments and those in `options` in one mapping.

    Raises UsageError for options that are not an object, or that name an argument again.
    """
    options = {} if arguments.get(OPTIONS) is None else arguments[OPTIONS]
    if not isinstance(options, dict):
        raise UsageError(f'{OPTIONS} is {_shown(repr(options))}: give an object, as {{"{HELP}": true}}')
    plain = {name: value for name, value in arguments.items() if name != OPTIONS}
    for name in options:
        if name in plain:
            raise UsageError(f"{_shown(name)} is given twice: leave it out of {OPTIONS}")
    return plain | options


def fault_text(error: SatchelError | OSError) -> str:
    """Return the message of an error on one line, without stack traces and the user's home folder."""
    message = str(error) if isinstance(error, SatchelError) else f"{error.strerror or type(error).__name__}"
    return without_home("; ".join(line.strip() for line in message.splitlines() if line.strip()))


def without_home(shown: str) -> str:
    """Return the text with `~` for the home folder of the user."""
    try:
        home = str(Path.home())
    except RuntimeError:  # no home folder, nothing to hide
        return shown
    return shown if home == "/" else shown.replace(home, "~")
