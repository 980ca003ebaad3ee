"""The token that lasts, the link that works once, and the cookie that it gives."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel.errors import ConfigError
from satchel.web.middleware import TOKEN_VARIABLE, Access, load_token

TOKEN = "of-a-test-" * 3


def test_the_token_is_kept_for_the_user_alone(tmp_path: Path) -> None:
    token = load_token(tmp_path, {})
    assert load_token(tmp_path, {}) == token
    (stored,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert len(token) >= 43


def test_two_users_have_different_tokens(tmp_path: Path) -> None:
    assert load_token(tmp_path / "a", {}) != load_token(tmp_path / "b", {})


def test_the_environment_may_choose_the_token_and_then_nothing_is_stored(tmp_path: Path) -> None:
    assert load_token(tmp_path / "state", {TOKEN_VARIABLE: TOKEN}) == TOKEN
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "given", ["short", "with a space in it, and long", "ümläute-sind-kein-header", "a" * 30 + "\n"]
)
def test_a_token_that_is_easy_to_guess_or_no_header_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigError, match="--show-token") as refused:
        load_token(tmp_path, {TOKEN_VARIABLE: given})
    assert given not in str(refused.value)


@pytest.mark.parametrize(
    ("header", "is_in"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer  {TOKEN} ", True),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (f"Basic {TOKEN}", False),
        (TOKEN, False),
        ("Bearer", False),
        ("Bearer \xff", False),
        ("", False),
    ],
)
def test_a_program_shows_the_token_as_bearer(header: str, is_in: bool) -> None:
    assert Access(TOKEN, 8123).is_bearer(header) is is_in


def test_a_ticket_opens_one_session_and_is_then_worth_nothing() -> None:
    access = Access(TOKEN, 8123)
    cookie = access.redeem(access.ticket)
    assert cookie is not None
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert access.redeem(access.ticket) is None
    assert access.is_session(cookie.partition(";")[0])
    assert access.is_session(f"odd@name=x; theme=dark; {cookie.partition(';')[0]}; other")


def test_no_other_ticket_opens_one() -> None:
    access = Access(TOKEN, 8123)
    assert access.redeem("") is None
    assert access.redeem(TOKEN) is None
    assert access.redeem("\xff") is None
    assert access.redeem(access.ticket) is not None


@pytest.mark.parametrize("cookies", ["", "satchel-8123=", "satchel-8123=guess", "satchel-9999=x", "\x00=;;;=", "a=b"])
def test_another_cookie_is_no_session(cookies: str) -> None:
    access = Access(TOKEN, 8123)
    assert access.redeem(access.ticket) is not None
    assert not access.is_session(cookies)


def test_two_servers_have_cookies_of_their_own() -> None:
    assert Access(TOKEN, 1).cookie != Access(TOKEN, 2).cookie


def test_of_many_who_come_with_the_ticket_at_once_one_gets_in() -> None:
    access = Access(TOKEN, 8123)
    with ThreadPoolExecutor(16) as pool:
        got = [*pool.map(access.redeem, [access.ticket] * 64)]
    assert sum(cookie is not None for cookie in got) == 1
