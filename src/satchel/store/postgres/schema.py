"""The schema on a PostgreSQL server: every table has the rows of all roots, and a view of it those of one.

A connection names its root in the setting `satchel.root`. Queries see the views only, so that they are the queries of
one root, as in SQLite. Columns have the order of the SQLite store; texts are ordered by their bytes, as there.

A root has an owner, a role of the database that alone sees it, or none. `satchel_both` has views of two roots at once:
of a shared memory the own root (`satchel.root`) and the team's (`satchel.shared`). Row-level security shows and takes
only rows of the chosen roots, and no root of another owner can be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from satchel.store.records import RENAMES

_ROOT = "current_setting('satchel.root')::integer"
_TYPES = {"int": "integer NOT NULL", "long": "bigint NOT NULL", "text": 'text COLLATE "C" NOT NULL',
          "real": "double precision NOT NULL", "bool": "boolean NOT NULL", "bytes": "bytea NOT NULL",
          "maybe": "double precision"}  # fmt: skip

TABLES: Mapping[str, tuple[str, ...]] = {
    "meta": ("key text, value text", "PRIMARY KEY(root, key)"),
    "documents": (
        ("id int, kind text, key text, name text, stem text, language text, content_hash text, size long, "
        "mtime_ns long, changed_ns long, line_count int, secondary bool, title text, tags text, fields text, "
        "created real, updated real, importance maybe, origin text, first_chunk int, last_chunk int, "
        "hidden bool, segment int, position int, workspace text"),
        "PRIMARY KEY(root, id)", "UNIQUE(root, kind, key)", "INDEX(root, name)", "INDEX(root, stem)",
        "INDEX(root, segment)",
    ),
    "texts": ("document int, body bytes", "PRIMARY KEY(root, document)"),
    "chunks": (
        "row int, document int, role text, name text, twin int, start int, end int, signature text, summary text",
        "PRIMARY KEY(root, row)",
    ),
    "definitions": (
        "chunk int, name text, owner text, line int", "INDEX(root, name)", "INDEX(root, chunk)",
    ),
    "edges": (
        "source int, type text, target text, weight real", "PRIMARY KEY(root, source, type, target)",
        "INDEX(root, target, type)",
    ),
    "segments": ("id int, kind text, spans int, columns bytes, dead bytes", "PRIMARY KEY(root, id)"),
    "postings": ("term text, segment int, body bytes", "PRIMARY KEY(root, segment, term)"),
    "skipped": ("path text, reason text, size long, mtime_ns long, changed_ns long", "PRIMARY KEY(root, path)"),
    "vectors": ("chunk int, fingerprint text, vector bytes", "PRIMARY KEY(root, fingerprint, chunk)"),
}  # fmt: skip
"""The tables: columns with their types, then keys and indexes."""


def columns_of(table: str) -> list[str]:
    """Return the names of the columns of a table, quoted."""
    return [f'"{column.split()[0]}"' for column in TABLES[table][0].split(", ")]


def _table(name: str) -> str:
    spec, *keys = TABLES[name]
    types = [_TYPES[column.split()[1]] for column in spec.split(", ")]
    columns = columns_of(name)
    rows = ", ".join(f"{column} {kind}" for column, kind in zip(columns, types, strict=True))
    own = [key for key in keys if not key.startswith("INDEX")]
    statements = [
        f"CREATE TABLE satchel.{name}(root integer NOT NULL DEFAULT {_ROOT}, {', '.join([rows, *own])})",
        f"CREATE VIEW satchel_root.{name} AS SELECT {', '.join(columns)} FROM satchel.{name} WHERE root = {_ROOT}",
        *(f"CREATE INDEX ON satchel.{name}{key.removeprefix('INDEX')}" for key in keys if key not in own),
    ]
    return "; ".join(statements)


_CHOSEN = f"({_ROOT}, nullif(current_setting('satchel.shared', true), '')::integer)"
_VISIBLE = f"root = ANY(ARRAY(SELECT id FROM satchel.roots WHERE id IN {_CHOSEN}))"


def _secured(table: str, condition: str) -> Iterator[str]:
    for kind in ("ENABLE", "FORCE"):
        yield f"ALTER TABLE satchel.{table} {kind} ROW LEVEL SECURITY"
    yield f"CREATE POLICY own ON satchel.{table} USING ({condition})"


def _both(name: str) -> str:
    columns = ", ".join(columns_of(name))
    return (
        f"CREATE VIEW satchel_both.{name} WITH (security_invoker) AS "
        f"SELECT {columns} FROM satchel.{name} WHERE root IN {_CHOSEN}"
    )


def _renamed(*schemas: str) -> str:
    """Rename the tables and views of these schemas, unless they were created with the names of today."""
    statements = "; ".join(f"ALTER TABLE {schema}.{rename}" for schema in schemas for rename in RENAMES)
    return f"DO $$ BEGIN IF to_regclass('satchel.bundles') IS NOT NULL THEN {statements}; END IF; END $$"


STEPS = (
    "; ".join((
        "CREATE SCHEMA satchel",
        "CREATE SCHEMA satchel_root",
        "CREATE TABLE satchel.version(number integer NOT NULL)",
        "INSERT INTO satchel.version VALUES (0)",
        ("CREATE TABLE satchel.roots(id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        'name text COLLATE "C" NOT NULL UNIQUE, created timestamptz NOT NULL DEFAULT now())'),
        ("CREATE FUNCTION satchel_root.json_extract(text, text) RETURNS integer IMMUTABLE LANGUAGE sql AS "
        "$$SELECT ($1::json ->> substr($2, 3))::integer$$"),
        *map(_table, TABLES),
    )),
    "; ".join((
        _renamed("satchel", "satchel_root"),
        'ALTER TABLE satchel.roots ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT \'\'',
        "ALTER TABLE satchel.roots DROP CONSTRAINT roots_name_key",
        "ALTER TABLE satchel.roots ADD UNIQUE (name, owner)",
        *_secured("roots", "owner IN ('', current_user)"),
        *(statement for name in TABLES for statement in _secured(name, _VISIBLE)),
        *(f"ALTER VIEW satchel_root.{name} SET (security_invoker)" for name in TABLES),
        "CREATE SCHEMA satchel_both",
        *map(_both, ("documents", "texts", "chunks", "definitions", "edges", "segments", "postings", "vectors")),
        ("CREATE VIEW satchel_both.meta WITH (security_invoker) AS "
        "SELECT key, value FROM satchel_root.meta WHERE key <> 'revision' UNION ALL "
        f"SELECT 'revision', sum(value::bigint)::text FROM satchel.meta WHERE key = 'revision' AND root IN {_CHOSEN} "
        "HAVING count(*) > 0"),
    )),
    _renamed("satchel", "satchel_root", "satchel_both"),
)  # fmt: skip
"""The numbered migrations: each runs once, in a transaction of its own. Rights on tables and views stay."""
