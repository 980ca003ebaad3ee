"""What each role of a team can do on a PostgreSQL server, against the promises of `docs/team.md`.

    python benchmarks/roles.py --out benchmarks/results/roles.json

A server from a wheel gets the roles of the page: ci, which owns the tables and publishes, the writers ada and grace,
the reader rita, and the superuser of the server. Ada keeps a private and a shared memory and an index of her own; then
each role tries, by statements and by satchel itself, what the page says that it can or cannot. `promised` is what the
page says, `seen` what happened; the exit status is 1 where they differ.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from guards import TREE, commit
from options import output

sys.path.insert(0, str(TREE))

import psycopg

from satchel import Satchel
from satchel.errors import SatchelError
from satchel.testing import TinyRepository
from tests.postgres import data_folder, environment, server_url

ROLES = ("reader", "writer", "ci", "superuser")
LOGINS = {"reader": "rita", "writer": "grace", "ci": "ci", "superuser": "postgres"}
PRIVATE, SHARED = "heliotrope", "marigold"

Engines = Callable[[str], Satchel]


def sql(statement: str, user: str) -> list[tuple[Any, ...]]:
    """Run statements as a user, in the database of the team, and take them back; returns the rows of the last one.

    Without rows, those that are changed count.
    """
    address = f"postgresql://{user}@/team?host={quote(str(data_folder()), safe='')}"
    with psycopg.connect(address) as connection:
        cursor = connection.execute(statement.encode())
        while cursor.nextset():
            pass
        rows = cursor.fetchall() if cursor.description else [(cursor.statusmessage,)]
        connection.rollback()
        return rows


def is_done(work: Callable[[], object]) -> bool:
    """Return whether something could be done: it raised nothing, and what it returns is not empty."""
    try:
        return bool(work())
    except (psycopg.Error, SatchelError):
        return False


def root_like(pattern: str, owner: str = "") -> int:
    """Return the number of a root, as the superuser sees it."""
    rows = sql(f"SELECT id FROM satchel.roots WHERE name LIKE '{pattern}' AND owner = '{owner}'", "postgres")
    return int(rows[0][0])


def chosen(root: int, path: str = "satchel_both, satchel_root") -> str:
    """Return statements that choose a root, as an attacker would."""
    return f"SET satchel.root = '{root}'; SET satchel.shared = '{root}'; SET search_path = {path}; "


def attempts(engines: Engines, role: str) -> Mapping[str, tuple[Callable[[], object], tuple[str, ...]]]:
    """Return by sentence what a role tries, and the roles that can do it as the page says."""
    login = LOGINS[role]
    private, shared = root_like("memory/%", "ada"), root_like("memory/%")
    published, own = root_like("published/%"), root_like("index/%", "ada")

    def as_role(statement: str) -> Callable[[], object]:
        return lambda: sql(statement, login)

    writers, owners = ("writer", "ci", "superuser"), ("ci", "superuser")
    count = "SELECT 1 FROM satchel.{} WHERE root = {} LIMIT 1"
    answer = "what waits for the load balancer"
    tried: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
        "finds what is shared": (lambda: SHARED in engines(role).assemble(answer).text, ROLES),
        "is shown a private memory by satchel": (lambda: PRIVATE in _shown(engines(role), answer), ()),
        "changes rows of a published index": (
            as_role(chosen(published) + f"UPDATE satchel.texts SET body = body WHERE root = {published} RETURNING 1"),
            owners,
        ),
        "adds a root of a published index": (
            as_role("INSERT INTO satchel.roots(name) VALUES ('published/other/x')"), owners,
        ),
        "renames a root of the team": (
            as_role(f"UPDATE satchel.roots SET name = 'gone' WHERE id = {shared} RETURNING 1"), owners,
        ),
        "removes a root of the team": (as_role(f"DELETE FROM satchel.roots WHERE id = {shared} RETURNING 1"), owners),
        "adds a private root of somebody else": (
            as_role("INSERT INTO satchel.roots(name, owner) VALUES ('x', 'ada')"), ("superuser",),
        ),
        "changes the version of the tables": (
            as_role("UPDATE satchel.version SET number = number RETURNING 1"), owners,
        ),
        "writes the lock of writers": (as_role("INSERT INTO satchel.locks VALUES ('x')"), writers),
        "switches row-level security off": (
            as_role("ALTER TABLE satchel.texts NO FORCE ROW LEVEL SECURITY"), owners,
        ),
        "remembers for the team": (
            lambda: engines(role).memories.add(f"Written by {role}", visibility="team"), writers,
        ),
        "remembers for itself": (lambda: engines(role).memories.add(f"Kept by {role}"), writers),
        "forgets a memory of the team that another one wrote": (lambda: _forgotten(engines, role), writers),
        "publishes": (lambda: _published(engines(role), role, published), owners),
    }  # fmt: skip
    for table in ("documents", "texts", "chunks", "postings", "segments", "meta"):
        for name, root in (("memory", private), ("index", own)):
            for way in (f"satchel.{table}", table):
                tried[f"reads {way} of ada's private {name}"] = (
                    as_role(chosen(root) + count.format(table, root) if "." in way
                            else chosen(root) + f"SELECT 1 FROM {way} LIMIT 1"),
                    ("superuser",),
                )  # fmt: skip
    return tried


def _shown(engine: Satchel, question: str) -> str:
    return engine.assemble(question).text + str([one.content for one in engine.memories.listed(superseded=True)])


def _forgotten(engines: Engines, role: str) -> object:
    kept = engines("ada").memories.add(f"To be forgotten by {role}", visibility="team").memory
    return engines(role).memories.forget([kept.id])


def _published(engine: Satchel, role: str, root: int) -> object:
    """Publish a new commit; returns whether the server has its file."""
    TinyRepository(engine.places.root).commit(role, {f"by_{role}.py": "x = 1\n"})
    engine.team.begin_publishing()
    engine.index()
    return sql(f"SELECT 1 FROM satchel.documents WHERE root = {root} AND key = 'by_{role}.py'", "postgres")


def held_up(engines: Engines) -> dict[str, Any]:
    """Return what locks of a reader and of a writer cost: the reader's no memory, the writer's a few seconds."""
    address = f"postgresql://rita@/team?host={quote(str(data_folder()), safe='')}"
    found: dict[str, Any] = {}
    with psycopg.connect(address) as rita:
        rita.execute(b"SELECT pg_advisory_lock(hashtextextended('satchel memory/team', 0))")
        rita.execute(b"SELECT pg_advisory_lock(hashtextextended('satchel schema', 0))")
        began = time.monotonic()
        engines("ada").memories.add("Not held up by rita")
        found["remember beside advisory locks of a reader, s"] = round(time.monotonic() - began, 2)
    engine = engines("ada")
    engine.assemble("what does load return")
    with psycopg.connect(address.replace("rita", "grace")) as grace:
        grace.execute(b"LOCK TABLE satchel.documents IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        answer = engine.assemble("what does load return")
        found["question beside a table that a writer locked, s"] = round(time.monotonic() - began, 2)
        found["its lines are there"] = "return 1" in answer.text
        found["its note"] = " ".join(
            failure.message.rpartition("/team ")[2] for failure in answer.failures if failure.source == "memory"
        )
    return found


def measured(folder: Path) -> dict[str, Any]:
    """Make the team, try everything, and return what was promised and seen."""
    with psycopg.connect(server_url(), autocommit=True) as connection:
        for login in ("ci", "ada", "grace", "rita"):
            connection.execute(f"CREATE ROLE {login} LOGIN".encode())
        connection.execute(b"CREATE DATABASE team OWNER ci ENCODING 'UTF8' TEMPLATE template0")
    repository = TinyRepository(folder / "shop")
    repository.commit("Start", {"app.py": "def load():\n    return 1\n"})
    opened: dict[str, Satchel] = {}

    def engines(role: str) -> Satchel:
        if role not in opened:
            url = f"postgresql://{LOGINS.get(role, role)}@/team?host={quote(str(data_folder()), safe='')}"
            shared = {"SATCHEL_STORE": url, "SATCHEL_STORE_NAME": "team", "SATCHEL_KEY": "ab" * 32}
            opened[role] = Satchel.open(repository.root, environ=environment(folder / role, **shared))
        return opened[role]

    engines("ci").team.prepare(["rita"], ["ada", "grace"])
    engines("ci").team.begin_publishing()
    engines("ci").index()
    other = {"SATCHEL_STORE": f"postgresql://ada@/team?host={quote(str(data_folder()), safe='')}"}
    alone = TinyRepository(folder / "alone")
    alone.commit("Own", {"own.py": f"def {PRIVATE}():\n    return 1\n"})
    with Satchel.open(alone.root, environ=environment(folder / "alone-home", **other)) as engine:
        engine.index()
    engines("ada").memories.add(f"The {PRIVATE} release waits for the load balancer")
    engines("ada").memories.add(f"The {SHARED} release waits for the load balancer", visibility="team")
    rows = []
    for role in ROLES:
        for sentence, (work, able) in attempts(engines, role).items():
            rows.append({"role": role, "tries": sentence, "promised": role in able, "seen": is_done(work)})
    noise = io.StringIO()
    with contextlib.redirect_stderr(noise):
        engines("reader").memories.listed()
    result = {
        "day": f"{datetime.now(tz=UTC):%Y-%m-%d}", "commit": commit(), "tried": len(rows),
        "different": [row for row in rows if row["promised"] != row["seen"]], "held_up": held_up(engines),
        "a_reader_is_told": noise.getvalue(), "rows": rows,
    }  # fmt: skip
    for one in opened.values():
        one.close()
    return result


def main() -> int:
    """Try all roles and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    os.environ["SATCHEL_EMBED_PROVIDER"] = "off"
    with tempfile.TemporaryDirectory(prefix="satchel-roles-") as folder:
        result = measured(Path(folder))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1))
    return int(bool(result["different"]))


if __name__ == "__main__":
    sys.exit(main())
