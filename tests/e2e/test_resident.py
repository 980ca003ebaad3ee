"""A running server answers hooks and questions of other processes with the same bytes, or they answer by themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.cli.resident import Resident, is_own, listening
from satchel.config import Folders
from satchel.system import resident, telemetry
from tests.e2e.command import PATIENCE_SECONDS, Ran
from tests.e2e.sample import sample_repository
from tests.hooks.recorded import RECORDED, event_word, recorded
from tests.postgres import own_home

PROMPT = "where is an order sent again when the connection drops?"
QUESTIONS = (PROMPT, "how is a discount computed?", "what does backoff return?", "RetryError of the client")

PATIENT = (
    "import sys, satchel.system.resident as r, satchel.hooks.supervise as s; "
    "s.WORKER_SECONDS = s.DEADLINE_SECONDS = 300.0; s.RESIDENT_SECONDS = r.ACCEPT_SECONDS = r.ANSWER_SECONDS = 150.0; "
)
"""A machine that is busy with other tests: most tests here are not about speed."""
RUN = "from satchel.cli.main import main; sys.exit(main())"


def program(before: str = "", patience: str = PATIENT) -> tuple[str, ...]:
    """The command after other statements."""
    return (sys.executable, "-P", "-c", f"{patience}{before}{RUN}")


PLAIN = program()
ALONE = program("r.address = lambda _: ''; ")
"""The command without the resident process."""
ONLY = program("sys.modules['satchel.hooks.worker'] = sys.modules['satchel.cli.application'] = None; ")
"""The command that cannot answer by itself."""
OTHER = program("r.__version__ = '0.0.9'; ")
"""The command of another version."""
QUICK = program(patience="import sys; ")
"""The command with its own deadlines."""

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")


@dataclass
class Place:
    """A root with an index, and an environment. The folder has a short path, because that of a socket is limited."""

    root: Path
    environ: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return Folders.from_environment(self.environ).state

    @property
    def socket(self) -> Path:
        return self.state / "resident" / resident.socket_name(str(self.root))

    def start(self, *words: str, root: Path | None = None, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*PLAIN, *(words or ("mcp",))], cwd=root or self.root, env=self.environ | variables,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.running.append(process)
        return process

    def resident(self) -> subprocess.Popen[bytes]:
        self.socket.unlink(missing_ok=True)
        process = self.start()
        until(self.socket.exists)
        until(lambda: self(*ONLY, "search", PROMPT).code == 0)
        return process

    def __call__(
        self, *command: str, event: dict[str, Any] | None = None, root: Path | None = None, **variables: str
    ) -> Ran:
        done = subprocess.run(
            command, input=json.dumps(event or {}).encode(), capture_output=True, cwd=root or self.root,
            env=self.environ | variables, check=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        # Said of a refresh that takes longer than half a second: on a busy machine, and then it says how long.
        said = re.sub(
            r"^(\x1b\[2m)?brought the index up to date in [\d.]+ s(\x1b\[0m)?\n",
            "",
            done.stderr.decode(),
            flags=re.MULTILINE,
        )
        return Ran(done.returncode, done.stdout.decode(), said)

    def prompt(self, session: str, prompt: str = PROMPT, root: Path | None = None) -> dict[str, Any]:
        return recorded(
            "claude-code/prompt", session_id=session, cwd=str(root or self.root), prompt=prompt, transcript_path=None
        )

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate(timeout=PATIENCE_SECONDS)
        self.running.clear()


def until(is_true: Callable[[], bool]) -> None:
    """Wait for another process."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="satchel-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def built_at(folder: Path) -> Place:
    root = sample_repository(folder / "shop").root
    environ = os.environ | {**own_home(folder / "h"), "SATCHEL_KEY": "07" * 32}
    with Satchel.open(root, environ=environ) as engine:
        engine.index()
        engine.memories.add("Never deploy on Fridays", category="decision", importance=0.9)
    return Place(root, environ)


@pytest.fixture(scope="module")
def built(folder: Path) -> Place:
    return built_at(folder)


@pytest.fixture(scope="module")
def steady(folder: Path) -> Iterator[Place]:
    """A place with one process for all tests that leave it as it is."""
    place = built_at(folder / "s")
    place.resident()
    yield place
    place.end()


@pytest.fixture
def place(built: Place) -> Iterator[Place]:
    yield built
    built.end()


@pytest.fixture
def served(place: Place) -> Place:
    place.resident()
    return place


