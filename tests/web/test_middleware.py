"""Every request is refused that is not ours to answer, on every route, before anything happens."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from satchel.engine import Satchel
from satchel.web.application import routes
from satchel.web.middleware import BODY_BYTES, PROBES, SAFE_HEADERS, Access
from tests.web.asking import ADDRESS, PORT, TOKEN, client_of, nothing

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE")

UNKNOWN_PATHS = (
    "/nothing",
    "/api",
    "/api/",
    "/api/nothing",
    "/page/../guard.py",
    "/page/%2e%2e/guard.py",
    "//evil.test",
)

SECRET = "the-canary-of-the-tests"


def paths() -> list[str]:
    """Every route of the table with something in place of its parameter, and some that do not exist."""
    found = []
    for route in routes(nothing):
        assert hasattr(route, "path")
        path = route.path if isinstance(route, Route) else f"{route.path}/"
        found.append(path.replace("{name}", "index.html").replace("{operation}", "remember"))
    return [*found, *UNKNOWN_PATHS]


REFUSED: Iterable[tuple[str, dict[str, str], int]] = (
    ("another host", {"Host": "evil.test"}, 421),
    ("a name that leads here", {"Host": f"rebound.evil.test:{PORT}"}, 421),
    ("our name with another port", {"Host": "127.0.0.1:1"}, 421),
    ("our name without a port", {"Host": "127.0.0.1"}, 421),
    ("another spelling of our address", {"Host": f"[::ffff:127.0.0.1]:{PORT}"}, 421),
    ("no host", {"Host": ""}, 421),
    ("a page of another site", {"Origin": "http://evil.test"}, 403),
    ("a page of another server here", {"Origin": "http://127.0.0.1:9"}, 403),
    ("a page without a site", {"Origin": "null"}, 403),
    ("an image on another site", {"Sec-Fetch-Site": "cross-site"}, 403),
    ("an image on another server here", {"Sec-Fetch-Site": "same-site"}, 403),
    ("nobody we know", {"Authorization": ""}, 401),
    ("another token", {"Authorization": "Bearer of-somebody-else-entirely"}, 401),
    ("another way of saying it", {"Authorization": f"Basic {TOKEN}"}, 401),
    ("a cookie that we never gave", {"Authorization": "", "Cookie": f"satchel-{PORT}=guess"}, 401),
)


@pytest.fixture(scope="module")
def asking(engine: Satchel) -> Iterable[TestClient]:
    with client_of(engine) as client:
        yield client


@pytest.mark.parametrize(("headers", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_on_every_route_and_method(
    asking: TestClient, engine: Satchel, headers: dict[str, str], status: int
) -> None:
    body = {"action": "store", "text": SECRET}
    for path in paths():
        for method in METHODS:
            answer = asking.request(method, path, headers=headers, json=body)
            is_open = status == 401 and path in PROBES and method in {"GET", "HEAD"}
            assert answer.status_code == (200 if is_open else status), (method, path)
            assert_safe(answer.headers)
            assert SECRET not in answer.text
    assert not [memory for memory in engine.memories.listed() if SECRET in memory.content]


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", ""],
)
def test_what_a_form_may_send_is_refused_on_every_route(asking: TestClient, content_type: str) -> None:
    for path in paths():
        answer = asking.post(path, headers={"Content-Type": content_type}, content=b'{"question": "x"}')
        assert answer.status_code == 415, path
        assert_safe(answer.headers)


def test_two_content_types_are_none(asking: TestClient) -> None:
    given = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    assert asking.post("/api/search", headers=given, content=b"{}").status_code == 415


@pytest.mark.parametrize("path", paths())
def test_every_answer_is_safe_to_show(asking: TestClient, path: str) -> None:
    for method in METHODS:
        answer = asking.request(method, path, headers={"Content-Type": "application/json"})
        assert_safe(answer.headers)
        assert answer.status_code in {200, 400, 404, 405, 406}, (method, path)


def test_a_body_may_have_a_limited_size(asking: TestClient) -> None:
    most = BODY_BYTES
    large = b'{"question": "' + b"x" * most + b'"}'
    answer = asking.post("/api/context_query", content=large, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert f"{most:,}" in answer.json()["error"]["message"]


def test_a_body_without_a_declared_size_is_counted_while_it_arrives(asking: TestClient) -> None:
    part = b"x" * 65_536

    def parts() -> Iterable[bytes]:
        yield b'{"question": "'
        yield from [part] * (BODY_BYTES // len(part))

    answer = asking.post("/api/context_query", content=parts(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_the_link_signs_a_browser_in_once(engine: Satchel, access: Access) -> None:
    with client_of(engine, access) as client:
        del client.headers["Authorization"]
        assert client.get("/openapi.json").status_code == 401
        link = f"/?token={access.ticket}"
        followed = client.get(link)
        assert followed.status_code == 303
        assert followed.headers["Location"] == "/"
        assert client.get("/openapi.json").status_code == 200
        assert client.get(link).status_code == 303, "whoever is in may follow it again"
        client.cookies.clear()
        assert client.get(link).status_code == 401
        assert client.get("/openapi.json").status_code == 401


def test_only_opening_the_link_uses_it_up(engine: Satchel, access: Access) -> None:
    with client_of(engine, access) as client:
        del client.headers["Authorization"]
        link = f"/?token={access.ticket}"
        for method in ("HEAD", "OPTIONS", "POST"):
            assert client.request(method, link, json={}).status_code == 401
        assert client.get(link, headers={"Host": "evil.test"}).status_code == 421
        assert client.get(link, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert client.get(link.replace("/?", "/openapi.json?")).status_code == 401
        assert client.get("/?token=").status_code == 401
        assert client.get(link).status_code == 303


def test_the_token_of_the_link_is_not_the_token_of_programs(engine: Satchel, access: Access) -> None:
    with client_of(engine, access) as client:
        del client.headers["Authorization"]
        assert client.get(f"/?token={TOKEN}").status_code == 401
        assert client.get("/openapi.json", headers={"Authorization": f"Bearer {access.ticket}"}).status_code == 401


def test_the_page_itself_may_ask(asking: TestClient) -> None:
    own = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert asking.get("/api/options", headers=own).status_code == 200


def test_a_refusal_says_what_to_do(asking: TestClient) -> None:
    error = asking.get("/", headers={"Authorization": ""}).json()["error"]
    assert error["type"] == "NotSignedIn"
    assert "satchel serve" in error["message"]
    assert "--show-token" in error["hint"]


def assert_safe(headers: object) -> None:
    """No answer may be framed, cached, run elsewhere or read by another site."""
    assert isinstance(headers, Iterable)
    found = dict(headers.items())  # type: ignore[attr-defined]
    for name, value in SAFE_HEADERS.items():
        assert found.get(name.lower()) == value, name
    assert not [name for name in found if name.lower().startswith("access-control-")]
    assert "server" not in found
