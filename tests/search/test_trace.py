"""Pasted traces become frames, errors and failing tests, whatever language printed them."""

from __future__ import annotations

import pytest

from satchel.search.query import Zone, analyse, is_wrapper
from satchel.search.trace import is_vendored, name_of, read_trace

PYTHON = """Traceback (most recent call last):
  File "/srv/app/main.py", line 3, in <module>
    run()
    ^^^^^
  File "/srv/app/shop/client.py", line 21, in send
    raise Refused(order)
shop.errors.Refused: the order 7 was refused"""

CHAINED = """Traceback (most recent call last):
  File "shop/rows.py", line 4, in first
    rows[0]
IndexError: list index out of range

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "shop/main.py", line 9, in run
    first([])
  File "shop/rows.py", line 6, in first
    raise EmptyError("no rows")
shop.errors.EmptyError: no rows"""

NODE = """TypeError: cannot read 'id' of undefined
    at Client.send [as post] (/srv/app/src/client.ts:12:7)
    at async Promise.all (index 0)
    at file:///srv/app/src/main.js:3:1
    at node:internal/main/run:5:9"""

BROWSER = """send@http://localhost:3000/src/client.js?v=2:12:7
@webpack:///./src/main.js:3:1"""

GO = """panic: runtime error: index out of range [3]

goroutine 7 [running]:
example.org/shop/client.(*Client).Send(0xc0001, {0x1, 0x2})
\t/srv/shop/client/client.go:42 +0x1d
example.org/shop/client.Run.func1()
\t/srv/shop/client/run.go:9 +0x25
created by example.org/shop/client.Run in goroutine 1
\t/srv/shop/client/run.go:8 +0x5a
exit status 2"""

RUST = """thread 'main' panicked at src/client.rs:12:5:
no order to send
stack backtrace:
   0: rust_begin_unwind
             at /rustc/9fc6b/library/std/src/panicking.rs:665:5
   1: shop::client::Client::send
             at ./src/client.rs:12:5
   2: shop::run::{{closure}}
   3: shop::main"""

OLD_RUST = "thread 'main' panicked at 'no order to send', src/client.rs:12:5"

JAVA = """Exception in thread "main" org.shop.ShopException: failed
\tat org.shop.Client$Queue.send(Client.java:12)
\tat org.shop.Main.lambda$main$0(Main.java:3)
Caused by: java.lang.IllegalStateException: closed
\tat org.shop.net.Socket.open(Socket.java:7)
\t... 2 more"""

GDB = """Program received signal SIGSEGV, Segmentation fault.
#0  0x0000555555555131 in send (order=0x0) at src/client.c:12
#1  shop::Queue::flush (this=0x7ffe) at src/queue.cc:40
#2  0x00007ffff7a05b97 in run_all ()"""

CSHARP = """Unhandled exception. System.InvalidOperationException: closed
   at Shop.Client.Send(Order order) in C:\\code\\shop\\Client.cs:line 12
   at Shop.Program.<Main>d__0.MoveNext() in C:\\code\\shop\\Program.cs:line 3"""

PYTEST = """============================= test session starts ==============================
collected 2 items
____________________________ TestClient.test_send[1] ___________________________

    def test_send(order):
>       send(order)

tests/test_client.py:8: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
shop/run.py:4: in run
    return send(order)
    def send(order):
>       assert order
E       assert None
E        +  where None = order

shop/client.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_client.py::TestClient::test_send[1] - AssertionError: assert None
1 failed in 0.1s"""  # noqa: W291 - pytest ends this line so

GO_TEST = """--- FAIL: Test (0.00s)
    --- FAIL: Test/SendTwice (0.00s)
        client_test.go:12: got 3, want 4
FAIL"""

CARGO_TEST = """running 1 test
test tests::sends ... FAILED
---- tests::sends stdout ----
thread 'tests::sends' panicked at src/lib.rs:12:5:
assertion `left == right` failed
error: test failed, to rerun pass `--lib`"""

JEST = """FAIL src/client.test.ts
  \u25cf Client \u203a sends an order

    Error: refused
      at Object.<anonymous> (src/client.test.ts:12:5)"""

VITEST = """ FAIL  src/client.test.ts > Client > sends an order
AssertionError: expected 3 to be 4
 \u276f send src/client.ts:33:15
 \u276f src/client.test.ts:12:5"""

UNITTEST = """ERROR: test_send (tests.test_client.ClientTest)
Traceback (most recent call last):
  File "tests/test_client.py", line 8, in test_send
KeyError: 'id'"""