def timeless(text: str) -> str:
    """Durations differ from run to run."""
    return re.sub(r'("\w*(?:_ms|_s|seconds|took)": ?)[\d.]+', r"\1 0", text)


def payload(place: Place, name: str, session: str) -> dict[str, Any]:
    sent = recorded(name, session_id=session, cwd=str(place.root), transcript_path=None)
    if "conversation_id" in sent:
        sent |= {"conversation_id": session, "workspace_roots": [str(place.root)]}
    if "agent_id" in sent:
        sent |= {"agent_id": session}
    return sent | ({"prompt": PROMPT} if "prompt" in sent else {})


def test_every_event_gets_the_same_bytes(steady: Place) -> None:
    shown = 0
    for name in RECORDED:
        word = event_word(name)
        answers = [
            steady(*command, "hook", word, event=payload(steady, name, f"{session}-{name.partition('/')[0]}"))
            for command, session in ((ONLY, "resident"), (ALONE, "itself00"))
        ]
        assert answers[0] == answers[1], name
        assert answers[0].code == 0
        shown += answers[0].out != ""
    assert shown >= 3
    rows = telemetry.hook_entries(steady.state)[-2 * len(RECORDED) :]
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert [first[name] for name in ("event", "outcome", "reason", "tokens")] == [
            second[name] for name in ("event", "outcome", "reason", "tokens")
        ]


@pytest.mark.parametrize(
    "words",
    [
        ["context", PROMPT],
        ["context", PROMPT, "--json"],
        ["context", PROMPT, "--explain", "--max-tokens", "500"],
        ["--color", "always", "context", "how is a discount computed?", "--explain", "--format", "xml"],
        ["search", "discount"],
        ["search", "discount", "--json", "--limit", "2"],
        ["search", "nothing of the kind anywhere zzz"],
        ["search", "discount", "--root", "."],
        ["graph", "discount"],
        ["graph", "shop/client.py", "--json"],
        ["why", "shop/client.py", "how is a discount computed?"],
        ["expand", "shop/client.py:1-10"],
        ["situation", "--task", "change how orders are sent"],
        ["brief"],
        ["premortem", "--domain", "debugging"],
        ["status"],
        ["status", "--json"],
        ["history"],
        ["history", "shop"],
        ["memory", "list"],
        ["memory", "search", "deploy", "--json"],
        ["experience", "list"],
        ["values", "list"],
    ],
    ids=" ".join,
)
def test_commands_write_the_same_bytes(steady: Place, words: Sequence[str]) -> None:
    first, second = steady(*ONLY, *words), steady(*ALONE, *words)
    assert (first.code, timeless(first.out), first.err) == (second.code, timeless(second.out), second.err)
    assert first.out + first.err


def test_a_question_from_a_subfolder_has_the_same_answer(steady: Place) -> None:
    inside = steady.root / "shop"
    assert steady(*ONLY, "search", "discount", "--root", "..", root=inside) == steady(*ALONE, "search", "discount")
    assert steady(*ONLY, "search", "discount", root=inside) == steady(*ALONE, "search", "discount", root=inside)


def test_an_edit_is_seen_at_once(steady: Place) -> None:
    file = steady.root / "shop" / "fresh.py"
    for number in range(3):
        file.write_text(f"def gearbox_{number}() -> int:\n    return {number}\n", encoding="utf-8")
        assert f"gearbox_{number}" in steady(*ONLY, "search", f"gearbox_{number}").out
    file.unlink()
    assert "gearbox" not in steady(*ONLY, "search", "gearbox_2").out


@pytest.mark.parametrize(
    "words", [["context"], ["search", ""], ["context", "x", "--max-tokens", "few"], ["search", "x", "--root", "/none"]]
)
def test_a_wrong_command_is_reported_by_its_own_process(steady: Place, words: Sequence[str]) -> None:
    ran = steady(*PLAIN, *words)
    assert ran == steady(*ALONE, *words)
    assert ran.code


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        (OTHER, {}),
        (PLAIN, {"SATCHEL_HOOKS_MIN_RELEVANCE": "0.5"}),
        (PLAIN, {"SATCHEL_KEY": "08" * 32}),
        (PLAIN, {"TZ": "Pacific/Kiritimati"}),
    ],
    ids=["version", "setting", "key", "time zone"],
)
def test_another_version_or_setting_is_answered_directly(
    steady: Place, command: Sequence[str], variables: dict[str, str]
) -> None:
    session = f"other-{len(variables)}-{variables}"
    blocked = steady(*ONLY, "hook", "prompt", event=steady.prompt(session), root=None, **variables)
    assert (blocked.out == "") is bool(variables)
    ran = steady(*command, "hook", "prompt", event=steady.prompt(f"again {session}"), root=None, **variables)
    expected = steady(*ALONE, "hook", "prompt", event=steady.prompt(f"alone {session}"), root=None, **variables)
    assert ran == expected
    assert "send_order" in ran.out


