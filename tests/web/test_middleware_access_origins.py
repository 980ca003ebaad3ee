"""Names of a server, and pages that may speak to it."""

from __future__ import annotations

import pytest

from satchel.errors import UsageError
from satchel.web.middleware import bracketed, is_loopback, own_origins


@pytest.mark.parametrize("host", ["127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123", "[::1]:8123"])
def test_a_loopback_name_with_our_port_is_ours(host: str) -> None:
    assert own_origins("127.0.0.1", 8123).is_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.test",
        "evil.test:8123",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8124",
        "127.0.0.1.evil.test:8123",
        "localhost.:8123",
        "localhost:8123@evil.test",
        "[::]:8123",
        "[0:0:0:0:0:0:0:1]:8123",
        "::1:8123",
        "[::1%25lo]:8123",
        "0x7f000001:8123",
        "2130706433:8123",
        "127.1:8123",
        "127.0.0.1:8123 ",
        "127.0.0.1:08123",
    ],
)
def test_any_other_spelling_of_a_name_is_not(host: str) -> None:
    assert not own_origins("127.0.0.1", 8123).is_host(host)


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://127.0.0.1:8123", True),
        ("http://localhost:8123", True),
        ("http://[::1]:8123", True),
        ("null", False),
        ("", False),
        ("https://127.0.0.1:8123", False),
        ("http://127.0.0.1", False),
        ("http://127.0.0.1:9999", False),
        ("http://evil.test", False),
        ("http://127.0.0.1:8123.evil.test", False),
        ("file://", False),
    ],
)
def test_only_a_page_of_this_server_may_ask(origin: str, is_ours: bool) -> None:
    assert own_origins("127.0.0.1", 8123).is_own(origin) is is_ours


def test_on_the_default_port_a_browser_leaves_it_out() -> None:
    ours = own_origins("127.0.0.1", 80)
    assert ours.is_host("localhost")
    assert ours.is_host("localhost:80")
    assert ours.is_own("http://localhost")
    assert not own_origins("127.0.0.1", 79).is_host("localhost")


def test_a_name_that_was_allowed_counts_as_it_was_written() -> None:
    ours = own_origins("192.168.1.5", 8123, ["Context.example.org"])
    assert ours.is_host("192.168.1.5:8123")
    assert ours.is_host("context.example.org")
    assert not ours.is_host("context.example.org:8123")
    assert ours.is_own("https://context.example.org")
    assert ours.is_own("http://context.example.org")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost"])
def test_these_hosts_are_reached_by_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "example.org", "", "localhost.evil.test"])
def test_these_hosts_may_be_reached_by_others(host: str) -> None:
    assert not is_loopback(host)


def test_an_ipv6_address_stands_in_brackets_once() -> None:
    assert [bracketed(host) for host in ("::1", "[::1]", "127.0.0.1")] == ["[::1]", "[::1]", "127.0.0.1"]


@pytest.mark.parametrize("other", ["http://example.org", "example.org/", "*", "example.org:*", "", "a b", "[::1"])
def test_a_name_that_no_request_can_have_is_refused(other: str) -> None:
    with pytest.raises(UsageError, match="--allow-host"):
        own_origins("127.0.0.1", 8123, [other])


@pytest.mark.parametrize("other", ["example.org", "example.org:8443", "192.168.1.5:80", "[fe80::1]:8123", "box"])
def test_a_name_that_a_request_can_have_is_taken(other: str) -> None:
    assert own_origins("127.0.0.1", 8123, [other]).is_host(other)
