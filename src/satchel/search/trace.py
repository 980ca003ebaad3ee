"""A pasted trace as values: its frames, its errors and the tests that failed.

Every line is compared with a table of forms: tracebacks, stack traces and panics of Python, JavaScript, Java, .NET, Go,
Rust and C, the output of test runners and of compilers, and places as people write them (`src/a.py:12`). A form matches
one line of bounded length, so the time for a pasted log is proportional to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.text import pattern

LONGEST_LINE = 500
"""Most characters of a line that are compared with the forms. Frames are shorter; some forms try every position."""

PYTHON, JAVA, CSHARP, RUST, JAVASCRIPT, GO, C = "python", "java", "csharp", "rust", "javascript", "go", "c"


class Frame(Struct, frozen=True):
    """A place that a trace names: a path as written, a 1-based line (0 for none), and a function, qualified as written.

    Each of them may be missing. `position` counts from 0, the place where it failed. `end` is the last line of a range
    in prose, 0 for the line alone.
    """

    path: str
    line: int
    function: str = ""
    position: int = 0
    end: int = 0


class Trace(Struct, frozen=True):
    """The traces of one text: frames with the innermost first, the errors with the most informative first.

    The frames of a chained error come before those of the error that was printed before it. The places that compilers
    and linters report are frames too; `mentions` are those in prose. `tests` are the failed tests of a test runner;
    the function of one is its name, which may be a sentence.
    """

    language: str = ""
    frames: tuple[Frame, ...] = ()
    mentions: tuple[Frame, ...] = ()
    tests: tuple[Frame, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """The error that the traces lead to, as written; empty if none is reported."""
        return self.errors[0] if self.errors else ""

    @property
    def places(self) -> tuple[Frame, ...]:
        """Frames, the innermost first, then failing tests, then mentions."""
        return (*self.frames, *self.tests, *self.mentions)


NO_TRACE = Trace()

_AT = r":(?P<line>\d+)"
_FILE = r"(?P<path>(?:[A-Za-z]:)?[\w@./\\+-]+\.[A-Za-z]{1,5})"
_FORMS = tuple(
    (language, pattern(form))
    for language, form in (
        (PYTHON, r'[\s|+]*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?'),
        (PYTHON, rf"(?P<path>(?:[A-Za-z]:)?[^\s:]+\.pyx?){_AT}:(?: in (?P<function>\S+)| [A-Za-z_][\w.]*)?\s*$"),
        (JAVA, rf"\s*at (?P<function>[\w.$/@<>-]+)\((?P<path>[\w$-]+\.(?:java|kt|scala|groovy)){_AT}\)"),
        (CSHARP, r"\s*at (?P<function>[^(]+)\(.*\) in (?P<path>.+):line (?P<line>\d+)"),
        (RUST, rf"\s+at (?P<path>\S+\.rs){_AT}(?::\d+)?\s*$"),
        (RUST, rf".*panicked at (?:'(?P<error>.*)', )?(?P<path>[^\s':]+\.rs){_AT}:\d+"),
        (JAVASCRIPT, rf"\s*at (?:(?P<function>[^()]+) \()?(?P<path>[^()]+?){_AT}:\d+\)?\s*$"),
        (JAVASCRIPT, rf"\s*(?P<function>[\w$./<>*\[\]]*)@(?P<path>\S+?){_AT}:\d+\s*$"),
        (JAVASCRIPT, rf"\s*\u276f (?:(?P<function>[\w$.<>]+) )?(?P<path>\S+?){_AT}:\d+"),
        (GO, rf"\s+(?P<path>\S+\.(?:go|s)){_AT}(?: \+0x[0-9a-f]+)?\s*$"),
        (GO, rf"\s+(?P<path>[\w.-]+\.go){_AT}: (?P<error>.*)"),
        (C, rf"\s*#\d+\s+(?:0x[0-9a-f]+ in )?(?P<function>[\w:~<>, *]+?) ?\(.*\)\s+(?:at )?(?P<path>[^\s:]+){_AT}"),
        (C, r"\s*#\d+\s+0x[0-9a-f]+ in (?P<function>[\w:~<>]+) \(.*\)\s*$"),
        ("", rf"\s*(?:--> )?{_FILE}{_AT}(?::\d+)?(?::? ?(?P<error>(?:fatal )?error\b.*)|:|\s*$)"),
        ("", rf"{_FILE}\((?P<line>\d+),\d+\):? (?P<error>error\b.*)?"),
    )
)
"""Language and form of the lines of a trace. The first form that matches counts."""

_FUNCTIONS = (
    pattern(r"\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<function>[<\w{]\S*::\S.*?)\s*$"),
    pattern(
        r"(?:created by )?(?P<function>[\w./~@-]+\.(?:\(\*?[\w.\[\]]+\)\.)?[\w.\[\]-]+)(?:\(.*\))?"
        r"(?: in goroutine \d+)?$"
    ),
)
"""Rust and Go write the function on a line of its own, above the place."""

_DEFINITION = pattern(r"[> ]\s+(?:async )?def (\w+)\(")
"""pytest prints the source of a function above the place that failed in it."""

_LINES = r"(?P<line>\d{1,6})(?:(?:-|\.\.|\u2013| to | and )L?(?P<end>\d{1,6}))?\b"
_MENTIONS = (
    pattern(
        r"https?://\S{1,200}?/(?:blob|blame|tree|src|raw|edit)/[^/\s]+/(?P<path>[^\s#?)]+)(?:\?[^\s#]*)?"
        r"#(?:L|lines-)(?P<line>\d{1,6})(?:[-:]L?(?P<end>\d{1,6}))?"
    ),
    pattern(rf"\blines? {_LINES} (?:of|in) (?:the )?(?:file )?[`'\"]?{_FILE}"),
    pattern(
        rf"(?<![\w@./\\+-])(?<!File \"){_FILE}(?::|#L|\((?=\d+[,)])|[`'\"]?(?:,| at| in| on)? (?:lines? |L)){_LINES}"
    ),
)
"""Places in prose: links to a forge (`.../blob/main/a.py#L3-L9`), `lines 3-9 of a.py`, `a.py:3-9`, `a.py, line 3`,
`a.py L3-L9`. A frame of Python inside of a log (`> File "a.py", line 3`) is none."""

_TESTS = (
    pattern(r"(?:FAILED|ERROR) (?P<path>[^\s:]+\.py)::(?P<function>\S+)(?: - (?P<error>.*))?"),
    pattern(r"_{3,} (?P<function>[\w.]+)(?:\[.*\])? _{3,}$"),
    pattern(r"(?:FAIL|ERROR): (?P<function>\w+) \([\w.]+\)$"),
    pattern(r"\s*--- FAIL: (?P<function>\S+)"),
    pattern(r"(?:---- |test )(?P<function>\S+) (?:stdout ----|\.\.\. FAILED)"),
    pattern(r"\s*\u25cf (?:.* \u203a )?(?P<function>.+)"),
    pattern(r"\s*(?:FAIL|\u00d7)\s+(?P<path>\S+\.[cm]?[jt]sx?) > (?:.* > )?(?P<function>.+)"),
)
_ERRORS = (
    pattern(
        r"[\s|]*(?:E\s{2,}|Exception in thread \"[^\"]*\" |Unhandled exception[.:]? *|Uncaught (?:\(in promise\) )?)?"
        r"(?P<error>(?:[A-Za-z_][\w.$]*(?:Error|Exception|Warning|Failure|Panic|Exit|Interrupt|Fault)|Error|Exception)\b"
        r"(?: \[\w+\])?(?::(?: .*)?)?)$"
    ),
    pattern(r"(?P<error>(?:panic|fatal error): .*|Program (?:received|terminated with) signal .*)"),
    pattern(r".*?(?P<error>\bAssertion .* failed)\.?$"),
    pattern(r"(?:fatal )?(?P<error>error(?:\[\w+\])?: .*)"),
)
_CAUSED = pattern(r"\s*Caused by: (?P<error>.*)")
_EXPLAINED = pattern(r"E\s{2,}(?P<error>\S.*)")
_UNNAMED = pattern(r"(?P<error>[A-Za-z_][\w.]*(?:: .*)?)$")
"""The line below a Python traceback is its error, whatever that is called."""

_VENDORED = pattern(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules|vendor|go/pkg/mod|lib/python[\d.]+|\.cargo/registry|\.rustup)/"
    r"|(?:^|/)(?:\.m2|\.nuget|\.gradle)/|^(?:/usr/(?:lib|include|share)|/usr/local/(?:lib|go|include)|/lib(?:32|64)?|/rustc)/"
    r"|^(?:<|node:|internal/(?:modules|process|main|timers|streams)/[\w/]+\.js|\$GOROOT/)"
)
"""Files of libraries, of run times and of the standard library."""


def read_trace(lines: Iterable[str]) -> Trace:
    """Return the traces in the lines of a text."""
    reader = _Reader()
    for line in lines:
        reader.read(line[:LONGEST_LINE])
    reader.flush()
    frames = (replace(frame, position=index) for index, frame in enumerate(dict.fromkeys(reader.frames)))
    mentions, tests = tuple(dict.fromkeys(reader.mentions)), tuple(dict.fromkeys(reader.tests))
    return Trace(reader.language, tuple(frames), mentions, tests, tuple(dict.fromkeys(reader.errors)))


class _Reader(Struct):
    """The state of reading. `place` is the position of the next frame in a trace with the innermost frame first."""

    language: str = ""
    frames: list[Frame] = field(default_factory=list)
    mentions: list[Frame] = field(default_factory=list)
    tests: list[Frame] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    place: int = 0
    function: str = ""
    definition: str = ""
    awaits: str = ""
    explains: bool = False

    def read(self, line: str) -> None:
        if not line.strip():
            return
        explained, has_number = _EXPLAINED.match(line), any(map(str.isdigit, line))
        if not (has_number and self._frame(line)) and not self._test(line):
            self._error(line, explained)
            self.mentions += _mentioned(line) if has_number else ()
            self._function(line)
        self.explains = explained is not None

    def flush(self) -> None:
        """Add the last function as a frame without a place: Rust without debug information prints no places."""
        if self.function and "::" in self.function:
            self._add(RUST, Frame("", 0, self.function))
        self.function = ""

    def _frame(self, line: str) -> bool:
        for language, form in _FORMS:
            match = form.match(line)
            if match is None:
                continue
            groups = match.groupdict()
            function = groups.get("function") or (self.function if language in (GO, RUST) else "")
            if language == PYTHON and not function:
                function, self.definition = self.definition, ""
            self.function = ""
            path, number = groups.get("path") or "", int((groups.get("line") or "0")[:7])
            self._add(language, Frame(_clean_path(path, function, language), number, function.strip()))
            self._reported(groups.get("error"))
            is_panic = language == RUST and " at " in line and not groups.get("error") and "panicked" in line
            self.awaits = PYTHON if language == PYTHON else RUST if is_panic else ""
            return True
        return False

    def _add(self, language: str, frame: Frame) -> None:
        self.language = self.language or language
        self.frames.insert(self.place, frame)
        self.place += language != PYTHON

    def _test(self, line: str) -> bool:
        for form in _TESTS:
            match = form.match(line)
            if match is not None:
                groups = match.groupdict()
                function = groups["function"].strip() if " " in groups["function"] else _test_name(groups["function"])
                self.tests.append(Frame(groups.get("path") or "", 0, function))
                self._reported(groups.get("error"))
                return True
        return False

    def _reported(self, error: str | None) -> None:
        if error:
            self.errors.append(error.strip())

    def _error(self, line: str, explained: re.Match[str] | None) -> None:
        caused = _CAUSED.match(line)
        match = caused or next((match for form in _ERRORS if (match := form.match(line))), None)
        if match is None and self.awaits == PYTHON and not line[0].isspace():
            match, self.awaits = _UNNAMED.match(line), ""
        if match is None and explained is not None and not self.explains:
            match = explained
        if self.awaits == RUST:
            self.errors.append(line.strip())
        elif match is not None:
            is_last = caused or explained or self.language == PYTHON
            self.errors.insert(0 if is_last else len(self.errors), match["error"].strip())
        if caused:
            self.place = 0
        self.awaits = self.awaits if self.awaits == PYTHON else ""

    def _function(self, line: str) -> None:
        self.flush()
        match = next((match for form in _FUNCTIONS if (match := form.match(line))), None)
        self.function = match["function"] if match else ""
        defined = _DEFINITION.match(line)
        self.definition = defined[1] if defined else self.definition


def _mentioned(line: str) -> Iterator[Frame]:
    for form in _MENTIONS:
        for match in form.finditer(line):
            yield Frame(_clean_path(match["path"]), int(match["line"]), end=int(match["end"] or 0))
        line = form.sub(" ", line)


def _test_name(name: str) -> str:
    """Return `Class::test[param]` or `TestX/case` without the case; `Test/Case` is `TestCase` of a Go suite."""
    return re.sub(r"^Test/(?=[A-Z])", "Test", name).partition("[")[0].partition("/")[0]


def _clean_path(path: str, function: str = "", language: str = "") -> str:
    """Return a path with forward slashes, without scheme, host and query; a Java file with folders of its package."""
    path = re.sub(r"^[a-z-]{2,20}://[^/]*/(?:\./)?", "/", path).partition("?")[0].replace("\\", "/")
    if language == JAVA:
        package = [name for name in function.rpartition("/")[2].split(".")[:-2] if name[:1].islower()]
        return "/".join([*package, path])
    return path.removeprefix("./")


def is_vendored(path: str) -> bool:
    """Return whether a path of a trace is that of a library or of a run time."""
    return _VENDORED.search(path) is not None


@lru_cache(maxsize=1_000)
def name_of(function: str) -> tuple[str, str]:
    """Return the name and the last qualifier of a function as a trace writes it: `pkg.(*T).Run.func1` -> (`Run`, `T`).

    Both are empty for code without a name (`<module>`, `Object.<anonymous>`) and for a test whose name is a sentence.
    """
    if function.endswith((">", "anonymous)")) and "<" in function and "::<" not in function:
        return "", ""
    text = re.sub(r" \[as [^\]]*\]|^async |\{+[^{}]*\}+|`\d+", "", function)
    text = re.sub(r"^new ([\w$.]+)", r"\1.constructor", text)
    text = re.sub(r"<(\w+)>[a-z]__[\w|]+(?:\.MoveNext)?|lambda\$(\w+)\$\d+|<([^<>]*) as [^<>]*>", r"\1\2\3", text)
    text = re.sub(r"<[^<>]*>|\[[^\[\]]*\]", "", text)
    if " " in text.strip():
        return "", ""
    names = re.findall(r"#?[A-Za-z_~]\w*", text)
    while names and re.fullmatch(r"func\d+|gowrap\d+|h[0-9a-f]{16}|locals|anonymous", names[-1]):
        names.pop()
    return (names[-1], names[-2] if len(names) > 1 else "") if names else ("", "")


def without_mentions(text: str) -> str:
    """Return a text without the places in prose that it contains."""
    for form in _MENTIONS:
        text = form.sub(" ", text)
    return text
