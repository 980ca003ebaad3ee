"""Where the index of a root is opened, and where a team publishes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.config import Folders, load_settings
from satchel.store.database import DatabaseStore
from satchel.store.place import StorePlace, open_index, published_place, store_places
from satchel.system.locations import locate
from tests.repositories import commit, new_repository


def unasked(_index: DatabaseStore) -> str:
    pytest.fail("the first commit was sought for an index that nobody publishes")


@pytest.mark.files  # a place in a file, whatever the store of the session is
def test_an_index_in_a_file_is_opened_without_looking_for_a_team(tmp_path: Path) -> None:
    place = StorePlace(tmp_path / "index.db")
    opened = open_index(place, "shop", tmp_path, unasked)
    opened.store.close()
    assert (opened.place, opened.published) == (place, None)
    assert opened.store.name == str(place.path)


def test_a_team_publishes_a_folder_of_a_repository_under_its_first_commit(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "shop")
    commit(repository, "First\n", {"web/app.py": "x = 1\n"})
    place = StorePlace(tmp_path / "index.db", url="postgresql://somewhere")
    published = published_place(place, "team", repository / "web", "abc")
    assert published is not None
    assert (published.root, published.team, published.url) == ("published/team/abc/web", "team", place.url)
    whole = published_place(place, "team", repository, "abc")
    assert whole is not None
    assert whole.root == "published/team/abc"


def test_nothing_is_published_without_a_history_that_names_the_repository(tmp_path: Path) -> None:
    place = StorePlace(tmp_path / "index.db", url="postgresql://somewhere")
    assert published_place(place, "team", new_repository(tmp_path / "shop"), "") is None
    assert published_place(place, "team", tmp_path, "abc") is None


def test_the_owner_of_an_index_on_a_server_has_a_name_without_user_ids_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HOME": str(tmp_path), "SATCHEL_STORE": "postgresql://somewhere"}
    settings = load_settings(None, environ).settings
    places = locate(tmp_path, tmp_path, Folders.from_environment({"HOME": str(tmp_path / "home")}))
    index, memory = store_places(places, settings)
    assert index.root.startswith(f"index/{os.getuid()}@")
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setenv("USERNAME", "ada")
    index, memory = store_places(places, settings)
    assert index.root.startswith("index/ada@")
    assert memory.root.startswith("memory/ada@")
