"""Which names this server answers to, and which pages may speak to it.

A page of another site can make a browser send requests to 127.0.0.1, and can make its own name lead there (DNS
rebinding). The first is refused by its Origin, the second by the Host that it names. Names are compared as written:
another spelling of the same address is nobody that we sent here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address

from satchel.errors import UsageError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

DEFAULT_PORT = 80
"""The port that a browser leaves out of Host and Origin."""


_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Origins:
    """The values of Host that are ours, in lower case, and the values of Origin that go with them."""

    hosts: frozenset[str]
    origins: frozenset[str]

    def is_host(self, host: str) -> bool:
        """Whether this is a name of ours, with our port."""
        return host.lower() in self.hosts

    def is_own(self, origin: str) -> bool:
        """Whether this is a page of ours. `null`, which sandboxed and local pages send, is not."""
        return origin.lower() in self.origins


def own_origins(host: str, port: int, others: Collection[str] = ()) -> Origins:
    """What a server on `host` and `port` answers to: the loopback names, its own, and what it was told in addition.

    `others` are values of Host as a proxy or another machine writes them, with their port where it is not the default.
    Raises UsageError for one that no Host can be.
    """
    for other in others:
        if not _HOST.fullmatch(other):
            raise UsageError(
                f"--allow-host {other!r} is no host: write it as in context.example.org or 192.168.1.5:8123"
            )
    names = {*LOOPBACK_NAMES, bracketed(host).lower()}
    ours = {f"{name}:{port}" for name in names} | (names if port == DEFAULT_PORT else set())
    further = {other.lower() for other in others}
    secure = {f"https://{other}" for other in further}
    return Origins(frozenset(ours | further), frozenset({f"http://{name}" for name in ours | further} | secure))


def bracketed(host: str) -> str:
    """A host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server on this host. A name other than localhost may lead anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
