"""What every test shares: pinned randomness, folders of its own, and no network.

`--store=postgres` keeps index and memory on a PostgreSQL server; a test that is marked with `files` and why is skipped.
`SATCHEL_HYPOTHESIS` chooses the number of examples of a property: `quick` (the default), `deep`, or `fuzz`, which is
random (`SATCHEL_FUZZ_EXAMPLES` examples). `SATCHEL_NO_SKIPS=1` makes any other skipped test a failure, for machines
that were set up so that nothing has to be skipped.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Generator, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import reaper
from tests.postgres import server_url
from tests.seconds import note_seconds, pytest_runtest_logstart, pytest_terminal_summary

__all__ = ["pytest_runtest_logstart", "pytest_terminal_summary"]

QUICK_EXAMPLES, DEEP_EXAMPLES = 10, 50
"""Examples of a property in `make check` and in `make check-all`: the same ones every time."""

FUZZ_EXAMPLES = int(os.environ.get("SATCHEL_FUZZ_EXAMPLES", "2000"))

settings.register_profile("quick", derandomize=True, max_examples=QUICK_EXAMPLES, deadline=None)
settings.register_profile("deep", derandomize=True, max_examples=DEEP_EXAMPLES, deadline=None)
settings.register_profile("fuzz", max_examples=FUZZ_EXAMPLES, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("SATCHEL_HYPOTHESIS", "quick"))

TESTS = Path(__file__).parent

_LOCAL_ADDRESSES = frozenset({"127.0.0.1", "::1", "localhost"})

_OWN_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")

_KEPT = frozenset({"SATCHEL_EVAL", "SATCHEL_HYPOTHESIS", "SATCHEL_FUZZ_EXAMPLES", "SATCHEL_NO_SKIPS"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the option that chooses the store."""
    parser.addoption(
        "--store", choices=["sqlite", "postgres"], default="sqlite", help="where index and memory are kept"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of what has no meaning on a server."""
    config.addinivalue_line("markers", "files(reason): needs a store in files; a run on a server skips it")
    config.addinivalue_line("markers", "thorough: takes long, so `make check` leaves it to `make check-all`")
    config.addinivalue_line("markers", "no_cover: its lines are not counted")


def thorough_names() -> tuple[str, ...]:
    """Return the beginnings of the names of tests that take long."""
    lines = Path(__file__).with_name("thorough.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


FIRST = ("web/", "e2e/", "properties/", "faults/")
"""Folders whose files take long: at the end, one of them would be waited for by the other processes."""

UNMEASURED = ("architecture/", "benchmarks/", "contracts/", "docs/", "e2e/", "properties/", "ranking/", "seeds/")
"""Folders that read the sources, or go the whole way through what the tests of the rooms measure.

Counting their lines again takes long.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long and begin with it, and leave the lines that others measure to them."""
    names = {item: f"{item.path.relative_to(TESTS).as_posix()}::{item.nodeid.partition('::')[2]}" for item in items}
    thorough = thorough_names()
    for item, name in names.items():
        if name.startswith(thorough):
            item.add_marker(pytest.mark.thorough)
        if name.startswith(UNMEASURED):
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=lambda item: next((place for place, first in enumerate(FIRST) if names[item].startswith(first)), 9))


def pytest_collection_finish() -> None:
    """Have the collector of garbage look seldom, and never at the tests themselves."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what has no meaning on the chosen store."""
    mark = item.get_closest_marker("files")
    if mark is not None and item.config.getoption("--store") == "postgres":
        pytest.skip(f"for a store in files: {mark.args[0]}")


@pytest.fixture(scope="session")
def store_kind(request: pytest.FixtureRequest) -> str:
    """The store of this run, `sqlite` or `postgres`."""
    return str(request.config.getoption("--store"))


@pytest.fixture(scope="session", autouse=True)
def own_environment(store_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests, and what they start, folders of their own, the chosen store, and nothing of the user's settings.

    Where that is a server, no file may have become a store.
    """
    home = tmp_path_factory.mktemp("home")
    reaper.watch(tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("GIT_") or (name.startswith("SATCHEL_") and name not in _KEPT):
                patch.delenv(name)
        for name in ("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR"):
            patch.delenv(name, raising=False)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # or every child compiles all of satchel again
        patch.setenv("HOME", str(home))
        for name in _OWN_FOLDERS:
            patch.setenv(name, str(home / name.lower()))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("SATCHEL_EMBED_PROVIDER", "off")  # a test that wants vectors says so: the model takes seconds
        patch.setenv("TERM", "dumb")
        patch.setenv("LC_ALL", "C.UTF-8")
        if store_kind == "postgres":
            patch.setenv("SATCHEL_STORE", server_url())
        yield
    if store_kind == "postgres":
        stores = [path for name in ("index.db", "memory.db") for path in tmp_path_factory.getbasetemp().rglob(name)]
        assert not stores, f"these tests did not use the server: {stores}"


@pytest.fixture(scope="session", autouse=True)
def heard_signals() -> None:
    """Hear the signals that nohup, or a shell that starts the tests in the background, has switched off.

    The tests send them to themselves and to what they start, which inherits whether they are heard.
    """
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: object) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = address[0] if isinstance(address, tuple) else address
            assert host in _LOCAL_ADDRESSES, f"a test tried to reach {host!r}: tests use no network"
        connect(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        yield


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave coverage out of the processes that a test starts, so that what they import is their own."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def log_lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged during a test. Afterwards the log is as nobody had set it up, whatever capturing it left."""
    from structlog import reset_defaults
    from structlog.testing import capture_logs

    with capture_logs() as lines:
        yield lines
    reset_defaults()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where nothing may be skipped."""
    report = yield
    note_seconds(report)
    is_due = hasattr(report, "wasxfail") or item.get_closest_marker("files") is not None
    if os.environ.get("SATCHEL_NO_SKIPS") == "1" and report.skipped and not is_due:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and SATCHEL_NO_SKIPS forbids it: {call.excinfo}"
    return report