FORMS = {
    "python": (
        PYTHON,
        [("/srv/app/shop/client.py", 21, "send"), ("/srv/app/main.py", 3, "<module>")],
        "shop.errors.Refused: the order 7 was refused",
    ),
    "python, chained": (
        CHAINED,
        [("shop/rows.py", 6, "first"), ("shop/main.py", 9, "run"), ("shop/rows.py", 4, "first")],
        "shop.errors.EmptyError: no rows",
    ),
    "node": (
        NODE,
        [
            ("/srv/app/src/client.ts", 12, "Client.send [as post]"),
            ("/srv/app/src/main.js", 3, ""),
            ("node:internal/main/run", 5, ""),
        ],
        "TypeError: cannot read 'id' of undefined",
    ),
    "browser": (BROWSER, [("/src/client.js", 12, "send"), ("/src/main.js", 3, "")], ""),
    "go": (
        GO,
        [
            ("/srv/shop/client/client.go", 42, "example.org/shop/client.(*Client).Send"),
            ("/srv/shop/client/run.go", 9, "example.org/shop/client.Run.func1"),
            ("/srv/shop/client/run.go", 8, "example.org/shop/client.Run"),
        ],
        "panic: runtime error: index out of range [3]",
    ),
    "rust": (
        RUST,
        [
            ("src/client.rs", 12, ""),
            ("/rustc/9fc6b/library/std/src/panicking.rs", 665, ""),
            ("src/client.rs", 12, "shop::client::Client::send"),
            ("", 0, "shop::run::{{closure}}"),
            ("", 0, "shop::main"),
        ],
        "no order to send",
    ),
    "rust before 1.73": (OLD_RUST, [("src/client.rs", 12, "")], "no order to send"),
    "java": (
        JAVA,
        [
            ("org/shop/net/Socket.java", 7, "org.shop.net.Socket.open"),
            ("org/shop/Client.java", 12, "org.shop.Client$Queue.send"),
            ("org/shop/Main.java", 3, "org.shop.Main.lambda$main$0"),
        ],
        "java.lang.IllegalStateException: closed",
    ),
    "gdb": (
        GDB,
        [("src/client.c", 12, "send"), ("src/queue.cc", 40, "shop::Queue::flush"), ("", 0, "run_all")],
        "Program received signal SIGSEGV, Segmentation fault.",
    ),
    ".net": (
        CSHARP,
        [
            ("C:/code/shop/Client.cs", 12, "Shop.Client.Send"),
            ("C:/code/shop/Program.cs", 3, "Shop.Program.<Main>d__0.MoveNext"),
        ],
        "System.InvalidOperationException: closed",
    ),
    "pytest": (
        PYTEST,
        [("shop/client.py", 12, "send"), ("shop/run.py", 4, "run"), ("tests/test_client.py", 8, "test_send")],
        "assert None",
    ),
    "go test": (GO_TEST, [("client_test.go", 12, "")], "got 3, want 4"),
    "cargo test": (CARGO_TEST, [("src/lib.rs", 12, "")], "assertion `left == right` failed"),
    "jest": (JEST, [("src/client.test.ts", 12, "Object.<anonymous>")], "Error: refused"),
    "vitest": (
        VITEST,
        [("src/client.ts", 33, "send"), ("src/client.test.ts", 12, "")],
        "AssertionError: expected 3 to be 4",
    ),
    "unittest": (UNITTEST, [("tests/test_client.py", 8, "test_send")], "KeyError: 'id'"),
    "gcc": ("src/client.c:12:5: error: 'x' undeclared", [("src/client.c", 12, "")], "error: 'x' undeclared"),
    "rustc": ("error[E0425]: no `x`\n --> src/client.rs:12:5", [("src/client.rs", 12, "")], "error[E0425]: no `x`"),
    "tsc": ("src/client.ts(12,5): error TS2304: no 'x'", [("src/client.ts", 12, "")], "error TS2304: no 'x'"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_is_read_innermost_frame_first(form: str) -> None:
    text, frames, error = FORMS[form]
    trace = read_trace(text.split("\n"))
    assert [(frame.path, frame.line, frame.function) for frame in trace.frames] == frames
    assert [frame.position for frame in trace.frames] == list(range(len(frames)))
    assert trace.error == error
    assert trace.mentions == ()


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        (PYTEST, {("", "TestClient.test_send"), ("tests/test_client.py", "TestClient::test_send")}),
        (GO_TEST, {("", "Test"), ("", "TestSendTwice")}),
        (CARGO_TEST, {("", "tests::sends")}),
        (JEST, {("", "sends an order")}),
        (VITEST, {("src/client.test.ts", "sends an order")}),
        (UNITTEST, {("", "test_send")}),
    ],
    ids=["pytest", "go test", "cargo test", "jest", "vitest", "unittest"],
)
def test_failing_tests_are_read(text: str, tests: set[tuple[str, str]]) -> None:
    assert {(frame.path, frame.function) for frame in read_trace(text.split("\n")).tests} == tests


def test_the_language_is_that_of_the_first_frame() -> None:
    languages = [read_trace(text.split("\n")).language for text in (PYTHON, GO, RUST, JAVA, NODE, GDB, CSHARP, PYTEST)]
    assert languages == ["python", "go", "rust", "java", "javascript", "c", "csharp", "python"]


