"""What the page looks at by GET: options, the state, the map, the hook log, the files of the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from satchel.engine import Satchel
from satchel.system import telemetry
from satchel.web.routes import ServerState
from tests.web.asking import client_of, environment


@pytest.fixture(scope="module")
def asking(engine: Satchel) -> Iterator[TestClient]:
    engine.memories.add("Deploys happen on Tuesdays.", category="fact")
    engine.memories.add("Ada prefers tabs.", category="preference")
    with client_of(engine) as client:
        yield client


def test_the_state_is_the_operation_of_its_name_and_more(asking: TestClient) -> None:
    seen, asked = asking.get("/api/status"), asking.post("/api/status", json={})
    assert seen.status_code == asked.status_code == 200
    assert set(seen.json()) - {"indexing", "records"} == set(asked.json())


def test_the_state_says_how_far_the_index_is(asking: TestClient) -> None:
    asking.post("/api/search", json={"question": "backoff"})  # waits for the index
    state = asking.get("/api/status").json()
    assert state["indexing"]["running"] is False
    assert state["indexing"]["failure"] == ""
    assert state["documents"]


def test_folders_of_the_user_are_shown_from_home(
    asking: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("status", "doctor"):
        assert str(home) not in asking.post(f"/api/{name}", json={}).text
    assert asking.get("/api/status").json()["root"] == f"~{os.sep}shop"


def test_options_offer_every_choice_and_the_defaults_in_force(asking: TestClient) -> None:
    offered = asking.get("/api/options").json()
    assert offered["kinds"][:2] == ["memories", "code"]
    assert offered["formats"] == ["markdown", "xml", "plain", "json"]
    assert {"general", "coding", "writing", "planning", "meeting-prep"} <= set(offered["lenses"])
    assert "preference" in offered["categories"]
    assert offered["defaults"]["max_tokens"] == 4000
    assert offered["root"] == "shop"
    assert offered["capture"] == "suggest"


def test_only_this_machine_is_told_the_folder_for_its_editor(
    asking: TestClient, engine: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.web.routes.THIS_MACHINE", {"testclient"})
    assert asking.get("/api/options").json()["folder"] == engine.places.root.as_posix()
    monkeypatch.undo()
    assert asking.get("/api/options").json()["folder"] == ""


def test_the_map_names_folders_and_an_unknown_one_is_refused(asking: TestClient) -> None:
    found = asking.get("/api/map").json()
    assert sum(entry["files"] for entry in found["entries"]) == found["files"] > 0
    assert found["questions"]
    folder = next(entry["path"] for entry in found["entries"] if entry["is_folder"])
    assert asking.get("/api/map", params={"path": folder}).json()["path"] == folder
    refused = asking.get("/api/map?path=nowhere")
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "UsageError")
    assert asking.get("/api/map?path=../..").status_code == 400


def test_the_map_tells_which_file_imports_which(asking: TestClient) -> None:
    found = asking.get("/api/map", params={"links": "true"}).json()
    paths = {file["path"] for file in found["files"]}
    assert {end for link in found["links"] for end in link} <= paths
    assert found["links"]


def test_the_state_counts_what_is_remembered(asking: TestClient) -> None:
    assert asking.get("/api/status").json()["records"] == {
        "memory": len(asking.post("/api/memories", json={}).json()["memories"])
    }


def test_what_hooks_did_is_shown_without_what_hides_in_it(asking: TestClient, engine: Satchel) -> None:
    assert asking.get("/api/hooks").json()["entries"] == []
    for number in range(3):
        telemetry.append_hook_entry(
            engine.places.state, {"event": "prompt", "outcome": "nothing", "why": f"{number}\u202e"}
        )
    shown = asking.get("/api/hooks?limit=2").json()["entries"]
    assert [entry["why"] for entry in shown] == ["1", "2"]
    for limit in ("0", "many", "-1", "9" * 5_000):
        assert asking.get(f"/api/hooks?limit={limit}").status_code == 400


def test_the_server_is_healthy(asking: TestClient) -> None:
    assert asking.get("/healthz").json() == {"status": "ok"}
    assert asking.head("/healthz").content == b""


def test_probes_need_no_token_and_are_ready_while_a_published_index_can_be_read(home: Path) -> None:
    with Satchel.open(root=home / "shop", environ=environment(home / "of-its-own")) as engine:
        shared = ServerState(engine)
        with client_of(engine, shared=shared) as client:
            assert client.post("/api/search", json={"question": "backoff"}).status_code == 200, "it waits for the index"
            del client.headers["Authorization"]
            assert client.post("/readyz", json={}).status_code == 401
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()) == (200, {"status": "ready"})
            assert client.head("/readyz").status_code == 200


def test_a_server_without_an_index_is_alive_and_not_ready(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Satchel.open(root=home / "shop", environ=environment(home / "never-indexed")) as engine:
        monkeypatch.setattr(engine, "refresh", lambda **_: [])
        shared = ServerState(engine)
        with client_of(engine, shared=shared) as client:
            client.post("/api/search", json={"question": "backoff"})  # waits for the first run
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})
            monkeypatch.undo()
            engine.refresh()
            assert client.get("/readyz").status_code == 200


def test_the_page_comes_from_the_package(asking: TestClient) -> None:
    page = asking.get("/")
    assert page.status_code == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert asking.get("/page/index.html").content == page.content
    assert asking.get("/page/style.css").headers["Content-Type"] == "text/css; charset=utf-8"


@pytest.mark.parametrize(
    "name", ["nothing.html", "../guard.py", "%2e%2e/guard.py", "..%2fguard.py", "guard.py", "", "index.html%00",
             "index.html/", "Index.html", "\\..\\guard.py", "%c0%ae%c0%ae/guard.py"]
)  # fmt: skip
def test_only_files_of_the_page_are_shown(asking: TestClient, name: str) -> None:
    answer = asking.get(f"/page/{name}")
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "NotFound"


def test_a_route_that_is_asked_in_another_way_says_how(asking: TestClient) -> None:
    answer = asking.get("/api/context_query")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.json()["error"]["message"] == "this route takes POST"
    assert asking.options("/healthz").headers["Allow"] == "GET, HEAD"
    assert asking.put("/api/status").headers["Allow"] == "GET, HEAD, POST"
