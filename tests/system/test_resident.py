"""Frames between processes: complete ones are read, all others end at once."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from satchel.system.resident import ACCEPTED, COMMAND, ask, framed, parts_of


@pytest.mark.parametrize("parts", [[], [b""], [b"a", b"", b"3\n"], [b"\n" * 100]])
def test_a_frame_has_the_parts_that_were_put_in(parts: list[bytes]) -> None:
    assert parts_of(framed(parts)) == parts


@pytest.mark.parametrize(
    "frame", [b"", b"3", b"3\n-3\n", b"4\n-1\nx", b"3\n+1\n", b"3\n 0\n", b"2\n9\n", b"-1\n", b"4\n1\n\n"]
)
def test_any_other_frame_has_none_and_ends(frame: bytes) -> None:
    assert parts_of(frame) == []


@contextmanager
def answering(text: bytes, *, again: bytes = b"") -> Iterator[str]:
    """A process that answers a request with a text, and goes on with another one until nobody listens."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/door")
        door.listen()

        def answer() -> None:
            connection, _ = door.accept()
            with connection, suppress(OSError):
                connection.sendall(text)
                while again:
                    connection.sendall(again)
                connection.recv(1 << 20)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"{folder}/door"
        thread.join()


def test_a_sign_of_life_may_take_as_long_as_the_client_is_patient() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/door")
        door.listen()
        found: list[list[bytes]] = []

        def client(patience: float) -> None:
            found.append(ask(f"{folder}/door", COMMAND, [], b"", time.monotonic() + 600.0, patience))

        for patience, expected in ((0.001, []), (600.0, [b"answer"])):
            thread = threading.Thread(target=client, args=(patience,))
            thread.start()
            connection, _ = door.accept()
            if not expected:
                thread.join()
            with connection, suppress(OSError):
                connection.sendall(ACCEPTED + framed([b"answer"]))
                connection.recv(1 << 20)
            thread.join()
            assert found.pop() == expected


@pytest.mark.parametrize("again", [b"", b"x" * 65_536])
def test_an_answer_that_is_wrong_or_never_ends_is_none_within_the_deadline(again: bytes) -> None:
    with answering(ACCEPTED + b"3\n-3\n", again=again) as place:
        began = time.monotonic()
        assert ask(place, COMMAND, [], b"", began + 0.5) == []
        assert time.monotonic() - began < 60.0