def test_places_in_prose_are_mentions() -> None:
    trace = analyse("Why does src/a.py:12 call\nhttps://example.org/o/r/blob/main/src/b.py#L7 twice?").trace
    assert [(frame.path, frame.line) for frame in trace.mentions] == [("src/a.py", 12), ("src/b.py", 7)]
    assert trace.frames == ()


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("look at src/a.py:10-20 and `b.go`, lines 3 to 9", [("src/a.py", 10, 20), ("b.go", 3, 9)]),
        ("lines 10-20 of the file src/a.py", [("src/a.py", 10, 20)]),
        ("line 7 in `src/a.py` at src/b.py line 8", [("src/a.py", 7, 0), ("src/b.py", 8, 0)]),
        ("see https://example.org/o/r/-/blob/main/a.py#L3-9.", [("a.py", 3, 9)]),
        ("see https://example.org/o/r/src/main/a.py?at=x#lines-3:9", [("a.py", 3, 9)]),
        (r"see C:\projects\src\a.py:12", [("C:/projects/src/a.py", 12, 0)]),
        ('the log has > File "src/a.py", line 3, in run', []),
        ("it has 3 lines of code in 2.5 files", []),
    ],
)
def test_lines_and_ranges_are_read_as_people_write_them(text: str, mentions: list[tuple[str, int, int]]) -> None:
    found = [(frame.path, frame.line, frame.end) for frame in analyse(text).trace.mentions]
    assert sorted(found) == sorted(mentions)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("example.org/shop/client.(*Client).Send.func1", ("Send", "Client")),
        ("<shop::client::Client as shop::Send>::send", ("send", "Client")),
        ("shop::run::{{closure}}::h0123456789abcdef", ("run", "shop")),
        ("org.shop.Client$Queue.send", ("send", "Queue")),
        ("org.shop.Main.lambda$main$0", ("main", "Main")),
        ("Shop.Program.<Main>d__0.MoveNext", ("Main", "Program")),
        ("Client.send [as post]", ("send", "Client")),
        ("new Client", ("constructor", "Client")),
        ("async Client.#send", ("#send", "Client")),
        ("std::vector<int>::push", ("push", "vector")),
        ("<module>", ("", "")),
        ("Object.<anonymous>", ("", "")),
        ("sends an order", ("", "")),
        ("", ("", "")),
    ],
)
def test_a_function_is_known_by_its_name_and_its_owner(function: str, name: tuple[str, str]) -> None:
    assert name_of(function) == name


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada/.venv/lib/python3.12/site-packages/shop/client.py", "/usr/lib/python3.12/json/decoder.py",
        "node_modules/shop/index.js", "node:internal/main/run", "/usr/local/go/src/net/http/server.go",
        "/root/go/pkg/mod/example.org/shop@v1.2.0/client.go", "/home/ada/.cargo/registry/src/x/shop-1.0/src/lib.rs",
        "/rustc/9fc6b/library/std/src/panicking.rs", "<frozen importlib._bootstrap>",
    ],
)  # fmt: skip
def test_files_of_libraries_are_known(path: str) -> None:
    assert is_vendored(path)


@pytest.mark.parametrize("path", ["src/client.py", "internal/backoff/backoff.go", "/srv/library/client.py", "lib/a.js"])
def test_own_files_are_not_taken_for_those_of_libraries(path: str) -> None:
    assert not is_vendored(path)


@pytest.mark.parametrize(
    "line",
    [
        "Exit code 1",
        "exit status 1",
        "Error: Exit code 1",
        "Command failed with exit code 1:",
        "exited with code 127",
        "Error: Process completed with exit code 2.",
        "npm ERR! code ELIFECYCLE",
        "make: *** [test] Error 2",
        "error: test failed, to rerun pass `--lib`",
    ],
)
def test_how_a_command_ended_is_not_the_title(line: str) -> None:
    assert is_wrapper(line)
    query = analyse(f"{line}\n$ make test\n{PYTHON}\n{line}")
    assert query.zones[0] == (Zone.TITLE, "shop.errors.Refused: the order 7 was refused")
    assert query.trace.errors == ("shop.errors.Refused: the order 7 was refused",)


@pytest.mark.parametrize(
    "line", ["rg exits with exit code 1 although it matched", "Session drops the exit code", "", "1"]
)
def test_a_sentence_about_an_exit_code_is_a_title(line: str) -> None:
    assert not is_wrapper(line)


def test_a_prompt_is_not_the_title_and_a_sentence_before_a_trace_is() -> None:
    assert analyse("ada@box:~/shop$ make\nWhy is it slow?").zones[-1] == (Zone.TITLE, "Why is it slow?")
    assert analyse(f"Sending fails\n\n{PYTHON}").zones[0] == (Zone.TITLE, "Sending fails")
    assert analyse("exit code 1").zones == ((Zone.TITLE, "exit code 1"),)


@pytest.mark.parametrize(
    "piece",
    ["a", "x\n", "    at (", "a.b:1:", '  File "', "#1 f (a) ", "\u25cf a \u203a ", "E   ", "1: a::b\n", "\t/a.go:1\n",
     "panicked at '", "https://x/blob/", "Caused by: ", "  at a (b.js:1:1)\n", '  File "a.py", line 1, in f\n'],
)  # fmt: skip
def test_hostile_text_is_read_in_bounded_work(piece: str) -> None:
    """Forms see at most some hundred characters of a line, so the longest question ends however it is written."""
    trace = analyse(piece * (60_000 // len(piece))).trace
    assert len(trace.frames) <= 60_000 // 8