def test_a_settings_file_that_changed_is_not_answered_from_the_old_one(served: Place) -> None:
    file = served.root / ".satchel.toml"
    file.write_text("[context]\nsources = true\n", encoding="utf-8")
    try:
        assert served(*ONLY, "search", "discount").code != 0
        assert served(*PLAIN, "context", PROMPT) == served(*ALONE, "context", PROMPT)
        assert served(*ONLY, "hook", "prompt", event=served.prompt("settings")).out == ""
    finally:
        file.unlink()


def test_the_socket_is_private_and_removed_at_the_end(served: Place) -> None:
    assert served.socket.stat().st_mode & 0o777 == 0o600
    assert served.socket.parent.stat().st_mode & 0o777 == 0o700
    process = served.running[0]
    process.communicate(timeout=PATIENCE_SECONDS)  # its input ends
    assert process.returncode == 0
    assert not served.socket.exists()


def test_a_folder_that_others_can_enter_is_not_used(served: Place) -> None:
    served.socket.parent.chmod(0o755)
    try:
        assert served(*ONLY, "hook", "prompt", event=served.prompt("open folder")).out == ""
        assert "send_order" in served(*PLAIN, "hook", "prompt", event=served.prompt("open folder 2")).out
        served.end()
        served.socket.unlink(missing_ok=True)
        served.start().communicate(timeout=PATIENCE_SECONDS)
        assert not served.socket.exists()
    finally:
        served.socket.parent.chmod(0o700)


def test_a_killed_process_is_not_missed_and_its_socket_replaced(served: Place) -> None:
    served.running[0].kill()
    served.running[0].wait()
    assert served.socket.exists()
    assert served(*ONLY, "search", "discount").code != 0
    assert served(*PLAIN, "search", "discount").code == 0
    served.start()
    until(lambda: served(*ONLY, "search", "discount").code == 0)


def test_a_process_that_hangs_is_not_waited_for(served: Place) -> None:
    served.running[0].send_signal(signal.SIGSTOP)
    assert served(*QUICK, "hook", "prompt", event=served.prompt("hanging")).code == 0
    assert served(*QUICK, "search", "discount") == served(*ALONE, "search", "discount")
    idle = program("r.ACCEPT_SECONDS = 0.25; s.BUSY = 1_000_000; ")  # on a busy machine a sign of life takes longer
    assert "send_order" in served(*idle, "hook", "prompt", event=served.prompt("hanging 2")).out
    served.running[0].send_signal(signal.SIGCONT)


@contextmanager
def listener(place: Place, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """A resident process of our own for one connection."""
    place.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.socket.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(place.socket))
        door.listen(1)

        def serve() -> None:
            connection, _ = door.accept()
            with connection:
                connection.recv(1 << 16)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()
    place.socket.unlink()


@pytest.mark.parametrize("reply", [b"", b"x", b"+", b"+9\n1\n0", b"+junk", b"+-", b"+3\n9\n0"])
def test_an_answer_that_breaks_off_is_not_passed_on(place: Place, reply: bytes) -> None:
    with listener(place, lambda connection: connection.sendall(reply)):
        assert place(*PLAIN, "search", "discount") == place(*ALONE, "search", "discount")


def test_each_root_is_answered_by_its_own_process(served: Place, folder: Path) -> None:
    other = sample_repository(folder / "shop" / "vendor").root
    (other / "wheel.py").write_text("def wheel() -> int:\n    return 4\n", encoding="utf-8")
    try:
        assert served(*ONLY, "search", "wheel", root=other).code != 0
        assert "wheel.py" in served(*ALONE, "search", "wheel", root=other).out
        expected = served(*ALONE, "search", "wheel", root=other)  # again, as the first run may say that it took long
        served.start(root=other)
        until(lambda: served(*ONLY, "search", "wheel", root=other) == expected)
        assert served(*ONLY, "search", "discount") == served(*ALONE, "search", "discount")
        inner = served.prompt("two roots", "what does wheel.py return?", other)
        assert "wheel.py" in served(*ONLY, "hook", "prompt", "--root", str(other), event=inner).out
    finally:
        served.end()
        shutil.rmtree(other)


