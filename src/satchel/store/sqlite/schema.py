"""The schema of a store file, as numbered steps. A released step is never edited: a change is a new step.

`PRAGMA user_version` holds the number of steps taken. Index and memory files share this schema.
"""

from __future__ import annotations

import apsw

from satchel.errors import StoreError

STEPS = (
    """
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE bundles(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, stem TEXT NOT NULL,
        language TEXT NOT NULL, content_hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL, line_count INTEGER NOT NULL, secondary INTEGER NOT NULL, title TEXT NOT NULL,
        tags TEXT NOT NULL, fields TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL, importance REAL,
        origin TEXT NOT NULL, first_document INTEGER NOT NULL, last_document INTEGER NOT NULL,
        hidden INTEGER NOT NULL DEFAULT 0, segment INTEGER NOT NULL, position INTEGER NOT NULL,
        UNIQUE(kind, key));
    CREATE INDEX bundles_by_name ON bundles(name);
    CREATE INDEX bundles_by_stem ON bundles(stem);
    CREATE INDEX bundles_by_segment ON bundles(segment);
    CREATE TABLE texts(bundle INTEGER PRIMARY KEY, body BLOB NOT NULL);
    CREATE TABLE documents(
        row INTEGER PRIMARY KEY, bundle INTEGER NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
        twin INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, signature TEXT NOT NULL,
        summary TEXT NOT NULL);
    CREATE TABLE definitions(document INTEGER NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, line INTEGER NOT NULL);
    CREATE INDEX definitions_by_name ON definitions(name);
    CREATE INDEX definitions_by_document ON definitions(document);
    CREATE TABLE edges(
        source INTEGER NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL, weight REAL NOT NULL,
        PRIMARY KEY(source, type, target)) WITHOUT ROWID;
    CREATE INDEX edges_by_target ON edges(target, type);
    CREATE TABLE segments(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, windows INTEGER NOT NULL, columns BLOB NOT NULL,
        dead BLOB NOT NULL);
    CREATE TABLE postings(
        term TEXT NOT NULL, segment INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(segment, term)) WITHOUT ROWID;
    CREATE TABLE skipped(
        path TEXT PRIMARY KEY, reason TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE vectors(
        document INTEGER NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY(fingerprint, document)) WITHOUT ROWID;
    """,
    """
    ALTER TABLE bundles ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
    """,
)


def migrate(connection: apsw.Connection) -> None:
    """Bring a store file to the newest schema, each step in a transaction of its own.

    Raises StoreError for a file that a newer satchel wrote; nothing is changed then.
    """
    version = connection.pragma("user_version")
    if version > len(STEPS):
        raise StoreError(
            f"the store {connection.filename} has schema {version}, this satchel knows up to {len(STEPS)}: "
            "upgrade satchel, or run `satchel clean` to build the index again"
        )
    for number in range(version, len(STEPS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.pragma("user_version") == number:
                connection.execute(STEPS[number])
                connection.pragma("user_version", number + 1)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
