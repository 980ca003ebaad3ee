"""The key, the nonce and the handle: secret where they must be, the same wherever they can be."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import ConfigError
from satchel.safety.trust import KEY_BYTES, handle, load_key, nonce

KEY = bytes(range(KEY_BYTES))
ANY_TEXT = st.text(alphabet=st.characters(), max_size=60)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_call_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key = load_key(tmp_path / "state", {})
    finally:
        os.umask(before)
    assert len(key) == KEY_BYTES
    assert mode(tmp_path / "state") == 0o700
    assert mode(tmp_path / "state" / "key") == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["key"]


def test_every_later_call_reads_the_same_key(tmp_path: Path) -> None:
    assert load_key(tmp_path, {}) == load_key(tmp_path, {}) == (tmp_path / "key").read_bytes()


def test_two_homes_have_two_keys(tmp_path: Path) -> None:
    assert load_key(tmp_path / "a", {}) != load_key(tmp_path / "b", {})


def test_processes_that_start_at_once_get_one_key(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from satchel.safety.trust import load_key; "
        "print(load_key(pathlib.Path(sys.argv[1]), {}).hex())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "state")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    keys = {process.communicate()[0].strip() for process in running}
    assert keys == {(tmp_path / "state" / "key").read_bytes().hex()}


def test_a_torn_key_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    key = load_key(tmp_path, {})
    assert len(key) == KEY_BYTES
    assert load_key(tmp_path, {}) == key


def test_a_key_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    key = load_key(tmp_path, {})
    (tmp_path / "key").chmod(0o644)
    assert load_key(tmp_path, {}) == key
    assert mode(tmp_path / "key") == 0o600


@pytest.mark.usefixtures("log_lines")
def test_a_link_in_place_of_the_key_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "known").write_bytes(KEY)
    (tmp_path / "key").symlink_to(tmp_path / "known")
    assert load_key(tmp_path, {}) != KEY


def test_a_fifo_in_place_of_the_key_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key")
    assert len(load_key(tmp_path, {})) == KEY_BYTES


def test_where_nothing_can_be_written_the_key_lives_as_long_as_the_process(
    tmp_path: Path, log_lines: list[MutableMapping[str, Any]]
) -> None:
    blocked = tmp_path / "file" / "state"
    (tmp_path / "file").write_text("not a folder")
    key = load_key(blocked, {})
    assert load_key(blocked, {}) == key
    assert len(key) == KEY_BYTES
    assert [(log["log_level"], log["path"]) for log in log_lines] == [("warning", str(blocked / "key"))]


def test_the_environment_can_fix_the_key(tmp_path: Path) -> None:
    assert load_key(tmp_path, {"SATCHEL_KEY": KEY.hex()}) == KEY
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("text", ["00ff", "zz" * KEY_BYTES, KEY.hex() + "00"])
def test_a_fixed_key_of_the_wrong_shape_is_an_error_that_does_not_repeat_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="64 hexadecimal digits") as caught:
        load_key(tmp_path, {"SATCHEL_KEY": text})
    assert text not in str(caught.value)


@given(item_id=ANY_TEXT, content=ANY_TEXT)
def test_a_nonce_is_twelve_digits_and_the_same_every_time(item_id: str, content: str) -> None:
    drawn = nonce(KEY, item_id, content)
    assert re.fullmatch("[0-9]{9}", drawn)
    assert drawn == nonce(KEY, item_id, content)
    assert drawn not in content


def test_a_nonce_depends_on_key_id_and_content() -> None:
    nonces = {nonce(KEY, "a", "x"), nonce(KEY[::-1], "a", "x"), nonce(KEY, "b", "x"), nonce(KEY, "a", "y")}
    assert len(nonces) == 4


def test_a_nonce_that_occurs_in_the_content_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.safety.trust.NONCE_DIGITS", 1)
    assert nonce(KEY, "a", "0123456 89") == "7"


def test_a_handle_is_eight_characters_of_base32_and_always_the_same() -> None:
    assert handle("code:src/a.py", "abc", [(1, 5), (9, 9)]) == handle("code:src/a.py", "abc", ((1, 5), (9, 9)))
    assert handle("code:src/a.py", "abc", [(1, 5)]) == "b6ttrirn"


@given(item_id=ANY_TEXT, content_hash=ANY_TEXT, spans=st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=3))
def test_a_handle_of_anything_can_be_typed(item_id: str, content_hash: str, spans: list[tuple[int, int]]) -> None:
    assert re.fullmatch("[a-z2-7]{8}", handle(item_id, content_hash, spans))


def test_a_handle_depends_on_id_content_and_lines() -> None:
    handles = {
        handle("a", "h", [(1, 2)]),
        handle("b", "h", [(1, 2)]),
        handle("a", "i", [(1, 2)]),
        handle("a", "h", [(1, 3)]),
        handle("a", "h", [(1, 2), (3, 4)]),
    }
    assert len(handles) == 5