def test_eight_hooks_at_once_get_their_own_answers(steady: Place) -> None:
    prompts = {f"many-{number}": QUESTIONS[number % len(QUESTIONS)] for number in range(8)}
    expected = {
        session: steady(*ALONE, "hook", "prompt", event=steady.prompt(f"alone {session}", prompt))
        for session, prompt in prompts.items()
    }
    began = [
        subprocess.Popen(
            [*ONLY, "hook", "prompt"], cwd=steady.root, env=steady.environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in prompts
    ]  # fmt: skip
    answers: dict[str, Ran] = {}

    def tell(process: subprocess.Popen[bytes], session: str) -> None:
        raw = json.dumps(steady.prompt(session, prompts[session])).encode()
        out, err = process.communicate(raw, timeout=PATIENCE_SECONDS)
        answers[session] = Ran(process.returncode, out.decode(), err.decode())

    threads = [threading.Thread(target=tell, args=row) for row in zip(began, prompts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == expected


def listens(place: Place) -> bool:
    """Whether this process can listen for the root."""
    with listening(place.root) as door:
        return door is not None


def test_the_first_process_stays_and_the_second_takes_its_place(served: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", served.environ["SATCHEL_HOME"])
    first = served.socket.stat().st_ino
    assert not listens(served)
    second = served.start()
    assert served.socket.stat().st_ino == first
    served.running[0].communicate(timeout=PATIENCE_SECONDS)
    until(lambda: served(*ONLY, "search", "discount").code == 0)
    assert second.poll() is None
    assert not listens(served)


def test_serve_listens_too(place: Place) -> None:
    process = place.start("serve", "--port", "0")
    until(place.socket.exists)
    until(lambda: place(*ONLY, "search", "discount") == place(*ALONE, "search", "discount"))
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE_SECONDS)
    assert not place.socket.exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_setting_switches_it_off(place: Place, monkeypatch: pytest.MonkeyPatch, is_on: bool) -> None:
    for name, value in (place.environ | {"SATCHEL_HOOKS_RESIDENT": str(int(is_on))}).items():
        monkeypatch.setenv(name, value)
    place.socket.unlink(missing_ok=True)
    with Resident(lambda: pytest.fail("it is not opened"), str(place.root)) as one:
        until(lambda: place.socket.exists() or not one._listener.is_alive())
        assert place.socket.exists() is is_on
    assert not place.socket.exists()


def test_without_unix_sockets_nothing_listens(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with Resident(lambda: pytest.fail("it is not opened"), str(place.root)) as one:
        assert one._listener.ident is None
    monkeypatch.delattr(os, "getuid")
    assert resident.address(str(place.root)) == ""


def test_another_user_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_own(ours)
        monkeypatch.setattr(os, "getuid", lambda: -1)
        assert not is_own(ours) or not hasattr(socket, "SO_PEERCRED")


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/me"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "/var/state"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "relative"},
        {"HOME": "/home/me", "SATCHEL_HOME": "~/own"},
        {"HOME": "/home/me", "SATCHEL_HOME": "/own"},
    ],
)
def test_the_sockets_are_in_the_state_folder(environ: dict[str, str]) -> None:
    assert resident.socket_folder(environ) == f"{Folders.from_environment(environ).state}/resident"


def test_a_relative_folder_of_satchel_has_no_sockets() -> None:
    assert resident.socket_folder({"HOME": "/home/me", "SATCHEL_HOME": "own"}) == ""


@pytest.mark.parametrize("parts", [[b""], [b"a", b"", b"\n\0x"], [b"9" * 70_000]])
def test_a_frame_has_its_parts_or_none(parts: list[bytes]) -> None:
    frame = resident.framed(parts)
    assert resident.parts_of(frame) == parts
    assert all(resident.parts_of(frame[:end]) == [] for end in {0, 1, len(frame) - 1})


def test_the_client_loads_next_to_nothing(steady: Place) -> None:
    script = (
        "import os, sys; before = set(sys.modules); "
        "os._exit = lambda _: os.write(2, ' '.join({*sys.modules} - before).encode() + b' '); "
        "from satchel.cli.main import main; sys.argv = ['satchel', 'hook', 'prompt']; main()"
    )
    command = (sys.executable, "-S", "-P", "-c", script)  # packages of the tests would load more at the start
    ran = steady(*command, event=steady.prompt("imports"), PYTHONPATH=os.pathsep.join(sys.path))
    loaded = set(ran.err.split())
    assert "satchel.hooks.supervise" in loaded
    assert not loaded & {"typing", "json", "socket", "click", "numpy", "pathlib", "satchel.config"}
