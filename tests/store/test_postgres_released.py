"""A server as each older schema left it: nothing is lost, answers are the same, and whoever might read still may.

`released/server-N.sql` has the statements that made schema N of the one before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.postgres import environment, server_url
from tests.store import older
from tests.store.test_postgres_team import sql

ROOT = "memory/ada"


def stored(path: Path) -> dict[str, list[Sequence[object]]]:
    """The rows of a released memory file by table, with true and false where a server has them."""
    with closing(sqlite3.connect(older.unpacked(path, 2))) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    flags = 11, 21
    documents = [[bool(cell) if at in flags else cell for at, cell in enumerate(row)] for row in rows["bundles"]]
    return {**rows, "bundles": documents}


@pytest.fixture(params=[1, 2])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database of an older schema with the records of a released file, which a reader may read."""
    database = f"older_{request.param}"
    address = server_url().replace("/postgres?", f"/{database}?")
    import psycopg

    sql(f"CREATE DATABASE {database}")
    sql("CREATE ROLE reader LOGIN")
    with psycopg.connect(address, autocommit=True) as connection:
        for number in range(1, request.param + 1):
            connection.execute((older.RELEASED / f"server-{number}.sql").read_bytes())
        connection.execute(b"INSERT INTO satchel.roots(name) VALUES (%s)", (ROOT,))
        connection.execute(b"SET satchel.root = '1'")
        for table, rows in stored(tmp_path / "released.db").items():
            for row in rows:
                marks = ", ".join(["%s"] * len(row))
                connection.execute(f"INSERT INTO satchel_root.{table} VALUES ({marks})".encode(), row)
        schemas = ", ".join(["satchel", "satchel_root", "satchel_both"][: request.param + 1])
        connection.execute(f"GRANT USAGE ON SCHEMA {schemas} TO reader".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schemas} TO reader".encode())
    yield address
    sql(f"DROP DATABASE {database} WITH (FORCE)")
    sql("DROP ROLE reader")


def test_a_server_of_an_older_schema_loses_nothing_and_answers_as_a_file(url: str, tmp_path: Path) -> None:
    from satchel.store.postgres import PostgresStore

    newest = older.unpacked(tmp_path / "newest.db", older.NEWEST)
    with closing(PostgresStore(url, ROOT)) as store, closing(SqliteStore(newest, durable=True)) as file:
        assert store.faults() == []
        assert older.answers(store) == older.answers(file)
    variables = environment(tmp_path, SATCHEL_STORE=url, SATCHEL_STORE_NAME="ada")
    with Satchel.open(tmp_path, environ=variables) as satchel:
        # What is open is in the meta values of the private root, which this team does not have.
        assert list(satchel.export_memory()) == older.exported(2)[:-1]
        added = satchel.memories.add("Deploy on Mondays").memory
        assert satchel.memories.get(added.id).content == "Deploy on Mondays"


def test_a_reader_may_read_the_tables_under_their_names_of_today(url: str) -> None:
    from satchel.store.postgres import PostgresStore

    PostgresStore(url, ROOT).close()
    with closing(PostgresStore(url.replace("postgres:", "reader:"), ROOT)) as store:
        assert len(store.keys(Kind.MEMORY)) == 3
        assert store.statistics().chunks[Kind.CONVERSATION] == 3
