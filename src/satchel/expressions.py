"""Regular expressions whose compiled form is kept between processes: to compile those of one question takes 30 ms.

The file is derived. Without it, with a damaged one, or with one of another Python or satchel, a process compiles what
it uses, as it does where the machine of `re` has another form than that of CPython.
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import AnyStr, TypeAlias, cast

from msgspec import DecodeError, Struct, msgpack

from satchel import __version__

FILE_NAME = "expressions"

_FORM = f"satchel expressions {__version__} {sys.version}\n".encode()

Key: TypeAlias = tuple[bytes, bool, int]
"""An expression, as UTF-8 if it is for texts, whether it is, and the flags that it is compiled with."""


class CompiledForm(Struct, frozen=True, array_like=True):
    """What the machine of `re` is made of. `numbers` are those of named groups, `names` the names of all groups."""

    key: Key
    flags: int
    code: bytes
    groups: int
    numbers: dict[str, int]
    names: tuple[str | None, ...]


class Expressions:
    """The expressions of one process, and those that it has to add to the file. Safe to share between threads."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._kept: dict[Key, CompiledForm] | None = None
        self._new: set[Key] = set()

    def use(self, folder: Path) -> None:
        """Take the file in this folder, from the next expression on."""
        self._file = self._file or folder / FILE_NAME

    def compiled(self, text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return an expression of this package. The file is not for those of users and those made for one text."""
        key = _key(text, flags)
        if self._kept is None and self._file is not None:
            self._kept = read(self._file)
        if self._kept is not None and (form := self._kept.get(key)) is not None:
            with suppress(ImportError, AttributeError, TypeError, ValueError, RuntimeError):  # as in `keep`
                return cast("re.Pattern[AnyStr]", _made(text, form))
        self._new.add(key)
        return re.compile(text, flags)

    @property
    def is_file_wanted(self) -> bool:
        """Whether this process compiled what the file lacks."""
        return self._file is not None and not self._new <= (self._kept or {}).keys()

    def keep(self, replace: Callable[[Path, bytes], object]) -> None:
        """Write the file with what it lacks; `replace` writes a file."""
        if self._file is None:
            return
        # A Python whose parts of `re` have other names has no file, and a folder that cannot be written none either.
        with suppress(ImportError, AttributeError, TypeError, OSError):
            self._kept = read(self._file) | {key: _form(key) for key in self._new}
            body = msgpack.encode([*self._kept.values()])
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace(self._file, _FORM + zlib.crc32(body).to_bytes(4, "little") + body)


def read(path: Path) -> dict[Key, CompiledForm]:
    """Return the forms of a file, none if it is missing, damaged or of another version."""
    try:
        raw = path.read_bytes()
        head, body = raw[: len(_FORM) + 4], raw[len(_FORM) + 4 :]
        if head != _FORM + zlib.crc32(body).to_bytes(4, "little"):
            return {}
        return {form.key: form for form in msgpack.decode(body, type=list[CompiledForm])}
    except (OSError, DecodeError):
        return {}


def _key(text: str | bytes, flags: int) -> Key:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass"), True, int(flags)
    return text, False, int(flags)


def _form(key: Key) -> CompiledForm:
    raw, is_text, flags = key
    parser, compiler = import_module("re._parser"), import_module("re._compiler")
    parsed = parser.parse(raw.decode("utf-8", "surrogatepass") if is_text else raw, flags)
    numbers = dict(parsed.state.groupdict)
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in numbers.items():
        names[number] = name
    code = array("I", compiler._code(parsed, flags)).tobytes()
    return CompiledForm(key, int(flags | parsed.state.flags), code, parsed.state.groups - 1, numbers, tuple(names))


def _made(text: str | bytes, form: CompiledForm) -> object:
    """Return the expression of a form, whose code the machine itself checks."""
    code = array("I", form.code).tolist()
    return import_module("_sre").compile(text, form.flags, code, form.groups, form.numbers, form.names)


expressions = Expressions()
